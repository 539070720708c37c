// Hand-edited sources against baselines and incumbent, and what each knob of the winner is worth.
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "cli/workbench.h"
#include "contract/backlog.h"
#include "ledger/judge.h"

namespace hc::cli {
namespace {

constexpr size_t kArmsAtOnce = 10;  ///< beside the winner; a round of more takes so long that the machine drifts

/// A built config that is measured beside the candidate and decides nothing.
Result<tune::Contender> bystander(const std::string& name, const tune::Built& built, const tune::Contender& candidate) {
  tune::Contender out =
      tune::candidate_contender(name, built, candidate.argv.front(), candidate.prepare.seed, candidate.prepare.threads);
  out.arm.role = ledger::Role::anchor;
  out.config = built.manifest.config;
  HC_TRY(tune::hash_binary(&out));
  return out;
}

}  // namespace

/// Keeps the edited text as evidence, so that a later reader sees what was measured.
Result<std::string> Workbench::store_source(const std::string& source) {
  Json record;
  record["schema"] = "hillclimb.source/1";
  record["task"] = task_.name;
  record["variant"] = work_.variant->name;
  record["sha256"] = sha256_hex(source);
  record["text"] = source;
  const std::string text = record.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  return store_->put(goal_.run, fmt::format("source-{}", work_.variant->name), text, work_.variant->name, -1);
}

Result<Attempt> Workbench::attempt(const std::string& source, const std::optional<knob::Config>& config) {
  const tune::Built winner = HC_TRY(incumbent());
  tune::Built edited = config ? HC_TRY(tune::lower(work_.subject.request, *config, site_)) : winner;
  if (edited.compiled.source == source) {
    progress_.line(fmt::format("{}  the file is the generated source itself: nothing was edited", work_.label));
  }
  const std::string generated = sha256_hex(edited.compiled.source);
  edited.compiled.source = source;
  edited.manifest.source_sha256 = sha256_hex(source);
  edited.manifest_path.clear();
  tune::BuildSite site = site_;
  site.cache_folder = folder("try");
  const std::string why = make_folders(site.cache_folder);
  if (!why.empty()) return Diagnostic{Code::file_error, fmt::format("{} cannot be made: {}", site.cache_folder, why)};
  progress_.now(fmt::format("{}  compiling the edited source", work_.label));
  HC_TRY(tune::make_shared_object(site, &edited));
  HC_TRY(store_source(source));
  HC_TRY(prepare_candidate(std::move(edited)));
  const std::vector<tune::Contender> best = HC_TRY(rivals(work_));
  work_.candidate.arm.name = kHandEdited;
  work_.candidate.arm.generated_sha256 = generated;
  std::vector<tune::Contender> arms = {work_.candidate};
  arms.insert(arms.end(), best.begin(), best.end());
  arms.push_back(HC_TRY(bystander(kIncumbent, winner, work_.candidate)));
  const std::vector<int>& looks = lock_.criteria.looks;
  const int agreed = looks.empty() ? task_.effort.pairs : *std::max_element(looks.begin(), looks.end());
  const tune::CampaignPlan plan = campaign_plan(
      work_, ledger::Purpose::attempt, options_.pairs > 0 ? options_.pairs : agreed, "trying the edited source");
  return judge_attempt(HC_TRY(measure_and_store(work_, arms, plan, fmt::format("try-{}", work_.variant->name), {})),
                       arms);
}

/// The same rules as for a confirming run; parity becomes the first idea of the backlog.
Result<Attempt> Workbench::judge_attempt(const std::string& object, const std::vector<tune::Contender>& arms) {
  const std::string text = HC_TRY(ledger::read_object(options_.artifacts, object));
  const ledger::PairsArtifact artifact = HC_TRY(ledger::parse_pairs(text, object));
  ledger::CompareRules rules;
  rules.limit = work_.variant->target * (1 - lock_.criteria.margin);
  rules.alpha = lock_.criteria.alpha;
  rules.rate_tolerance = lock_.criteria.rate_tolerance;
  Attempt out;
  out.object = object;
  out.incumbent = ledger::compare_pairs(ledger::pair_times(artifact, kIncumbent), rules);
  bool all_pass = true;
  bool any_fail = false;
  for (const tune::Contender& arm : arms) {
    if (arm.arm.role != ledger::Role::baseline) continue;
    const ledger::Comparison c = ledger::compare_pairs(ledger::pair_times(artifact, arm.arm.name), rules);
    all_pass &= c.verdict == ledger::Verdict::pass;
    any_fail |= c.verdict == ledger::Verdict::fail;
    out.baselines.emplace_back(arm.arm.name, c);
  }
  const bool refused = !ledger::refusal(artifact).empty();
  out.verdict = any_fail ? ledger::Verdict::fail : all_pass && !refused ? ledger::Verdict::pass : ledger::Verdict::open;
  if (out.verdict != ledger::Verdict::pass) return out;
  const std::string idea =
      fmt::format("the hand-edited kernel of {} (object {}) reaches parity: make it a general pass",
                  work_.variant->name, object.substr(0, 12));
  HC_TRY(contract::add_idea(*store_, goal_.run, idea, work_.variant->name, 1));
  return out;
}

Result<std::vector<Ablation>> Workbench::ablate() {
  tune::Built winner = HC_TRY(incumbent());
  const knob::Config values = winner.compiled.config;
  const std::string winner_source = winner.manifest.source_sha256;
  HC_TRY(prepare_candidate(std::move(winner)));
  const knob::Space space = HC_TRY(compile::space(work_.subject.request, site_.target));
  std::vector<std::pair<std::string, knob::Config>> changes;
  for (const knob::Choice& choice : space.choices) {
    const std::string value = values.get(choice.key, choice.default_value);
    if (value == choice.default_value) continue;
    knob::Config one = values;
    one.set(choice.key, choice.default_value);
    changes.emplace_back(fmt::format("{}: {} -> {}", choice.key, value, choice.default_value), std::move(one));
  }
  if (changes.size() > 1) changes.emplace_back("all of them", space.defaults());
  std::vector<Ablation> rows;
  std::vector<tune::Contender> arms;
  std::vector<size_t> row_of_arm;
  for (const auto& [name, config] : changes) {
    rows.push_back({name, ""});
    const Result<tune::Built> one = built(config);
    if (!one.ok()) {
      rows.back().reason = one.error().message;
    } else if (one.value().manifest.source_sha256 == winner_source) {
      rows.back().reason = "makes the same source";
    } else {
      arms.push_back(HC_TRY(bystander(name, one.value(), work_.candidate)));
      arms.back().arm.varies = work_.candidate.arm.name;
      row_of_arm.push_back(rows.size() - 1);
    }
  }
  return measure_ablations(std::move(rows), arms, row_of_arm);
}

Result<std::vector<Ablation>> Workbench::measure_ablations(std::vector<Ablation> rows,
                                                           const std::vector<tune::Contender>& arms,
                                                           const std::vector<size_t>& row_of_arm) {
  const int pairs = options_.pairs > 0 ? options_.pairs : std::max(5, task_.effort.nominate_pairs);
  for (size_t begin = 0; begin < arms.size(); begin += kArmsAtOnce) {
    const size_t end = std::min(arms.size(), begin + kArmsAtOnce);
    std::vector<tune::Contender> batch = {work_.candidate};
    batch.insert(batch.end(), arms.begin() + static_cast<ptrdiff_t>(begin), arms.begin() + static_cast<ptrdiff_t>(end));
    const tune::CampaignPlan plan =
        campaign_plan(work_, ledger::Purpose::ablate, pairs, fmt::format("ablating {} of {}", end, arms.size()));
    ledger::PairsArtifact measured;
    const std::string id = HC_TRY(measure_and_store(work_, batch, plan, fmt::format("ablate-{}", work_.variant->name),
                                                    [&](ledger::PairsArtifact* artifact) { measured = *artifact; }));
    for (size_t i = begin; i < end; ++i) {
      rows[row_of_arm[i]].object = id;
      rows[row_of_arm[i]].comparison = ledger::compare_pairs(ledger::pair_times(measured, arms[i].arm.name), {});
    }
  }
  return rows;
}

}  // namespace hc::cli
