// Our worker as a program of its own, without the rest of hillclimb.
#include "bench/protocol.h"

int main() { return hc::bench::worker_main(); }
