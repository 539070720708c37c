// Microbenchmarks of the vector library: functions on data in the first cache, and copies and sums at memory speed.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <memory>

#include "hc/vector.h"

namespace {

constexpr int kLanes = HCV_BYTES / 4;
constexpr int64_t kInCache = 4096;         // floats: 16 KiB in, 16 KiB out
constexpr int64_t kInMemory = 64ll << 20;  // floats: 256 MiB
using V = hcv::vec<float, kLanes>;

struct Free {
  void operator()(float* p) const { free(p); }
};
/// Floats aligned to 2 MiB, in huge pages where the system gives them, all set to `value`.
std::unique_ptr<float, Free> floats(int64_t count, float value) {
  const size_t bytes = (size_t(count) * 4 + (2 << 20) - 1) & ~size_t((2 << 20) - 1);
  std::unique_ptr<float, Free> data(static_cast<float*>(aligned_alloc(2 << 20, bytes)));
  madvise(data.get(), bytes, MADV_HUGEPAGE);
  for (int64_t i = 0; i < count; ++i) data.get()[i] = value + float(i % 61) * 0.01f;
  return data;
}

template <class F>
void in_cache(benchmark::State& state, F f) {
  const auto x = floats(kInCache, 0.3f), y = floats(kInCache, 0);
  for (auto _ : state) {
    for (int64_t i = 0; i < kInCache; i += 4 * kLanes) {
      for (int u = 0; u < 4; ++u) hcv::store(y.get() + i + u * kLanes, f(hcv::load<kLanes>(x.get() + i + u * kLanes)));
    }
    benchmark::ClobberMemory();
  }
  state.counters["per_vector"] = benchmark::Counter(
      double(kInCache / kLanes), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

#define HC_BENCH(name) BENCHMARK_CAPTURE(in_cache, name, [](V x) { return hcv::name(x); })
BENCHMARK_CAPTURE(in_cache, copy, [](V x) { return x; });
HC_BENCH(exp);
HC_BENCH(exp2);
HC_BENCH(expm1);
HC_BENCH(log);
HC_BENCH(log1p);
HC_BENCH(sin);
HC_BENCH(tanh);
HC_BENCH(sigmoid);
HC_BENCH(erf);
HC_BENCH(rsqrt);
BENCHMARK_CAPTURE(in_cache, pow, [](V x) { return hcv::pow(x, V(1.7f)); });
BENCHMARK_CAPTURE(in_cache, bf16_round_trip, [](V x) { return hcv::bf16_to_f32(hcv::f32_to_bf16(x)); });
BENCHMARK_CAPTURE(in_cache, f16_round_trip, [](V x) { return hcv::f16_to_f32(hcv::f32_to_f16(x)); });

void sum_in_cache(benchmark::State& state) {
  const auto x = floats(kInCache, 0.3f);
  for (auto _ : state) {
    V s[4] = {V(0), V(0), V(0), V(0)};
    for (int64_t i = 0; i < kInCache; i += 4 * kLanes) {
      for (int u = 0; u < 4; ++u) s[u] += hcv::load<kLanes>(x.get() + i + u * kLanes);
    }
    benchmark::DoNotOptimize(hcv::reduce_sum((s[0] + s[1]) + (s[2] + s[3])));
  }
  state.SetBytesProcessed(state.iterations() * kInCache * 4);
}
BENCHMARK(sum_in_cache);

enum class Store { plain, streamed };
/// A copy by every thread of its own part; the last byte is fenced before the clock stops.
void copy_in_memory(benchmark::State& state, Store kind) {
  const auto x = floats(kInMemory, 0.3f), y = floats(kInMemory, 0);
  for (auto _ : state) {
#pragma omp parallel
    {
#pragma omp for schedule(static)
      for (int64_t block = 0; block < kInMemory; block += kInCache) {
        for (int64_t i = block; i < block + kInCache; i += kLanes) {
          const V v = hcv::load<kLanes>(x.get() + i);
          if (kind == Store::streamed)
            hcv::stream(y.get() + i, v);
          else
            hcv::store(y.get() + i, v);
        }
      }
      hcv::stream_fence();
    }
  }
  state.SetBytesProcessed(state.iterations() * kInMemory * 8);
}
BENCHMARK_CAPTURE(copy_in_memory, plain, Store::plain)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(copy_in_memory, streamed, Store::streamed)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
