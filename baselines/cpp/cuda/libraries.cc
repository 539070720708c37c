// Opens libraries and finds headers in named and usual folders.
#include "cuda/libraries.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <algorithm>

#include "base/files.h"

namespace hc::baselines {
namespace {

/// Existing paths that match a shell pattern, sorted.
std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return out;
}

std::vector<std::string> below(const std::vector<std::string>& roots, std::initializer_list<const char*> tails) {
  std::vector<std::string> out;
  for (const std::string& root : roots) {
    for (const char* tail : tails) {
      for (std::string& path : matches(root + tail)) out.push_back(std::move(path));
    }
  }
  return out;
}

std::string loaded_path(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  const bool known = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name;
  return known ? map->l_name : asked;
}

Diagnostic missing(const Wanted& wanted, const std::string& what, const std::string& heard) {
  std::string names;
  for (const std::string& name : wanted.names) names += (names.empty() ? "" : " or ") + name;
  return Diagnostic{.code = Code::not_available,
                    .message = wanted.title + " is not here: no " + what + " " + names + heard}
      .fix(wanted.fix + ", and name its folder with --search if it is not found then");
}

}  // namespace

void* Library::symbol(const char* name) const { return ::dlsym(handle, name); }

std::vector<std::string> Places::roots() const {
  std::vector<std::string> out = named_;
  if (!standard_) return out;
  for (const char* pattern : {"/usr/local/cuda", "/usr/local/cuda-*", "/usr/local/lib/python3*/dist-packages",
                              "/usr/local/lib/python3*/site-packages", "/usr/lib/python3*/dist-packages",
                              "/opt/*/lib/python3*/site-packages", "/opt/*/.venv/lib/python3*/site-packages"}) {
    for (std::string& path : matches(pattern)) out.push_back(std::move(path));
  }
  return out;
}

Result<Library> Places::open(const Wanted& wanted) const {
  std::vector<std::string> tries;
  const auto add = [&](const std::vector<std::string>& folders) {
    for (const std::string& name : wanted.names) {
      for (const std::string& folder : folders) tries.push_back(join_path(folder, name));
    }
  };
  const std::initializer_list<const char*> tails = {"", "/lib", "/lib64", "/nvidia/*/lib"};
  add(below(named_, tails));
  if (standard_) {
    tries.insert(tries.end(), wanted.names.begin(), wanted.names.end());
    add(below(roots(), tails));
  }
  std::string heard;
  for (const std::string& path : tries) {
    const bool by_path = path.find('/') != std::string::npos;
    if (by_path && !file_exists(path)) continue;
    if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library{handle, loaded_path(handle, path)};
    const char* why = ::dlerror();
    if (by_path) heard = std::string(" (") + (why ? why : "it cannot be opened") + ")";
  }
  return missing(wanted, "library", heard);
}

Result<std::string> Places::headers(const Wanted& wanted) const {
  for (const std::string& folder : below(roots(), {"", "/include", "/include/cccl", "/nvidia/*/include",
                                                   "/nvidia/*/include/cccl", "/cutlass_library/source/include"})) {
    const auto holds = [&](const std::string& name) { return file_exists(join_path(folder, name)); };
    if (std::all_of(wanted.names.begin(), wanted.names.end(), holds)) return folder;
  }
  return missing(wanted, "header", "");
}

}  // namespace hc::baselines
