// Records from JSON text.
#include <optional>

#include "ledger/json_reader.h"
#include "ledger/records.h"

namespace hc::ledger {
namespace {

/// The enumerator whose printed name is `text`, for enums with `count` of them.
template <typename E, typename NameOf>
E named(const JsonReader& in, std::string_view key, int count, NameOf name_of) {
  const std::string text = in.text(key);
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<E>(i)) == text) return static_cast<E>(i);
  }
  in.fail(fmt::format("field `{}` is \"{}\", which is not a known value", in.where(key), text));
  return static_cast<E>(0);
}

Work parse_work(const JsonReader& in) {
  Work work;
  work.unit = in.text("unit");
  work.amount = in.number("amount");
  return work;
}

Arm parse_arm(const JsonReader& in) {
  Arm arm;
  arm.name = in.text("name");
  arm.role = named<Role>(in, "role", 4, role_name);
  arm.worker = in.text_or("worker", "");
  arm.source_sha256 = in.text("source_sha256");
  arm.generated_sha256 = in.text_or("generated_sha256", "");
  arm.binary_sha256 = in.text("binary_sha256");
  arm.config = in.json("config");
  arm.tune = in.text_or("tune", "");
  arm.has_tuner = in.boolean_or("has_tuner", false);
  arm.varies = in.text_or("varies", "");
  arm.versions = in.facts("versions");
  arm.loaded = in.facts("loaded");
  return arm;
}

Reading parse_reading(const JsonReader& in) {
  Reading reading;
  reading.arm = in.text("arm");
  reading.pid = in.integer("pid");
  reading.started_s = in.number("started_s");
  reading.mid_s = in.number("mid_s");
  reading.wall_s = in.number_or("wall_s", 0);
  const std::vector<double> seconds = in.numbers("seconds");
  const std::vector<int64_t> launches = in.integers("launches");
  if (seconds.size() != launches.size()) {
    in.fail(fmt::format("`{}` and `{}` differ in length", in.where("seconds"), in.where("launches")));
  } else {
    reading.blocks.reserve(seconds.size());
    for (size_t i = 0; i < seconds.size(); ++i) reading.blocks.push_back({seconds[i], launches[i]});
  }
  reading.correct = in.boolean("correct");
  reading.worst_error = in.number_or("worst_error", 0);
  reading.nonfinite = in.integer_or("nonfinite", 0);
  reading.binary_sha256 = in.text("binary_sha256");
  reading.inputs_sha256 = in.text("inputs_sha256");
  reading.mode = in.text_or("mode", "");
  reading.facts = in.facts("facts");
  return reading;
}

/// Records of earlier versions have none.
Canary parse_canary(const JsonReader& in, std::string_view key) {
  Canary canary;
  if (!in.has(key)) return canary;
  const JsonReader reading = in.object(key);
  canary.compute_s = reading.number("compute_s");
  canary.memory_s = reading.number("memory_s");
  return canary;
}

Candidate parse_candidate(const JsonReader& in) {
  Candidate candidate;
  candidate.seq = in.integer("seq");
  candidate.t_s = in.number("t_s");
  candidate.config = in.json("config");
  candidate.origin = in.text_or("origin", "");
  candidate.outcome = named<Outcome>(in, "outcome", 7, outcome_name);
  candidate.reason = in.text_or("reason", "");
  candidate.seconds = in.number_or("seconds", 0);
  return candidate;
}

/// The fields that every artifact begins with; the kind must be the one asked for.
template <typename Record>
void parse_head(const JsonReader& in, std::string_view kind, Record* out) {
  const std::string found = in.text("kind");
  if (found != kind) in.fail(fmt::format("kind is \"{}\"; \"{}\" was expected", found, kind));
  out->run = in.text("run");
  out->name = in.text("name");
  out->task = in.text("task");
  out->variant = in.text("variant");
  out->variant_hash = in.text_or("variant_hash", "");
}

Criteria parse_criteria(const JsonReader& in) {
  Criteria criteria;
  criteria.margin = in.number("margin");
  criteria.geomean_min = in.number("geomean_min");
  criteria.geomean_slack = in.number("geomean_slack");
  criteria.alpha = in.number("alpha");
  criteria.looks.clear();
  for (const int64_t look : in.integers("looks")) criteria.looks.push_back(static_cast<int>(look));
  criteria.rate_tolerance = in.number("rate_tolerance");
  criteria.aa_pairs = static_cast<int>(in.integer_or("aa_pairs", 0));
  return criteria;
}

bool is_kind(const std::string& kind) { return kind == "pairs" || kind == "tune" || kind == "check"; }

/// Reads up to the kind, which stands at the begin of what may be a megabyte.
struct HeadReader : nlohmann::json_sax<Json> {
  std::string schema, kind, at;
  int depth = 0;
  bool more() const { return schema.empty() || kind.empty(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override {
    if (depth == 1 && at == "schema") schema = value;
    if (depth == 1 && at == "kind") kind = value;
    return more();
  }
  bool start_object(size_t) override { return ++depth > 0; }
  bool key(string_t& name) override {
    if (depth == 1) at = name;
    return true;
  }
  bool end_object() override { return --depth >= 0; }
  bool start_array(size_t) override { return ++depth > 0; }
  bool end_array() override { return --depth >= 0; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }
};

}  // namespace

Result<std::string> artifact_kind(const std::string& text, const std::string& where) {
  HeadReader head;
  Json::sax_parse(text, &head);
  if (head.schema == kArtifactSchema && is_kind(head.kind)) return head.kind;
  const Json json = HC_TRY(parse_document(text, where, kArtifactSchema));
  std::string failure;
  std::string kind = JsonReader(json, "", &failure).text("kind");
  if (!failure.empty()) return bad_document(where, failure);
  if (!is_kind(kind)) {
    return bad_document(where, fmt::format("kind \"{}\" is not known", kind));
  }
  return kind;
}

Result<PairsArtifact> parse_pairs(const std::string& text, const std::string& where) {
  const Json json = HC_TRY(parse_document(text, where, kArtifactSchema));
  std::string failure;
  const JsonReader in(json, "", &failure);
  PairsArtifact a;
  parse_head(in, "pairs", &a);
  a.lock = in.text_or("lock", "");
  a.purpose = named<Purpose>(in, "purpose", 7, purpose_name);
  a.open_seq = in.integer("open_seq");
  a.opened_at = in.text("opened_at");
  a.closed_at = in.text("closed_at");
  a.compiler_sha256 = in.text_or("compiler_sha256", "");
  a.kernel_sha256 = in.text_or("kernel_sha256", "");
  a.timer = in.text("timer");
  a.machine = in.facts("machine");
  if (in.has("machine_close")) a.machine_close = in.facts("machine_close");
  a.input = in.facts("input");
  a.work = parse_work(in.object("work"));
  a.read_gbs = in.number_or("read_gbs", 0);
  a.cache_bytes = in.number_or("cache_bytes", 0);
  for (const JsonReader& arm : in.objects("arms")) a.arms.push_back(parse_arm(arm));
  for (const JsonReader& entry : in.objects("pairs")) {
    Pair pair;
    pair.valid = entry.boolean("valid");
    pair.rule = entry.text_or("rule", "");
    pair.before = parse_canary(entry, "canary_before");
    pair.after = parse_canary(entry, "canary_after");
    pair.reference = parse_canary(entry, "canary_reference");
    for (const JsonReader& reading : entry.objects("readings")) pair.readings.push_back(parse_reading(reading));
    a.pairs.push_back(std::move(pair));
  }
  if (!failure.empty()) return bad_document(where, failure);
  return a;
}

Result<TuneRecord> parse_tune(const std::string& text, const std::string& where) {
  const Json json = HC_TRY(parse_document(text, where, kArtifactSchema));
  std::string failure;
  const JsonReader in(json, "", &failure);
  TuneRecord t;
  parse_head(in, "tune", &t);
  t.arm = in.text("arm");
  t.opened_at = in.text("opened_at");
  t.closed_at = in.text("closed_at");
  t.compiler_sha256 = in.text_or("compiler_sha256", "");
  t.kernel_sha256 = in.text_or("kernel_sha256", "");
  t.seed = json.value("seed", uint64_t{0});
  t.started_cold = in.boolean("started_cold");
  t.ended_by = in.text("ended_by");
  t.full = in.boolean("full");
  t.space_size = in.number_or("space_size", 0);
  t.seconds = in.number_or("seconds", 0);
  t.winner = in.json("winner");
  t.winner_seconds = in.number_or("winner_seconds", 0);
  t.winner_source_sha256 = in.text_or("winner_source_sha256", "");
  t.machine = in.facts("machine");
  for (const JsonReader& candidate : in.objects("candidates")) t.candidates.push_back(parse_candidate(candidate));
  if (!failure.empty()) return bad_document(where, failure);
  return t;
}

Result<CheckRecord> parse_check(const std::string& text, const std::string& where) {
  const Json json = HC_TRY(parse_document(text, where, kArtifactSchema));
  std::string failure;
  const JsonReader in(json, "", &failure);
  CheckRecord c;
  parse_head(in, "check", &c);
  c.backend = in.text("backend");
  c.passed = in.boolean("passed");
  c.worst_error = in.number_or("worst_error", 0);
  c.elements = in.integer_or("elements", 0);
  c.nonfinite = in.integer_or("nonfinite", 0);
  c.reference = in.text_or("reference", "");
  c.at = in.text_or("at", "");
  if (!failure.empty()) return bad_document(where, failure);
  return c;
}

Result<Lock> parse_lock(const std::string& text, const std::string& where) {
  const Json json = HC_TRY(parse_document(text, where, kLockSchema));
  std::string failure;
  const JsonReader in(json, "", &failure);
  Lock lock;
  lock.task = in.text("task");
  lock.run = in.text("run");
  lock.created = in.text("created");
  lock.task_sha256 = in.text_or("task_sha256", "");
  lock.kernel = in.text_or("kernel", "");
  const JsonReader rules = in.object("rules");
  lock.rules_version = static_cast<int>(rules.integer("version"));
  lock.rules_sha256 = rules.text_or("sha256", "");
  lock.criteria = parse_criteria(in.object("criteria"));
  for (const JsonReader& v : in.objects("variants")) {
    lock.variants.push_back(
        {v.text("name"), v.text("hash"), v.text_or("text", ""), v.number("target"), parse_work(v.object("work"))});
  }
  for (const JsonReader& b : in.objects("baselines")) {
    lock.baselines.push_back({b.text("name"), b.text_or("worker", ""), b.json("recipe")});
  }
  lock.waive = in.text_or("waive", "");
  lock.task_file = in.text_or("task_file", "");
  const std::string mode = in.text_or("mode", "single");  // locks of earlier versions agreed on nothing else
  lock.back_to_back = mode == mode_name(true);
  if (mode != mode_name(lock.back_to_back)) in.fail(fmt::format("the mode \"{}\" is not known", mode));
  if (!failure.empty()) return bad_document(where, failure);
  return lock;
}

}  // namespace hc::ledger
