// C++ text of types and of elementwise operations, in terms of the prelude's vectors.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel_ir.h"

namespace hc::backend::cpu {

/// Element type in registers ("float"); bool is "bool".
std::string scalar_type(DType dtype);
/// Element type in memory ("uint16_t" for bf16).
std::string memory_type(DType dtype);
/// Register type: "float", or the name of the vector type, "f32x16".
std::string register_type(ir::Reg reg);
/// What the vector type's name stands for; masks are as wide as `mask_bytes`.
std::string vector_definition(ir::Reg reg, int mask_bytes);
std::string literal_text(DType dtype, ir::Literal literal);

/// The value of an elementwise operation on C++ expressions of the argument registers' types.
std::string elementwise_text(ir::OpKind op, const std::vector<std::string>& args, const std::vector<ir::Reg>& types,
                             ir::Reg result);
/// `text` of type `from` as a register of type `to`, floats rounded to nothing narrower than f32.
std::string convert_text(const std::string& text, ir::Reg from, ir::Reg to);
/// A scalar as a vector where `to` has lanes and `from` has none.
std::string splat_text(const std::string& text, ir::Reg from, ir::Reg to);
/// Two values of a reduction combined.
std::string combine_text(ir::ReduceKind kind, const std::string& a, const std::string& b, ir::Reg type);

}  // namespace hc::backend::cpu
