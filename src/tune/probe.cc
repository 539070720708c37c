// The asking side of the probe and the JSON forms.
#include "tune/probe.h"

#include <fmt/format.h>

#include "tune/probe_json.h"

namespace hc::tune {
namespace {

/// The oracle's first answer for a program may take long: it is not part of a config's own limit.
constexpr double kOracleLimit = 600;
constexpr double kGrace = 1;

}  // namespace

Json to_json(const ProbeSetup& s) {
  return {{"kernel_file", s.kernel_file}, {"kernel", s.kernel},          {"args", s.args}, {"seed", s.seed},
          {"samples", s.samples},         {"load_folder", s.load_folder}};
}

ProbeSetup probe_setup_from_json(const Json& json) {
  ProbeSetup s;
  s.kernel_file = json.value("kernel_file", s.kernel_file);
  s.kernel = json.value("kernel", s.kernel);
  s.args = json.value("args", s.args);
  s.seed = json.value("seed", s.seed);
  s.samples = json.value("samples", s.samples);
  s.load_folder = json.value("load_folder", s.load_folder);
  return s;
}

Json to_json(const ProbeRequest& r) {
  return {{"manifest", r.manifest_path}, {"files", r.files},     {"storages", r.storages},       {"oracle", r.oracle},
          {"config", r.config},          {"limit_s", r.limit_s}, {"save_folder", r.save_folder}, {"hash", r.hash},
          {"summary", r.summary},        {"sampled", r.sampled}, {"numbers", r.numbers}};
}

ProbeRequest probe_request_from_json(const Json& json) {
  ProbeRequest r;
  r.manifest_path = json.value("manifest", r.manifest_path);
  r.files = json.value("files", r.files);
  r.storages = json.value("storages", r.storages);
  r.oracle = json.value("oracle", r.oracle);
  r.config = json.value("config", r.config);
  r.limit_s = json.value("limit_s", r.limit_s);
  r.save_folder = json.value("save_folder", r.save_folder);
  r.hash = json.value("hash", r.hash);
  r.summary = json.value("summary", r.summary);
  r.sampled = json.value("sampled", r.sampled);
  r.numbers = json.value("numbers", r.numbers);
  return r;
}

Json to_json(const ProbeAnswer& a) {
  return {{"outcome", static_cast<int>(a.outcome)},
          {"reason", a.reason},
          {"checked", a.checked},
          {"wrong", a.wrong},
          {"worst", a.worst},
          {"output_sha256", a.output_sha256},
          {"numbers", a.numbers},
          {"outputs", a.outputs}};
}

ProbeAnswer probe_answer_from_json(const Json& json) {
  ProbeAnswer a;
  a.outcome = static_cast<ProbeOutcome>(json.value("outcome", static_cast<int>(ProbeOutcome::failed)));
  a.reason = json.value("reason", "the probe's answer cannot be read");
  a.checked = json.value("checked", a.checked);
  a.wrong = json.value("wrong", a.wrong);
  a.worst = json.value("worst", a.worst);
  a.output_sha256 = json.value("output_sha256", a.output_sha256);
  a.numbers = json.value("numbers", a.numbers);
  if (json.contains("outputs")) a.outputs = json["outputs"];
  return a;
}

Probe::~Probe() {
  if (process_) process_->stop(kGrace);
}

std::string Probe::start() {
  process_ = std::make_unique<LineProcess>();
  const std::string why = process_->start({program_, "probe"});
  if (!why.empty()) return why;
  Json setup;
  setup["setup"] = to_json(setup_);
  process_->send_line(setup.dump());
  const std::optional<std::string> line = process_->read_line(kOracleLimit);
  const std::optional<Json> json = line ? parse_json(*line) : std::nullopt;
  if (!json) return "the probe did not answer: " + process_->err();
  const ProbeAnswer answer = probe_answer_from_json(*json);
  return answer.outcome == ProbeOutcome::ok ? "" : answer.reason;
}

ProbeAnswer Probe::ask(const ProbeRequest& request) {
  ProbeAnswer answer;
  if (!process_) {
    answer.reason = start();
    if (!answer.reason.empty()) {
      process_.reset();
      return answer;
    }
  }
  process_->send_line(to_json(request).dump());
  const std::optional<std::string> line = process_->read_line(kOracleLimit + request.limit_s);
  if (const std::optional<Json> json = line ? parse_json(*line) : std::nullopt) return probe_answer_from_json(*json);
  const bool ended = process_->ended();
  answer.outcome = ended ? ProbeOutcome::crashed : ProbeOutcome::timed_out;
  answer.reason = ended ? "the probe itself died" : "the probe did not answer in time";
  if (!process_->err().empty()) answer.reason += ": " + process_->err().substr(0, process_->err().find('\n'));
  process_->stop(0);
  process_.reset();
  return answer;
}

}  // namespace hc::tune
