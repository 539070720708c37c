// Tensor specifications: sizes, strides, and their text form.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/tensor.h"

namespace hc {
namespace {

using Kind = Distribution::Kind;

Distribution default_distribution(DType type) {
  if (type == DType::boolean) return {Kind::range, 0, 2};
  if (is_integer(type)) return {Kind::range, 0, 100};
  return {};
}

/// Reads one specification left to right; the first thing that does not fit is kept in `why`.
class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : text_(text) {}

  bool read(TensorSpec* spec) {
    const size_t open = text_.find('[');
    if (open == std::string_view::npos) return fail("a tensor is written dtype[sizes], such as f32[8,16]");
    const auto dtype = dtype_from_name(text_.substr(0, open));
    if (!dtype)
      return fail(fmt::format("'{}' is not a dtype; write one such as f32, bf16, i64 or bool", text_.substr(0, open)));
    spec->dtype = *dtype;
    spec->distribution = default_distribution(*dtype);
    at_ = open + 1;
    if (!read_ints(']', "size", &spec->shape)) return false;
    for (int64_t size : spec->shape) {
      if (size < 0) return fail(fmt::format("a size is negative: {}", size));
    }
    if (accept("@(")) {
      if (!read_ints(')', "stride", &spec->strides)) return false;
      if (spec->strides.size() != spec->shape.size()) {
        return fail(fmt::format("{} strides are given for {} sizes", spec->strides.size(), spec->shape.size()));
      }
      for (int64_t stride : spec->strides) {
        if (stride < 0) return fail(fmt::format("a stride is negative: {}", stride));
      }
      if (spec->strides == contiguous_strides(spec->shape)) spec->strides.clear();
    }
    if (accept("=") && !read_distribution(spec)) return false;
    if (at_ != text_.size()) return fail(fmt::format("'{}' is left over after the tensor", text_.substr(at_)));
    return true;
  }

  const std::string& why() const { return why_; }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool accept(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  template <typename T>
  bool read_number(T* number) {
    skip_blanks();
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *number);
    if (error != std::errc()) return false;
    at_ = static_cast<size_t>(end - text_.data());
    return true;
  }

  bool read_ints(char close, std::string_view what, std::vector<int64_t>* list) {
    if (accept(std::string_view(&close, 1))) return true;
    while (true) {
      int64_t number = 0;
      if (!read_number(&number))
        return fail(fmt::format("expected a {} as an integer before '{}'", what, text_.substr(at_)));
      list->push_back(number);
      if (accept(std::string_view(&close, 1))) return true;
      if (!accept(",")) return fail(fmt::format("expected ',' or '{}' before '{}'", close, text_.substr(at_)));
    }
  }

  bool read_parameters(std::string_view name, int count, Distribution* d) {
    if (!accept("(") || !read_number(&d->a) || (count == 2 && (!accept(",") || !read_number(&d->b))) || !accept(")")) {
      return fail(
          fmt::format("{} is written {}", name, count == 2 ? fmt::format("{}(low,high)", name) : "const(value)"));
    }
    return true;
  }

  bool read_distribution(TensorSpec* spec) {
    Distribution& d = spec->distribution;
    const std::string_view rest = text_.substr(at_);
    d = {};
    bool needs_float = true;
    if (accept("normal")) {
      d.kind = Kind::normal;
    } else if (accept("softmax_like")) {
      d.kind = Kind::softmax_like;
    } else if (accept("uniform")) {
      d.kind = Kind::uniform;
      if (!read_parameters("uniform", 2, &d)) return false;
      if (!(d.a <= d.b)) return fail("uniform(low,high) needs low <= high");
    } else if (accept("range")) {
      d.kind = Kind::range;
      needs_float = false;
      if (!read_parameters("range", 2, &d)) return false;
      const bool whole = d.a == std::floor(d.a) && d.b == std::floor(d.b);
      if (!whole || d.b <= d.a || d.b - d.a > 4294967296.0) {
        return fail("range(low,high) needs integers with low < high and at most 2^32 values");
      }
    } else if (accept("const")) {
      d.kind = Kind::constant;
      needs_float = false;
      if (!read_parameters("const", 1, &d)) return false;
    } else {
      return fail(fmt::format(
          "'{}' is not a distribution; there are normal, uniform(a,b), range(a,b), const(v), softmax_like", rest));
    }
    if (needs_float && !is_floating(spec->dtype)) {
      return fail(
          fmt::format("'{}' needs a floating dtype; {} takes range(a,b) or const(v)", rest, dtype_name(spec->dtype)));
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string why_;
};

std::string distribution_text(const Distribution& d) {
  switch (d.kind) {
    case Kind::normal:
      return "normal";
    case Kind::softmax_like:
      return "softmax_like";
    case Kind::uniform:
      return fmt::format("uniform({},{})", d.a, d.b);
    case Kind::range:
      return fmt::format("range({:.0f},{:.0f})", d.a, d.b);
    case Kind::constant:
      return fmt::format("const({})", d.a);
  }
  return {};
}

}  // namespace

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

int64_t TensorSpec::numel() const {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::vector<int64_t> TensorSpec::full_strides() const { return strides.empty() ? contiguous_strides(shape) : strides; }

int64_t TensorSpec::span() const {
  if (numel() == 0) return 0;
  const std::vector<int64_t> steps = full_strides();
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * steps[i];
  return last + 1;
}

std::string to_text(const TensorSpec& spec) {
  std::string text = fmt::format("{}[{}]", dtype_name(spec.dtype), fmt::join(spec.shape, ","));
  if (!spec.strides.empty()) text += fmt::format("@({})", fmt::join(spec.strides, ","));
  // An integer tensor has no normal distribution: a specification left at that default means its own default.
  const bool unset = !is_floating(spec.dtype) && spec.distribution.kind == Kind::normal;
  if (!unset && spec.distribution != default_distribution(spec.dtype))
    text += "=" + distribution_text(spec.distribution);
  return text;
}

std::optional<TensorSpec> tensor_spec_from_text(std::string_view text, std::string* why) {
  TensorSpec spec;
  SpecReader reader(text);
  if (reader.read(&spec)) return spec;
  if (why) *why = reader.why();
  return std::nullopt;
}

}  // namespace hc
