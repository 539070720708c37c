// Row sums by CUB's reduction agent: one block a row, or several and a second pass over their sums. PAIRS reads
// two 16-bit elements as one.
#include "elements.cuh"

#include <cub/agent/agent_reduce.cuh>
#include <cub/version.cuh>

#if ELEMENT == 0
typedef float Item;
struct ToFloat {
  __device__ float operator()(float v) const { return v; }
};
#elif PAIRS
typedef unsigned int Item;
struct ToFloat {
  __device__ float operator()(unsigned int v) const { return low_of(v) + high_of(v); }
};
#else
typedef unsigned short Item;
struct ToFloat {
  __device__ float operator()(unsigned short v) const { return low_of(v); }
};
#endif

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Same {
  __device__ float operator()(float v) const { return v; }
};

#if CUB_VERSION >= 300500
#define AGENT_POLICY cub::detail::agent_reduce_policy
#else
#define AGENT_POLICY cub::AgentReducePolicy
#endif
typedef AGENT_POLICY<THREADS, ITEMS, float, 4, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_LDG> Policy;

template <typename From, typename Convert>
#if CUB_VERSION >= 300200
using Agent = cub::detail::reduce::AgentReduce<Policy, const From*, long long, Plus, float, Convert>;
#else
using Agent = cub::detail::reduce::AgentReduce<Policy, const From*, float*, long long, Plus, float, Convert>;
#endif

template <typename From, typename Convert>
__device__ float range_sum(const From* row, long long begin, long long end) {
  __shared__ typename Agent<From, Convert>::TempStorage storage;
  return Agent<From, Convert>(storage, row, Plus{}, Convert{}).ConsumeRange(begin, end);
}

// A row of `items`, one block a row.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_rows_tall(const Item* x, Stored* out, float*, long long items, long long) {
  const float sum = range_sum<Item, ToFloat>(x + blockIdx.x * items, 0, items);
  if (threadIdx.x == 0) store_one(out + blockIdx.x, sum);
}

// Grid: (splits, rows). partial[row * splits + split].
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_rows(const Item* x, Stored*, float* partial, long long items, long long splits) {
  const Item* row = x + blockIdx.y * items;
  const long long tile = THREADS * ITEMS;
  const long long share = ((items + splits - 1) / splits + tile - 1) / tile * tile;
  const long long begin = blockIdx.x * share < items ? blockIdx.x * share : items;
  const long long end = begin + share < items ? begin + share : items;
  const float sum = begin < end ? range_sum<Item, ToFloat>(row, begin, end) : 0.0f;
  if (threadIdx.x == 0) partial[blockIdx.y * splits + blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) sum_splits(const float* partial, Stored* out, long long splits) {
  const float sum = range_sum<float, Same>(partial + blockIdx.x * splits, 0, splits);
  if (threadIdx.x == 0) store_one(out + blockIdx.x, sum);
}
