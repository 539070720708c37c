// Builds one config: the pipeline's source, the system compiler's shared object, the manifest beside it.
#include "tune/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/hash.h"
#include "base/subprocess.h"

namespace hc::tune {

std::vector<runtime::StorageInfo> storage_infos(const ir::Program& program) {
  std::vector<runtime::StorageInfo> out;
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const ir::Storage& storage = program.storages[i];
    const auto id = static_cast<ir::StorageId>(i);
    runtime::StorageInfo info{storage.name, storage.dtype, storage.numel, storage.param_index, false, false};
    info.written = storage.role == ir::StorageRole::alloc ||
                   std::find(program.mutated.begin(), program.mutated.end(), id) != program.mutated.end();
    for (const ir::Returned& returned : program.returned) {
      if (returned.kind == ir::Returned::Kind::tensor && program.tensor(returned.tensor).storage == id) {
        info.returned = true;
      }
    }
    out.push_back(info);
  }
  return out;
}

Result<Built> lower(const compile::Request& request, const knob::Config& config, const BuildSite& site) {
  Built built;
  built.compiled = HC_TRY(compile::compile(request, config, site.target));
  runtime::Manifest& manifest = built.manifest;
  manifest.kernel = request.kernel;
  manifest.source_sha256 = sha256_hex(built.compiled.source);
  manifest.config = knob::to_text(built.compiled.config);
  for (const lang::Arg& arg : request.args) manifest.args.push_back(lang::to_text(arg));
  manifest.storages = storage_infos(built.compiled.program);
  return built;
}

Status make_shared_object(const BuildSite& site, Built* built) {
  std::vector<runtime::Header> headers;
  for (compile::Header& header : compile::headers()) {
    headers.push_back({std::move(header.name), std::move(header.text)});
  }
  const double start = monotonic_s();
  built->manifest.shared_object = HC_TRY(
      runtime::build_shared_object(site.toolchain, built->compiled.source, headers, site.cache_folder, site.limit_s));
  built->compile_s = monotonic_s() - start;
  // Different configs may print one source; their manifests still differ, so the name carries both.
  const std::string config_hash = sha256_hex(built->manifest.config + "\n" + built->manifest.kernel).substr(0, 16);
  const std::string path = fmt::format("{}.{}.json", built->manifest.shared_object, config_hash);
  const std::string why = write_file_atomic(path, to_json(built->manifest).dump(1) + "\n");
  if (!why.empty())
    return Diagnostic{Code::file_error, fmt::format("the manifest {} cannot be written: {}", path, why)};
  built->manifest_path = path;
  return success();
}

Result<Built> build(const compile::Request& request, const knob::Config& config, const BuildSite& site) {
  Built built = HC_TRY(lower(request, config, site));
  HC_TRY(make_shared_object(site, &built));
  return built;
}

void remove_all_but(const std::string& folder, const Built& keep) {
  // A file that cannot be removed only takes room.
  std::error_code ignored;
  const std::string stem = std::filesystem::path(keep.manifest.shared_object).filename().string();
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(stem) || name.find(keep.manifest.source_sha256) != std::string::npos) continue;
    if (name.ends_with(".so") || name.ends_with(".json") || name.ends_with(".cc") || name.ends_with(".cpp")) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

}  // namespace hc::tune
