// The whole way on this machine: shipped kernels, awkward shapes, random configs; compiled, run once on poisoned
// outputs, compared with the oracle. The seed is printed; CONFORM_SEED and CONFORM_ROUNDS set another one and more
// configs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/files.h"
#include "base/tensor.h"
#include "compile/compile.h"
#include "interp/oracle.h"
#include "runtime/toolchain.h"
#include "target/target.h"

namespace hc::conform {
namespace {

struct Case {
  const char* kernel;  ///< file:name; the file is in kernels/, or features.py beside this test
  std::vector<const char*> args;
};

/// One, a prime, a non-multiple, a multiple of every vector; dtypes vary.
const std::vector<Case> kCases = {
    {"add.py:add", {"f32[5,7]", "f32[7]"}},
    {"add.py:add", {"bf16[33,64]", "f16[33,1]"}},
    {"exp.py:exp_fwd", {"f64[3,131]"}},
    {"exp.py:exp_bwd", {"bf16[1031]", "bf16[1031]"}},
    {"softmax.py:softmax", {"f32[13,257]"}},
    {"softmax.py:softmax", {"f64[4,33]"}},
    {"softmax.py:softmax_decomposed", {"bf16[7,64]"}},
    {"softmax.py:softmax_two_pass", {"f32[5,193]"}},
    {"softmax.py:softmax_bwd", {"f16[3,100]", "f16[3,100]=softmax_like"}},
    {"sum.py:sum_kernel", {"i32[7,131]"}},
    {"sum.py:sum_kernel", {"f32[1,1]"}},
    {"long_sum.py:longsum", {"f16[3,1009]"}},
    {"long_sum.py:longsum_manual", {"f32[3,1009]"}},
    {"rms_norm.py:rms_norm_fwd", {"f16[9,96]", "f16[96]"}},
    {"rms_norm.py:rms_norm_bwd", {"f32[37,51]", "f32[37,51]", "f32[51]", "f32[37,1]=uniform(0.5,2)"}},
    {"layer_norm.py:layer_norm_fwd", {"f32[9,133]", "[133]", "f32[133]", "f32[133]"}},
    {"layer_norm.py:layer_norm_fwd", {"bf16[1,64]", "[64]", "bf16[64]"}},
    {"layer_norm.py:layer_norm_bwd", {"f32[19,67]", "f32[19,67]", "f32[19]", "f32[19]=uniform(0.5,2)", "f32[67]"}},
    {"cross_entropy.py:cross_entropy", {"f32[11,101]", "i64[11]=range(0,101)"}},
    {"cross_entropy.py:cross_entropy_flat", {"bf16[6,37]", "i32[6]=range(0,37)"}},
    {"geglu.py:geglu", {"f32[3,37]", "f32[3,37]"}},
    {"geglu.py:geglu_bwd", {"f16[5,41]", "f16[5,41]", "f16[5,41]"}},
    {"swiglu.py:swiglu_fwd", {"bf16[3,37]", "bf16[3,37]"}},
    {"swiglu.py:swiglu_bwd", {"f32[7,59]", "f32[7,59]", "f32[7,59]"}},
    {"features.py:positions", {"f32[7,131]"}},
    {"features.py:positions", {"i32[5,33]"}},
    {"features.py:column_positions", {"f64[33,21]"}},
    {"features.py:columns", {"f32[23,37]"}},
    {"features.py:columns_by_blocks", {"bf16[37,53]"}},
    {"features.py:truths", {"f32[9,77]"}},
    {"features.py:transposed", {"f32[13,29]@(1,13)", "f32[29,13]"}},
    {"features.py:shifted", {"f32[7,45]"}},
    {"features.py:in_place", {"f32[7,45]"}},
    {"features.py:integers", {"i64[9,19]=range(-50,50)", "i64[9,19]=range(0,7)"}},
    {"features.py:integers", {"i16[9,19]=range(-50,50)", "i16[9,19]=range(0,7)"}},
    {"features.py:branches", {"f32[9,41]", "f32[9]"}},
    {"features.py:swaps", {"f32[5,41]"}},
    {"features.py:outer", {"f32[9]", "f32[41]"}},
    {"features.py:folded", {"f32[9,20]"}},
    {"features.py:cube", {"f32[3,17,21]"}},
    {"features.py:noise", {"f32[9,20]", "7"}},
};

/// Storages of one run: the inputs as they were, and the memory that the kernel works on.
struct Memory {
  std::vector<TensorBuffer> before, after;
  std::vector<const void*> initial, final;
  std::vector<void*> pointers;

  Memory(const ir::Program& program, const std::vector<lang::Arg>& args) {
    for (size_t i = 0; i < program.storages.size(); ++i) {
      const ir::Storage& storage = program.storages[i];
      TensorSpec spec;
      spec.dtype = storage.dtype;
      spec.shape = {storage.numel};
      const bool param = storage.role == ir::StorageRole::param;
      if (param) spec.distribution = std::get<TensorSpec>(args[static_cast<size_t>(storage.param_index)]).distribution;
      before.emplace_back(spec);
      after.emplace_back(spec);
      if (param) {
        before.back().fill_random(1, static_cast<uint32_t>(i));
        after.back().fill_random(1, static_cast<uint32_t>(i));
      } else {
        after.back().poison();
      }
    }
    for (size_t i = 0; i < after.size(); ++i) {
      initial.push_back(program.storages[i].role == ir::StorageRole::param ? before[i].data() : nullptr);
      final.push_back(after[i].data());
      pointers.push_back(after[i].data());
    }
  }
};

class Conform : public testing::TestWithParam<size_t> {
 protected:
  static Result<interp::CheckOutcome> run(const compile::Request& request, const knob::Config& config) {
    const compile::Compiled compiled = HC_TRY(compile::compile(request, config, target::host()));
    runtime::Toolchain toolchain = HC_TRY(runtime::find_toolchain());
    for (std::string& flag : toolchain.flags) {
      if (flag == "-O3") flag = "-O1";  // the compiler's optimiser is not under test, and the test is to be quick
    }
    std::vector<runtime::Header> headers;
    for (compile::Header& header : compile::headers()) headers.push_back({header.name, header.text});
    const std::string folder = make_temp_folder("conform");
    runtime::Manifest manifest;
    manifest.kernel = request.kernel;
    manifest.shared_object = HC_TRY(runtime::build_shared_object(toolchain, compiled.source, headers, folder, 120));
    for (const ir::Storage& storage : compiled.program.storages) {
      manifest.storages.push_back({storage.name, storage.dtype, storage.numel, storage.param_index});
    }
    const auto kernel = HC_TRY(runtime::LoadedKernel::load(manifest));
    Memory memory(compiled.program, request.args);
    kernel->call(memory.pointers.data());
    return interp::check(compiled.program, memory.initial, memory.final, {});
  }

  static int64_t setting(const char* name, int64_t fallback) {
    const char* text = std::getenv(name);
    return text ? std::atoll(text) : fallback;
  }
};

TEST_P(Conform, RandomConfigsAgreeWithTheOracle) {
  const Case& test = kCases[GetParam()];
  const std::string words = test.kernel;
  const size_t colon = words.find(':');
  compile::Request request;
  const std::string folder = words.starts_with("features.py") ? "/test/conform/" : "/kernels/";
  const auto module = lang::parse_file(HC_SOURCE_DIR + folder + words.substr(0, colon));
  ASSERT_TRUE(module) << diag::render(module.error());
  request.module = module.value();
  request.kernel = words.substr(colon + 1);
  for (const char* text : test.args) {
    auto arg = lang::arg_from_text(text);
    ASSERT_TRUE(arg) << diag::render(arg.error());
    request.args.push_back(std::move(arg).value());
  }
  const auto space = compile::space(request, target::host());
  ASSERT_TRUE(space) << diag::render(space.error());
  const int64_t seed = setting("CONFORM_SEED", 7), rounds = setting("CONFORM_ROUNDS", 1);
  std::mt19937_64 random(static_cast<uint64_t>(seed) * 1000 + GetParam());
  for (int64_t round = 0; round < rounds;) {
    knob::Config config;
    for (const knob::Choice& choice : space.value().choices) {
      config.set(choice.key, choice.values[random() % choice.values.size()]);
    }
    const auto outcome = run(request, config);
    if (!outcome && outcome.error().code == Code::invalid_config) continue;  // a nested block larger than its parent
    ++round;
    const std::string what = words + " " + knob::to_text(config) + "\nseed " + std::to_string(seed);
    ASSERT_TRUE(outcome) << what << "\n" << diag::render(outcome.error());
    EXPECT_GT(outcome.value().checked, 0) << what;
    EXPECT_EQ(outcome.value().wrong, 0) << what << "\nfirst: element " << outcome.value().first.number << " is "
                                        << outcome.value().first.got << ", not " << outcome.value().first.want.value;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conform, testing::Range<size_t>(0, kCases.size()));

}  // namespace
}  // namespace hc::conform
