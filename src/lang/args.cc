// Kernel arguments as text: tensors, numbers, booleans, None, strings, lists of integers and dtypes.
#include <fmt/format.h>

#include <charconv>

#include "lang/lang.h"

namespace hc::lang {
namespace {

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Diagnostic bad(std::string_view text, std::string_view needed) {
  return Diagnostic{Code::bad_argument, fmt::format("the argument '{}' cannot be read: {}", text, needed)};
}

Result<Arg> list(std::string_view text) {
  std::vector<int64_t> out;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    const std::optional<int64_t> value = number<int64_t>(item);
    if (!value) return bad(text, "a list holds integers");
    out.push_back(*value);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return Arg(out);
}

bool looks_like_tensor(std::string_view text) {
  const size_t bracket = text.find('[');
  return bracket != std::string_view::npos && bracket > 0;
}

}  // namespace

Result<Arg> arg_from_text(std::string_view text) {
  if (text == "None") return Arg(None{});
  if (text == "true" || text == "True") return Arg(true);
  if (text == "false" || text == "False") return Arg(false);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) {
    return Arg(std::string(text.substr(1, text.size() - 2)));
  }
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') return list(text);
  if (text.starts_with("torch.")) {
    const std::optional<DType> dtype = dtype_from_torch_name(text.substr(6));
    if (!dtype) return bad(text, "torch has no such dtype here");
    return Arg(DTypeArg{*dtype});
  }
  if (looks_like_tensor(text)) {
    std::string why;
    const std::optional<TensorSpec> spec = tensor_spec_from_text(text, &why);
    if (!spec) return bad(text, why);
    return Arg(*spec);
  }
  if (const std::optional<int64_t> value = number<int64_t>(text)) return Arg(*value);
  if (const std::optional<double> value = number<double>(text)) return Arg(*value);
  return bad(text,
             "write a tensor such as bf16[4096,2560], a number, true, false, None, 'text', [1,2] or torch.float32");
}

std::string to_text(const Arg& arg) {
  struct Visitor {
    std::string operator()(None) const { return "None"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
      std::string out = fmt::format("{}", value);
      // A whole double keeps its point, so that it reads back as a double.
      return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
    }
    std::string operator()(const std::string& value) const { return "'" + value + "'"; }
    std::string operator()(DTypeArg value) const { return "torch." + std::string(dtype_torch_name(value.dtype)); }
    std::string operator()(const std::vector<int64_t>& value) const {
      return fmt::format("[{}]", fmt::join(value, ","));
    }
    std::string operator()(const TensorSpec& value) const { return hc::to_text(value); }
  };
  return std::visit(Visitor{}, arg);
}

}  // namespace hc::lang
