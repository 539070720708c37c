// Holds the tree to the house rules, and each rule to an example that breaks it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tidy/rules.h"

namespace hc::tidy {
namespace {

const std::string kRoot = HC_SOURCE_DIR;

File only(const std::string& path) {
  const std::vector<File> files = files_below(kRoot, path, {});
  EXPECT_EQ(files.size(), 1u) << path << " cannot be read";
  return files.empty() ? File{path, {}} : files[0];
}

Violations tree_violations() {
  Violations out;
  Exemptions exempt(only("test/tidy/exempt"));
  const Layers layers = layers_from(only("cmake/layers.cmake"));
  for (const char* folder : {"src", "prelude", "test"}) {
    for (const File& file : files_below(kRoot, folder, {".cc", ".h", ".def"})) {
      if (file.path.starts_with("src/")) check_includes(file, layers, exempt, out);
      check_head(file, exempt, out);
      check_lengths(file, exempt, out);
      check_words(file, exempt, out);
    }
  }
  check_codes(only("src/diag/codes.def"), out);
  const auto exists = [](const std::string& path) { return std::filesystem::exists(kRoot + "/" + path); };
  for (const char* pages : {"docs", "README.md", "CONTRIBUTING.md"}) {
    for (const File& page : files_below(kRoot, pages, {".md"})) check_paths(page, exists, exempt, out);
  }
  const Violations unused = exempt.leftovers();
  out.insert(out.end(), unused.begin(), unused.end());
  return out;
}

TEST(Tidy, TheTreeKeepsTheHouseRules) {
  const Violations found = tree_violations();
  EXPECT_TRUE(found.empty()) << found.size() << " violations:\n" << fmt::format("{}", fmt::join(found, "\n"));
}

TEST(Tidy, TheTreeIsSeen) {
  EXPECT_GT(files_below(kRoot, "src", {".cc", ".h", ".def"}).size(), 50u);
  EXPECT_EQ(layers_from(only("cmake/layers.cmake")).folders.at("diag"), std::set<std::string>{"base"});
}

File text(std::string path, std::string_view body) { return file_from_text(std::move(path), body); }

Exemptions none() { return Exemptions(text("exempt", "")); }

TEST(Rules, Layers) {
  const Layers layers = layers_from(text("rows",
                                         "hc_folder(base LIBS x)\nhc_folder(a/b DEPS base LIBS y z)\n"
                                         "set(HC_TEST_DEPS_a_b hc_c)\nhc_folder(c DEPS a/b base)\n"));
  EXPECT_EQ(layers.folders.at("base"), std::set<std::string>{});
  EXPECT_EQ(layers.folders.at("a/b"), std::set<std::string>{"base"});
  EXPECT_EQ(layers.folders.at("c"), (std::set<std::string>{"a/b", "base"}));
  Exemptions exempt = none();
  Violations out;
  const std::string_view body =
      "// x\n#include <c/c.h>\n#include \"base/x.h\"\n#include \"a/b/y.h\"\n#include \"c/c.h\"\n";
  check_includes(text("src/a/b/x.cc", body), layers, exempt, out);
  EXPECT_EQ(out, Violations{"src/a/b/x.cc:5: a/b may not include c"});
  out.clear();
  check_includes(text("src/a/b/x_test.cc", body), layers, exempt, out);
  check_includes(text("src/c/x.cc", body), layers, exempt, out);
  EXPECT_EQ(out, Violations{});
  check_includes(text("src/c/x.cc", "#include \"c.h\"\n"), layers, exempt, out);
  check_includes(text("src/d/x.cc", "// d\n"), layers, exempt, out);
  EXPECT_EQ(out, (Violations{"src/c/x.cc:1: an include needs its path from src/",
                             "src/d/x.cc:1: folder d has no row in cmake/layers.cmake"}));
}

TEST(Rules, Heads) {
  Exemptions exempt = none();
  Violations out;
  check_head(text("src/a/x.h", "// x\n#pragma once\n"), exempt, out);
  check_head(text("src/a/x.cc", "// x\n"), exempt, out);
  EXPECT_EQ(out, Violations{});
  check_head(text("src/a/x.h", "#include <x>\n"), exempt, out);
  check_head(text("src/a/empty.cc", ""), exempt, out);
  EXPECT_EQ(out, (Violations{"src/a/x.h:1: line 1 is not a // comment", "src/a/x.h:1: a header without #pragma once",
                             "src/a/empty.cc:1: line 1 is not a // comment"}));
}

TEST(Rules, Lengths) {
  const auto lines = [](size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += "x\n";
    return out;
  };
  Exemptions exempt = none();
  Violations out;
  check_lengths(text("a.cc", lines(600)), exempt, out);
  check_lengths(text("a.h", lines(250)), exempt, out);
  check_lengths(text("a.cc", std::string(120, 'x')), exempt, out);
  check_lengths(text("a.def", std::string(200, 'x')), exempt, out);
  std::string wide;
  for (int i = 0; i < 120; ++i) wide += "\xc3\xa9";
  check_lengths(text("a.cc", wide), exempt, out);
  EXPECT_EQ(out, Violations{});
  check_lengths(text("a.cc", lines(601)), exempt, out);
  check_lengths(text("a.h", lines(251)), exempt, out);
  check_lengths(text("a.cc", std::string(121, 'x')), exempt, out);
  EXPECT_EQ(out, (Violations{"a.cc:601: 601 lines, at most 600", "a.h:251: 251 lines, at most 250",
                             "a.cc:1: 121 columns, at most 120"}));
}

TEST(Rules, Words) {
  Exemptions exempt(text("exempt", "getenv src/b/x.cc it has its reasons\n"));
  Violations out;
  check_words(text("src/cli/x.cc", "std::getenv(\"A\");"), exempt, out);
  check_words(text("src/b/x.cc", "std::getenv(\"A\");"), exempt, out);
  check_words(text("src/a/x.cc", "// getenv()\nsay(\"getenv()\");\nusing namespace std::literals;\n"), exempt, out);
  EXPECT_EQ(out, Violations{});
  check_words(text("src/a/x.cc",
                   "x = ::getenv (\"A\");\n  using namespace std;\n// TO"
                   "DO\n"),
              exempt, out);
  EXPECT_EQ(out, (Violations{"src/a/x.cc:1: the environment is read below cli", "src/a/x.cc:2: `using namespace std`",
                             "src/a/x.cc:3: a mark of unfinished work"}));
}

TEST(Rules, Codes) {
  Violations out;
  check_codes(text("c.def", "HC_CODE(a, 1, \"A\", \"x\")\nHC_CODE(b, 2, \"B\", \"x\")\n"), out);
  EXPECT_EQ(out, Violations{});
  check_codes(text("c.def", "// x\nHC_CODE(a, 1, \"A\", \"x\")\nHC_CODE(b, 1, \"A\", \"x\")\n"), out);
  check_codes(text("c.def", "// x\n"), out);
  EXPECT_EQ(out, (Violations{"c.def:3: number 1 stands in line 2 already", "c.def:3: slug A stands in line 2 already",
                             "c.def:1: no row of the table can be read"}));
}

TEST(Rules, Paths) {
  Exemptions exempt = none();
  Violations out;
  const auto exists = [](const std::string& path) { return path == "src/a.h" || path == "docs/"; };
  check_paths(text("p.md", "See `src/a.h`, [b](src/a.h). All: `src/*/b.h`, docs/. and other/src/b.h"), exists, exempt,
              out);
  EXPECT_EQ(out, Violations{});
  check_paths(text("p.md", "x\n(scripts/run) or src/b.h."), exists, exempt, out);
  EXPECT_EQ(out, (Violations{"p.md:2: scripts/run does not exist", "p.md:2: src/b.h does not exist"}));
}

TEST(Rules, ExemptionsNeedReasonsAndUse) {
  Exemptions exempt(text(
      "exempt", "# comment\n\ngetenv src/a.cc because\nlength src/b.cc it is a table\nlength src/c.cc too long\n"));
  EXPECT_TRUE(exempt.covers("length", "src/b.cc"));
  EXPECT_FALSE(exempt.covers("getenv", "src/b.cc"));
  EXPECT_EQ(exempt.leftovers(), (Violations{"exempt:3: expected a rule, a path and a reason of some words",
                                            "exempt:5: src/c.cc needs no exemption from length"}));
}

}  // namespace
}  // namespace hc::tidy
