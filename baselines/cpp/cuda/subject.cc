// Builds subjects and finds the fastest way by the shared timer.
#include "cuda/subject.h"

#include <algorithm>

#include "bench/rotation.h"

namespace hc::baselines {
namespace {

constexpr int kFinalists = 4;

/// The driver's own copy: what "copy rate" means.
class MemcpyWay : public Way {
 public:
  MemcpyWay(const Device& device, const Call& call, const Tensors& tensors)
      : cu_(device.cu()), tensors_(tensors), bytes_(static_cast<size_t>(call.bytes() / 2)) {
    config_ = Json::object();
  }
  int launch(bench::CuStream stream) override {
    return cu_.cuMemcpyDtoDAsync_v2(tensors_.outputs[0].pointer(), tensors_.inputs[0].pointer(), bytes_, stream);
  }

 private:
  const bench::CudaDriver& cu_;
  const Tensors& tensors_;
  size_t bytes_;
};

Result<Ways> memcpy_ways(const BuildRequest& request) {
  if (request.call.operation != "copy") {
    return Diagnostic{.code = Code::not_available, .message = "memcpy has copy, not `" + request.call.operation + "`"};
  }
  Ways ways{{}, std::to_string(request.device.facts().cuda_driver), "libcuda.so.1", {}};
  ways.list.push_back(std::make_unique<MemcpyWay>(request.device, request.call, request.tensors));
  return ways;
}

const Family* family_of(const std::string& name) {
  for (const Family* family : {&pointwise_family(), &cub_family(), &cute_family()}) {
    if (family->name == name) return family;
  }
  return nullptr;
}

Diagnostic unknown(const std::string& name) {
  std::string names;
  for (const std::string& known : implementation_names()) names += (names.empty() ? "" : ", ") + known;
  return Diagnostic{.code = Code::not_available,
                    .message = "this worker has no implementation `" + name + "`, but " + names};
}

Result<Ways> build(const SubjectRequest& request, const BuildRequest& parts) {
  if (const Family* family = family_of(request.implementation)) return family_ways(*family, parts);
  if (request.implementation == "cublaslt") return cublaslt_ways(parts);
  if (request.implementation == "cudnn-cpp") return cudnn_ways(parts);
  if (request.implementation == "cubin") return cubin_ways(request.manifest, parts);
  if (request.implementation == "memcpy") return memcpy_ways(parts);
  return unknown(request.implementation);
}

int launch_way(void* user, void* stream) { return static_cast<Way*>(user)->launch(stream); }

/// Median seconds of a launch with a cold L2, or a negative number when it fails.
double median_seconds(const Device& device, Way* way, int64_t launches, double warmup_s) {
  HillclimbTimerOptions options{};
  options.abi = HILLCLIMB_TIMER_ABI;
  options.blocks = 1;
  options.min_block_s = 0.02;
  options.warmup_s = warmup_s;
  options.flush_bytes = -1;
  options.max_launches = launches;
  HillclimbTimerResult* result = nullptr;
  if (hillclimb_timer_cuda_run(device.timer(), &options, launch_way, way, nullptr, &result, nullptr)) return -1;
  std::vector<double> seconds(result->blocks[0].seconds, result->blocks[0].seconds + result->blocks[0].readings);
  hillclimb_timer_cuda_free(result);
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace

const std::vector<std::string>& implementation_names() {
  static const std::vector<std::string> kNames = {"cuda-cpp",  "cute-cpp", "cub",  "cublaslt",
                                                  "cudnn-cpp", "memcpy",   "cubin"};
  return kNames;
}

Result<std::string> availability(const std::string& implementation, const Places& places) {
  if (const Family* family = family_of(implementation)) {
    const Nvrtc nvrtc = HC_TRY(Nvrtc::open(places));
    HC_TRY(include_options(*family, places));
    return family->version + " nvrtc " + nvrtc.version();
  }
  if (implementation == "cublaslt") return cublaslt_version(places);
  if (implementation == "cudnn-cpp") return cudnn_version(places);
  for (const std::string& name : implementation_names()) {
    if (name == implementation) return std::string("1");
  }
  return unknown(implementation);
}

Status Subject::choose(const Device& device) {
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < ways_.list.size(); ++i) {
    const double seconds = ways_.list.size() == 1 ? 0 : median_seconds(device, ways_.list[i].get(), 12, 0.0005);
    if (seconds >= 0) order.emplace_back(seconds, i);
  }
  if (order.empty()) {
    return Diagnostic{.code = Code::measurement_failed, .message = "none of the ways could be launched"};
  }
  std::sort(order.begin(), order.end());
  const size_t tried = order.size();
  order.resize(std::min<size_t>(order.size(), kFinalists));
  for (int round = 0; order.size() > 1 && round < 3; ++round) {
    for (auto& [seconds, i] : order) {
      const double again = median_seconds(device, ways_.list[i].get(), 40, 0.002);
      if (again < 0) continue;
      seconds = round == 0 ? again : std::min(seconds, again);
    }
  }
  std::sort(order.begin(), order.end());
  best_ = order.front().second;
  Json best = Json::array();
  for (const auto& [seconds, i] : order) best.push_back({{"config", ways_.list[i]->config()}, {"seconds", seconds}});
  search_ = {{"tried", tried}, {"left_out", ways_.refused}, {"finalists", std::move(best)}};
  return success();
}

Result<int64_t> Subject::rotate(const Device& device, int64_t cache_bytes) {
  const int64_t wanted = HC_TRY(bench::rotation_copies(call_.bytes(), cache_bytes));
  const auto more = static_cast<size_t>(wanted - 1);
  if (copies_.size() > more) copies_.resize(more);
  while (copies_.size() < more) copies_.push_back(HC_TRY(copy_tensors(device, tensors_)));
  HC_TRY(device.wait());
  next_ = 0;
  rotating_ = more > 0;
  return wanted;
}

Result<std::unique_ptr<Subject>> Subject::make(const Device& device, const Places& places, const std::string& cache,
                                               const SubjectRequest& request) {
  std::unique_ptr<Subject> subject(new Subject);
  subject->call_ = HC_TRY(make_call(request.operation, request.args));
  subject->tensors_ = HC_TRY(make_tensors(device, subject->call_, request.seed));
  const BuildRequest parts{device, places, subject->call_, subject->tensors_, request.pinned, cache, request.save};
  subject->ways_ = HC_TRY(build(request, parts));
  HC_TRY(subject->choose(device));
  for (int i = 0; i < 2; ++i) {
    HC_TRY(cuda_status("the launch", subject->launch(nullptr)));
  }
  HC_TRY(device.wait());
  return subject;
}

}  // namespace hc::baselines
