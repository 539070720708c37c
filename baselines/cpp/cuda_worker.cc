// The GPU worker's program: baselines in C++ on NVIDIA GPUs, every library opened at run time.
#include <cstdio>
#include <cstring>

#include "cuda/worker.h"

namespace {

constexpr const char* kUsage =
    "usage: hillclimb-cuda-worker [--search FOLDER]... [--cache FOLDER]\n"
    "Speaks the worker protocol (docs/worker-protocol.md) on standard input and output.\n"
    "  --search FOLDER  look for libraries and headers there first: a folder of libraries or headers, a CUDA toolkit,\n"
    "                   or a folder of Python packages\n"
    "  --cache FOLDER   keep compiled kernels there\n";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> folders;
  std::string cache;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (has_value && std::strcmp(argv[i], "--search") == 0) {
      folders.emplace_back(argv[++i]);
    } else if (has_value && std::strcmp(argv[i], "--cache") == 0) {
      cache = argv[++i];
    } else {
      std::fputs(kUsage, std::strcmp(argv[i], "--help") == 0 ? stdout : stderr);
      return std::strcmp(argv[i], "--help") == 0 ? 0 : 64;
    }
  }
  hc::baselines::Worker worker(hc::baselines::Places(folders), cache);
  return hc::bench::serve(worker);
}
