// Vectors: arithmetic that wraps, masks, tails at the edge of a page, gathers, conversions, reductions, integer
// division, Philox.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/philox.h"
#include "hc/vector.h"
#include "ulp.h"

namespace {
using hc_test::kSeed;

template <class T>
T draw(std::mt19937_64& random) {
  if constexpr (hcv::is_float<T>) return T(std::uniform_real_distribution<double>(-100, 100)(random));
  const uint64_t bits = random();
  return T(bits >> (bits % 7 * 9));  // small values as often as large ones
}

template <class P>
class Vector : public ::testing::Test {};
template <class T, int N>
struct Case {
  using element = T;
  static constexpr int lanes = N;
};
using Cases = ::testing::Types<Case<float, 4>, Case<float, 16>, Case<float, 32>, Case<double, 2>, Case<double, 8>,
                               Case<double, 32>, Case<int8_t, 4>, Case<int8_t, 16>, Case<int8_t, 64>, Case<uint8_t, 8>,
                               Case<uint8_t, 16>, Case<int16_t, 16>, Case<int16_t, 64>, Case<int32_t, 2>,
                               Case<int32_t, 16>, Case<int32_t, 64>, Case<int64_t, 8>, Case<int64_t, 16>>;
TYPED_TEST_SUITE(Vector, Cases);

/// An array of N elements that ends where readable memory ends.
template <class T>
class PageEnd {
 public:
  explicit PageEnd(int n) : page_(size_t(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<char*>(mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, page_, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + page_) - n;
  }
  ~PageEnd() { munmap(base_, 2 * page_); }
  T* data() { return data_; }

 private:
  size_t page_;
  char* base_;
  T* data_;
};

TYPED_TEST(Vector, TailsStayInsideThePage) {
  using T = typename TypeParam::element;
  constexpr int N = TypeParam::lanes;
  for (int n = 0; n <= N; ++n) {
    PageEnd<T> memory(n);
    for (int i = 0; i < n; ++i) memory.data()[i] = T(i + 1);
    const auto v = hcv::load_n<N>(memory.data(), n);
    for (int i = 0; i < N; ++i) ASSERT_EQ(v[i], i < n ? T(i + 1) : T(0)) << n;
    hcv::store_n(memory.data(), v + hcv::vec<T, N>(T(1)), n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(memory.data()[i], T(i + 2));
    const auto mask = hcv::first_lanes<T, N>(n);
    const auto w = hcv::load_where<N>(memory.data(), mask);
    for (int i = 0; i < N; ++i) ASSERT_EQ(w[i], i < n ? T(i + 2) : T(0)) << n;
    hcv::store_where(memory.data(), w, mask);
    EXPECT_EQ(hcv::any(mask), n > 0);
    EXPECT_EQ(hcv::all(mask), n == N);
  }
  PageEnd<T> memory(N);
  EXPECT_EQ(hcv::load_n<N>(memory.data(), N + 7)[0], T(0));
  EXPECT_EQ(hcv::load_n<N>((const T*)nullptr, -3)[0], T(0));
}

TYPED_TEST(Vector, ArithmeticComparesAndSelects) {
  using T = typename TypeParam::element;
  using W = typename hcv::wrap<T>::type;
  constexpr int N = TypeParam::lanes;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    T a[N], b[N], s[N];
    for (int i = 0; i < N; ++i) a[i] = draw<T>(random), b[i] = i % 5 ? draw<T>(random) : a[i];
    const auto x = hcv::load<N>(a), y = hcv::load<N>(b);
    hcv::store(s, hcv::select(x < y, x, y));
    const auto bytes = hcv::to_bool(x <= y);
    const auto again = hcv::select(hcv::from_bool<T>(bytes), x + y, x * y);
    for (int i = 0; i < N; ++i) {
      ASSERT_EQ((x + y)[i], T(W(a[i]) + W(b[i])));
      ASSERT_EQ((x - y)[i], T(W(a[i]) - W(b[i])));
      if constexpr (sizeof(T) >= 4) {
        ASSERT_EQ((x * y)[i], T(W(a[i]) * W(b[i])));
      } else {
        ASSERT_EQ((x * y)[i], T(a[i] * b[i]));
      }
      ASSERT_EQ((-x)[i], T(-W(a[i])));
      ASSERT_EQ(s[i], a[i] < b[i] ? a[i] : b[i]);
      ASSERT_EQ(bytes[i], a[i] <= b[i]);
      ASSERT_EQ((x == y)[i], a[i] == b[i] ? -1 : 0);
      ASSERT_EQ((x != y)[i], a[i] != b[i] ? -1 : 0);
      ASSERT_EQ(hcv::maximum(x, y)[i], std::max(a[i], b[i]));
      ASSERT_EQ(again[i], a[i] <= b[i] ? (x + y)[i] : (x * y)[i]);
      ASSERT_EQ(hcv::abs(x)[i], hcv::abs(a[i]));
    }
  }
}

TYPED_TEST(Vector, MemoryAndLanes) {
  using T = typename TypeParam::element;
  constexpr int N = TypeParam::lanes;
  alignas(64) T out[N];
  const auto count = hcv::iota<T, N>(T(3));
  hcv::stream(out, count);
  hcv::stream_fence();
  for (int i = 0; i < N; ++i) ASSERT_EQ(out[i], T(i + 3));
  T table[2 * N];
  int64_t wide[N];
  int32_t narrow[N];
  for (int i = 0; i < 2 * N; ++i) table[i] = T(3 * i);
  for (int i = 0; i < N; ++i) wide[i] = (i * 7) % (2 * N), narrow[i] = (i * 5) % (2 * N);
  const auto g = hcv::gather(table, hcv::load<N>(wide)), h = hcv::gather(table, hcv::load<N>(narrow));
  for (int i = 0; i < N; ++i) {
    ASSERT_EQ(g[i], T(3 * wide[i]));
    ASSERT_EQ(h[i], T(3 * narrow[i]));
  }
  auto set = count;
  set.set(N - 1, T(77));
  EXPECT_EQ(set[N - 1], T(77));
  EXPECT_EQ(set[0], T(3));
}

TYPED_TEST(Vector, Conversions) {
  using T = typename TypeParam::element;
  constexpr int N = TypeParam::lanes;
  std::mt19937_64 random(kSeed);
  T a[N];
  for (int i = 0; i < N; ++i) a[i] = hcv::is_float<T> ? draw<T>(random) : T(draw<int64_t>(random));
  const auto x = hcv::load<N>(a);
  const auto check = [&](auto sample) {
    using U = decltype(sample);
    const auto y = hcv::convert<U>(x);
    for (int i = 0; i < N; ++i) {
      const U want = hcv::is_float<T> && !hcv::is_float<U> ? U(int64_t(a[i])) : U(a[i]);
      ASSERT_EQ(y[i], want) << double(a[i]) << " to " << sizeof(U) << " bytes";
      ASSERT_EQ(hcv::convert<U>(a[i]), want);
    }
  };
  check(float());
  check(double());
  check(int8_t());
  check(uint8_t());
  check(int16_t());
  check(int32_t());
  check(int64_t());
}

TYPED_TEST(Vector, Reductions) {
  using T = typename TypeParam::element;
  using W = typename hcv::wrap<T>::type;
  constexpr int N = TypeParam::lanes;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 50; ++round) {
    T a[N];
    for (int i = 0; i < N; ++i) a[i] = hcv::is_float<T> ? T(int(random() % 7) - 3) : draw<T>(random);
    const auto x = hcv::load<N>(a);
    W sum = 0;
    uint64_t product = 1;
    for (T e : a) sum = W(sum + W(e)), product *= uint64_t(int64_t(e));
    ASSERT_EQ(hcv::reduce_sum(x), T(sum));
    if (!hcv::is_float<T>) {
      ASSERT_EQ(hcv::reduce_prod(x), T(product));
    }
    ASSERT_EQ(hcv::reduce_max(x), *std::max_element(a, a + N));
    ASSERT_EQ(hcv::reduce_min(x), *std::min_element(a, a + N));
    if constexpr (hcv::is_float<T>) {
      for (int i = 0; i < N; ++i) {
        auto y = x;
        y.set(i, hcv::kNan<T>);
        ASSERT_TRUE(std::isnan(hcv::reduce_max(y)) && std::isnan(hcv::reduce_min(y))) << i;
      }
    }
  }
}

TYPED_TEST(Vector, IntegerDivisionShiftsAndPowers) {
  using T = typename TypeParam::element;
  constexpr int N = TypeParam::lanes;
  if constexpr (!hcv::is_float<T>) {
    std::mt19937_64 random(kSeed);
    const T lowest = std::numeric_limits<T>::lowest();
    for (int round = 0; round < 300; ++round) {
      T a[N], b[N], s[N];
      for (int i = 0; i < N; ++i) {
        a[i] = i % 4 ? draw<T>(random) : lowest;
        b[i] = i % 3 ? draw<T>(random) : T(int(random() % 5) - 2);
        s[i] = T(int(random() % (8 * sizeof(T) + 6)) - 3);
      }
      const auto x = hcv::load<N>(a), y = hcv::load<N>(b), z = hcv::load<N>(s);
      const auto fd = hcv::floor_divide(x, y), rm = hcv::remainder(x, y), fm = hcv::fmod(x, y),
                 td = hcv::trunc_divide(x, y);
      const auto sl = hcv::shift_left(x, z), sr = hcv::shift_right(x, z), pw = hcv::pow(x, z);
      for (int i = 0; i < N; ++i) {
        const __int128 p = a[i], q = b[i];
        if (q == 0) {
          ASSERT_TRUE(fd[i] == 0 && rm[i] == 0 && fm[i] == 0 && td[i] == 0);
        } else {
          const __int128 m = p % q, down = p / q - (m != 0 && (m < 0) != (q < 0));
          ASSERT_EQ(td[i], T(p / q));
          ASSERT_EQ(fm[i], T(m));
          ASSERT_EQ(fd[i], T(down));
          ASSERT_EQ(rm[i], T(p - down * q));
        }
        const bool inside = s[i] >= 0 && s[i] < int(8 * sizeof(T));
        ASSERT_EQ(sl[i], inside ? T((unsigned __int128)p << s[i]) : T(0));
        ASSERT_EQ(sr[i], T(p >> (inside ? int(s[i]) : 120)));
        if (s[i] >= 0) {
          uint64_t power = 1;
          for (int k = 0; k < s[i]; ++k) power *= uint64_t(int64_t(a[i]));
          ASSERT_EQ(pw[i], T(power)) << int64_t(a[i]) << " ** " << int64_t(s[i]);
        }
      }
    }
  }
}

TEST(VectorPhilox, AgreesWithTheGenerator) {
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 500; ++round) {
    const uint64_t seed = random();
    int64_t offset[16];
    for (auto& o : offset) o = int64_t(random() >> (random() % 64));
    const auto r = hcv::rand_f32(seed, hcv::load<16>(offset));
    for (int i = 0; i < 16; ++i) {
      const auto words = hc::philox4x32({uint32_t(offset[i]), uint32_t(uint64_t(offset[i]) >> 32), 0, 0},
                                        {uint32_t(seed), uint32_t(seed >> 32)});
      const int32_t word = int32_t(words[0]);
      const float want = float(word < 0 ? ~word : word) * 4.6566127342e-10f;
      ASSERT_EQ(r[i], want);
      ASSERT_EQ(hcv::rand_f32(seed, offset[i]), want);
      ASSERT_TRUE(want >= 0 && want < 1);
    }
  }
  EXPECT_LT(2147483647.0f * 4.6566127342e-10f, 1.0001f);
}

TEST(VectorMasks, CombineAndChangeWidth) {
  using F = hcv::vec<float, 16>;
  const auto count = hcv::iota<float, 16>();
  const auto middle = (count > F(3)) & ~(count >= F(9));
  const auto wide = hcv::select(middle, hcv::vec<double, 16>(1), hcv::vec<double, 16>(2));
  const auto narrow = hcv::select(middle, hcv::vec<int8_t, 16>(1), hcv::vec<int8_t, 16>(2));
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(wide[i], i > 3 && i < 9 ? 1 : 2);
    EXPECT_EQ(narrow[i], i > 3 && i < 9 ? 1 : 2);
  }
}

}  // namespace
