// The manifest's JSON, schema "manifest/1", written and read back strictly.
#include "runtime/manifest.h"

#include <utility>

namespace hc::runtime {
namespace {

constexpr const char* kSchema = "manifest/1";

Diagnostic broken(const std::string& what) {
  return Diagnostic{.code = Code::file_error, .message = "the manifest " + what}.fix("build the kernel again");
}

/// The field of this name and of the type of `sample`, or a diagnostic that names it.
template <typename T>
Result<T> field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return broken(std::string("has no field `") + name + "`");
  bool fits = false;
  if constexpr (std::is_same_v<T, std::string>) fits = found->is_string();
  if constexpr (std::is_same_v<T, bool>) fits = found->is_boolean();
  if constexpr (std::is_same_v<T, int> || std::is_same_v<T, int64_t>) fits = found->is_number_integer();
  if constexpr (std::is_same_v<T, Json>) fits = found->is_array();
  if (!fits) return broken(std::string("has a field `") + name + "` of the wrong kind");
  return found->template get<T>();
}

Result<StorageInfo> storage_from_json(const Json& json) {
  if (!json.is_object()) return broken("has a storage that is not an object");
  StorageInfo info;
  info.name = HC_TRY(field<std::string>(json, "name"));
  const std::string dtype = HC_TRY(field<std::string>(json, "dtype"));
  const std::optional<DType> known = dtype_from_name(dtype);
  if (!known) return broken("has a storage of the unknown dtype `" + dtype + "`");
  info.dtype = *known;
  info.numel = HC_TRY(field<int64_t>(json, "numel"));
  if (info.numel < 0) return broken("has a storage of a negative size");
  info.param_index = HC_TRY(field<int>(json, "param_index"));
  info.written = HC_TRY(field<bool>(json, "written"));
  info.returned = HC_TRY(field<bool>(json, "returned"));
  return info;
}

}  // namespace

Json to_json(const Manifest& manifest) {
  Json json;
  json["schema"] = kSchema;
  json["kernel"] = manifest.kernel;
  json["entry"] = manifest.entry;
  json["shared_object"] = manifest.shared_object;
  json["source_sha256"] = manifest.source_sha256;
  json["config"] = manifest.config;
  json["args"] = manifest.args;
  json["storages"] = Json::array();
  for (const StorageInfo& info : manifest.storages) {
    Json row;
    row["name"] = info.name;
    row["dtype"] = std::string(dtype_name(info.dtype));
    row["numel"] = info.numel;
    row["param_index"] = info.param_index;
    row["written"] = info.written;
    row["returned"] = info.returned;
    json["storages"].push_back(std::move(row));
  }
  return json;
}

Result<Manifest> manifest_from_json(const Json& json) {
  if (!json.is_object()) return broken("is not a JSON object");
  const std::string schema = HC_TRY(field<std::string>(json, "schema"));
  if (schema != kSchema) return broken("has the schema `" + schema + "`, not `" + kSchema + "`");
  Manifest manifest;
  manifest.kernel = HC_TRY(field<std::string>(json, "kernel"));
  manifest.entry = HC_TRY(field<std::string>(json, "entry"));
  manifest.shared_object = HC_TRY(field<std::string>(json, "shared_object"));
  manifest.source_sha256 = HC_TRY(field<std::string>(json, "source_sha256"));
  manifest.config = HC_TRY(field<std::string>(json, "config"));
  for (const Json& arg : HC_TRY(field<Json>(json, "args"))) {
    if (!arg.is_string()) return broken("has an argument that is not text");
    manifest.args.push_back(arg.get<std::string>());
  }
  for (const Json& storage : HC_TRY(field<Json>(json, "storages"))) {
    manifest.storages.push_back(HC_TRY(storage_from_json(storage)));
  }
  return manifest;
}

}  // namespace hc::runtime
