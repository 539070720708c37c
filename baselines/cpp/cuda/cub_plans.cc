// Plans of row sums by CUB: threads a block, items a thread, blocks a row.
#include "cuda/plan.h"

namespace hc::baselines {
namespace {

constexpr int64_t kManyBlocks = 132 * 8;  // enough to fill the largest GPU of today

/// Blocks a row that are worth trying: one where there are rows enough, and powers of two up to some waves otherwise.
std::vector<int64_t> splits_of(const Matrix& x, int64_t tile) {
  std::vector<int64_t> out;
  if (x.rows >= kManyBlocks / 64 || x.columns <= 64 * tile) out.push_back(1);
  for (int64_t splits = 2; splits <= 4096; splits *= 2) {
    const bool fills = x.rows * splits >= kManyBlocks / 8 && x.rows * splits <= 4 * kManyBlocks;
    if (x.rows < kManyBlocks && fills && splits * tile <= x.columns) out.push_back(splits);
  }
  return out;
}

KernelPlan plan_of(const Call& call, int64_t threads, int64_t items, bool pairs, int64_t splits) {
  using Kind = Parameter::Kind;
  const Matrix x = matrix_of(call.tensor(0));
  const int64_t columns = pairs ? x.columns / 2 : x.columns;
  KernelPlan plan{{{"threads", threads}, {"items", items}, {"pairs", pairs}, {"splits", splits}},
                  "sum.cu",
                  element_define(call.tensor(0).dtype),
                  {},
                  splits > 1 ? x.rows * splits * 4 : 0};
  plan.defines.push_back("THREADS=" + std::to_string(threads));
  plan.defines.push_back("ITEMS=" + std::to_string(items));
  plan.defines.push_back(std::string("PAIRS=") + (pairs ? "1" : "0"));
  const std::array<unsigned, 3> block = {static_cast<unsigned>(threads), 1, 1};
  const auto rows = static_cast<unsigned>(x.rows);
  const bool tall = splits == 1;  // rows along x, which may be many
  const Parameter partial{splits > 1 ? Kind::scratch : Kind::number, 0};
  plan.launches.push_back(
      {tall ? "sum_rows_tall" : "sum_rows",
       {tall ? rows : static_cast<unsigned>(splits), tall ? 1u : rows, 1},
       block,
       0,
       {{Kind::argument, 0}, {Kind::output, 0}, partial, {Kind::number, columns}, {Kind::number, splits}}});
  if (splits > 1) {
    plan.launches.push_back(
        {"sum_splits", {rows, 1, 1}, block, 0, {partial, {Kind::output, 0}, {Kind::number, splits}}});
  }
  return plan;
}

Result<std::vector<KernelPlan>> plans(const Call& call) {
  if (call.operation != "sum") {
    return Diagnostic{.code = Code::not_available, .message = "cub has sum, not `" + call.operation + "`"};
  }
  const Matrix x = matrix_of(call.tensor(0));
  const bool paired = call.tensor(0).dtype != DType::f32 && x.columns % 2 == 0;
  std::vector<KernelPlan> out;
  for (const int64_t threads : {128, 256, 512}) {
    for (const int64_t items : {8, 16, 32}) {
      for (const int64_t splits : splits_of(x, threads * items)) {
        out.push_back(plan_of(call, threads, items, paired, splits));
      }
    }
  }
  return out;
}

}  // namespace

const Family& cub_family() {
  static const Family kFamily{"cub",
                              "1",
                              {{"CUB", {"cub/cub.cuh", "cuda/__cccl_config"}, "pip install nvidia-cuda-cccl"},
                               {"CUDA's headers", {"cuda_fp16.h"}, "pip install nvidia-cuda-runtime"}},
                              plans};
  return kFamily;
}

}  // namespace hc::baselines
