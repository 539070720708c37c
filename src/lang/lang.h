// The front end: Helion kernels in Python files, unchanged, to tile IR for concrete arguments.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "diag/diag.h"
#include "ir/tile_ir.h"

namespace hc::lang {

struct None {
  bool operator==(const None&) const = default;
};
struct DTypeArg {
  DType dtype;
  bool operator==(const DTypeArg&) const = default;
};

/// An argument of a kernel call. Numbers, strings and lists are constants of the compiled kernel.
using Arg = std::variant<None, bool, int64_t, double, std::string, DTypeArg, std::vector<int64_t>, TensorSpec>;

/// One word of `--args`: a tensor's text, an int, a float, true/false, None, 'text', [1,2,3], torch.float32.
Result<Arg> arg_from_text(std::string_view text);
std::string to_text(const Arg& arg);

struct Param {
  std::string name;
  std::string annotation;
  bool has_default = false;
};

/// A kernel found in a file.
struct Kernel {
  std::string name;
  std::vector<Param> params;
  diag::Span span;
};

/// A parsed Python file.
class Module;
using ModulePtr = std::shared_ptr<const Module>;

Result<ModulePtr> parse_file(const std::string& path);
Result<ModulePtr> parse_text(std::string path, std::string text);
/// Kernels of the file in order: decorated functions and functions wrapped by a call of helion.kernel.
std::vector<Kernel> kernels(const Module& module);
/// The kernel named, or the file's only one when `name` is empty.
Result<Kernel> find_kernel(const Module& module, std::string_view name);
/// The syntax tree of a kernel as text (the first stage that `show` prints).
Result<std::string> tree_text(const Module& module, std::string_view kernel);

/// What the config decides about the meaning: block sizes and tunables by name. A missing one gets a default.
struct Choices {
  std::map<std::string, int64_t> block_sizes;
  std::map<std::string, std::string> tunables;
};

/// Evaluates the host part and traces the device part. Argument i belongs to parameter i; missing ones take their
/// default.
Result<ir::Program> trace(const Module& module, std::string_view kernel, const std::vector<Arg>& args,
                          const Choices& choices);

}  // namespace hc::lang
