// Text of single ledger lines and of the anchor, shared by reader and writer.
#pragma once

#include <string>
#include <string_view>

#include "ledger/store.h"

namespace hc::ledger {

/// One line without its newline; keys in fixed order, empty fields left out.
std::string line_text(const LedgerLine& line);
Result<LedgerLine> parse_line(const std::string& text, const std::string& where);
/// Appends the lines of `text` to a view, verifying order and chain; stops at the first fault.
void extend_view(LedgerView* view, std::string_view text);
std::string ledger_path(const std::string& artifacts_dir);
std::string anchor_text(const Anchor& anchor);
/// Whether the ledger is the single announced line that says that an earlier one was lost, killed before it was
/// anchored.
bool begun_anew(const LedgerView& view, const Anchor& anchor);

}  // namespace hc::ledger
