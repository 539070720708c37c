// Elements that were computed, by step and storage, and the ones that stand in memory before anything runs.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "interp/number.h"
#include "interp/oracle.h"

namespace hc::interp {

/// What a step leaves in one storage, as far as it is known.
class Outcome {
 public:
  enum class Known : uint8_t { no, written, untouched };

  Known known(int64_t offset);
  /// The element that the step wrote.
  Element get(int64_t offset);
  void put(int64_t offset, const Element& element, bool integral);
  void mark_untouched(int64_t offset);
  int64_t pages() const { return static_cast<int64_t>(pages_.size()); }

 private:
  static constexpr int64_t kPage = 512;
  struct Page {
    std::array<Known, kPage> known{};
    std::array<double, kPage> value;  ///< of integers, their bits
    std::array<double, kPage> bound;
  };
  Page& page(int64_t offset);

  std::unordered_map<int64_t, std::unique_ptr<Page>> pages_;
  int64_t last_number_ = -1;
  Page* last_ = nullptr;
  bool integral_ = false;
};

}  // namespace hc::interp
