// Inside of the verifier: the rules of single ops, apart from the walk over programs, regions and scopes.
#pragma once

#include <string>
#include <vector>

#include "ir/tile_ir.h"

namespace hc::ir {

/// A tile whose loop or launch axis encloses the op at hand.
struct ActiveTile {
  BlockId block = kNone;
  ValueId begin = kNone;
};

/// Where an op stands.
struct OpContext {
  const Program& program;
  const Launch& launch;
  const std::vector<ActiveTile>& active;
};

/// The verdict on one op: "`add` %5 "x": why".
Diagnostic broken(const Launch& launch, const Op& op, std::string why);
/// "%5", with the source's name where there is one.
std::string value_text(const Launch& launch, ValueId v);

/// Counts of operands, results and regions; ids of operands and results are already known to be in range.
Status verify_counts(const OpContext& context, const Op& op);
/// Dtypes, dimensions and maps of an op without regions; counts have been checked.
Status verify_elementwise(const OpContext& context, const Op& op);
Status verify_structured(const OpContext& context, const Op& op);
/// Loops and branches: bounds, carried values, region arguments and yields; counts have been checked.
Status verify_control(const OpContext& context, const Op& op);

/// An operand's map into `dims`, the dimensions that it follows.
Status verify_map(const OpContext& context, const Op& op, const Operand& operand, const std::vector<Dim>& dims);

}  // namespace hc::ir
