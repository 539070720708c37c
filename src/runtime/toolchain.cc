// Compiles generated text with the system compiler into a cache named by content, and loads the result.
#include "runtime/toolchain.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/subprocess.h"

namespace hc::runtime {
namespace {

constexpr int kShownLines = 40;  // of the compiler's words, in a diagnostic
constexpr double kVersionLimit_s = 20;

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::string first_lines(const std::string& text, int count) {
  size_t at = 0;
  for (int line = 0; line < count && at != std::string::npos; ++line) at = text.find('\n', at == 0 ? 0 : at + 1);
  return at == std::string::npos ? text : text.substr(0, at) + "\n...";
}

/// Contraction into fused multiply-add only removes a rounding, so the oracle's bound holds; nothing here reassociates,
/// assumes finite values or flushes subnormals. errno and floating-point traps are what no kernel reads.
std::vector<std::string> kernel_flags() {
  return {"-std=gnu++20",
          "-O3",
          "-march=native",
          "-fopenmp",
          "-fno-math-errno",
          "-fno-trapping-math",
          "-ffp-contract=fast",
          "-fno-exceptions",
          "-fno-rtti",
          "-fPIC",
          "-pipe",
          "-w"};
}

/// The toolchain of a command ("g++", "ccache g++"), if it answers to --version.
std::optional<Toolchain> try_command(const std::string& command) {
  std::vector<std::string> argv = words(command);
  if (argv.empty()) return std::nullopt;
  Toolchain found;
  found.path = argv[0];
  found.flags.assign(argv.begin() + 1, argv.end());
  argv.emplace_back("--version");
  const RunOutcome outcome = run_process(argv, kVersionLimit_s, {"LC_ALL=C"});
  if (!outcome.ok()) return std::nullopt;
  found.version = outcome.out.substr(0, outcome.out.find('\n'));
  const std::vector<std::string> flags = kernel_flags();
  found.flags.insert(found.flags.end(), flags.begin(), flags.end());
  return found;
}

/// What the shared object depends on. The machine counts because of -march=native.
std::string cache_key(const Toolchain& toolchain, const std::string& source, const std::vector<Header>& headers) {
  std::string text = toolchain.path + '\n' + toolchain.version + '\n';
  for (const std::string& flag : toolchain.flags) text += flag + '\n';
  for (const Header& header : headers) text += header.name + '\n' + sha256_hex(header.text) + '\n';
  const std::string cpuinfo = read_file("/proc/cpuinfo").value_or("");
  const size_t flags = cpuinfo.find("\nflags");
  if (flags != std::string::npos) text += cpuinfo.substr(flags, cpuinfo.find('\n', flags + 1) - flags);
  return sha256_hex(text + '\n' + source);
}

Diagnostic unwritable(const std::string& path, const std::string& why) {
  return Diagnostic{.code = Code::file_error, .message = fmt::format("{} cannot be written: {}", path, why)}.fix(
      "make room, or name another cache folder");
}

/// A name that no other thread or process uses.
std::string unique_path(const std::string& path) {
  static std::atomic<int> counter{0};
  return fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter++);
}

/// Writes the headers below a folder named by their content, unless it is there; the folder appears whole or not at
/// all.
Result<std::string> header_folder(const std::vector<Header>& headers, const std::string& cache_folder) {
  std::string content;
  for (const Header& header : headers) content += header.name + '\n' + sha256_hex(header.text) + '\n';
  const std::string folder = join_path(cache_folder, "headers-" + sha256_hex(content).substr(0, 16));
  if (file_exists(folder)) return folder;
  const std::string fresh = unique_path(folder);
  for (const Header& header : headers) {
    const std::string path = join_path(fresh, header.name);
    std::string why = make_folders(std::filesystem::path(path).parent_path().string());
    if (why.empty()) why = write_file_atomic(path, header.text);
    if (!why.empty()) return unwritable(path, why);
  }
  if (headers.empty()) make_folders(fresh);
  std::error_code error;
  std::filesystem::rename(fresh, folder, error);
  if (error) {
    // Somebody else was first, or the folder cannot be had.
    std::error_code ignored;
    std::filesystem::remove_all(fresh, ignored);
    if (!file_exists(folder)) return unwritable(folder, error.message());
  }
  return folder;
}

Diagnostic failure_of(const RunOutcome& outcome, const std::string& compiler, const std::string& source_path,
                      double limit_s) {
  const std::string fix = "keep " + source_path + " with a report: generated text must compile";
  if (!outcome.failure.empty()) {
    return Diagnostic{.code = Code::not_available, .message = "the compiler could not be started: " + outcome.failure};
  }
  if (outcome.timed_out) {
    return Diagnostic{.code = Code::compile_failed,
                      .message = fmt::format("{} did not finish {} within {:.1f} s", compiler, source_path, limit_s)}
        .fix("raise the limit, or take a config that unrolls less");
  }
  if (outcome.err.find("No space left on device") != std::string::npos) {
    return Diagnostic{.code = Code::file_error, .message = "the compiler found no space left on the device"}.fix(
        "make room");
  }
  const std::string how = outcome.signal ? fmt::format("was ended by signal {}", outcome.signal)
                                         : fmt::format("ended with status {}", outcome.exit_code);
  return Diagnostic{.code = Code::compile_failed, .message = fmt::format("{} {} on {}", compiler, how, source_path)}
      .note(first_lines(outcome.err, kShownLines))
      .fix(fix);
}

}  // namespace

Result<Toolchain> find_toolchain() {
  if (const char* chosen = ::getenv("CXX"); chosen && *chosen) {
    if (auto found = try_command(chosen)) return std::move(*found);
    return Diagnostic{.code = Code::not_available, .message = fmt::format("$CXX is `{}`, which does not run", chosen)}
        .fix("unset CXX, or set it to a C++20 compiler such as g++");
  }
  for (const char* command : {"c++", "g++", "clang++"}) {
    if (auto found = try_command(command)) return std::move(*found);
  }
  return Diagnostic{.code = Code::not_available,
                    .message = "no C++ compiler is on PATH: c++, g++ and clang++ were tried"}
      .fix("install one: apt-get install g++");
}

Result<std::string> build_shared_object(const Toolchain& toolchain, const std::string& source,
                                        const std::vector<Header>& headers, const std::string& cache_folder,
                                        double limit_s) {
  std::string why = make_folders(cache_folder);
  if (!why.empty()) return unwritable(cache_folder, why);
  std::error_code error;
  const std::string folder = std::filesystem::absolute(cache_folder, error).lexically_normal().string();
  if (error) return unwritable(cache_folder, error.message());
  const std::string object = join_path(folder, cache_key(toolchain, source, headers) + ".so");
  if (file_exists(object)) return object;

  const std::string include = HC_TRY(header_folder(headers, folder));
  const std::string source_path = join_path(folder, sha256_hex(source) + ".cc");
  if (!file_exists(source_path)) why = write_file_atomic(source_path, source);
  if (!why.empty()) return unwritable(source_path, why);

  const std::string fresh = unique_path(object);
  std::vector<std::string> argv = {toolchain.path};
  argv.insert(argv.end(), toolchain.flags.begin(), toolchain.flags.end());
  for (const std::string& more : {std::string("-shared"), "-I" + include, source_path, std::string("-o"), fresh})
    argv.push_back(more);
  const RunOutcome outcome = run_process(argv, limit_s, {"LC_ALL=C"});
  if (!outcome.ok()) {
    ::unlink(fresh.c_str());
    return failure_of(outcome, toolchain.path, source_path, limit_s);
  }
  if (::rename(fresh.c_str(), object.c_str()) != 0) return unwritable(object, std::strerror(errno));
  return object;
}

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::load(const Manifest& manifest) {
  std::unique_ptr<LoadedKernel> kernel(new LoadedKernel());
  kernel->handle_ = ::dlopen(manifest.shared_object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!kernel->handle_) {
    const char* reason = ::dlerror();
    return Diagnostic{
        .code = Code::file_error,
        .message = fmt::format("{} cannot be loaded: {}", manifest.shared_object, reason ? reason : "no reason given")}
        .fix("build the kernel again");
  }
  kernel->entry_ = reinterpret_cast<void (*)(void* const*)>(::dlsym(kernel->handle_, manifest.entry.c_str()));
  if (!kernel->entry_) {
    return Diagnostic{.code = Code::file_error,
                      .message = fmt::format("{} has no entry `{}`", manifest.shared_object, manifest.entry)};
  }
  // The OpenMP library keeps its threads after a region; were it unloaded with the kernel, they would run into nothing.
  for (const char* library : {"libgomp.so.1", "libomp.so.5"}) ::dlopen(library, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  return kernel;
}

LoadedKernel::~LoadedKernel() {
  if (handle_) ::dlclose(handle_);
}

}  // namespace hc::runtime
