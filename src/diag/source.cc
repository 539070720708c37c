// Line look-up in source text.
#include "diag/source.h"

#include <algorithm>

namespace hc::diag {

Source::Source(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

int Source::line_of(uint32_t offset) const {
  const auto it = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<int>(it - line_starts_.begin());
}

int Source::column_of(uint32_t offset) const {
  return static_cast<int>(offset - line_starts_[static_cast<size_t>(line_of(offset)) - 1]) + 1;
}

std::string_view Source::line_text(int line) const {
  const size_t begin = line_starts_[static_cast<size_t>(line) - 1];
  const size_t stop = text_.find('\n', begin);
  return std::string_view(text_).substr(begin, (stop == std::string::npos ? text_.size() : stop) - begin);
}

}  // namespace hc::diag
