// The device headers under prelude/, embedded as text at build time.
#pragma once

namespace hc::backend::cpu {

/// One header: its path under prelude/ and its text.
struct PreludeFile {
  const char* name;
  const char* text;
};

/// All headers, ended by a row of nulls.
const PreludeFile* prelude_files();

}  // namespace hc::backend::cpu
