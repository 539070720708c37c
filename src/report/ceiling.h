// Which variants stay behind the rate of a streaming copy.
#pragma once

#include <string>

#include "report/model.h"

namespace hc::report {

/// A kernel that memory limits can reach this share of a copy with streaming stores.
inline constexpr double kCopyShare = 0.8;

/// A sentence that names the variants below kCopyShare of the copy of their own run, or says that there are none; empty
/// where no variant has a copy beside it.
std::string copy_share_text(const Model& model);

}  // namespace hc::report
