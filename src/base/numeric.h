// Conversions between element storage and double, bit for bit as PyTorch casts (fp8 e4m3fn has no infinity).
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace hc {

float f16_to_f32(uint16_t bits);
float bf16_to_f32(uint16_t bits);
uint16_t f64_to_f16(double value);   ///< rounds once, to nearest even; overflow to infinity
uint16_t f64_to_bf16(double value);
uint16_t f32_to_bf16(float value);
uint8_t f64_to_f8e4m3(double value);  ///< above 448 after rounding: NaN, as torch
uint8_t f64_to_f8e5m2(double value);
float f8e4m3_to_f32(uint8_t bits);
float f8e5m2_to_f32(uint8_t bits);

/// The element at index i of a buffer of this type, as double (i64 beyond 2^53 loses bits; use load_int there).
double load_double(const void* data, DType type, int64_t i);
int64_t load_int(const void* data, DType type, int64_t i);
/// Stores with the type's rounding; integers truncate toward zero and wrap, bool is value != 0.
void store_double(void* data, DType type, int64_t i, double value);
void store_int(void* data, DType type, int64_t i, int64_t value);
/// The double that remains of `value` after a store to and a load from this floating type.
double round_to(DType type, double value);

}  // namespace hc
