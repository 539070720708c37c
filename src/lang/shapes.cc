// Reading of shape arguments.
#include "lang/shapes.h"

#include <fmt/format.h>

#include "lang/tracer.h"

namespace hc::lang {
namespace {

Diagnostic not_a_size(const Value& item, const Span& span) {
  if (item.is<Device>()) {
    return Diagnostic{Code::data_dependent_shape, "a size that only the device knows cannot be part of a shape"}
        .at(span)
        .fix("use hl.specialize, a constant or a tile");
  }
  return Diagnostic{Code::type_error, fmt::format("{} cannot be a size", describe(item))}.at(span);
}

Result<int64_t> missing_size(int64_t numel, int64_t known, const Span& span) {
  if (numel < 0 || known == 0 || numel % known != 0) {
    return Diagnostic{Code::shape_mismatch,
                      fmt::format("{} elements do not fit a shape with {} in its other dimensions", numel, known)}
        .at(span);
  }
  return numel / known;
}

}  // namespace

Values shape_items(const Value& value) {
  const Values* items = items_of(value);
  if (!items) return {value};
  if (items->size() == 1 && items_of((*items)[0])) return *items_of((*items)[0]);
  return *items;
}

Result<std::vector<int64_t>> host_shape(const Values& items, int64_t numel, const Span& span) {
  std::vector<int64_t> out;
  int64_t known = 1;
  int missing = -1;
  for (const Value& item : items) {
    const std::optional<int64_t> size = int_of(item);
    if (!size || *size < -1 || (*size == -1 && (missing >= 0 || numel < 0))) return not_a_size(item, span);
    if (*size == -1) {
      missing = static_cast<int>(out.size());
    } else {
      known *= *size;
    }
    out.push_back(*size);
  }
  if (missing >= 0) out[static_cast<size_t>(missing)] = HC_TRY(missing_size(numel, known, span));
  return out;
}

Result<std::vector<ir::Dim>> device_shape(Tracer& tracer, const Values& items, int64_t numel, const Span& span) {
  std::vector<ir::Dim> out;
  int64_t known = 1;
  int missing = -1;
  for (const Value& item : items) {
    ir::Dim dim;
    if (const Tile* tile = item.tile()) {
      dim = {tile->block, tile->size};
    } else if (const Int* size = item.get<Int>()) {
      dim = {size->block, size->value};
    } else {
      return not_a_size(item, span);
    }
    if (dim.size < 0) {
      if (missing >= 0 || numel < 0 || dim.size != -1) return not_a_size(item, span);
      missing = static_cast<int>(out.size());
    } else {
      known *= dim.size;
    }
    out.push_back(dim);
  }
  if (missing >= 0) out[static_cast<size_t>(missing)].size = HC_TRY(missing_size(numel, known, span));
  (void)tracer;
  return out;
}

Result<int> dimension(const Value& value, int rank, const Span& span) {
  const std::optional<int64_t> at = int_of(value);
  if (!at || *at < -rank || *at >= rank) {
    return Diagnostic{Code::rank_mismatch, fmt::format("{} is not a dimension of a tensor of {}", text_of(value),
                                                       count_text(static_cast<size_t>(rank), "dimension"))}
        .at(span);
  }
  return static_cast<int>(*at < 0 ? *at + rank : *at);
}

}  // namespace hc::lang
