// Ways made of kernels: compiled by NVRTC or loaded from a file, launched through the driver.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "bench/json_reader.h"
#include "cuda/way.h"

namespace hc::baselines {
namespace {

constexpr int kMaxDynamicSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr unsigned kStaticShared = 48u << 10;

class KernelWay : public Way {
 public:
  KernelWay(const Device& device, const Tensors& tensors, Json config) : cu_(device.cu()), tensors_(tensors) {
    config_ = std::move(config);
  }
  ~KernelWay() override {
    if (module_) cu_.cuModuleUnload(module_);
  }

  Status load(const Device& device, const std::string& cubin, const std::vector<KernelLaunch>& launches,
              int64_t scratch_bytes) {
    if (scratch_bytes > 0) scratch_ = HC_TRY(Memory::take(device, scratch_bytes));
    cubin_ = cubin;
    HC_TRY(cuda_status("cuModuleLoadData", cu_.cuModuleLoadData(&module_, cubin.data())));
    for (const KernelLaunch& launch : launches) {
      Ready ready{launch, nullptr, {}};
      HC_TRY(cuda_status("cuModuleGetFunction",
                         cu_.cuModuleGetFunction(&ready.function, module_, launch.function.c_str())));
      if (launch.shared_bytes > kStaticShared) {
        HC_TRY(cuda_status("cuFuncSetAttribute", cu_.cuFuncSetAttribute(ready.function, kMaxDynamicSharedBytes,
                                                                        static_cast<int>(launch.shared_bytes))));
      }
      for (const Parameter& parameter : launch.parameters) ready.values.push_back(HC_TRY(value_of(parameter)));
      ready_.push_back(std::move(ready));
    }
    for (Ready& ready : ready_) {
      for (uint64_t& value : ready.values) ready.pointers.push_back(&value);
    }
    return success();
  }

  const std::string* cubin() const override { return &cubin_; }

  int launch(bench::CuStream stream) override {
    for (Ready& r : ready_) {
      // the tensors may be other copies than at the last launch; the driver copies the values before the call returns
      for (size_t i = 0; i < r.values.size(); ++i) r.values[i] = known_value(r.launch.parameters[i]);
      const auto& [gx, gy, gz] = r.launch.grid;
      const auto& [bx, by, bz] = r.launch.block;
      const int failed = cu_.cuLaunchKernel(r.function, gx, gy, gz, bx, by, bz, r.launch.shared_bytes, stream,
                                            r.pointers.data(), nullptr);
      if (failed) return failed;
    }
    return 0;
  }

 private:
  struct Ready {
    KernelLaunch launch;
    bench::CuFunction function;
    std::vector<uint64_t> values;
    std::vector<void*> pointers{};
  };

  uint64_t known_value(const Parameter& p) const {
    const auto index = static_cast<size_t>(p.value);
    if (p.kind == Parameter::Kind::argument) return tensors_.inputs[index].pointer();
    if (p.kind == Parameter::Kind::output) return tensors_.outputs[index].pointer();
    if (p.kind == Parameter::Kind::scratch) return scratch_.pointer() + static_cast<uint64_t>(p.value);
    return static_cast<uint64_t>(p.value);
  }

  Result<uint64_t> value_of(const Parameter& p) const {
    const bool argument = p.kind == Parameter::Kind::argument;
    if (argument || p.kind == Parameter::Kind::output) {
      const std::vector<Memory>& list = argument ? tensors_.inputs : tensors_.outputs;
      const auto index = static_cast<size_t>(p.value);
      if (p.value < 0 || index >= list.size() || !list[index].pointer()) {
        return Diagnostic{
            .code = Code::measurement_failed,
            .message = "a kernel's parameter names tensor " + std::to_string(p.value) + ", which is not there"};
      }
    }
    return known_value(p);
  }

  const bench::CudaDriver& cu_;
  const Tensors& tensors_;
  Memory scratch_;
  bench::CuModule module_ = nullptr;
  std::string cubin_;
  std::vector<Ready> ready_;
};

std::string key_of(const KernelPlan& plan) {
  std::string key = plan.file;
  for (const std::string& define : plan.defines) key += " -D" + define;
  return key;
}

Result<std::string> compile_one(const Nvrtc& nvrtc, const KernelPlan& plan, const std::string& arch,
                                const std::vector<std::string>& includes, const std::string& cache) {
  const char* text = kernel_text(plan.file);
  HC_CHECK(text, "a plan names a kernel text that is not embedded");
  std::vector<std::string> options = includes;
  for (const std::string& define : plan.defines) options.push_back("-D" + define);
  const std::string stored =
      cache.empty()
          ? ""
          : join_path(cache, sha256_hex(std::string(text) + key_of(plan) + arch + nvrtc.version()) + ".cubin");
  if (!stored.empty()) {
    if (std::optional<std::string> found = read_file(stored)) return *std::move(found);
  }
  std::string cubin = HC_TRY(nvrtc.compile(text, arch, options));
  if (!stored.empty() && make_folders(cache).empty()) write_file_atomic(stored, cubin);
  return cubin;
}

Status save_kernel(const std::string& folder, const Call& call, const KernelPlan& plan, const std::string& cubin) {
  std::string why = make_folders(folder);
  if (why.empty()) why = write_file_atomic(join_path(folder, "kernel.cubin"), cubin);
  Json launches = Json::array(), outputs = Json::array();
  for (const KernelLaunch& launch : plan.launches) launches.push_back(to_json(launch));
  for (const TensorSpec& output : call.outputs) outputs.push_back(to_text(output));
  const Json manifest{
      {"schema", "hillclimb.cubin/1"},       {"operation", call.operation},    {"cubin", "kernel.cubin"},
      {"sha256", sha256_hex(cubin)},         {"config", plan.config},          {"outputs", std::move(outputs)},
      {"scratch_bytes", plan.scratch_bytes}, {"launches", std::move(launches)}};
  if (why.empty()) why = write_file_atomic(join_path(folder, "kernel.json"), manifest.dump(1) + "\n");
  if (why.empty()) return success();
  return Diagnostic{.code = Code::file_error, .message = "the kernel cannot be saved: " + why};
}

}  // namespace

std::vector<KernelPlan> wanted_plans(std::vector<KernelPlan> plans, const Json& pinned) {
  if (!pinned.is_null()) std::erase_if(plans, [&](const KernelPlan& plan) { return plan.config != pinned; });
  return plans;
}

Result<std::vector<std::string>> include_options(const Family& family, const Places& places) {
  std::vector<std::string> out;
  for (const Wanted& wanted : family.headers) {
    const std::string folder = HC_TRY(places.headers(wanted));
    out.push_back("-I" + folder);
    // Since CUDA 13 CUTLASS names the C++ library by the folder that it lies in: cccl/cuda/std/...
    if (folder.ends_with("/cccl")) out.push_back("-I" + folder.substr(0, folder.size() - std::strlen("/cccl")));
  }
  return out;
}

std::vector<Result<std::string>> compile_plans(const Nvrtc& nvrtc, const std::vector<KernelPlan>& plans,
                                               const std::string& arch, const std::vector<std::string>& includes,
                                               const std::string& cache) {
  std::map<std::string, size_t> first;  // distinct text -> the plan that is compiled for it
  std::vector<size_t> work;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (first.emplace(key_of(plans[i]), i).second) work.push_back(i);
  }
  std::vector<Result<std::string>> made(plans.size(), Result<std::string>(std::string()));
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    for (size_t w = next++; w < work.size(); w = next++) {
      made[work[w]] = compile_one(nvrtc, plans[work[w]], arch, includes, cache);
    }
  };
  std::vector<std::thread> threads;
  const size_t count = std::min<size_t>(work.size(), std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 0; i < count; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < plans.size(); ++i) {
    if (first[key_of(plans[i])] != i) made[i] = made[first[key_of(plans[i])]];
  }
  return made;
}

Result<Ways> family_ways(const Family& family, const BuildRequest& request) {
  const std::vector<KernelPlan> plans = wanted_plans(HC_TRY(family.plans(request.call)), request.pinned);
  if (plans.empty()) {
    return Diagnostic{.code = Code::not_available,
                      .message = family.name + " has no config " + request.pinned.dump() + " for this call"};
  }
  const Nvrtc nvrtc = HC_TRY(Nvrtc::open(request.places));
  const std::vector<std::string> includes = HC_TRY(include_options(family, request.places));
  const auto cubins = compile_plans(nvrtc, plans, request.device.arch(), includes, request.cache);
  Ways ways{{}, family.version + " nvrtc " + nvrtc.version(), nvrtc.path(), {}};
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!cubins[i].ok()) {
      ways.refused.push_back(plans[i].config.dump() + ": " + cubins[i].error().message);
      continue;
    }
    auto way = std::make_unique<KernelWay>(request.device, request.tensors, plans[i].config);
    const Status loaded = way->load(request.device, cubins[i].value(), plans[i].launches, plans[i].scratch_bytes);
    if (!loaded.ok()) {
      ways.refused.push_back(plans[i].config.dump() + ": " + loaded.error().message);
      continue;
    }
    if (!request.save.empty() && plans.size() == 1) {
      HC_TRY(save_kernel(request.save, request.call, plans[i], cubins[i].value()));
    }
    ways.list.push_back(std::move(way));
  }
  if (ways.list.empty()) {
    return Diagnostic{.code = Code::compile_failed, .message = "no kernel could be made: " + ways.refused.front()};
  }
  return ways;
}

Result<Ways> cubin_ways(const std::string& manifest, const BuildRequest& request) {
  const auto refused = [&](const std::string& why) {
    return Diagnostic{.code = Code::measurement_failed, .message = "the kernel " + manifest + ": " + why};
  };
  std::string why, schema, file, sha256;
  const std::optional<std::string> text = read_file(manifest, &why);
  if (!text) return refused(why);
  const Json json = parse_json(*text).value_or(Json());
  int64_t scratch_bytes = 0;
  bench::JsonReader reader(json);
  reader.required("schema", &schema);
  reader.required("cubin", &file);
  reader.required("sha256", &sha256);
  reader.optional("scratch_bytes", &scratch_bytes);
  const Result<diag::Unit> read = reader.finish(diag::Unit{});
  if (!read.ok()) return refused(read.error().message);
  if (schema != "hillclimb.cubin/1") return refused("its schema is " + schema + ", and hillclimb.cubin/1 is needed");
  const std::string folder = manifest.substr(0, manifest.find_last_of('/') + 1);
  const std::optional<std::string> cubin = read_file(folder + file, &why);
  if (!cubin) return refused(why);
  if (sha256_hex(*cubin) != sha256) return refused("the cubin is not the one that was saved");
  std::vector<KernelLaunch> launches;
  if (!json.contains("launches") || !json["launches"].is_array()) return refused("`launches` is missing");
  for (const Json& launch : json["launches"]) launches.push_back(HC_TRY(launch_from_json(launch)));
  auto way = std::make_unique<KernelWay>(request.device, request.tensors, json.value("config", Json()));
  HC_TRY(way->load(request.device, *cubin, launches, scratch_bytes));
  Ways ways{{}, sha256, manifest, {}};
  ways.list.push_back(std::move(way));
  return ways;
}

}  // namespace hc::baselines
