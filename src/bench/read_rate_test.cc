// The read rate is that of this machine's memory, and the caches are counted.
#include "bench/read_rate.h"

#include <gtest/gtest.h>

namespace hc::bench {
namespace {

TEST(ReadRateTest, IsThatOfAMemory) {
  ReadRate rate;
  ASSERT_GT(rate.bytes(), 0U);
  const double once = rate.measure(1);
  EXPECT_GT(once, 0.1);
  EXPECT_LT(once, 20000);
  EXPECT_GE(rate.measure(2), once) << "the best one counts";
  EXPECT_EQ(rate.best_gbs(), rate.measure(0));
}

TEST(ReadRateTest, CountsEachCacheOnce) {
  const int64_t bytes = cache_bytes_here();
  EXPECT_GE(bytes, int64_t{128} << 10);
  EXPECT_LT(bytes, int64_t{64} << 30);
}

}  // namespace
}  // namespace hc::bench
