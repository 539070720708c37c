// Steps for a candidate that is a worker: its stored winner for reading, and an edited generated source measured.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "bench/worker_client.h"
#include "cli/workbench.h"
#include "cli/worker_arm.h"
#include "cli/worker_listing.h"

namespace hc::cli {
namespace {

/// A worker that did not know the field would run what it generates itself, and its time would be taken for the edit's.
Status must_take_sources(const tune::Contender& contender) {
  const std::unique_ptr<bench::Worker> worker =
      HC_TRY(bench::Worker::start(contender.argv, worker_limits(), contender.env));
  const std::vector<std::string> can = worker->hello().can;
  (void)worker->bye();
  if (std::find(can.begin(), can.end(), "source") != can.end()) return success();
  return Diagnostic{Code::not_available,
                    fmt::format("the worker of {} takes no edited source in place of its own", contender.arm.name)}
      .fix("one that does says `source` under `can` in its hello: docs/worker-protocol.md");
}

/// `winner` with each key that differs from `base` set back to what stands there, then all at once; JSON texts.
Result<std::vector<std::pair<std::string, std::string>>> set_back(const std::string& winner, const std::string& base) {
  const Json from = parse_json(winner).value_or(Json::object()), to = parse_json(base).value_or(Json::object());
  if (!from.is_object() || from.empty()) {
    return Diagnostic{Code::not_available, "the stored winner has no config, so nothing can be set back"};
  }
  const auto said = [](const Json& config, const std::string& key) {
    return config.contains(key) ? config[key].dump() : std::string("left out");
  };
  std::vector<std::string> keys;
  for (const auto& [key, value] : from.items()) keys.push_back(key);
  for (const auto& [key, value] : to.items()) {
    if (!from.contains(key)) keys.push_back(key);
  }
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& key : keys) {
    if (said(from, key) == said(to, key)) continue;
    Json one = from;
    if (to.contains(key)) {
      one[key] = to[key];
    } else {
      one.erase(key);
    }
    out.emplace_back(fmt::format("{}: {} -> {}", key, said(from, key), said(to, key)), one.dump());
  }
  if (out.size() > 1) out.emplace_back("all of them", to.dump());
  return out;
}

/// Writes the text beside the run's other builds; the user's own file may change while it is measured.
Result<std::string> keep_source(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string path =
      std::filesystem::absolute(join_path(folder, sha256_hex(text).substr(0, 12) + "-" + name)).string();
  std::string why = make_folders(folder);
  if (why.empty()) why = write_file_atomic(path, text);
  if (why.empty()) return path;
  return Diagnostic{Code::file_error, fmt::format("{} cannot be written: {}", path, why)};
}

}  // namespace

Result<tune::Contender> Workbench::stored_worker() {
  HC_TRY(lease_device(work_));
  tune::Contender out = HC_TRY(worker_contender(*task_.candidate, task_, work_.subject, ledger::Role::candidate));
  out.env = work_.env;
  const auto found = stored_config(work_, out);
  if (!found || found->second.candidates.front().outcome != ledger::Outcome::ok) {
    return Diagnostic{Code::goal_error,
                      fmt::format("no config of {} is stored for {} and this kernel", out.arm.name, work_.label)}
        .fix(fmt::format("`hillclimb start {}` finds one", options_.task_path));
  }
  if (found->second.winner != "{}") pin_config(&out, found->second.winner);
  return out;
}

Result<tune::Contender> Workbench::stored_baseline(const contract::TaskBaseline& baseline) {
  HC_TRY(lease_device(work_));
  tune::Contender out = std::move(HC_TRY(implementations(baseline)).front());
  out.env = work_.env;
  const auto found = is_own(baseline) ? std::nullopt : stored_config(work_, out);
  if (found && found->second.winner != "{}") pin_config(&out, found->second.winner);
  return out;
}

/// What the worker generates for the config in hand, listed anew; empty where it does not show it.
std::string Workbench::generated_source(const tune::Contender& winner) {
  progress_.now(fmt::format("{}  asking the worker for its source", work_.label));
  const TempFolder folder("hillclimb-listing");
  const Result<WorkerListing> listing = list_worker(winner, folder.path());
  if (listing.ok() && !listing.value().source.empty()) return listing.value().source;
  progress_.line(
      fmt::format("{}  the worker shows no generated source, so nothing shows that this one was edited and "
                  "no block can rest on it",
                  work_.label));
  return "";
}

Result<Attempt> Workbench::attempt_worker(const std::string& source, const std::string& file_name) {
  if (!newest_tune(0)) {
    return Diagnostic{Code::goal_error,
                      fmt::format("no config of {} is stored that the source could belong to", work_.label)}
        .fix(fmt::format("`hillclimb start {}` finds one", options_.task_path));
  }
  // whom to measure against was settled by the nomination of the stored winner
  keep_nomination_ = true;
  HC_TRY(tune_variant(work_));
  HC_TRY(must_take_sources(work_.candidate));
  HC_TRY(check_candidate(work_));
  const std::vector<tune::Contender> best = HC_TRY(rivals(work_));
  tune::Contender winner = work_.candidate;
  winner.arm.name = kIncumbent;
  winner.arm.role = ledger::Role::anchor;
  const std::string generated = generated_source(winner);
  if (generated == source) {
    progress_.line(fmt::format("{}  the file is the generated source itself: nothing was edited", work_.label));
  }
  const std::string path = HC_TRY(keep_source(folder("try"), file_name, source));
  HC_TRY(store_source(source));
  tune::Contender& edited = work_.candidate;
  edited.prepare.source = path;
  edited.files.push_back({path, ""});
  edited.arm.name = kHandEdited;
  edited.arm.source_sha256 = sha256_hex(source);
  if (!generated.empty()) edited.arm.generated_sha256 = sha256_hex(generated);
  edited.arm.tune.clear();
  edited.arm.has_tuner = false;
  HC_TRY(tune::hash_binary(&edited));
  HC_TRY(check_candidate(work_));
  std::vector<tune::Contender> arms = {work_.candidate};
  arms.insert(arms.end(), best.begin(), best.end());
  arms.push_back(std::move(winner));
  const std::vector<int>& looks = lock_.criteria.looks;
  const int agreed = looks.empty() ? task_.effort.pairs : *std::max_element(looks.begin(), looks.end());
  const tune::CampaignPlan plan = campaign_plan(
      work_, ledger::Purpose::attempt, options_.pairs > 0 ? options_.pairs : agreed, "trying the edited source");
  return judge_attempt(HC_TRY(measure_and_store(work_, arms, plan, fmt::format("try-{}", work_.variant->name), {})),
                       arms);
}

Result<std::vector<Ablation>> Workbench::ablate_worker(const std::string& base) {
  if (!newest_tune(0)) {
    return Diagnostic{Code::goal_error, fmt::format("no config of {} is stored that could be taken apart", work_.label)}
        .fix(fmt::format("`hillclimb start {}` finds one", options_.task_path));
  }
  keep_nomination_ = true;
  HC_TRY(tune_variant(work_));
  HC_TRY(check_candidate(work_));
  std::vector<Ablation> rows;
  std::vector<tune::Contender> arms;
  std::vector<size_t> row_of_arm;
  for (const auto& [text, config] : HC_TRY(set_back(work_.candidate.prepare.config, base))) {
    rows.push_back({text, ""});
    tune::Contender one = work_.candidate;
    one.arm.name = text;
    one.arm.role = ledger::Role::anchor;
    one.arm.varies = work_.candidate.arm.name;
    one.arm.tune.clear();
    one.arm.has_tuner = false;
    one.prepare.config = one.arm.config = config;
    HC_TRY(tune::hash_binary(&one));
    Description asked = describe(one, -1, true);
    judge_outputs(work_, one, &asked);
    if (asked.outcome != ledger::Outcome::ok) {
      rows.back().reason = asked.reason;
      continue;
    }
    arms.push_back(std::move(one));
    row_of_arm.push_back(rows.size() - 1);
  }
  return measure_ablations(std::move(rows), arms, row_of_arm);
}

}  // namespace hc::cli
