// What the author says in a report: prose whose numbers come from the evidence alone.
#pragma once

#include <string>

#include "report/model.h"

namespace hc::report {

/// Fills in `{{VARIANT.FIELD}}` (ratio, lcb, ucb, before, after, before_ratio, pairs, best) and `{{goal.FIELD}}`
/// (geomean, lower, passing, variants). goal_error with the line for a placeholder that is none, and for every number
/// that was typed: digits that are no part of a name, except list marks and hashes and shapes in `code`.
Result<std::string> fill_claims(const std::string& text, const std::string& path, const Model& model);

}  // namespace hc::report
