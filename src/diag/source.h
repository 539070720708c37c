// Source text with line look-up, and spans into it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hc::diag {

/// A file's text; spans are byte offsets into it.
class Source {
 public:
  Source(std::string path, std::string text);
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  /// 1-based line of a byte offset.
  int line_of(uint32_t offset) const;
  /// 1-based column of a byte offset.
  int column_of(uint32_t offset) const;
  /// Text of a 1-based line, without its newline.
  std::string_view line_text(int line) const;

 private:
  std::string path_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

using SourcePtr = std::shared_ptr<const Source>;

/// Half-open byte range of a source; no source means "no place is known".
struct Span {
  SourcePtr source;
  uint32_t begin = 0;
  uint32_t end = 0;
  explicit operator bool() const { return source != nullptr; }
};

}  // namespace hc::diag
