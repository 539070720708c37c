// Plans of our copy and add kernels: threads a block and vectors a thread.
#include "cuda/plan.h"

namespace hc::baselines {
namespace {

Result<std::vector<KernelPlan>> plans(const Call& call) {
  const bool add = call.operation == "add";
  if (!add && call.operation != "copy") {
    return Diagnostic{.code = Code::not_available,
                      .message = "cuda-cpp has copy and add, not `" + call.operation + "`"};
  }
  const TensorSpec& x = call.tensor(0);
  const int64_t per_vector = 16 / dtype_bytes(x.dtype);
  std::vector<Parameter> parameters = {{Parameter::Kind::argument, 0}};
  if (add) parameters.push_back({Parameter::Kind::argument, 1});
  parameters.push_back({Parameter::Kind::output, 0});
  parameters.push_back({Parameter::Kind::number, x.numel()});
  std::vector<KernelPlan> out;
  for (const int64_t threads : {256, 512}) {
    for (const int64_t unroll : {1, 2, 4, 8}) {
      const int64_t tile = threads * unroll * per_vector;
      KernelPlan plan{{{"threads", threads}, {"unroll", unroll}}, "pointwise.cu", element_define(x.dtype), {}, 0};
      plan.defines.push_back("THREADS=" + std::to_string(threads));
      plan.defines.push_back("UNROLL=" + std::to_string(unroll));
      const auto blocks = static_cast<unsigned>((x.numel() + tile - 1) / tile);
      plan.launches.push_back({call.operation, {blocks, 1, 1}, {static_cast<unsigned>(threads), 1, 1}, 0, parameters});
      out.push_back(std::move(plan));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> element_define(DType type) {
  return {std::string("ELEMENT=") + (type == DType::f32 ? "0" : type == DType::f16 ? "1" : "2")};
}

const Family& pointwise_family() {
  static const Family kFamily{"cuda-cpp", "1", {}, plans};
  return kFamily;
}

}  // namespace hc::baselines
