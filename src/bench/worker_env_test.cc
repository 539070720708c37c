// What a worker does not inherit from whoever started the referee.
#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/worker_client.h"

namespace hc::bench {
namespace {

/// A worker that names itself after two variables.
const std::vector<std::string> kEcho = {
    "sh", "-c",
    "read line; printf '{\"ok\":true,\"op\":\"hello\",\"protocol\":1,\"worker\":\"%s|%s|%s\"}\\n' "
    "\"$ONEDNN_MAX_CPU_ISA\" \"$OMP_NUM_THREADS\" \"$HC_ANYTHING\"; read line"};

TEST(WorkerEnvironment, SaysOfANameWhetherItIsInherited) {
  EXPECT_TRUE(inherited("PYTHONPATH"));
  EXPECT_TRUE(inherited("OMP_NUM_THREADS_OF_MINE")) << "whole names, not beginnings";
  for (const char* name : {"LD_PRELOAD", "OMP_NUM_THREADS", "TRITON_DEBUG"}) EXPECT_FALSE(inherited(name)) << name;
}

TEST(WorkerEnvironment, WhatSlowsALibraryDownIsNotInherited) {
  ::setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1);
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::setenv("HC_ANYTHING", "kept", 1);
  const auto plain = Worker::start(kEcho);
  const auto chosen = Worker::start(kEcho, {}, {"ONEDNN_MAX_CPU_ISA=AVX2"});
  ::unsetenv("ONEDNN_MAX_CPU_ISA");
  ::unsetenv("OMP_NUM_THREADS");
  ::unsetenv("HC_ANYTHING");
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain.value()->hello().worker, "||kept");
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen.value()->hello().worker, "AVX2||kept") << "what the arm is given stays";
}

}  // namespace
}  // namespace hc::bench
