// Plans of our softmax on CuTe: threads a row, rows a block, and vectors a thread where a row is held in registers.
#include "cuda/plan.h"

namespace hc::baselines {
namespace {

constexpr int64_t kVectorsMost = 16;  // 16-byte vectors that a thread holds: 64 registers

KernelPlan plan_of(const Call& call, int64_t threads, int64_t rows, int64_t vectors) {
  const Matrix x = matrix_of(call.tensor(0));
  const int64_t row_vectors = x.columns * dtype_bytes(call.tensor(0).dtype) / 16;
  const char* function = vectors > 0 ? "softmax_held" : "softmax_twice";
  KernelPlan plan{{{"kernel", function}, {"threads", threads}, {"rows", rows}, {"vectors", vectors}},
                  "softmax.cu",
                  element_define(call.tensor(0).dtype),
                  {},
                  0};
  plan.defines.push_back("THREADS=" + std::to_string(threads));
  plan.defines.push_back("ROWS=" + std::to_string(rows));
  plan.defines.push_back("VECTORS=" + std::to_string(std::max<int64_t>(vectors, 1)));
  plan.launches.push_back({function,
                           {static_cast<unsigned>((x.rows + rows - 1) / rows), 1, 1},
                           {static_cast<unsigned>(threads * rows), 1, 1},
                           0,
                           {{Parameter::Kind::argument, 0},
                            {Parameter::Kind::output, 0},
                            {Parameter::Kind::number, x.rows},
                            {Parameter::Kind::number, row_vectors}}});
  return plan;
}

Result<std::vector<KernelPlan>> plans(const Call& call) {
  if (call.operation != "softmax") {
    return Diagnostic{.code = Code::not_available, .message = "cute-cpp has softmax, not `" + call.operation + "`"};
  }
  const int64_t row_bytes = matrix_of(call.tensor(0)).columns * dtype_bytes(call.tensor(0).dtype);
  if (row_bytes % 16 != 0) {
    return Diagnostic{
        .code = Code::not_available,
        .message = "cute-cpp's softmax reads 16-byte vectors, and a row has " + std::to_string(row_bytes) + " bytes"};
  }
  const int64_t row_vectors = row_bytes / 16;
  std::vector<KernelPlan> out;
  for (const int64_t threads : {8, 16, 32, 64, 128, 256, 512, 1024}) {
    const int64_t vectors = (row_vectors + threads - 1) / threads;
    const bool idle = threads > 8 && row_vectors * 2 <= threads;
    const bool spills = threads == 1024 && vectors > 8;  // 64 registers a thread are all there are
    if (idle || vectors > kVectorsMost || spills) continue;
    out.push_back(plan_of(call, threads, threads < 128 ? 128 / threads : 1, vectors));
  }
  if (row_vectors > 2048) {
    for (const int64_t threads : {512, 1024}) out.push_back(plan_of(call, threads, 1, 0));
  }
  return out;
}

}  // namespace

const Family& cute_family() {
  static const Family kFamily{
      "cute-cpp",
      "1",
      {{"CuTe", {"cute/tensor.hpp"}, "pip install nvidia-cutlass (its headers are in cutlass_library/source/include)"},
       {"CUDA's C++ library",
        {"cuda/std/utility"},
        "pip install 'nvidia-cuda-cccl==13.0.*' (CUTLASS 4.2 does not compile with 13.3)"},
       {"CUDA's headers", {"cuda_fp16.h"}, "pip install nvidia-cuda-runtime"}},
      plans};
  return kFamily;
}

}  // namespace hc::baselines
