// Elementwise ops over lanes: the op is chosen once, then a loop over lanes runs its function.
#include <bit>

#include "base/numeric.h"
#include "base/philox.h"
#include "interp/functions.h"
#include "interp/lanes.h"

namespace hc::interp {
namespace {

using ir::OpKind;

/// Operands of one op and the lanes of its result.
struct Call {
  OpKind kind;
  const std::vector<LanesPtr>& operands;
  std::shared_ptr<Lanes> out;
  size_t count;

  const Lanes& operand(size_t k) const { return *operands[k]; }
  /// 0 for an operand of one lane, which every lane of the result reads.
  size_t step(size_t k) const { return operands[k]->count() == 1 ? 0 : 1; }
  bool certain() const {
    for (const LanesPtr& operand : operands) {
      if (!operand->e.empty()) return false;
    }
    return true;
  }
};

void keep_bound(Lanes& out, size_t lane, double e) {
  if (e == 0) return;
  if (out.e.empty()) out.e.resize(static_cast<size_t>(out.count()), 0.0);
  out.e[lane] = e;
}

/// Floating results: every lane may be uncertain.
template <typename Fn>
void to_float(Call& call, Fn fn) {
  Lanes& out = *call.out;
  out.e.resize(call.count);
  bool certain = true;
  for (size_t k = 0; k < call.count; ++k) {
    const Num r = fn(k);
    out.v[k] = r.v;
    out.e[k] = r.e;
    certain = certain && r.e == 0;
  }
  if (certain) out.e.clear();
}

template <typename Fn>
void to_int(Call& call, Fn fn) {
  Lanes& out = *call.out;
  for (size_t k = 0; k < call.count; ++k) {
    const Int r = fn(k);
    out.i[k] = r.i;
    keep_bound(out, k, r.e);
  }
}

template <typename Fn>
void float_binary_loop(Call& call, Fn fn) {
  const Lanes& a = call.operand(0);
  const Lanes& b = call.operand(1);
  const size_t sa = call.step(0), sb = call.step(1);
  to_float(call, [&](size_t k) { return fn(a.num(k * sa), b.num(k * sb)); });
}

bool run_float(Call& call) {
  const DType dtype = call.out->dtype;
  const Precision& p = precision_of(dtype);
  if (const FloatUnary fn = float_unary(call.kind)) {
    const Lanes& a = call.operand(0);
    const size_t sa = call.step(0);
    to_float(call, [&](size_t k) { return fn(p, a.num(k * sa)); });
    return true;
  }
  if (call.kind == OpKind::add) {
    float_binary_loop(call, [&](Num a, Num b) { return add(p, dtype, a, b); });
    return true;
  }
  if (call.kind == OpKind::sub) {
    float_binary_loop(call, [&](Num a, Num b) { return add(p, dtype, a, {-b.v, b.e}); });
    return true;
  }
  if (call.kind == OpKind::mul) {
    float_binary_loop(call, [&](Num a, Num b) { return mul(p, dtype, a, b); });
    return true;
  }
  if (const FloatBinary fn = float_binary(call.kind)) {
    float_binary_loop(call, [&](Num a, Num b) { return fn(p, a, b); });
    return true;
  }
  return false;
}

Int int_of(const Lanes& lanes, size_t k) { return {lanes.i[k], lanes.bound(k)}; }

Int int_unary(OpKind kind, DType dtype, Int a) {
  const auto negated = static_cast<int64_t>(0 - static_cast<uint64_t>(a.i));
  switch (kind) {
    case OpKind::neg:
      return {wrap(dtype, negated), a.e};
    case OpKind::abs:
      return {wrap(dtype, a.i < 0 ? negated : a.i), a.e};
    case OpKind::sign:
      return {(a.i > 0) - (a.i < 0), a.e == 0 ? 0.0 : 2.0};
    case OpKind::bitwise_not:
      return {dtype == DType::boolean ? 1 - a.i : wrap(dtype, ~a.i), a.e};
    default:
      return a;  // floor, ceil, trunc and round leave an integer as it is
  }
}

/// How far an uncertain operand may move an integer result; most functions say nothing then.
double int_bound(OpKind kind, Int a, Int b) {
  if (a.e == 0 && b.e == 0) return 0;
  const double size_a = std::fabs(static_cast<double>(a.i)), size_b = std::fabs(static_cast<double>(b.i));
  switch (kind) {
    case OpKind::add:
    case OpKind::sub:
      return a.e + b.e;
    case OpKind::mul:
      return size_a * b.e + size_b * a.e + a.e * b.e;
    case OpKind::maximum:
    case OpKind::minimum:
      return std::fmax(a.e, b.e);
    // A certain zero decides an `and`; bools alone have such small bounds.
    case OpKind::bitwise_and:
      return (a.e == 0 && a.i == 0) || (b.e == 0 && b.i == 0) ? 0 : kInfinite;
    default:
      return kInfinite;
  }
}

double bool_bound(OpKind kind, Int a, Int b) {
  if (a.e == 0 && b.e == 0) return 0;
  const auto decides = [](Int x, int64_t value) { return x.e == 0 && x.i == value; };
  const bool is_and = kind == OpKind::bitwise_and || kind == OpKind::mul || kind == OpKind::minimum;
  const bool is_or = kind == OpKind::bitwise_or || kind == OpKind::add || kind == OpKind::maximum;
  if (is_and && (decides(a, 0) || decides(b, 0))) return 0;
  if (is_or && (decides(a, 1) || decides(b, 1))) return 0;
  return 1;
}

bool run_int(Call& call) {
  const DType dtype = call.out->dtype;
  const Lanes& a = call.operand(0);
  const size_t sa = call.step(0);
  if (call.operands.size() == 1) {
    to_int(call, [&](size_t k) { return int_unary(call.kind, dtype, int_of(a, k * sa)); });
    return true;
  }
  const IntBinary fn = int_binary(call.kind);
  if (!fn) return false;
  const Lanes& b = call.operand(1);
  const size_t sb = call.step(1);
  to_int(call, [&](size_t k) {
    const Int x = int_of(a, k * sa), y = int_of(b, k * sb);
    bool defined = true;
    const int64_t r = wrap(dtype, fn(dtype, x.i, y.i, &defined));
    if (!defined) return Int{r, kInfinite};
    return Int{r, dtype == DType::boolean ? bool_bound(call.kind, x, y) : int_bound(call.kind, x, y)};
  });
  return true;
}

template <typename T>
bool compare_values(OpKind kind, T a, T b) {
  switch (kind) {
    case OpKind::eq:
      return a == b;
    case OpKind::ne:
      return a != b;
    case OpKind::lt:
      return a < b;
    case OpKind::le:
      return a <= b;
    case OpKind::gt:
      return a > b;
    default:
      return a >= b;
  }
}

/// A comparison is uncertain where its operands' bounds overlap.
void run_compare(Call& call) {
  const Lanes& a = call.operand(0);
  const Lanes& b = call.operand(1);
  const size_t sa = call.step(0), sb = call.step(1);
  const bool certain = call.certain();
  if (a.floating()) {
    to_int(call, [&](size_t k) {
      const Num x = a.num(k * sa), y = b.num(k * sb);
      const double e = x.e + y.e;
      const bool open = !certain && e > 0 && !(std::fabs(x.v - y.v) > e);
      return Int{compare_values(call.kind, x.v, y.v), open ? 1.0 : 0.0};
    });
    return;
  }
  to_int(call, [&](size_t k) {
    const Int x = int_of(a, k * sa), y = int_of(b, k * sb);
    const double e = x.e + y.e;
    const bool open = e > 0 && !(std::fabs(static_cast<double>(x.i) - static_cast<double>(y.i)) > e);
    return Int{compare_values(call.kind, x.i, y.i), open ? 1.0 : 0.0};
  });
}

void run_logical(Call& call) {
  const Lanes& a = call.operand(0);
  const size_t sa = call.step(0);
  to_int(call, [&](size_t k) {
    const double e = a.bound(k * sa);
    if (!a.floating()) {
      const int64_t i = a.i[k * sa];
      if (call.kind != OpKind::logical_not) return Int{0, 0};
      return Int{i == 0, e > 0 && std::fabs(static_cast<double>(i)) <= e ? 1.0 : 0.0};
    }
    const double v = a.v[k * sa];
    if (call.kind == OpKind::logical_not) return Int{v == 0, e > 0 && !(std::fabs(v) > e) ? 1.0 : 0.0};
    const bool yes = call.kind == OpKind::isnan ? std::isnan(v) : std::isinf(v);
    return Int{yes, std::isinf(e) ? 1.0 : 0.0};
  });
}

/// Where the condition is uncertain the result may be either branch's.
void run_where(Call& call) {
  const Lanes& c = call.operand(0);
  const Lanes& a = call.operand(1);
  const Lanes& b = call.operand(2);
  const size_t sc = call.step(0), sa = call.step(1), sb = call.step(2);
  const auto choose = [&](size_t k, Num x, Num y) {
    const bool first = c.i[k * sc] != 0;
    const Num taken = first ? x : y, other = first ? y : x;
    if (c.bound(k * sc) == 0) return taken;
    if (std::isnan(taken.v) && std::isnan(other.v)) return taken;
    const double apart = taken.v == other.v ? 0 : std::fabs(taken.v - other.v);
    const double reach = apart + other.e;
    return Num{taken.v, std::isnan(reach) ? kInfinite : std::fmax(taken.e, reach)};
  };
  if (call.out->floating()) {
    to_float(call, [&](size_t k) { return choose(k, a.num(k * sa), b.num(k * sb)); });
    return;
  }
  to_int(call, [&](size_t k) {
    const Int x = int_of(a, k * sa), y = int_of(b, k * sb);
    const Num bound = choose(k, {static_cast<double>(x.i), x.e}, {static_cast<double>(y.i), y.e});
    return Int{c.i[k * sc] != 0 ? x.i : y.i, bound.e};
  });
}

/// Rounds toward zero; outside of the dtype's range nothing is defined.
Int float_to_int(DType dtype, Num a) {
  if (dtype == DType::boolean) return {a.v != 0, a.e > 0 && !(std::fabs(a.v) > a.e) ? 1.0 : 0.0};
  const double limit = std::ldexp(1.0, dtype_significand_bits(dtype));
  const double low = dtype_kind(dtype) == DTypeKind::unsigned_int ? -1 : -limit - (dtype == DType::i64 ? 0 : 1);
  const bool below = dtype == DType::i64 ? a.v - a.e >= low : a.v - a.e > low;
  if (!below || !(a.v + a.e < limit)) return {0, kInfinite};
  const double whole = std::trunc(a.v);
  return {static_cast<int64_t>(whole),
          a.e == 0 ? 0 : bound_within(whole, std::trunc(a.v - a.e), std::trunc(a.v + a.e))};
}

double int_to_float(DType dtype, int64_t i) {
  return dtype == DType::f32 ? static_cast<double>(static_cast<float>(i)) : static_cast<double>(i);
}

/// cast rounds; promote does not, though an implementation may.
void run_convert(Call& call) {
  const Lanes& a = call.operand(0);
  const size_t sa = call.step(0);
  const DType dtype = call.out->dtype;
  const bool rounds = call.kind == OpKind::cast;
  if (a.floating() && call.out->floating()) {
    const bool widens = promote_types(a.dtype, dtype) == dtype;
    const Precision& p = precision_of(dtype);
    to_float(call, [&](size_t k) {
      const Num x = a.num(k * sa);
      if (rounds) return round_num(dtype, x);
      if (widens || (x.e == 0 && is_exact(dtype, x.v))) return x;
      return rounded_result(p, x, 0, x.e);
    });
  } else if (a.floating()) {
    to_int(call, [&](size_t k) { return float_to_int(dtype, a.num(k * sa)); });
  } else if (call.out->floating()) {
    const Precision& p = precision_of(dtype);
    to_float(call, [&](size_t k) {
      const Int x = int_of(a, k * sa);
      const double v = static_cast<double>(x.i);
      if (rounds) return round_num(dtype, {int_to_float(dtype, x.i), x.e});
      return x.e == 0 && is_exact(dtype, v) ? Num{v, 0} : rounded_result(p, {v, x.e}, 0, x.e);
    });
  } else {
    to_int(call, [&](size_t k) {
      const Int x = int_of(a, k * sa);
      return Int{wrap(dtype, x.i), dtype == DType::boolean && x.e > 0 ? 1.0 : x.e};
    });
  }
}

/// Word 0 of Philox; the folded int32 times a constant just below 2^-31 stays below 1 in f32.
void run_rand(Call& call) {
  const Lanes& seed = call.operand(0);
  const Lanes& offset = call.operand(1);
  const size_t ss = call.step(0), so = call.step(1);
  to_float(call, [&](size_t k) {
    const auto key = static_cast<uint64_t>(seed.i[k * ss]), counter = static_cast<uint64_t>(offset.i[k * so]);
    const auto words = philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0},
                                  {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
    const auto word = static_cast<int32_t>(words[0]);
    const int32_t folded = word < 0 ? -word - 1 : word;
    const float uniform = static_cast<float>(folded) * 4.6566127342e-10f;
    const bool uncertain = seed.bound(k * ss) > 0 || offset.bound(k * so) > 0;
    return Num{uniform, uncertain ? 1.0 : 0.0};
  });
}

}  // namespace

LanesPtr elementwise(OpKind kind, const std::vector<LanesPtr>& operands, DType dtype,
                     const std::vector<int64_t>& sizes) {
  Call call{kind, operands, make_lanes(dtype, sizes), 0};
  call.count = static_cast<size_t>(call.out->count());
  if (kind == OpKind::rand) {
    run_rand(call);
  } else if (kind == OpKind::copy && call.out->floating()) {
    const Lanes& a = call.operand(0);
    const size_t sa = call.step(0);
    to_float(call, [&](size_t k) { return a.num(k * sa); });
  } else {
    switch (ir::op_rule(kind)) {
      case ir::TypeRule::convert:
        run_convert(call);
        break;
      case ir::TypeRule::compare:
        run_compare(call);
        break;
      case ir::TypeRule::logical:
        run_logical(call);
        break;
      case ir::TypeRule::select:
        run_where(call);
        break;
      default:
        HC_CHECK(call.out->floating() ? run_float(call) : run_int(call), "an elementwise op has no meaning here");
    }
  }
  return call.out;
}

}  // namespace hc::interp
