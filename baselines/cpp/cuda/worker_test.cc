// The GPU worker's program over its protocol: without a driver, and with stand-ins for the driver and cuBLASLt that
// work on host memory.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "bench/protocol.h"
#include "cuda/way.h"

namespace hc::baselines {
namespace {

/// Sends `requests` to a fresh worker, with the stand-ins in front of the system's libraries where `fake`.
std::vector<Json> talk(const std::vector<Json>& requests, bool fake, const std::string& options = "") {
  const std::string folder = make_temp_folder("cuda-worker");
  std::string text;
  for (const Json& request : requests) text += request.dump() + "\n";
  EXPECT_EQ(write_file_atomic(join_path(folder, "in"), text), "");
  const std::string stand_ins = HC_BINARY_DIR "/fake";
  std::string command =
      HC_BINARY_DIR "/hillclimb-cuda-worker " + options + " <" + join_path(folder, "in") + " 2>/dev/null";
  if (fake) command = "LD_LIBRARY_PATH=" + stand_ins + " " + command;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> chunk{};
  while (const size_t n = std::fread(chunk.data(), 1, chunk.size(), pipe)) out.append(chunk.data(), n);
  EXPECT_EQ(::pclose(pipe), 0);
  std::vector<Json> replies;
  for (size_t begin = 0, end = 0; (end = out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    replies.push_back(parse_json(out.substr(begin, end - begin)).value_or(Json("no JSON")));
  }
  EXPECT_EQ(replies.size(), requests.size());
  replies.resize(requests.size());
  return replies;
}

/// Options that name a folder where the kernel of `config` is compiled already: NVRTC itself does not bear the
/// stand-in. Empty where it cannot be compiled, with the reason.
std::string compiled(const Family& family, const std::string& operation, const std::vector<std::string>& args,
                     const Json& config, std::string* why) {
  const Result<Nvrtc> nvrtc = Nvrtc::open(Places{});
  const Result<std::vector<std::string>> includes = include_options(family, Places{});
  if (!nvrtc.ok() || !includes.ok()) return *why = (nvrtc.ok() ? includes.error() : nvrtc.error()).message, "";
  const std::string cache = make_temp_folder("kernels");
  const Call call = make_call(operation, args).value();
  const std::vector<KernelPlan> plans = wanted_plans(family.plans(call).value(), config);
  const auto made = compile_plans(nvrtc.value(), plans, "sm_90a", includes.value(), cache);
  EXPECT_TRUE(!made.empty() && made[0].ok());
  return "--cache " + cache;
}

const Json kHello{{"op", "hello"}, {"protocol", 1}, {"discover", true}};
const Json kBye{{"op", "bye"}};
const Json kCheck{{"op", "check"}};
const Json kCheckAll{{"op", "check"}, {"all", true}};

TEST(CudaWorker, without_a_driver_everything_is_missing_with_its_reason) {
  if (::access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "this machine has a CUDA driver";
  const std::vector<Json> replies =
      talk({kHello, {{"op", "prepare"}, {"implementation", "cub"}, {"operation", "sum"}, {"args", {"f32[4,4]"}}}, kBye},
           false);
  EXPECT_TRUE(replies[0]["offers"].empty());
  EXPECT_EQ(replies[0]["missing"].size(), 7u);
  for (const Json& row : replies[0]["missing"]) EXPECT_NE(row["reason"], "");
  EXPECT_EQ(replies[1]["code"], "NotAvailable");
  EXPECT_NE(replies[1]["message"].get<std::string>().find("no NVIDIA driver"), std::string::npos);
  EXPECT_EQ(replies[2]["ok"], true);
}

TEST(CudaWorker, requests_out_of_order_and_nonsense_are_refused_by_name) {
  const std::vector<Json> replies =
      talk({kCheck, {{"op", "hello"}, {"protocol", 9}}, kHello, {{"op", "dance"}}, Json("x"), kCheck, kBye}, true);
  EXPECT_NE(replies[0]["message"].get<std::string>().find("say hello"), std::string::npos);
  EXPECT_NE(replies[1]["message"].get<std::string>().find("protocol 1, and was asked for 9"), std::string::npos);
  EXPECT_NE(replies[3]["message"].get<std::string>().find("`dance`"), std::string::npos);
  EXPECT_EQ(replies[4]["ok"], false);
  EXPECT_NE(replies[5]["message"].get<std::string>().find("nothing is prepared"), std::string::npos);
}

TEST(CudaWorker, copies_are_prepared_checked_and_timed) {
  const std::vector<Json> replies = talk({kHello,
                                          {{"op", "prepare"},
                                           {"implementation", "memcpy"},
                                           {"operation", "copy"},
                                           {"args", {"f32[1000,10]"}},
                                           {"seed", 7}},
                                          kCheck,
                                          {{"op", "time"}, {"blocks", 3}, {"min_block_s", 0.0005}, {"warmup_s", 0.0}},
                                          {{"op", "device"}},
                                          {{"op", "drop"}},
                                          kCheck,
                                          kBye},
                                         true);
  ASSERT_EQ(replies[1]["ok"], true) << replies[1];
  EXPECT_EQ(replies[1]["bytes"], 80000);
  EXPECT_EQ(replies[2]["verdict"]["wrong"], 0);
  EXPECT_EQ(replies[2]["verdict"]["worst_error"], 0.0);
  EXPECT_EQ(replies[2]["outputs"][0]["nan_count"], 0);
  EXPECT_EQ(replies[2]["outputs"][0]["sha256"], replies[1]["inputs_sha256"]) << "the copy is the input";
  ASSERT_EQ(replies[3]["blocks"].size(), 3u);
  for (const Json& block : replies[3]["blocks"]) {
    EXPECT_GE(block["launches"], 50);
    for (const Json& seconds : block["seconds"]) EXPECT_NEAR(seconds.get<double>(), 1e-5, 2e-6);
    EXPECT_TRUE(block["device"].contains("event_reasons"));
  }
  const Result<bench::TimeReply> timed = bench::time_reply_from_json(replies[3]);
  ASSERT_TRUE(timed.ok()) << timed.error().message;
  EXPECT_TRUE(timed.value().blocks[0].has_device);
  EXPECT_EQ(replies[4]["facts"]["name"], "stand-in");
  EXPECT_EQ(replies[6]["ok"], false) << "the slot was dropped";
}

/// A kernel's manifest with one launch of `function`, a name that the stand-in knows.
std::string stand_in_kernel(const std::string& function) {
  const std::string folder = make_temp_folder("stand-in");
  const Json launch{{"function", function},
                    {"grid", {1, 1, 1}},
                    {"block", {32, 1, 1}},
                    {"parameters", {{{"argument", 0}}, {{"output", 0}}, {{"number", 1000}}}}};
  const Json manifest{{"schema", "hillclimb.cubin/1"},
                      {"cubin", "kernel.cubin"},
                      {"sha256", sha256_hex("none")},
                      {"launches", Json::array({launch})}};
  EXPECT_EQ(write_file_atomic(join_path(folder, "kernel.cubin"), "none"), "");
  EXPECT_EQ(write_file_atomic(join_path(folder, "kernel.json"), manifest.dump()), "");
  return join_path(folder, "kernel.json");
}

TEST(CudaWorker, a_kernel_that_leaves_work_on_another_stream_is_refused) {
  const auto timed = [](const char* function, const char* mode) {
    const std::vector<Json> replies = talk({kHello,
                                            {{"op", "prepare"},
                                             {"implementation", "cubin"},
                                             {"operation", "copy"},
                                             {"args", {"f32[1000]"}},
                                             {"manifest", stand_in_kernel(function)}},
                                            {{"op", "time"}, {"min_block_s", 0.0005}, {"mode", mode}},
                                            kBye},
                                           true);
    EXPECT_EQ(replies[1]["ok"], true) << replies[1];
    return replies[2];
  };
  for (const char* mode : {"single", "back_to_back"}) {
    const Json good = timed("copy", mode);
    EXPECT_EQ(good["ok"], true) << good;
    for (const char* function : {"copy_aside", "copy_late"}) {
      const Json aside = timed(function, mode);
      EXPECT_EQ(aside["ok"], false);
      EXPECT_NE(aside.value("message", "").find("left work on another stream"), std::string::npos) << aside;
    }
  }
}

TEST(CudaWorker, launches_in_a_row_go_over_copies_that_exceed_twice_the_l2) {
  const auto prepare = [](const char* implementation, const char* tensor) {
    Json request{{"op", "prepare"}, {"implementation", implementation}, {"operation", "copy"}, {"args", {tensor}}};
    if (std::string(implementation) == "cubin") request["manifest"] = stand_in_kernel("copy");
    return request;
  };
  const Json time{{"op", "time"}, {"blocks", 2}, {"min_block_s", 0.0005}, {"mode", "back_to_back"}};
  const Json look{{"op", "check"}, {"run", false}};
  const Json single{{"op", "time"}, {"blocks", 1}, {"min_block_s", 0.0005}};
  const std::vector<Json> replies =
      talk({kHello, prepare("cubin", "f32[1000]"), time, look, kCheck, single, prepare("memcpy", "f32[1000]"), time,
            look, prepare("memcpy", "f32[4]"), time, kBye},
           true);
  for (const size_t i : {size_t{2}, size_t{7}}) {
    ASSERT_EQ(replies[i]["ok"], true) << replies[i];
    // the stand-in's L2 is 1 MiB; 8000 bytes go 262 times into 2 MiB
    EXPECT_EQ(replies[i]["copies"], 263) << replies[i];
    EXPECT_EQ(replies[i]["mode"], "back_to_back");
    for (const Json& block : replies[i]["blocks"]) {
      EXPECT_EQ(block["seconds"].size(), 1u);
      EXPECT_NEAR(block["seconds"][0].get<double>(), 1e-5, 1e-9) << "a launch of the stand-in, without the events";
      EXPECT_GE(block["launches"].get<int>(), 50);
    }
    EXPECT_EQ(replies[i + 1]["verdict"]["wrong"], 0) << "the copy that was launched last: " << replies[i + 1];
    EXPECT_EQ(replies[i + 1]["outputs"][0]["nan_count"], 0);
  }
  EXPECT_EQ(replies[4]["verdict"]["wrong"], 0);
  EXPECT_FALSE(replies[5].contains("copies")) << "single launches find a flushed L2";
  EXPECT_NE(replies[10].value("message", "").find("need 65537 copies"), std::string::npos) << replies[10];
}

TEST(CudaWorker, the_cubin_that_runs_is_listed) {
  const std::string folder = make_temp_folder("listing");
  const Json list{{"op", "listing"}, {"out_dir", folder}};
  const std::vector<Json> replies = talk({kHello,
                                          list,
                                          {{"op", "prepare"},
                                           {"implementation", "cubin"},
                                           {"operation", "copy"},
                                           {"args", {"f32[1000]"}},
                                           {"manifest", stand_in_kernel("copy")}},
                                          list,
                                          {{"op", "prepare"},
                                           {"implementation", "memcpy"},
                                           {"operation", "copy"},
                                           {"args", {"f32[1000]"}}},
                                          list,
                                          kBye},
                                         true);
  EXPECT_EQ(replies[0]["can"], Json({"listing"}));
  EXPECT_EQ(replies[1]["ok"], false);
  const Result<bench::ListingReply> listed = bench::listing_reply_from_json(replies[3]);
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  ASSERT_EQ(listed.value().files.size(), 1u);
  EXPECT_EQ(read_file(listed.value().files[0].path), "none") << "what the stand-in kernel was saved as";
  EXPECT_NE(listed.value().missing.find("PTX"), std::string::npos);
  EXPECT_TRUE(replies[5]["files"].empty());
  EXPECT_NE(replies[5].value("missing", ""), "");
}

TEST(CudaWorker, preheating_ends_when_the_device_is_steady_and_says_so) {
  const Json prepare{{"op", "prepare"},
                     {"implementation", "cubin"},
                     {"operation", "copy"},
                     {"args", {"f32[1000]"}},
                     {"manifest", stand_in_kernel("copy")}};
  Json time{{"op", "time"}, {"blocks", 1}, {"min_block_s", 0.0005}};
  Json warm = time, brief = time;
  warm["preheat_s"] = 20;  // the stand-in's clock never moves
  brief["preheat_s"] = 0.6;
  const std::vector<Json> replies = talk({kHello, prepare, time, warm, brief, kBye}, true);
  EXPECT_FALSE(replies[2].contains("preheat"));
  ASSERT_TRUE(replies[3].contains("preheat")) << replies[3];
  EXPECT_EQ(replies[3]["preheat"]["steady"], true);
  EXPECT_GE(replies[3]["preheat"]["seconds"].get<double>(), 1.5) << "three windows";
  EXPECT_LT(replies[3]["preheat"]["seconds"].get<double>(), 10);
  EXPECT_EQ(replies[4]["preheat"]["steady"], false) << "two windows prove nothing";
}

TEST(CudaWorker, every_algorithm_of_cublaslt_is_tried_and_one_can_be_pinned) {
  const auto prepare = [](const char* operation, const char* b, const Json& options) {
    return Json{{"op", "prepare"},
                {"implementation", "cublaslt"},
                {"operation", operation},
                {"args", {"f32[6,8]", b}},
                {"options", options}};
  };
  const Json pin{{"config", {{"algo", std::string(14, '0') + "16" + std::string(112, '0')}}}};
  const Json unknown{{"config", {{"algo", "99"}}}};
  const std::vector<Json> replies =
      talk({kHello, prepare("gemm_nn", "f32[8,5]", Json::object()), kCheckAll, prepare("gemm_nt", "f32[5,8]", pin),
            kCheck, prepare("gemm_nt", "f32[5,8]", unknown), kBye},
           true);
  ASSERT_EQ(replies[1]["ok"], true) << replies[1];
  EXPECT_EQ(replies[1]["search"]["tried"], 2) << "the third is refused by the library";
  EXPECT_EQ(replies[1]["version"], "130000");
  EXPECT_EQ(replies[2]["verdict"]["wrong"], 0);
  EXPECT_EQ(replies[2]["verdict"]["rows"], 6);
  EXPECT_EQ(replies[2]["ways"]["checked"], 2);
  EXPECT_TRUE(replies[2]["ways"]["wrong"].empty());
  ASSERT_EQ(replies[3]["ok"], true) << replies[3];
  EXPECT_EQ(replies[3]["config"]["id"], 22);
  EXPECT_EQ(replies[3]["search"]["tried"], 1);
  EXPECT_EQ(replies[4]["verdict"]["wrong"], 0);
  EXPECT_EQ(replies[5]["code"], "NotAvailable");
}

TEST(CudaWorker, every_layout_of_cudnn_is_tried_and_one_can_be_pinned_as_the_protocol_says) {
  const Json plain{{"op", "prepare"},
                   {"implementation", "cudnn-cpp"},
                   {"operation", "softmax"},
                   {"args", {"f32[5,33]"}},
                   {"seed", 3}};
  Json pinned = plain, unknown = plain, narrow = plain, other = plain;
  pinned["config"] = {{"layout", "instance, row in W"}};
  unknown["config"] = {{"layout", "diagonal"}};
  narrow["args"] = {"f16[5,33]"};
  other["operation"] = "copy";
  const std::vector<Json> replies =
      talk({kHello, plain, kCheckAll, pinned, kCheck, unknown, narrow, other, kBye}, true);
  ASSERT_EQ(replies[1]["ok"], true) << replies[1];
  EXPECT_EQ(replies[1]["search"]["tried"], 3);
  EXPECT_EQ(replies[1]["version"], "90000");
  EXPECT_EQ(replies[2]["verdict"]["wrong"], 0) << replies[2];
  EXPECT_EQ(replies[2]["ways"]["checked"], 3);
  EXPECT_TRUE(replies[2]["ways"]["wrong"].empty()) << replies[2];
  ASSERT_EQ(replies[3]["ok"], true) << replies[3];
  EXPECT_EQ(replies[3]["config"], pinned["config"]);
  EXPECT_EQ(replies[3]["search"]["tried"], 1);
  EXPECT_EQ(replies[4]["verdict"]["wrong"], 0);
  for (size_t i = 5; i < 8; ++i) EXPECT_EQ(replies[i]["code"], "NotAvailable") << replies[i];
  EXPECT_NE(replies[6]["message"].get<std::string>().find("STATUS_OF_THE_STAND_IN"), std::string::npos) << replies[6];
}

TEST(CudaWorker, a_saved_kernel_runs_in_another_process_and_a_changed_one_does_not) {
  const std::string folder = make_temp_folder("saved");
  const Json config{{"threads", 256}, {"unroll", 2}};
  const Json args{"f32[1001]", "f32[1001]"};
  std::string why;
  const std::string options = compiled(pointwise_family(), "add", args, config, &why);
  if (options.empty()) GTEST_SKIP() << why;
  const Json saving{{"op", "prepare"},
                    {"implementation", "cuda-cpp"},
                    {"operation", "add"},
                    {"args", args},
                    {"options", {{"config", config}, {"save", folder}}}};
  const Json saved{{"op", "prepare"},
                   {"implementation", "cubin"},
                   {"operation", "add"},
                   {"args", args},
                   {"manifest", join_path(folder, "kernel.json")}};
  std::vector<Json> replies = talk({kHello, saving, kCheck, saved, kCheck, kBye}, true, options);
  ASSERT_EQ(replies[1]["ok"], true) << replies[1];
  EXPECT_EQ(replies[1]["config"], config);
  EXPECT_EQ(replies[2]["verdict"]["wrong"], 0);
  ASSERT_EQ(replies[3]["ok"], true) << replies[3];
  EXPECT_EQ(replies[4]["verdict"]["wrong"], 0);
  EXPECT_EQ(replies[3]["inputs_sha256"], replies[1]["inputs_sha256"]);
  ASSERT_EQ(write_file_atomic(join_path(folder, "kernel.cubin"), "changed"), "");
  replies = talk({kHello, saved, kBye}, true);
  EXPECT_NE(replies[1]["message"].get<std::string>().find("not the one that was saved"), std::string::npos);
}

TEST(CudaWorker, a_kernel_that_writes_nothing_is_found_wrong) {
  const Json config{{"threads", 128}, {"items", 8}, {"pairs", false}, {"splits", 1}};
  const Json args{"f32[64,1024]", "-1"};
  std::string why;
  const std::string options = compiled(cub_family(), "sum", args, config, &why);
  if (options.empty()) GTEST_SKIP() << why;
  const Json prepare{{"op", "prepare"},
                     {"implementation", "cub"},
                     {"operation", "sum"},
                     {"args", args},
                     {"options", {{"config", config}}}};
  // The stand-in runs no sum: what stays is the poison.
  const std::vector<Json> replies = talk({kHello, prepare, kCheckAll, kBye}, true, options);
  ASSERT_EQ(replies[1]["ok"], true) << replies[1];
  EXPECT_EQ(replies[2]["outputs"][0]["nan_count"], 64);
  EXPECT_EQ(replies[2]["verdict"]["wrong"], replies[2]["verdict"]["rows"]);
  EXPECT_EQ(replies[2]["ways"]["wrong"][0]["config"], config);
}

}  // namespace
}  // namespace hc::baselines
