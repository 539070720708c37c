// OpenBLAS's operations against the definition; what it is not given, and what is said without it.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/subject.h"

namespace hc::bench {
namespace {

PrepareRequest request(const char* operation, std::vector<std::string> args) {
  PrepareRequest out;
  out.implementation = "openblas";
  out.operation = operation;
  out.args = std::move(args);
  out.seed = 5;
  out.threads = 2;
  return out;
}

class OpenBlas : public testing::Test {
 protected:
  void SetUp() override {
    if (openblas_offers().empty()) GTEST_SKIP() << "no OpenBLAS is here: apt-get install libopenblas0";
  }
  /// The output of a launch on poisoned memory.
  std::vector<float> launch(const PrepareRequest& wanted) {
    Result<std::unique_ptr<Subject>> made = make_subject(wanted, inputs_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    if (!made.ok()) return {};
    made.value()->reset();
    EXPECT_EQ(made.value()->launch(), 0);
    const Output out = made.value()->outputs().at(0);
    const auto* values = static_cast<const float*>(out.data);
    return {values, values + out.numel};
  }
  const float* input(const PrepareRequest& wanted, size_t i) {
    drawn_ = inputs_.draw(wanted.args, wanted.seed).value();
    return static_cast<const float*>(drawn_.buffers[i]->data());
  }
  InputCache inputs_;
  InputCache::Drawn drawn_;
};

TEST_F(OpenBlas, SumsRows) {
  const PrepareRequest wanted = request("sum", {"f32[3,7,1001]", "-1"});
  const std::vector<float> got = launch(wanted);
  ASSERT_EQ(got.size(), 21u);
  const float* x = input(wanted, 0);
  for (size_t r = 0; r < got.size(); ++r) {
    double sum = 0;
    for (size_t c = 0; c < 1001; ++c) sum += x[r * 1001 + c];
    EXPECT_NEAR(got[r], sum, 1e-3) << r;
  }
}

TEST_F(OpenBlas, MultipliesMatricesWithTheSecondAsItIsOrTransposed) {
  for (const bool transposed : {false, true}) {
    const PrepareRequest wanted =
        request(transposed ? "gemm_nt" : "gemm_nn", {"f32[5,33]", transposed ? "f32[9,33]" : "f32[33,9]"});
    const std::vector<float> got = launch(wanted);
    ASSERT_EQ(got.size(), 45u);
    const float *a = input(wanted, 0), *b = input(wanted, 1);
    for (size_t r = 0; r < 5; ++r) {
      for (size_t c = 0; c < 9; ++c) {
        double sum = 0;
        for (size_t k = 0; k < 33; ++k) sum += double{a[r * 33 + k]} * b[transposed ? c * 33 + k : k * 9 + c];
        EXPECT_NEAR(got[r * 9 + c], sum, 1e-4) << r << " " << c;
      }
    }
  }
}

TEST_F(OpenBlas, SaysWhatRunsAndRefusesTheRest) {
  const Result<std::unique_ptr<Subject>> made = make_subject(request("sum", {"f32[4,8]"}), inputs_);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const PrepareReply& reply = made.value()->reply();
  EXPECT_EQ(reply.bytes, 4 * 32 + 4 * 4);
  EXPECT_EQ(reply.threads, 2);
  EXPECT_NE(reply.version.find("OpenBLAS"), std::string::npos);
  EXPECT_FALSE(reply.library.empty());
  for (const PrepareRequest& wrong :
       {request("softmax", {"f32[4,8]"}), request("sum", {"bf16[4,8]"}), request("sum", {"f32[4,8]@(1,4)"}),
        request("sum", {"3"}), request("gemm_nn", {"f32[4,8]"}), request("gemm_nn", {"f32[4,8]", "f32[4,8]"})}) {
    const Result<std::unique_ptr<Subject>> refused = make_subject(wrong, inputs_);
    ASSERT_FALSE(refused.ok()) << wrong.operation << " " << wrong.args.back();
    EXPECT_EQ(refused.error().code, Code::not_available) << refused.error().message;
  }
}

TEST(OpenBlasAbsent, SaysHowToGetIt) {
  InputCache inputs;
  PrepareRequest wanted = request("sum", {"f32[4,8]"});
  wanted.library = "/nowhere/libopenblas.so.0";
  const Result<std::unique_ptr<Subject>> refused = make_subject(wanted, inputs);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::not_available);
  EXPECT_NE(refused.error().help.find("apt-get install libopenblas0"), std::string::npos);
}

/// What `hello` lists: a library that is here is offered, one that is not is missing with the way to get it.
TEST(Discovery, OffersALibraryOrSaysHowToGetIt) {
  std::vector<Missing> missing;
  const std::vector<Offer> blas = openblas_offers(&missing);
  EXPECT_EQ(missing.size(), blas.empty() ? 1U : 0U);
  const size_t before = missing.size();
  const std::vector<Offer> dnn = onednn_offers({"/nowhere/libdnnl.so.3"}, &missing);
  EXPECT_EQ(missing.size() - before, dnn.empty() ? 1U : 0U);
  for (const Missing& one : missing) {
    EXPECT_NE(one.reason.find("cannot be opened"), std::string::npos) << one.reason;
    EXPECT_NE(one.help.find("install"), std::string::npos) << one.help;
  }
}

}  // namespace
}  // namespace hc::bench
