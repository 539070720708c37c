// Reductions along one dimension, in any order of the terms.
#include <algorithm>

#include "interp/functions.h"
#include "interp/lanes.h"

namespace hc::interp {
namespace {

using ir::ReduceKind;

/// The operand seen as outer x axis x inner lanes.
struct Shape {
  size_t outer = 1, axis = 1, inner = 1;
  size_t lane(size_t o, size_t k, size_t n) const { return (o * axis + k) * inner + n; }
};

Shape shape_of(const Lanes& operand, int axis) {
  Shape shape;
  for (size_t d = 0; d < operand.sizes.size(); ++d) {
    const auto size = static_cast<size_t>(operand.sizes[d]);
    if (static_cast<int>(d) < axis) shape.outer *= size;
    if (static_cast<int>(d) == axis) shape.axis = size;
    if (static_cast<int>(d) > axis) shape.inner *= size;
  }
  return shape;
}

/// A sum of floats. Every partial sum of any order lies between the sums of the negative and of the positive terms, so
/// n terms err by at most (n - 1) roundings of the larger of the two.
struct Sum {
  double positive = 0, negative = 0, bounds = 0, special = 0;

  void take(Num x) {
    if (!std::isfinite(x.v)) {
      special += x.v;
    } else if (x.v >= 0) {
      positive += x.v;
    } else {
      negative -= x.v;
    }
    bounds += x.e;
  }

  Num result(const Precision& p, DType dtype, int64_t terms) const {
    if (special != 0) return {special, std::isinf(bounds) ? kInfinite : 0};
    const double v = positive - negative;
    const double reach = std::max(positive, negative) + bounds;
    const double roundings = static_cast<double>(std::max<int64_t>(terms - 1, 0)) * p.fu;
    const bool single = terms <= 1 || reach == 0;
    Num r{v, bounds + (single ? 0 : reach * roundings)};
    if (p.u != p.fu && !(r.e == 0 && is_exact(dtype, v))) return rounded_result(p, r, 0, bounds);
    if (!(reach + r.e <= p.max)) r.e = kInfinite;
    return r;
  }
};

struct Product {
  Num value{1, 0};
  bool started = false;

  void take(const Precision& p, DType dtype, Num x) {
    value = started ? mul(p, dtype, value, x) : x;
    started = true;
  }
};

/// The largest (or, negated, smallest) term; NaN wins.
struct Extreme {
  double v = -kInfinite, low = -kInfinite, high = -kInfinite;
  bool nan = false, open = false;

  void take(Num x) {
    nan = nan || (std::isnan(x.v) && x.e == 0);
    open = open || std::isinf(x.e);
    if (std::isnan(x.v)) return;
    v = std::max(v, x.v);
    low = std::max(low, x.v - x.e);
    high = std::max(high, x.v + x.e);
  }

  Num result() const {
    if (nan) return {kNaN, 0};
    return {v, open ? kInfinite : bound_within(v, low, high)};
  }
};

/// Runs make(), take(accumulator, lane) and finish(accumulator, valid terms, result lane) with lanes in memory order.
template <typename Acc, typename Take, typename Finish>
void fold(const Shape& shape, const std::vector<uint8_t>& valid, Take take, Finish finish) {
  int64_t terms = 0;
  for (size_t k = 0; k < shape.axis; ++k) terms += valid.empty() || valid[k];
  std::vector<Acc> accumulators;
  for (size_t o = 0; o < shape.outer; ++o) {
    accumulators.assign(shape.inner, Acc{});
    for (size_t k = 0; k < shape.axis; ++k) {
      if (!valid.empty() && !valid[k]) continue;
      for (size_t n = 0; n < shape.inner; ++n) take(accumulators[n], k, shape.lane(o, k, n));
    }
    for (size_t n = 0; n < shape.inner; ++n) finish(accumulators[n], terms, o * shape.inner + n);
  }
}

void put(Lanes& out, size_t lane, Num r) {
  out.v[lane] = r.v;
  if (r.e == 0) return;
  if (out.e.empty()) out.e.resize(out.v.size(), 0.0);
  out.e[lane] = r.e;
}

void put(Lanes& out, size_t lane, Int r) {
  out.i[lane] = r.i;
  if (r.e == 0) return;
  if (out.e.empty()) out.e.resize(out.i.size(), 0.0);
  out.e[lane] = r.e;
}

void reduce_float(ReduceKind kind, const Lanes& a, const Shape& shape, const std::vector<uint8_t>& valid, Lanes& out) {
  const Precision& p = precision_of(out.dtype);
  if (kind == ReduceKind::sum) {
    fold<Sum>(
        shape, valid, [&](Sum& s, size_t, size_t lane) { s.take(a.num(lane)); },
        [&](const Sum& s, int64_t terms, size_t lane) { put(out, lane, s.result(p, out.dtype, terms)); });
  } else if (kind == ReduceKind::prod) {
    fold<Product>(
        shape, valid, [&](Product& s, size_t, size_t lane) { s.take(p, out.dtype, a.num(lane)); },
        [&](const Product& s, int64_t, size_t lane) { put(out, lane, s.value); });
  } else {
    const double sign = kind == ReduceKind::amax ? 1 : -1;
    fold<Extreme>(
        shape, valid,
        [&](Extreme& s, size_t, size_t lane) {
          const Num x = a.num(lane);
          s.take({sign * x.v, x.e});
        },
        [&](const Extreme& s, int64_t, size_t lane) {
          const Num r = s.result();
          put(out, lane, Num{sign * r.v, r.e});
        });
  }
}

int64_t int_identity(ReduceKind kind, DType dtype) {
  if (kind == ReduceKind::sum) return 0;
  if (kind == ReduceKind::prod) return 1;
  if (dtype == DType::boolean || dtype == DType::u8)
    return kind == ReduceKind::amax ? 0 : (dtype == DType::u8 ? 255 : 1);
  const int shift = 64 - static_cast<int>(dtype_bytes(dtype)) * 8;
  return kind == ReduceKind::amax ? std::numeric_limits<int64_t>::min() >> shift
                                  : std::numeric_limits<int64_t>::max() >> shift;
}

struct IntFold {
  Int value{};
  bool started = false;
};

void reduce_int(ReduceKind kind, const Lanes& a, const Shape& shape, const std::vector<uint8_t>& valid, Lanes& out) {
  fold<IntFold>(
      shape, valid,
      [&](IntFold& s, size_t, size_t lane) {
        const Int x{a.i[lane], a.bound(lane)};
        if (!s.started) {
          s = {x, true};
          return;
        }
        const auto left = static_cast<uint64_t>(s.value.i), right = static_cast<uint64_t>(x.i);
        switch (kind) {
          case ReduceKind::sum:
            s.value = {static_cast<int64_t>(left + right), s.value.e + x.e};
            break;
          case ReduceKind::prod:
            s.value = {static_cast<int64_t>(left * right), s.value.e + x.e > 0 ? kInfinite : 0};
            break;
          case ReduceKind::amax:
            s.value = {std::max(s.value.i, x.i), std::max(s.value.e, x.e)};
            break;
          default:
            s.value = {std::min(s.value.i, x.i), std::max(s.value.e, x.e)};
            break;
        }
      },
      [&](const IntFold& s, int64_t, size_t lane) {
        put(out, lane, s.started ? s.value : Int{int_identity(kind, out.dtype), 0});
      });
}

/// The first index of the extreme term; uncertain as far as other terms could be it. NaN is the extreme.
struct Position {
  int64_t index = 0;
  Num best{-kInfinite, 0};
  bool started = false;
};

bool beats(double x, double best) { return !std::isnan(best) && (std::isnan(x) || x > best); }

void reduce_position(ReduceKind kind, const Lanes& a, const Shape& shape, const std::vector<uint8_t>& valid,
                     Lanes& out) {
  const double sign = kind == ReduceKind::argmax ? 1 : -1;
  const auto term = [&](size_t lane) {
    if (a.floating()) return Num{sign * a.v[lane], a.bound(lane)};
    return Num{sign * static_cast<double>(a.i[lane]), a.bound(lane)};
  };
  fold<Position>(
      shape, valid,
      [&](Position& s, size_t k, size_t lane) {
        const Num x = term(lane);
        if (s.started && !beats(x.v, s.best.v)) return;
        s = {static_cast<int64_t>(k), x, true};
      },
      [&](const Position& s, int64_t, size_t lane) {
        double reach = 0;
        const size_t o = lane / shape.inner, n = lane % shape.inner;
        for (size_t k = 0; k < shape.axis && !a.e.empty(); ++k) {
          if ((!valid.empty() && !valid[k]) || static_cast<int64_t>(k) == s.index) continue;
          const Num x = term(shape.lane(o, k, n));
          const bool rival = x.e + s.best.e > 0 && !(x.v + x.e < s.best.v - s.best.e);
          if (rival) reach = std::max(reach, std::fabs(static_cast<double>(static_cast<int64_t>(k) - s.index)));
        }
        put(out, lane, Int{s.index, reach});
      });
}

/// What is certain of a set of truths, beside what holds in real numbers.
struct Truth {
  bool any = false, all = true;
  bool surely_any = false, surely_all = true;
  bool possibly_any = false, possibly_all = true;
};

void reduce_truth(ReduceKind kind, const Lanes& a, const Shape& shape, const std::vector<uint8_t>& valid, Lanes& out) {
  fold<Truth>(
      shape, valid,
      [&](Truth& s, size_t, size_t lane) {
        const double v = a.floating() ? a.v[lane] : static_cast<double>(a.i[lane]);
        const bool open = a.bound(lane) > 0 && !(std::fabs(v) > a.bound(lane));
        s.any = s.any || v != 0;
        s.all = s.all && v != 0;
        s.surely_any = s.surely_any || (v != 0 && !open);
        s.surely_all = s.surely_all && (v != 0 && !open);
        s.possibly_any = s.possibly_any || v != 0 || open;
        s.possibly_all = s.possibly_all && (v != 0 || open);
      },
      [&](const Truth& s, int64_t, size_t lane) {
        if (kind == ReduceKind::any) put(out, lane, Int{s.any, s.surely_any == s.possibly_any ? 0.0 : 1.0});
        if (kind == ReduceKind::all) put(out, lane, Int{s.all, s.surely_all == s.possibly_all ? 0.0 : 1.0});
      });
}

}  // namespace

LanesPtr reduce(ReduceKind kind, const Lanes& operand, int axis, DType dtype, const std::vector<uint8_t>& valid) {
  std::vector<int64_t> sizes = operand.sizes;
  sizes.erase(sizes.begin() + axis);
  auto out = make_lanes(dtype, std::move(sizes));
  const Shape shape = shape_of(operand, axis);
  switch (kind) {
    case ReduceKind::argmax:
    case ReduceKind::argmin:
      reduce_position(kind, operand, shape, valid, *out);
      break;
    case ReduceKind::any:
    case ReduceKind::all:
      reduce_truth(kind, operand, shape, valid, *out);
      break;
    default:
      if (operand.floating()) {
        reduce_float(kind, operand, shape, valid, *out);
      } else {
        reduce_int(kind, operand, shape, valid, *out);
      }
  }
  return out;
}

}  // namespace hc::interp
