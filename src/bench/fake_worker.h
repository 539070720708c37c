// Workers for tests, written in sh: good ones with scripted times, and ones that fail in every way.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"

namespace hc::bench {

inline constexpr const char* kFakeHello =
    R"(*'"op":"hello"'*) echo '{"ok":true,"op":"hello","protocol":1,"worker":"fake/1","backend":"cpu"}';;)";
inline constexpr const char* kFakePrepare =
    R"(*'"op":"prepare"'*) echo '{"ok":true,"op":"prepare","implementation":"fake","version":"1",)"
    R"("threads":1,"bytes":8,"inputs_sha256":"in"}';;)";
inline constexpr const char* kFakeCheck = R"(*'"op":"check"'*) echo '{"ok":true,"op":"check","outputs":[{"index":0,)"
                                          R"("dtype":"f32","numel":1,"sha256":"out","nan_count":0}]}';;)";
/// $1: name, $2: log, $3: seconds of a launch; $$ makes the samples of each process its own.
inline constexpr const char* kFakeTime =
    R"(*'"op":"time"'*) now=$(cut -d' ' -f1 /proc/uptime); echo "$1" >> "$2"; )"
    R"(echo '{"ok":true,"op":"time","clock":"fake","threads":1,"flush_bytes":0,"blocks":)"
    R"([{"seconds":['"$3$$"'],"launches":1,"mid_monotonic_s":'"$now"'}]}';;)";
inline constexpr const char* kFakeBye = R"(*'"op":"bye"'*) echo '{"ok":true,"op":"bye"}'; exit 0;;)";

/// Writes a script whose loop answers with these cases; earlier ones win. Returns its path.
inline std::string write_fake_worker(const std::string& folder, const std::string& name, const std::string& first,
                                     const std::string& cases) {
  std::string path = join_path(folder, name);
  // Not synced to the disk: on a busy one that takes longer than the tests' time limits.
  std::ofstream(path) << "#!/bin/sh\n"
                      << first << "\nwhile read -r line; do case \"$line\" in\n"
                      << cases << "\nesac; done\n";
  return path;
}

inline std::string good_cases() {
  return std::string(kFakeHello) + "\n" + kFakePrepare + "\n" + kFakeCheck + "\n" + kFakeTime + "\n" + kFakeBye;
}

/// Argument vector of a script: name, log file, seconds.
inline std::vector<std::string> fake_argv(const std::string& script, const std::string& name, const std::string& log,
                                          const std::string& seconds = "0.0001") {
  return {"/bin/sh", script, name, log, seconds};
}

}  // namespace hc::bench
