// Known answers of Philox 4x32-10 from its authors' paper.
#include "base/philox.h"

#include <gtest/gtest.h>

namespace hc {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

}  // namespace
}  // namespace hc
