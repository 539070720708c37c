// Every implementation that our workers offer has its family, or is known to have none.
#include "contract/family.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/files.h"

namespace hc::contract {
namespace {

/// Texts in quotes between two marks of a source file.
std::set<std::string> quoted_between(const std::string& path, const std::string& from, const std::string& to) {
  const std::string text = read_file(std::string(HC_SOURCE_DIR) + "/" + path).value_or("");
  const size_t begin = text.find(from), end = text.find(to, begin);
  EXPECT_NE(end, std::string::npos) << path;
  std::set<std::string> out;
  const std::string part = text.substr(begin, end - begin);
  const std::regex key(to == "}\n" ? "\n *\"([^\"]+)\":" : "\"([^\"]+)\"");
  for (std::sregex_iterator it(part.begin(), part.end(), key), none; it != none; ++it) out.insert((*it)[1]);
  return out;
}

TEST(Family, IsKnownForEveryImplementationOfOurWorkers) {
  std::set<std::string> names =
      quoted_between("baselines/python/hillclimb_worker/adaptors/__init__.py", "IMPLEMENTATIONS = {", "}\n");
  EXPECT_GT(names.size(), 8u);
  const std::set<std::string> cpp = quoted_between("baselines/cpp/cuda/subject.cc", "kNames = {", "};");
  EXPECT_GT(cpp.size(), 5u);
  names.insert(cpp.begin(), cpp.end());
  // what these run is somebody else's, or no kernel at all
  for (const char* none : {"helion-triton", "helion-cute", "cubin", "memcpy"}) {
    EXPECT_EQ(names.erase(none), 1u) << none;
    EXPECT_EQ(family_of(none), "");
  }
  for (const std::string& name : names) EXPECT_TRUE(is_family(family_of(name))) << name;
}

TEST(Family, NamesAreThoseOfTheDocumentation) {
  EXPECT_EQ(family_names(), "pytorch, cute, triton, cuda, vendor");
  EXPECT_FALSE(is_family("onednn"));
  EXPECT_FALSE(is_family(""));
}

}  // namespace
}  // namespace hc::contract
