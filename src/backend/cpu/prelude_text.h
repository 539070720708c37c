// The files under prelude/, embedded at build time.
#pragma once

namespace hc::backend::cpu {

/// `name` is the path for #include, "hc/vector.h"; the last entry has null.
struct PreludeFile {
  const char* name;
  const char* text;
};
const PreludeFile* prelude_files();

}  // namespace hc::backend::cpu
