// Facts about machines: read from made-up /proc and /sys text, and sane for the machine that runs the test.
#include "target/target.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hc::target {
namespace {

TEST(Host, IsSane) {
  const Target host_target = host();
  EXPECT_GE(host_target.cores, 1);
  EXPECT_LE(host_target.cores, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_TRUE(host_target.vector_bytes == 16 || host_target.vector_bytes == 32 || host_target.vector_bytes == 64);
  EXPECT_GE(host_target.l1d_bytes, 4 << 10);
  EXPECT_GE(host_target.l2_bytes, host_target.l1d_bytes);
  EXPECT_FALSE(host_target.has_avx512_bf16 && host_target.vector_bytes < 64);
}

TEST(FromCpuinfo, WidestVectors) {
  const std::string head = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu sse2";
  EXPECT_EQ(from_cpuinfo(head + "\n").name, "Some CPU @ 2 GHz");
  EXPECT_EQ(from_cpuinfo(head + "\n").vector_bytes, 16);
  EXPECT_EQ(from_cpuinfo(head + " avx2 f16c\n").vector_bytes, 32);
  EXPECT_TRUE(from_cpuinfo(head + " avx2 f16c\n").has_f16c);
  // All four parts are needed; one alone is a machine that the wide code would not run on.
  EXPECT_EQ(from_cpuinfo(head + " avx2 avx512f\n").vector_bytes, 32);
  const Target wide = from_cpuinfo(head + " avx2 avx512f avx512dq avx512bw avx512vl avx512_bf16\n");
  EXPECT_EQ(wide.vector_bytes, 64);
  EXPECT_TRUE(wide.has_avx512_bf16);
  EXPECT_FALSE(wide.has_f16c);
}

TEST(FromCpuinfo, OnlyWholeWordsOfTheRightLineCount) {
  const Target t = from_cpuinfo("model name : avx2\nflags : fma avx2x xavx2\nbugs : avx2\n");
  EXPECT_EQ(t.vector_bytes, 16);
  EXPECT_EQ(t.name, "avx2");
  EXPECT_EQ(from_cpuinfo("").vector_bytes, 16);
  EXPECT_EQ(from_cpuinfo("Features : asimd\nmodel name").name, "");
  EXPECT_EQ(from_cpuinfo("model name :\nflags : avx2\n").name, "");
}

}  // namespace
}  // namespace hc::target
