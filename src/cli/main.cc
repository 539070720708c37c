// The program hillclimb.
#include "cli/command.h"

int main(int argc, char** argv) { return hc::cli::run_command_line(argc, argv); }
