// Compiles through the functions that NVRTC exports.
#include "cuda/nvrtc.h"

namespace hc::baselines {
namespace {

using Program = void*;

/// The functions by their exported names; results are 0 for success.
struct Functions {
  int (*nvrtcVersion)(int*, int*);
  int (*nvrtcCreateProgram)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*nvrtcDestroyProgram)(Program*);
  int (*nvrtcCompileProgram)(Program, int, const char* const*);
  int (*nvrtcGetProgramLogSize)(Program, size_t*);
  int (*nvrtcGetProgramLog)(Program, char*);
  int (*nvrtcGetCUBINSize)(Program, size_t*);
  int (*nvrtcGetCUBIN)(Program, char*);
};

/// Null fields where the library lacks a function.
Functions functions_of(const Library& library) {
  Functions f{};
  const auto find = [&](auto& target, const char* name) {
    target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(library.symbol(name));
  };
  find(f.nvrtcVersion, "nvrtcVersion");
  find(f.nvrtcCreateProgram, "nvrtcCreateProgram");
  find(f.nvrtcDestroyProgram, "nvrtcDestroyProgram");
  find(f.nvrtcCompileProgram, "nvrtcCompileProgram");
  find(f.nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize");
  find(f.nvrtcGetProgramLog, "nvrtcGetProgramLog");
  find(f.nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
  find(f.nvrtcGetCUBIN, "nvrtcGetCUBIN");
  return f;
}

const Wanted kWanted{
    "NVRTC",
    {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
    "pip install nvidia-cuda-nvrtc (of the driver's CUDA version or older), or install the CUDA toolkit"};

}  // namespace

Result<Nvrtc> Nvrtc::open(const Places& places) {
  Nvrtc made;
  made.library_ = HC_TRY(places.open(kWanted));
  const Functions f = functions_of(made.library_);
  int major = 0, minor = 0;
  if (!f.nvrtcVersion || !f.nvrtcGetCUBIN || f.nvrtcVersion(&major, &minor) != 0) {
    return Diagnostic{.code = Code::not_available, .message = made.library_.path + " is not NVRTC 11.1 or newer"}.fix(
        kWanted.fix);
  }
  made.version_ = std::to_string(major) + "." + std::to_string(minor);
  return made;
}

Result<std::string> Nvrtc::compile(const std::string& source, const std::string& arch,
                                   const std::vector<std::string>& options) const {
  const Functions f = functions_of(library_);
  std::vector<std::string> all = {"--gpu-architecture=" + arch, "--std=c++17", "-default-device"};
  all.insert(all.end(), options.begin(), options.end());
  std::vector<const char*> texts;
  for (const std::string& option : all) texts.push_back(option.c_str());
  Program program = nullptr;
  if (f.nvrtcCreateProgram(&program, source.c_str(), "baseline.cu", 0, nullptr, nullptr) != 0) {
    return Diagnostic{.code = Code::compile_failed, .message = "NVRTC made no program"};
  }
  const int failed = f.nvrtcCompileProgram(program, static_cast<int>(texts.size()), texts.data());
  std::string out;
  size_t size = 0;
  if (failed) {
    f.nvrtcGetProgramLogSize(program, &size);
    out.resize(size);
    if (size > 0) f.nvrtcGetProgramLog(program, out.data());
  } else if (f.nvrtcGetCUBINSize(program, &size) == 0 && size > 0) {
    out.resize(size);
    f.nvrtcGetCUBIN(program, out.data());
  }
  f.nvrtcDestroyProgram(&program);
  if (failed || out.empty()) {
    return Diagnostic{.code = Code::compile_failed,
                      .message = "NVRTC " + version_ + " refused it: " + out.substr(0, 3000)};
  }
  return out;
}

}  // namespace hc::baselines
