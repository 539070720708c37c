// What the progress lines say when several threads speak.
#include "cli/progress.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace hc::cli {
namespace {

/// The last line that a beat wrote after `speak` spoke.
template <typename F>
std::string beat_after(F speak) {
  testing::internal::CaptureStdout();
  {
    Progress progress;
    speak(progress);
    ::usleep(4500 * 1000);  // plain lines come every four seconds
  }
  std::string out = testing::internal::GetCapturedStdout();
  out.pop_back();  // the last line's end
  return out.substr(out.rfind('\n') + 1);
}

TEST(Progress, ThreadsOfOneSearchReplaceEachOthersWords) {
  const std::string out = beat_after([](Progress& progress) {
    std::thread([&] { progress.now("compiling"); }).join();
    std::thread([&] { progress.now("timing"); }).join();
  });
  EXPECT_NE(out.find("timing"), std::string::npos) << out;
  EXPECT_EQ(out.find("compiling"), std::string::npos) << out;
}

TEST(Progress, PartsStandBesideOneAnotherUntilTheyAreDone) {
  const std::string out = beat_after([](Progress& progress) {
    for (const int part : {1, 2, 3}) {
      std::thread([&] {
        Progress::enter(part);
        progress.now("part " + std::to_string(part));
        if (part == 3) progress.done();
      }).join();
    }
  });
  EXPECT_NE(out.find("part 1 | part 2"), std::string::npos) << out;
  EXPECT_EQ(out.find("part 3"), std::string::npos) << out;
}

TEST(Progress, OneIsNoPlural) {
  EXPECT_EQ(counted(1, "variant"), "1 variant");
  EXPECT_EQ(counted(0, "variant"), "0 variants");
  EXPECT_EQ(counted(2, "commit"), "2 commits");
}

TEST(Progress, AProcessIsNamedByItsCommand) {
  const std::string own = "process " + std::to_string(::getpid());
  const std::string named = named_process(own);
  EXPECT_TRUE(named.starts_with(own + " (")) << named;
  EXPECT_NE(named.find("test"), std::string::npos) << named;
  EXPECT_LT(named.size(), own.size() + 100);
  EXPECT_EQ(named.find('\0'), std::string::npos);
  for (const char* other : {"process 999999999", "process ../self", "process ", "an unknown process"}) {
    EXPECT_EQ(named_process(other), other);
  }
}

}  // namespace
}  // namespace hc::cli
