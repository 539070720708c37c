// When a win by single launches is small enough to be looked at in a row as well.
#pragma once

namespace hc::ledger {

/// A kernel that parks its output in L2 leaves up to an L2 full of writing to whatever follows its stop event: some
/// 10 us, which a win of 5 % may be made of.
inline bool is_thin_win(double ratio) { return ratio > 1 && ratio < 1.05; }

/// Whether most of a win is missing in the second mode.
inline bool is_gone(double win, double in_a_row) { return in_a_row - 1 < (win - 1) / 2; }

}  // namespace hc::ledger
