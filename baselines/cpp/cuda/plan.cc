// The JSON form of launches.
#include "cuda/plan.h"

#include "bench/json_reader.h"

namespace hc::baselines {
namespace {

constexpr std::array<const char*, 4> kKinds = {"argument", "output", "scratch", "number"};

Result<std::vector<Parameter>> parameters_from(const Json& list) {
  std::vector<Parameter> out;
  for (const Json& item : list) {
    Parameter parameter;
    bool known = false;
    for (size_t k = 0; k < kKinds.size(); ++k) {
      if (!item.is_object() || !item.contains(kKinds[k]) || !item[kKinds[k]].is_number_integer()) continue;
      parameter = {static_cast<Parameter::Kind>(k), item[kKinds[k]].get<int64_t>()};
      known = true;
    }
    if (!known) {
      return Diagnostic{.code = Code::measurement_failed,
                        .message = "a parameter is none of argument, output, scratch and number: " + item.dump()};
    }
    out.push_back(parameter);
  }
  return out;
}

}  // namespace

Json to_json(const KernelLaunch& launch) {
  Json parameters = Json::array();
  for (const Parameter& p : launch.parameters) parameters.push_back({{kKinds[static_cast<size_t>(p.kind)], p.value}});
  return {{"function", launch.function},
          {"grid", launch.grid},
          {"block", launch.block},
          {"shared_bytes", launch.shared_bytes},
          {"parameters", std::move(parameters)}};
}

Result<KernelLaunch> launch_from_json(const Json& json) {
  KernelLaunch launch;
  std::vector<unsigned> grid, block;
  bench::JsonReader reader(json);
  reader.required("function", &launch.function);
  reader.required("grid", &grid);
  reader.required("block", &block);
  reader.optional("shared_bytes", &launch.shared_bytes);
  if (grid.size() != 3 || block.size() != 3) reader.fail("`grid` and `block` need three sizes each");
  if (!json.is_object() || !json.contains("parameters") || !json["parameters"].is_array()) {
    reader.fail("`parameters` is missing");
  }
  HC_TRY(reader.finish(diag::Unit{}));
  for (size_t i = 0; i < 3; ++i) {
    launch.grid[i] = grid[i];
    launch.block[i] = block[i];
  }
  launch.parameters = HC_TRY(parameters_from(json["parameters"]));
  return launch;
}

}  // namespace hc::baselines
