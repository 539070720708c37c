// oneDNN by dlopen: opening, versions and primitives. Prototypes and numbers are its published C interface.
#include "bench/onednn.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <climits>
#include <cstdlib>

namespace hc::bench {
namespace {

constexpr int kCpu = 1;
constexpr int kStreamDefault = 1;

struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

struct NamedAlgorithm {
  const char* name;
  int v2;
  int v3;
};
constexpr NamedAlgorithm kEltwise[] = {{"exp", 191, 42},      {"relu", 31, 32},     {"tanh", 47, 33},
                                       {"logistic", 175, 41}, {"gelu_erf", 48, 49}, {"gelu_tanh", 207, 43},
                                       {"swish", 223, 44}};
constexpr NamedAlgorithm kBinary[] = {{"add", 0x1fff0, 0x1fff0}, {"mul", 0x1fff1, 0x1fff1}};
constexpr NamedAlgorithm kReduction[] = {
    {"max", 0x2fff2, 0x2fff2}, {"sum", 0x2fff4, 0x2fff4}, {"mean", 0x2fff6, 0x2fff6}};

const char* runtime_name(unsigned runtime) {
  switch (runtime) {
    case 1:
      return "sequential";
    case 2:
      return "omp";
    case 4:
      return "tbb";
    case 8:
      return "threadpool";
    default:
      return "dpcpp";
  }
}

std::string loaded_path(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name) return asked;
  char resolved[PATH_MAX];
  return realpath(map->l_name, resolved) ? resolved : map->l_name;
}

}  // namespace

void* OneDnn::symbol(const char* name) const { return dlsym(handle_, name); }

Status OneDnn::set_up() {
  auto* version = find<const Version*()>("dnnl_version");
  auto* engine_create = find<int(void**, int, size_t)>("dnnl_engine_create");
  auto* stream_create = find<int(void**, void*, unsigned)>("dnnl_stream_create");
  if (!version || !engine_create || !stream_create) {
    return Diagnostic{.code = Code::not_available, .message = path_ + " is not a oneDNN library"};
  }
  const Version& found = *version();
  major_ = found.major;
  minor_ = found.minor;
  openmp_ = found.cpu_runtime == 2 || found.cpu_runtime == 1;
  version_ = fmt::format("{}.{}.{} {}", found.major, found.minor, found.patch, runtime_name(found.cpu_runtime));
  if (major_ != 2 && major_ != 3) {
    return Diagnostic{.code = Code::not_available, .message = "oneDNN " + version_ + " is neither version 2 nor 3"};
  }
  if (engine_create(&engine_, kCpu, 0) != 0 || stream_create(&stream_, engine_, kStreamDefault) != 0) {
    return Diagnostic{.code = Code::not_available, .message = "oneDNN " + version_ + " gives no CPU engine"};
  }
  return success();
}

Result<std::shared_ptr<OneDnn>> OneDnn::open(const std::string& path) {
  std::shared_ptr<OneDnn> library(new OneDnn);
  std::string heard;
  const std::vector<std::string> names =
      path.empty() ? std::vector<std::string>{"libdnnl.so.3", "libdnnl.so.2"} : std::vector<std::string>{path};
  for (const std::string& name : names) {
    library->handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library->handle_) {
      library->path_ = loaded_path(library->handle_, name);
      HC_TRY(library->set_up());
      return library;
    }
    const char* why = dlerror();
    heard += (heard.empty() ? "" : "; ") + std::string(why ? why : name);
  }
  return Diagnostic{.code = Code::not_available, .message = "oneDNN cannot be opened: " + heard}.fix(
      "install libdnnl2 (Debian) or the PyPI wheel onednn-cpu-gomp, and give the path of its libdnnl.so.3");
}

int OneDnn::algorithm(DnnOp op, const std::string& name) const {
  const auto look = [&](const auto& table) {
    for (const NamedAlgorithm& row : table) {
      if (name == row.name) return major_ == 2 ? row.v2 : row.v3;
    }
    return 0;
  };
  if (op == DnnOp::eltwise) return look(kEltwise);
  if (op == DnnOp::binary) return look(kBinary);
  if (op == DnnOp::reduction) return look(kReduction);
  return 0;
}

OneDnn::Primitive::~Primitive() {
  for (const Argument& argument : arguments_) library_->find<int(void*)>("dnnl_memory_destroy")(argument.memory);
  if (primitive_) library_->find<int(void*)>("dnnl_primitive_destroy")(primitive_);
  for (void* descriptor : {descriptor_, forward_}) {
    if (descriptor) library_->find<int(void*)>("dnnl_primitive_desc_destroy")(descriptor);
  }
}

int OneDnn::Primitive::run() {
  const int status = execute_(primitive_, library_->stream_, static_cast<int>(arguments_.size()), arguments_.data());
  return status != 0 ? status : wait_(library_->stream_);
}

}  // namespace hc::bench
