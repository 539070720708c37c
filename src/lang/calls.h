// The table of functions and methods that kernels call: names, signatures, and where each may be used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lang/value.h"

namespace hc::lang {

class Tracer;

/// `log1p` of `torch.special.log1p`.
inline std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

/// A call with its arguments bound to the parameters of the row's signature, defaults filled in.
struct Call {
  std::string_view name;  ///< as the row spells it first
  Values args;
  Span span;
  const Value& operator[](size_t i) const { return args[i]; }
};

using Handler = Result<Value> (*)(Tracer&, const Call&);

enum class Where : uint8_t {
  any,        ///< the handler looks itself
  host,       ///< outside device loops
  device,     ///< inside device loops
  pointwise,  ///< device; on host tensors lifted into a launch, elementwise
  rows,       ///< device; on host tensors lifted with the dimension of parameter `dim` whole
};

/// One function. `names` are separated by '|'; a method is written ".name" and gets its object as first argument.
/// The signature is "a, b=1, *rest, c=None": defaults are None, True, False or a number.
struct FunctionRow {
  std::string_view names;
  std::string_view signature;
  Where where;
  Handler handler;
};

/// The row of a dotted library path or ".method", or null.
const FunctionRow* find_function_row(std::string_view name);
/// Binds and calls a row.
Result<Value> call_row(Tracer& tracer, const FunctionRow& row, Values args, const std::vector<std::string>& names,
                       const Span& span);

/// Names that exist in Helion or PyTorch but have no row, with the code and the words to refuse them by.
Diagnostic refuse_call(const Tracer& tracer, std::string_view name, const Span& span);

// The tables, one per file.
std::vector<FunctionRow> pointwise_rows();
std::vector<FunctionRow> reduction_rows();
std::vector<FunctionRow> creation_rows();
std::vector<FunctionRow> view_rows();
std::vector<FunctionRow> query_rows();
std::vector<FunctionRow> helion_rows();
std::vector<FunctionRow> python_rows();

}  // namespace hc::lang
