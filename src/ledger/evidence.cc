// Objects of the evidence, verified and parsed once.
#include <fmt/format.h>

#include "ledger/judge.h"

namespace hc::ledger {
namespace {

std::string short_id(const std::string& id) { return id.substr(0, 12); }

}  // namespace

Evidence::Evidence(std::string artifacts_dir, const LedgerView& view)
    : artifacts_dir_(std::move(artifacts_dir)), view_(view) {
  for (const LedgerLine& line : view_.lines) {
    if (line.kind == "object") listings_.emplace(line.object, &line);
  }
}

const LedgerLine* Evidence::listing(const std::string& id) const {
  const auto it = listings_.find(id);
  return it == listings_.end() ? nullptr : it->second;
}

const std::string* Evidence::text(const std::string& id, std::vector<std::string>* broken) {
  if (const auto it = texts_.find(id); it != texts_.end()) return &it->second;
  Result<std::string> text = read_object(artifacts_dir_, id);
  if (!text.ok()) {
    const LedgerLine* line = listing(id);
    broken->push_back(line ? fmt::format("{} (artifacts/{})", text.error().message, line->name) : text.error().message);
    return nullptr;
  }
  if (!listing(id)) {
    broken->push_back(fmt::format("object {} is not listed in the ledger", short_id(id)));
    return nullptr;
  }
  return &texts_.emplace(id, std::move(text).value()).first->second;
}

const PairsArtifact* Evidence::pairs(const std::string& id, std::vector<std::string>* broken) {
  if (const auto it = pairs_.find(id); it != pairs_.end()) return &it->second;
  const std::string* content = text(id, broken);
  if (!content) return nullptr;
  Result<PairsArtifact> parsed = parse_pairs(*content, "artifacts/" + listing(id)->name);
  if (!parsed.ok()) {
    broken->push_back(parsed.error().message);
    return nullptr;
  }
  return &pairs_.emplace(id, std::move(parsed).value()).first->second;
}

const TuneRecord* Evidence::tune(const std::string& id, std::vector<std::string>* broken) {
  if (const auto it = tunes_.find(id); it != tunes_.end()) return &it->second;
  const std::string* content = text(id, broken);
  if (!content) return nullptr;
  Result<TuneRecord> parsed = parse_tune(*content, "artifacts/" + listing(id)->name);
  if (!parsed.ok()) {
    broken->push_back(parsed.error().message);
    return nullptr;
  }
  return &tunes_.emplace(id, std::move(parsed).value()).first->second;
}

}  // namespace hc::ledger
