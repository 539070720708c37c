// Plans as data: what is offered for which call, and that every kernel text compiles where NVRTC and the headers are.
#include "cuda/plan.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "cuda/way.h"

namespace hc::baselines {
namespace {

Call call_of(const std::string& operation, const std::vector<std::string>& args) {
  Result<Call> call = make_call(operation, args);
  EXPECT_TRUE(call.ok()) << (call.ok() ? "" : call.error().message);
  return call.ok() ? std::move(call).value() : Call{};
}

std::string refusal_of(const std::string& operation, const std::vector<std::string>& args) {
  const Result<Call> call = make_call(operation, args);
  return call.ok() ? "" : call.error().message;
}

TEST(Calls, outputs_and_bytes_follow_from_the_arguments) {
  EXPECT_EQ(call_of("add", {"f32[10]", "f32[10]"}).bytes(), 120);
  EXPECT_EQ(to_text(call_of("sum", {"bf16[6,8]", "-1"}).outputs[0]), "bf16[6]");
  EXPECT_EQ(to_text(call_of("gemm_nt", {"f16[4,8]", "f16[5,8]"}).outputs[0]), "f16[4,5]");
  EXPECT_EQ(to_text(call_of("gemm_nn", {"f16[4,8]", "f16[8,5]"}).outputs[0]), "f16[4,5]");
}

TEST(Calls, what_does_not_fit_is_refused_in_words) {
  EXPECT_NE(refusal_of("gemm_nn", {"f16[4,8]", "f16[5,8]"}).find("inner sizes differ"), std::string::npos);
  EXPECT_NE(refusal_of("sum", {"f32[6,8]", "0"}).find("last dimension only"), std::string::npos);
  EXPECT_NE(refusal_of("add", {"f32[6]"}).find("two contiguous tensors"), std::string::npos);
  EXPECT_NE(refusal_of("softmax", {"f32[8,8]@(1,8)"}).find("contiguous"), std::string::npos);
  EXPECT_NE(refusal_of("softmax", {"f64[8,8]"}).find("f64"), std::string::npos);
  EXPECT_NE(refusal_of("sort", {"f32[8]"}).find("no operation `sort`"), std::string::npos);
}

TEST(Plans, every_element_is_reached_once) {
  const Call call = call_of("copy", {"bf16[100001]"});
  const Result<std::vector<KernelPlan>> made = pointwise_family().plans(call);
  ASSERT_TRUE(made.ok());
  for (const KernelPlan& plan : made.value()) {
    const KernelLaunch& launch = plan.launches[0];
    const int64_t tile = launch.block[0] * plan.config["unroll"].get<int64_t>() * 8;
    EXPECT_GE(launch.grid[0] * tile, 100001);
    EXPECT_LT((launch.grid[0] - 1) * tile, 100001);
    EXPECT_GE(launch.block[0], 8u) << "the tail is done by the first threads of the last block";
  }
}

TEST(Plans, few_long_rows_are_split_and_many_are_not) {
  const auto splits = [](const std::vector<std::string>& args) {
    int64_t most = 0;
    const Result<std::vector<KernelPlan>> plans = cub_family().plans(call_of("sum", args));
    for (const KernelPlan& plan : plans.value()) most = std::max(most, plan.config["splits"].get<int64_t>());
    return most;
  };
  EXPECT_EQ(splits({"f32[32768,4096]", "-1"}), 1);
  EXPECT_GE(splits({"f32[1,1073741824]", "-1"}), 1024);
  EXPECT_GE(splits({"f32[4,130000]", "-1"}), 16);
}

TEST(Plans, a_softmax_row_that_fits_no_registers_is_read_twice) {
  const auto kernels = [](const std::vector<std::string>& args) {
    std::string names;
    const Result<std::vector<KernelPlan>> plans = cute_family().plans(call_of("softmax", args));
    for (const KernelPlan& plan : plans.value()) names += plan.config["kernel"].get<std::string>() + " ";
    return names;
  };
  EXPECT_EQ(kernels({"f32[4,262144]"}).find("held"), std::string::npos);
  EXPECT_NE(kernels({"f32[4,262144]"}).find("twice"), std::string::npos);
  EXPECT_EQ(kernels({"bf16[32768,256]"}).find("twice"), std::string::npos);
  const Result<std::vector<KernelPlan>> odd = cute_family().plans(call_of("softmax", {"bf16[4,1001]"}));
  ASSERT_FALSE(odd.ok());
  EXPECT_NE(odd.error().message.find("16-byte vectors"), std::string::npos);
}

TEST(Plans, a_launch_survives_its_json) {
  const Result<std::vector<KernelPlan>> plans = cub_family().plans(call_of("sum", {"f32[1,1048576]", "-1"}));
  for (const KernelLaunch& launch : plans.value().back().launches) {
    const Result<KernelLaunch> back = launch_from_json(to_json(launch));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(to_json(back.value()), to_json(launch));
  }
  Json broken = to_json(plans.value()[0].launches[0]);
  broken["parameters"][0] = {{"tensor", 0}};
  EXPECT_FALSE(launch_from_json(broken).ok());
  EXPECT_FALSE(launch_from_json(Json::object()).ok());
}

/// Compiles the first and the last plan of the call for a Hopper GPU.
void compile(const Family& family, const Call& call) {
  const Places places;
  const Result<Nvrtc> nvrtc = Nvrtc::open(places);
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().message << "; " << nvrtc.error().help;
  const Result<std::vector<std::string>> includes = include_options(family, places);
  if (!includes.ok()) GTEST_SKIP() << includes.error().message << "; " << includes.error().help;
  std::vector<KernelPlan> plans = family.plans(call).value();
  plans = {plans.front(), plans.back()};
  for (const Result<std::string>& cubin : compile_plans(nvrtc.value(), plans, "sm_90a", includes.value(), "")) {
    ASSERT_TRUE(cubin.ok()) << cubin.error().message;
    EXPECT_EQ(cubin.value().substr(1, 3), "ELF");
  }
}

TEST(Compiled, copy_and_add) {
  for (const char* type : {"f32", "f16", "bf16"}) {
    const std::string tensor = std::string(type) + "[1000]";
    compile(pointwise_family(), call_of("add", {tensor, tensor}));
    if (IsSkipped()) return;
  }
}

TEST(Compiled, sum_by_cub) { compile(cub_family(), call_of("sum", {"bf16[4,130000]", "-1"})); }

TEST(Compiled, softmax_on_cute) { compile(cute_family(), call_of("softmax", {"bf16[64,16384]"})); }

TEST(Compiled, a_wrong_text_gives_the_compilers_words) {
  const Result<Nvrtc> nvrtc = Nvrtc::open(Places{});
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().message;
  const Result<std::string> cubin = nvrtc.value().compile("__global__ void k() { nonsense; }", "sm_90a", {});
  ASSERT_FALSE(cubin.ok());
  EXPECT_NE(cubin.error().message.find("nonsense"), std::string::npos);
}

TEST(Absent, libraries_and_headers_say_how_to_get_them) {
  Places nowhere({"/nonexistent"});
  nowhere.only_named();
  const Result<Nvrtc> nvrtc = Nvrtc::open(nowhere);
  ASSERT_FALSE(nvrtc.ok());
  EXPECT_NE(nvrtc.error().help.find("pip install nvidia-cuda-nvrtc"), std::string::npos);
  const Result<std::vector<std::string>> headers = include_options(cute_family(), nowhere);
  ASSERT_FALSE(headers.ok());
  EXPECT_NE(headers.error().help.find("pip install nvidia-cutlass"), std::string::npos);
  EXPECT_NE(include_options(cub_family(), nowhere).error().help.find("nvidia-cuda-cccl"), std::string::npos);
  EXPECT_NE(cudnn_version(nowhere).error().help.find("pip install nvidia-cudnn-cu13"), std::string::npos);
  EXPECT_NE(cublaslt_version(nowhere).error().help.find("pip install nvidia-cublas"), std::string::npos);
}

TEST(Headers, a_folder_holds_all_of_them_or_is_passed_over) {
  const std::string root = make_temp_folder("hc-headers-");
  const std::string half = join_path(root, "half"), whole = join_path(root, "whole/include/cccl");
  for (const std::string& folder : {half, whole}) {
    ASSERT_EQ(make_folders(join_path(folder, "cub")), "");
    ASSERT_EQ(write_file_atomic(join_path(folder, "cub/cub.cuh"), "\n"), "");
    ASSERT_EQ(write_file_atomic(join_path(folder, "cuda_fp16.h"), "\n"), "");
  }
  Places places({half, join_path(root, "whole")});
  places.only_named();
  EXPECT_FALSE(include_options(cub_family(), places).ok()) << "CUB without the C++ library that it includes";
  ASSERT_EQ(make_folders(join_path(whole, "cuda")), "");
  ASSERT_EQ(write_file_atomic(join_path(whole, "cuda/__cccl_config"), "\n"), "");
  const Result<std::vector<std::string>> options = include_options(cub_family(), places);
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options.value()[0], "-I" + whole);
  EXPECT_EQ(options.value()[1], "-I" + join_path(root, "whole/include")) << "CUTLASS says cccl/cuda/std/...";
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace hc::baselines
