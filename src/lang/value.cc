// Helpers on values: access, description, text and equality.
#include "lang/value.h"

#include <fmt/format.h>

namespace hc::lang {

Value make_int(int64_t value) { return Value(Int{value, ir::kNone}); }

Value make_tuple(Values items, bool is_list) {
  return Value(Sequence{std::make_shared<const Values>(std::move(items)), is_list});
}

const Values* items_of(const Value& value) {
  const auto* sequence = value.get<Sequence>();
  return sequence ? sequence->items.get() : nullptr;
}

std::optional<int64_t> int_of(const Value& value) {
  if (const auto* flag = value.get<bool>()) return *flag ? 1 : 0;
  if (const auto* number = value.get<Int>()) return number->value;
  return std::nullopt;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* number = value.get<double>()) return *number;
  const std::optional<int64_t> whole = int_of(value);
  return whole ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
}

bool is_number(const Value& value) { return value.is<bool>() || value.is<Int>() || value.is<double>(); }

std::string describe(const Value& value) {
  struct Visitor {
    std::string operator()(None) const { return "None"; }
    std::string operator()(bool) const { return "a bool"; }
    std::string operator()(const Int&) const { return "an int"; }
    std::string operator()(double) const { return "a float"; }
    std::string operator()(const std::string&) const { return "a string"; }
    std::string operator()(DType) const { return "a dtype"; }
    std::string operator()(const Sequence& s) const { return s.is_list ? "a list" : "a tuple"; }
    std::string operator()(const Dict&) const { return "a dict"; }
    std::string operator()(const Slice&) const { return "a slice"; }
    std::string operator()(Ellipsis) const { return "an ellipsis"; }
    std::string operator()(const HostTensor&) const { return "a host tensor"; }
    std::string operator()(const Device& d) const { return d.dims.empty() ? "a device scalar" : "a device tensor"; }
    std::string operator()(const std::shared_ptr<const Tile>&) const { return "a tile"; }
    std::string operator()(const Symbol& s) const { return s.path; }
    std::string operator()(const UserFunction& f) const { return "the function " + f.function->name; }
    std::string operator()(const LambdaFunction&) const { return "a lambda"; }
    std::string operator()(const Method& m) const { return "the method " + m.name; }
    std::string operator()(const Opaque& o) const { return o.what; }
  };
  return std::visit(Visitor{}, value.data);
}

std::string count_text(size_t count, std::string_view word, std::string_view plural) {
  if (count == 1) return fmt::format("1 {}", word);
  return plural.empty() ? fmt::format("{} {}s", count, word) : fmt::format("{} {}", count, plural);
}

std::string text_of(const Value& value) {
  if (value.is<None>()) return "None";
  if (const auto* flag = value.get<bool>()) return *flag ? "True" : "False";
  if (const auto* number = value.get<Int>()) return std::to_string(number->value);
  if (const auto* number = value.get<double>()) return fmt::format("{}", *number);
  if (const auto* text = value.get<std::string>()) return *text;
  if (const auto* dtype = value.get<DType>()) return "torch." + std::string(dtype_torch_name(*dtype));
  if (const Values* items = items_of(value)) {
    const bool list = value.get<Sequence>()->is_list;
    std::string out = list ? "[" : "(";
    for (size_t i = 0; i < items->size(); ++i) out += (i == 0 ? "" : ", ") + text_of((*items)[i]);
    return out + (list ? "]" : items->size() == 1 ? ",)" : ")");
  }
  return "<" + describe(value) + ">";
}

std::optional<bool> equal(const Value& a, const Value& b) {
  if (a.is<Device>() || b.is<Device>()) return std::nullopt;
  if (is_number(a) && is_number(b)) {
    if (a.is<double>() || b.is<double>()) return *number_of(a) == *number_of(b);
    return *int_of(a) == *int_of(b);
  }
  if (const Values* left = items_of(a)) {
    const Values* right = items_of(b);
    if (!right || left->size() != right->size()) return false;
    for (size_t i = 0; i < left->size(); ++i) {
      const std::optional<bool> same = equal((*left)[i], (*right)[i]);
      if (!same) return std::nullopt;
      if (!*same) return false;
    }
    return true;
  }
  if (a.data.index() != b.data.index()) return false;
  if (a.is<None>()) return true;
  if (const auto* text = a.get<std::string>()) return *text == *b.get<std::string>();
  if (const auto* dtype = a.get<DType>()) return *dtype == *b.get<DType>();
  if (const auto* symbol = a.get<Symbol>()) return symbol->path == b.get<Symbol>()->path;
  if (const auto* opaque = a.get<Opaque>()) return opaque->what == b.get<Opaque>()->what;
  if (const auto* tensor = a.get<HostTensor>()) return tensor->id == b.get<HostTensor>()->id;
  return std::nullopt;
}

}  // namespace hc::lang
