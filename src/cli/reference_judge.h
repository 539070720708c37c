// Judges outputs by those of another implementation, where our own compiler cannot say what the kernel computes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tune/campaign.h"

namespace hc::cli {

/// Every element may differ from the reference's by a few units in the last place of its dtype, relative to the element
/// plus the mean magnitude of its tensor. That is weaker than the oracle's bound: an error that both share is not
/// found.
class ReferenceJudge : public tune::Judge {
 public:
  /// Runs the reference once on poisoned outputs and keeps what it wrote.
  static Result<std::unique_ptr<ReferenceJudge>> make(const tune::Contender& reference);
  Result<bench::OutputVerdict> judge(const tune::Contender& contender, const bench::CheckReply& outputs) override;

 private:
  struct Output {
    DType dtype = DType::f32;
    std::string bytes;
    double mean = 0;  ///< of the finite magnitudes
  };
  std::string name_;
  std::vector<Output> outputs_;
};

}  // namespace hc::cli
