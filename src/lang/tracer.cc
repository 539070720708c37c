// One trace: binding of arguments, the kernel's body, and what the program returns.
#include "lang/tracer.h"

#include <fmt/format.h>

#include <limits>

#include "lang/host_math.h"

namespace hc::lang {

Tracer::Tracer(const Module& module, const Choices& choices, DType index_dtype)
    : module_(module), blocks_(program_, choices), choices_(choices) {
  program_.index_dtype = index_dtype;
}

Result<ir::Program> Tracer::run(const FunctionPtr& function, const std::string& name, const std::vector<Arg>& args) {
  program_.name = name;
  frames_.push_back(std::make_unique<Frame>());
  frame().kernel = true;
  blocks_.scan(function->body);
  HC_TRY(bind_params(*function, args));
  HC_TRY(check_between_loops(function->body));
  if (device_loops_.empty()) {
    return Diagnostic{Code::no_device_loops,
                      fmt::format("the kernel {} has no hl.tile or hl.grid loop at its top level", name)}
        .at(function->span)
        .fix("write the device part as `for tile in hl.tile(...)` directly in the function");
  }
  HC_TRY(exec(function->body));
  HC_TRY(finish(frame().result, function->span));
  name_tensors();
  return std::move(program_);
}

Status Tracer::bind_params(const Function& function, const std::vector<Arg>& args) {
  if (args.size() > function.params.size()) {
    return Diagnostic{Code::surplus_arguments,
                      fmt::format("{} takes {} argument{} and gets {}", program_.name, function.params.size(),
                                  function.params.size() == 1 ? "" : "s", args.size())}
        .at(function.span);
  }
  for (size_t i = 0; i < function.params.size(); ++i) {
    const FunctionParam& param = function.params[i];
    if (!param.plain) {
      return Diagnostic{Code::statement_not_supported, "a kernel takes plain parameters, without * and **"}.at(
          param.span);
    }
    Value value;
    if (i < args.size()) {
      value = HC_TRY(bind_arg(param, static_cast<int>(i), args[i]));
    } else if (param.value) {
      value = HC_TRY(eval(*param.value));
    } else {
      return Diagnostic{Code::bad_argument, fmt::format("the argument {} of {} is missing", param.name, program_.name)}
          .at(param.span);
    }
    frame().host[param.name] = std::move(value);
  }
  return success();
}

Result<Value> Tracer::bind_arg(const FunctionParam& param, int position, const Arg& arg) {
  const std::string& annotation = param.annotation;
  const bool wants_tensor = annotation.ends_with("Tensor") || annotation.find("Tensor |") != std::string::npos;
  const auto mismatch = [&](std::string_view what) {
    return Diagnostic{Code::bad_argument, fmt::format("{} is declared {} and gets {}", param.name, annotation, what)}
        .at(param.span);
  };
  if (const auto* spec = std::get_if<TensorSpec>(&arg)) {
    if (annotation == "int" || annotation == "float" || annotation == "bool" || annotation == "str")
      return mismatch("a tensor");
    ir::Storage storage;
    storage.name = param.name;
    storage.dtype = spec->dtype;
    storage.numel = spec->span();
    storage.role = ir::StorageRole::param;
    storage.param_index = position;
    ir::Tensor tensor;
    tensor.name = param.name;
    tensor.storage = static_cast<ir::StorageId>(program_.storages.size());
    tensor.dtype = spec->dtype;
    tensor.shape = spec->shape;
    tensor.strides = spec->full_strides();
    program_.storages.push_back(std::move(storage));
    program_.tensors.push_back(std::move(tensor));
    return Value(HostTensor{static_cast<ir::TensorId>(program_.tensors.size() - 1)});
  }
  if (wants_tensor && !std::holds_alternative<None>(arg)) return mismatch(to_text(arg));
  if (const auto* flag = std::get_if<bool>(&arg)) return Value(*flag);
  if (const auto* number = std::get_if<double>(&arg)) return Value(*number);
  if (const auto* text = std::get_if<std::string>(&arg)) return Value(*text);
  if (const auto* dtype = std::get_if<DTypeArg>(&arg)) return Value(dtype->dtype);
  if (const auto* whole = std::get_if<int64_t>(&arg)) {
    // Python would pass an int on as it is; arithmetic with it gives floats where the annotation says float.
    return annotation.starts_with("float") ? Value(static_cast<double>(*whole)) : make_int(*whole);
  }
  if (const auto* list = std::get_if<std::vector<int64_t>>(&arg)) {
    Values items;
    for (int64_t item : *list) items.push_back(make_int(item));
    return make_tuple(std::move(items), true);
  }
  return Value(None{});
}

Status Tracer::finish(const Value& result, const Span& span) {
  Values values;
  if (const Values* items = items_of(result)) {
    values = *items;
  } else if (!result.is<None>()) {
    values.push_back(result);
  }
  for (const Value& value : values) {
    ir::Returned returned;
    if (const auto* tensor = value.get<HostTensor>()) {
      returned.tensor = tensor->id;
    } else if (value.is<None>()) {
      returned.kind = ir::Returned::Kind::none;
    } else if (const std::optional<double> number = number_of(value)) {
      returned.kind = ir::Returned::Kind::number;
      returned.number = *number;
    } else {
      return Diagnostic{Code::unsupported_feature, fmt::format("a kernel cannot return {} yet", describe(value))}.at(
          span);
    }
    program_.returned.push_back(returned);
  }
  return success();
}

/// Gives every storage and tensor a name of its own.
void Tracer::name_tensors() {
  std::set<std::string> taken;
  const auto unique = [&](std::string& name, const std::string& fallback) {
    if (name.empty()) name = fallback;
    const std::string base = name;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}.{}", base, i);
  };
  for (ir::Storage& storage : program_.storages) unique(storage.name, "temp");
  taken.clear();
  for (ir::Tensor& tensor : program_.tensors) unique(tensor.name, program_.storage(tensor.storage).name);
}

Result<ir::Program> trace(const Module& module, std::string_view kernel, const std::vector<Arg>& args,
                          const Choices& choices) {
  const Kernel found = HC_TRY(find_kernel(module, kernel));
  const FunctionPtr function = HC_TRY(find_function(module, kernel));
  ir::Program program = HC_TRY(Tracer(module, choices, DType::i32).run(function, found.name, args));
  // The index type must hold the offsets of the largest tensor, and allocations are known only after a trace.
  for (const ir::Tensor& tensor : program.tensors) {
    if (tensor.numel() <= std::numeric_limits<int32_t>::max()) continue;
    return Tracer(module, choices, DType::i64).run(function, found.name, args);
  }
  return program;
}

}  // namespace hc::lang
