// Pages of known elements.
#include "interp/memory.h"

#include <bit>

namespace hc::interp {

Outcome::Page& Outcome::page(int64_t offset) {
  const int64_t number = offset / kPage;
  if (number == last_number_) return *last_;
  auto& slot = pages_[number];
  if (!slot) slot = std::make_unique<Page>();
  last_number_ = number;
  last_ = slot.get();
  return *last_;
}

Outcome::Known Outcome::known(int64_t offset) { return page(offset).known[static_cast<size_t>(offset % kPage)]; }

Element Outcome::get(int64_t offset) {
  const Page& p = page(offset);
  const auto at = static_cast<size_t>(offset % kPage);
  Element element{p.value[at], p.bound[at], 0, true};
  if (integral_) {
    element.exact = std::bit_cast<int64_t>(p.value[at]);
    element.value = static_cast<double>(element.exact);
  }
  return element;
}

void Outcome::put(int64_t offset, const Element& element, bool integral) {
  integral_ = integral;
  Page& p = page(offset);
  const auto at = static_cast<size_t>(offset % kPage);
  p.known[at] = Known::written;
  p.value[at] = integral ? std::bit_cast<double>(element.exact) : element.value;
  p.bound[at] = element.bound;
}

void Outcome::mark_untouched(int64_t offset) {
  page(offset).known[static_cast<size_t>(offset % kPage)] = Known::untouched;
}

}  // namespace hc::interp
