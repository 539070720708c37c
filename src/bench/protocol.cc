// JSON forms of the protocol's structures.
#include "bench/protocol.h"

#include <cmath>

#include "base/json.h"
#include "bench/json_reader.h"

namespace hc::bench {

std::string_view mode_name(Mode mode) { return mode == Mode::single ? "single" : "back_to_back"; }

namespace {

Json outputs_json(const std::vector<OutputFile>& outputs) {
  Json list = Json::array();
  for (const OutputFile& output : outputs) {
    list.push_back({{"index", output.index},
                    {"name", output.name},
                    {"dtype", std::string(dtype_name(output.dtype))},
                    {"numel", output.numel},
                    {"path", output.path},
                    {"sha256", output.sha256},
                    {"nan_count", output.nan_count}});
    if (output.sampled) list.back()["sampled"] = true;
  }
  return list;
}

Json device_json(const DeviceState& value) {
  return {{"sm_mhz_clock", value.sm_mhz_clock},
          {"sm_mhz_nvml", value.sm_mhz_nvml},
          {"memory_mhz", value.memory_mhz},
          {"temperature_c", value.temperature_c},
          {"power_w", value.power_w},
          {"event_reasons", value.event_reasons},
          {"queue_timeouts", value.queue_timeouts}};
}

Mode read_mode(JsonReader& reader) {
  std::string mode = "single";
  reader.optional("mode", &mode);
  if (mode == "back_to_back") return Mode::back_to_back;
  if (mode != "single") reader.fail("`mode` is `" + mode + "`, not single or back_to_back");
  return Mode::single;
}

}  // namespace

Json to_json(const PrepareRequest& value) {
  Json json{{"implementation", value.implementation},
            {"manifest", value.manifest},
            {"operation", value.operation},
            {"args", value.args},
            {"library", value.library},
            {"bytes", value.bytes},
            {"seed", value.seed},
            {"threads", value.threads},
            {"slot", value.slot}};
  if (!value.kernel.empty()) json["kernel"] = value.kernel;
  if (!value.config.empty()) json["config"] = parse_json(value.config).value_or(Json(value.config));
  if (!value.options.empty()) json["options"] = parse_json(value.options).value_or(Json::object());
  if (!value.source.empty()) json["source"] = value.source;
  if (value.tune_s >= 0) json["tune_s"] = value.tune_s;
  return json;
}

Json to_json(const CheckRequest& value) {
  Json json{{"out_dir", value.out_dir}, {"run", value.run}, {"slot", value.slot}};
  if (!value.elements.empty()) json["elements"] = value.elements;
  return json;
}

Json to_json(const TimeRequest& value) {
  return {{"blocks", value.blocks},
          {"min_block_s", value.min_block_s},
          {"warmup_s", value.warmup_s},
          {"mode", std::string(mode_name(value.mode))},
          {"flush_bytes", value.flush_bytes},
          {"max_launches", value.max_launches},
          {"preheat_s", value.preheat_s},
          {"slot", value.slot}};
}

Json to_json(const Preheat& value) {
  return {{"seconds", value.seconds},
          {"steady", value.steady},
          {"sm_mhz_clock", value.sm_mhz_clock},
          {"temperature_c", value.temperature_c},
          {"power_w", value.power_w}};
}

Json to_json(const ListingRequest& value) { return {{"out_dir", value.out_dir}, {"slot", value.slot}}; }

Json to_json(const ListingReply& value) {
  Json files = Json::array();
  for (const ListedFile& file : value.files) {
    files.push_back({{"kind", file.kind}, {"name", file.name}, {"path", file.path}});
  }
  Json json{{"files", files}};
  if (!value.tools.empty()) json["tools"] = value.tools;
  if (!value.missing.empty()) json["missing"] = value.missing;
  return json;
}

Json to_json(const HelloReply& value) {
  Json offers = Json::array();
  for (const Offer& offer : value.offers) {
    offers.push_back(
        {{"implementation", offer.implementation}, {"library", offer.library}, {"version", offer.version}});
  }
  Json json{{"protocol", value.protocol}, {"worker", value.worker}, {"backend", value.backend}, {"offers", offers}};
  for (const Missing& one : value.missing) {
    Json entry{{"implementation", one.implementation}, {"reason", one.reason}};
    if (!one.help.empty()) entry["help"] = one.help;
    json["missing"].push_back(std::move(entry));
  }
  if (!value.can.empty()) json["can"] = value.can;
  return json;
}

Json to_json(const PrepareReply& value) {
  Json json{{"implementation", value.implementation},
            {"version", value.version},
            {"library", value.library},
            {"detail", value.detail},
            {"threads", value.threads},
            {"bytes", value.bytes},
            {"prepare_s", value.prepare_s},
            {"in_place", value.in_place},
            {"inputs_sha256", value.inputs_sha256}};
  if (!value.config.empty()) json["config"] = parse_json(value.config).value_or(Json(value.config));
  if (!value.modules.empty() || !value.packages.empty()) {
    Json packages = Json::array();
    for (const LoadedPackage& one : value.packages) {
      packages.push_back({{"name", one.name}, {"version", one.version}, {"sha256", one.sha256}});
    }
    json["loaded"] = {{"files", value.modules}, {"packages", packages}};
  }
  if (value.tuned) {
    json["tune"] = {{"cold", value.tune.cold},
                    {"full", value.tune.full},
                    {"seconds", value.tune.seconds},
                    {"best_seconds", value.tune.best_seconds},
                    {"tried", value.tune.tried}};
  }
  return json;
}

Json to_json(const CheckReply& value) { return {{"outputs", outputs_json(value.outputs)}}; }

Json to_json(const Block& value) {
  Json json{{"seconds", value.seconds},
            {"launches", value.launches},
            {"start_monotonic_s", value.start_monotonic_s},
            {"mid_monotonic_s", value.mid_monotonic_s},
            {"mid_unix_s", value.mid_unix_s},
            {"mhz", value.mhz},
            {"load1", value.load1},
            {"voluntary_switches", value.voluntary_switches},
            {"involuntary_switches", value.involuntary_switches}};
  if (value.has_device) json["device"] = device_json(value.device);
  return json;
}

Json to_json(const TimeReply& value) {
  Json blocks = Json::array();
  for (const Block& block : value.blocks) blocks.push_back(to_json(block));
  Json json{{"clock", value.clock},
            {"mode", std::string(mode_name(value.mode))},
            {"threads", value.threads},
            {"flush_bytes", value.flush_bytes},
            {"warmup_launches", value.warmup_launches},
            {"empty_s", value.empty_s},
            {"blocks", blocks}};
  if (value.copies > 0) json["copies"] = value.copies;
  if (value.preheat.seconds > 0) json["preheat"] = to_json(value.preheat);
  return json;
}

Result<PrepareRequest> prepare_request_from_json(const Json& json) {
  JsonReader reader(json);
  PrepareRequest value;
  reader.required("implementation", &value.implementation);
  reader.optional("manifest", &value.manifest);
  reader.optional("operation", &value.operation);
  reader.optional("args", &value.args);
  reader.optional("library", &value.library);
  reader.optional("bytes", &value.bytes);
  reader.optional("seed", &value.seed);
  reader.optional("threads", &value.threads);
  reader.optional("slot", &value.slot);
  reader.optional("kernel", &value.kernel);
  value.config = reader.text_of("config");
  value.options = reader.text_of("options");
  reader.optional("source", &value.source);
  reader.optional("tune_s", &value.tune_s);
  return reader.finish(std::move(value));
}

Result<CheckRequest> check_request_from_json(const Json& json) {
  JsonReader reader(json);
  CheckRequest value;
  reader.optional("out_dir", &value.out_dir);
  reader.optional("run", &value.run);
  reader.optional("slot", &value.slot);
  reader.optional("elements", &value.elements);
  return reader.finish(std::move(value));
}

Result<ListingRequest> listing_request_from_json(const Json& json) {
  JsonReader reader(json);
  ListingRequest value;
  reader.required("out_dir", &value.out_dir);
  reader.optional("slot", &value.slot);
  return reader.finish(std::move(value));
}

Result<ListingReply> listing_reply_from_json(const Json& json) {
  JsonReader reader(json);
  ListingReply value;
  reader.each("files", [&](JsonReader& item) {
    ListedFile file;
    item.required("kind", &file.kind);
    item.optional("name", &file.name);
    item.required("path", &file.path);
    value.files.push_back(std::move(file));
  });
  reader.optional("tools", &value.tools);
  reader.optional("missing", &value.missing);
  return reader.finish(std::move(value));
}

Result<TimeRequest> time_request_from_json(const Json& json) {
  JsonReader reader(json);
  TimeRequest value;
  reader.optional("blocks", &value.blocks);
  reader.optional("min_block_s", &value.min_block_s);
  reader.optional("warmup_s", &value.warmup_s);
  reader.optional("flush_bytes", &value.flush_bytes);
  reader.optional("max_launches", &value.max_launches);
  reader.optional("preheat_s", &value.preheat_s);
  reader.optional("slot", &value.slot);
  value.mode = read_mode(reader);
  return reader.finish(std::move(value));
}

Result<HelloReply> hello_reply_from_json(const Json& json) {
  JsonReader reader(json);
  HelloReply value;
  reader.required("protocol", &value.protocol);
  reader.required("worker", &value.worker);
  reader.optional("backend", &value.backend);
  reader.optional("can", &value.can);
  reader.each("offers", [&](JsonReader& item) {
    Offer offer;
    item.required("implementation", &offer.implementation);
    item.optional("library", &offer.library);
    item.optional("version", &offer.version);
    value.offers.push_back(std::move(offer));
  });
  reader.each("missing", [&](JsonReader& item) {
    Missing one;
    item.required("implementation", &one.implementation);
    item.optional("reason", &one.reason);
    item.optional("help", &one.help);
    value.missing.push_back(std::move(one));
  });
  return reader.finish(std::move(value));
}

Result<PrepareReply> prepare_reply_from_json(const Json& json) {
  JsonReader reader(json);
  PrepareReply value;
  reader.required("implementation", &value.implementation);
  reader.required("version", &value.version);
  reader.optional("library", &value.library);
  reader.optional("detail", &value.detail);
  reader.required("threads", &value.threads);
  reader.required("bytes", &value.bytes);
  reader.optional("prepare_s", &value.prepare_s);
  reader.optional("in_place", &value.in_place);
  // the arms of a comparison must have drawn the same inputs, and only this tells
  reader.required("inputs_sha256", &value.inputs_sha256);
  if (json.contains("inputs_sha256") && value.inputs_sha256.empty()) reader.fail("`inputs_sha256` is empty");
  value.config = reader.text_of("config");
  reader.object("loaded", [&](JsonReader& loaded) {
    loaded.optional("files", &value.modules);
    loaded.each("packages", [&](JsonReader& item) {
      LoadedPackage one;
      item.required("name", &one.name);
      item.optional("version", &one.version);
      item.optional("sha256", &one.sha256);
      value.packages.push_back(std::move(one));
    });
  });
  value.tuned = reader.object("tune", [&](JsonReader& tune) {
    tune.required("cold", &value.tune.cold);
    tune.required("full", &value.tune.full);
    tune.optional("seconds", &value.tune.seconds);
    tune.optional("best_seconds", &value.tune.best_seconds);
    tune.optional("tried", &value.tune.tried);
  });
  return reader.finish(std::move(value));
}

Result<CheckReply> check_reply_from_json(const Json& json) {
  JsonReader reader(json);
  CheckReply value;
  reader.each("outputs", [&](JsonReader& item) {
    OutputFile output;
    std::string dtype;
    item.required("index", &output.index);
    item.optional("name", &output.name);
    item.required("dtype", &dtype);
    item.required("numel", &output.numel);
    item.optional("path", &output.path);
    item.required("sha256", &output.sha256);
    item.required("nan_count", &output.nan_count);
    item.optional("sampled", &output.sampled);
    const std::optional<DType> type = dtype_from_name(dtype);
    if (type)
      output.dtype = *type;
    else
      item.fail("`dtype` is `" + dtype + "`, which is no element type");
    value.outputs.push_back(std::move(output));
  });
  return reader.finish(std::move(value));
}

namespace {

void read_device(JsonReader& reader, DeviceState* value) {
  reader.optional("sm_mhz_clock", &value->sm_mhz_clock);
  reader.optional("sm_mhz_nvml", &value->sm_mhz_nvml);
  reader.optional("memory_mhz", &value->memory_mhz);
  reader.optional("temperature_c", &value->temperature_c);
  reader.optional("power_w", &value->power_w);
  reader.optional("event_reasons", &value->event_reasons);
  reader.optional("queue_timeouts", &value->queue_timeouts);
}

Block read_block(JsonReader& reader) {
  Block value;
  reader.required("seconds", &value.seconds);
  reader.required("launches", &value.launches);
  reader.optional("start_monotonic_s", &value.start_monotonic_s);
  reader.required("mid_monotonic_s", &value.mid_monotonic_s);
  reader.optional("mid_unix_s", &value.mid_unix_s);
  reader.optional("mhz", &value.mhz);
  reader.optional("load1", &value.load1);
  reader.optional("voluntary_switches", &value.voluntary_switches);
  reader.optional("involuntary_switches", &value.involuntary_switches);
  value.has_device = reader.object("device", [&](JsonReader& device) { read_device(device, &value.device); });
  if (value.seconds.empty()) reader.fail("a block has no readings");
  for (double seconds : value.seconds) {
    if (!(seconds > 0) || !std::isfinite(seconds)) reader.fail("a reading is not a positive number of seconds");
  }
  return value;
}

}  // namespace

Result<Block> block_from_json(const Json& json) {
  JsonReader reader(json);
  Block value = read_block(reader);
  return reader.finish(std::move(value));
}

Result<TimeReply> time_reply_from_json(const Json& json) {
  JsonReader reader(json);
  TimeReply value;
  reader.optional("clock", &value.clock);
  reader.required("threads", &value.threads);
  reader.required("flush_bytes", &value.flush_bytes);
  reader.optional("warmup_launches", &value.warmup_launches);
  reader.optional("empty_s", &value.empty_s);
  reader.optional("copies", &value.copies);
  reader.object("preheat", [&](JsonReader& heat) {
    heat.required("seconds", &value.preheat.seconds);
    heat.required("steady", &value.preheat.steady);
    heat.optional("sm_mhz_clock", &value.preheat.sm_mhz_clock);
    heat.optional("temperature_c", &value.preheat.temperature_c);
    heat.optional("power_w", &value.preheat.power_w);
  });
  value.mode = read_mode(reader);
  if (value.mode == Mode::back_to_back && value.copies < 1) {
    reader.fail("`copies` is missing: launches in a row over one copy of the inputs would find them in the cache");
  }
  reader.each("blocks", [&](JsonReader& item) { value.blocks.push_back(read_block(item)); });
  if (value.blocks.empty()) reader.fail("`blocks` is missing or empty");
  return reader.finish(std::move(value));
}

}  // namespace hc::bench
