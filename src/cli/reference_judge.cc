// Comparison with the outputs of a reference implementation.
#include "cli/reference_judge.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/numeric.h"
#include "bench/worker_client.h"
#include "cli/worker_arm.h"

namespace hc::cli {
namespace {

/// Four units in the last place of a value near one.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 0x1p-6;
    case DType::f16:
      return 0x1p-9;
    case DType::f32:
      return 0x1p-16;
    case DType::f64:
      return 0x1p-40;
    default:
      return 0;
  }
}

double mean_magnitude(const std::string& bytes, DType dtype) {
  const auto count = static_cast<int64_t>(bytes.size()) / dtype_bytes(dtype);
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = std::fabs(load_double(bytes.data(), dtype, i));
    if (!std::isfinite(value)) continue;
    sum += value;
    ++finite;
  }
  return finite == 0 ? 0 : sum / static_cast<double>(finite);
}

bool same_special(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

bench::OutputVerdict wrong(std::string message) { return {false, 0, 0, std::move(message)}; }

}  // namespace

Result<std::unique_ptr<ReferenceJudge>> ReferenceJudge::make(const tune::Contender& reference) {
  const std::unique_ptr<bench::Worker> worker =
      HC_TRY(bench::Worker::start(reference.argv, worker_limits(), reference.env));
  HC_TRY(worker->prepare(reference.prepare));
  const TempFolder folder("hillclimb-reference");
  const bench::CheckReply reply = HC_TRY(worker->check({.out_dir = folder.path()}));
  auto judge = std::make_unique<ReferenceJudge>();
  judge->name_ = reference.arm.name;
  for (const bench::OutputFile& file : reply.outputs) {
    Output output{file.dtype, read_file(file.path).value_or(""), 0};
    output.mean = mean_magnitude(output.bytes, output.dtype);
    judge->outputs_.push_back(std::move(output));
  }
  (void)worker->bye();
  if (!judge->outputs_.empty()) return judge;
  return Diagnostic{Code::measurement_failed, fmt::format("the reference {} wrote no output", reference.arm.name)};
}

Result<bench::OutputVerdict> ReferenceJudge::judge(const tune::Contender& contender, const bench::CheckReply& outputs) {
  bench::OutputVerdict verdict;
  if (!contender.checked) return verdict;
  if (outputs.outputs.size() < outputs_.size()) {
    return wrong(fmt::format("{} outputs, and {} has {}", outputs.outputs.size(), name_, outputs_.size()));
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const Output& want = outputs_[k];
    const bench::OutputFile& file = outputs.outputs[k];
    std::string why;
    const std::optional<std::string> got = read_file(file.path, &why);
    if (!got) return Diagnostic{Code::measurement_failed, fmt::format("output {} cannot be read: {}", k, why)};
    if (file.dtype != want.dtype || got->size() != want.bytes.size()) {
      return wrong(fmt::format("output {} is {} bytes of {}, and {}'s is {} of {}", k, got->size(),
                               dtype_name(file.dtype), name_, want.bytes.size(), dtype_name(want.dtype)));
    }
    const auto count = static_cast<int64_t>(got->size()) / dtype_bytes(want.dtype);
    for (int64_t i = 0; i < count; ++i) {
      const double a = load_double(got->data(), want.dtype, i);
      const double b = load_double(want.bytes.data(), want.dtype, i);
      if (same_special(a, b)) continue;
      const double error = std::fabs(a - b) / (tolerance(want.dtype) * (std::fabs(b) + want.mean));
      verdict.nonfinite += !std::isfinite(a) && std::isfinite(b);
      if (error <= 1) {
        verdict.worst_error = std::max(verdict.worst_error, error);
      } else if (verdict.correct) {
        verdict.correct = false;
        verdict.message = fmt::format("element {} of output {} is {}, and {} has {}", i, k, a, name_, b);
      }
    }
  }
  return verdict;
}

}  // namespace hc::cli
