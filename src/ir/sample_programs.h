// Programs that several tests of tile IR share.
#pragma once

#include <string>

#include "ir/tile_ir.h"

namespace hc::ir {

/// Softmax over the rows of x[64, 128] in tiles of 4 rows, made with the builder.
Program softmax_program();
/// Text of a valid program in which every structured op stands.
const std::string& structured_text();
/// A valid program in which every elementwise op stands.
Program elementwise_program();

/// Parses text that must be well formed.
Program parsed(const std::string& text);
/// Whether verify() accepts the program; its message otherwise.
std::string verdict(const Program& program);

}  // namespace hc::ir
