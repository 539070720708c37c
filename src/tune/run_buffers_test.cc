// Guarded memory: a write behind the end is noticed, or stops the process.
#include "tune/run_buffers.h"

#include <gtest/gtest.h>

#include <cstring>

namespace hc::tune {
namespace {

TEST(GuardedBytes, AlignedAndWholeUntilWrittenBehindTheEnd) {
  GuardedBytes bytes(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0U);
  std::memset(bytes.data(), 1, 100);
  EXPECT_TRUE(bytes.whole());
  static_cast<char*>(bytes.data())[100] = 1;
  EXPECT_FALSE(bytes.whole());
}

TEST(GuardedBytesDeathTest, AWriteIntoTheNextVectorIsFatal) {
  const GuardedBytes bytes(128);
  // Through an integer, so that no compiler reasons about the bounds.
  volatile uintptr_t address = reinterpret_cast<uintptr_t>(bytes.data()) + 128;
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(address) = 1, "");
}

TEST(RunBuffers, InputsInPlaceAllocationsPoisonedWrittenParametersCopied) {
  ir::Program program;
  program.storages = {{"x", DType::f32, 4, ir::StorageRole::param, 0},
                      {"y", DType::f32, 4, ir::StorageRole::param, 1},
                      {"out", DType::f32, 4, ir::StorageRole::alloc, -1}};
  const float x[4] = {1, 2, 3, 4};
  const float y[4] = {5, 6, 7, 8};
  std::vector<runtime::StorageInfo> infos(3);
  infos[1].written = infos[2].written = true;
  const RunBuffers buffers = make_run_buffers(program, {x, y, nullptr}, infos);
  EXPECT_EQ(buffers.storages[0], x);
  EXPECT_NE(buffers.storages[1], y);
  EXPECT_EQ(std::memcmp(buffers.storages[1], y, sizeof y), 0);
  const float first = *static_cast<const float*>(buffers.storages[2]);
  EXPECT_NE(first, first) << "not a number";
  EXPECT_EQ(buffers.overrun(program), "");
  static_cast<float*>(buffers.storages[2])[4] = 0;
  EXPECT_EQ(buffers.overrun(program), "out");
}

}  // namespace
}  // namespace hc::tune
