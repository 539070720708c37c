// Checks the arguments of each operation and derives its outputs.
#include "cuda/call.h"

#include <fmt/format.h>

namespace hc::baselines {
namespace {

Diagnostic refused(std::string why) { return Diagnostic{.code = Code::not_available, .message = std::move(why)}; }

bool all_tensors(const Call& call, size_t count) {
  if (call.args.size() < count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!call.args[i].tensor || call.tensor(i).numel() == 0) return false;
    const TensorSpec& spec = call.tensor(i);
    if (spec.full_strides() != contiguous_strides(spec.shape)) return false;
  }
  return true;
}

TensorSpec like(const TensorSpec& spec, std::vector<int64_t> shape) { return {spec.dtype, std::move(shape), {}, {}}; }

Status sum_outputs(Call* call) {
  const TensorSpec& x = call->tensor(0);
  const std::string dim = call->args.size() > 1 ? call->args[1].text : "-1";
  if (dim != "-1" && dim != std::to_string(x.shape.size() - 1)) {
    return refused("sums over the last dimension only are written, not over " + dim);
  }
  call->outputs = {like(x, {x.shape.begin(), x.shape.end() - 1})};
  return success();
}

Status gemm_outputs(Call* call) {
  const TensorSpec &a = call->tensor(0), &b = call->tensor(1);
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.dtype != b.dtype) {
    return refused("a product needs two matrices of one element type");
  }
  const bool transposed = call->operation == "gemm_nt";
  if (a.shape[1] != b.shape[transposed ? 1 : 0]) return refused("the matrices' inner sizes differ");
  call->outputs = {like(a, {a.shape[0], b.shape[transposed ? 0 : 1]})};
  return success();
}

}  // namespace

int64_t Call::bytes() const {
  int64_t total = 0;
  for (const Argument& argument : args) {
    if (argument.tensor) total += argument.tensor->span() * dtype_bytes(argument.tensor->dtype);
  }
  for (const TensorSpec& output : outputs) total += output.numel() * dtype_bytes(output.dtype);
  return total;
}

Matrix matrix_of(const TensorSpec& spec) {
  if (spec.shape.empty()) return {};
  return {spec.numel() / spec.shape.back(), spec.shape.back()};
}

Result<Call> make_call(const std::string& operation, const std::vector<std::string>& texts) {
  Call call{operation, {}, {}};
  for (const std::string& text : texts) {
    std::string why;
    call.args.push_back({text, tensor_spec_from_text(text, &why)});
  }
  const bool two = operation == "add" || operation == "gemm_nn" || operation == "gemm_nt";
  const bool one = operation == "copy" || operation == "sum" || operation == "softmax";
  if (!one && !two) {
    return refused("there is no operation `" + operation + "` here, but copy, add, sum, softmax, gemm_nn and gemm_nt");
  }
  if (!all_tensors(call, two ? 2 : 1)) {
    return refused(
        fmt::format("`{}` needs {} contiguous tensor{} with elements", operation, two ? "two" : "a", two ? "s" : ""));
  }
  const TensorSpec& x = call.tensor(0);
  if (x.shape.empty()) return refused("`" + operation + "` needs a dimension");
  if (x.dtype != DType::f32 && x.dtype != DType::f16 && x.dtype != DType::bf16) {
    return refused(fmt::format("elements are f32, f16 or bf16 here, not {}", dtype_name(x.dtype)));
  }
  if (operation == "sum") {
    HC_TRY(sum_outputs(&call));
  } else if (operation.starts_with("gemm")) {
    HC_TRY(gemm_outputs(&call));
  } else {
    const bool same = !two || (x.shape == call.tensor(1).shape && x.dtype == call.tensor(1).dtype);
    if (!same) return refused("the tensors of `" + operation + "` differ in shape or element type");
    call.outputs = {like(x, x.shape)};
  }
  return call;
}

}  // namespace hc::baselines
