// The front end on small kernels and on data: arguments as text, kernels found, diagnostics and tile IR by golden
// files.
#include "lang/lang.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"

namespace hc::lang {
namespace {

const std::string kRoot = HC_SOURCE_DIR;

bool updating() { return std::getenv("UPDATE") != nullptr; }

/// Compares text with a golden file, or rewrites the file when UPDATE is set.
void expect_golden(const std::string& path, const std::string& text) {
  if (updating()) {
    ASSERT_EQ(write_file_atomic(path, text), "");
  }
  const std::optional<std::string> wanted = read_file(path);
  ASSERT_TRUE(wanted) << path << " is missing; run the test with UPDATE=1";
  EXPECT_EQ(text, *wanted) << path;
}

/// Words after "# ARGS:" in the file's first line that has them, and "# BLOCKS: name=size ...".
std::vector<std::string> words_after(const std::string& text, const std::string& mark) {
  std::vector<std::string> out;
  const size_t at = text.find(mark);
  if (at == std::string::npos) return out;
  const size_t end = text.find('\n', at);
  std::string word;
  for (char c : text.substr(at + mark.size(), end - at - mark.size()) + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  return out;
}

Result<ir::Program> trace_file(const std::string& relative, const std::string& kernel) {
  const std::string text = read_file(kRoot + "/" + relative).value_or("");
  const ModulePtr module = HC_TRY(parse_text(relative, text));
  std::vector<Arg> args;
  for (const std::string& word : words_after(text, "# ARGS:")) args.push_back(HC_TRY(arg_from_text(word)));
  Choices choices;
  for (const std::string& word : words_after(text, "# BLOCKS:")) {
    const size_t equals = word.find('=');
    choices.block_sizes[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
  return trace(*module, kernel, args, choices);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/" + folder)) {
    if (entry.path().extension() == ".py") out.push_back(folder + "/" + entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Args, RoundTripThroughText) {
  for (const char* text : {"None", "true", "false", "-7", "0.5", "1e-05", "'mean'", "[1,2,3]", "torch.float32",
                           "bf16[4,8]", "i64[8]=range(0,32000)", "2.0"}) {
    const Result<Arg> arg = arg_from_text(text);
    ASSERT_TRUE(arg.ok()) << text;
    EXPECT_EQ(to_text(arg.value()), text);
  }
  EXPECT_FALSE(arg_from_text("torch.int7").ok());
  EXPECT_FALSE(arg_from_text("[1,a]").ok());
  EXPECT_FALSE(arg_from_text("f99[4]").ok());
}

TEST(Kernels, AllDecoratorFormsAreFound) {
  const char* text =
      "import helion\nimport helion as h\nfrom helion import kernel as k\n"
      "@helion.kernel\ndef a(x): pass\n@helion.kernel(static_shapes=True)\ndef b(x, y: int = 3): pass\n"
      "@h.aot_kernel()\ndef c(): pass\n@k()\ndef d(): pass\ndef plain(z): pass\n"
      "e = helion.kernel(config=None)(plain)\nf = helion.kernel(plain, static_shapes=True)\n";
  const Result<ModulePtr> module = parse_text("k.py", text);
  ASSERT_TRUE(module.ok());
  std::string names;
  for (const Kernel& kernel : kernels(*module.value())) names += kernel.name;
  EXPECT_EQ(names, "abcdef");
  const Result<Kernel> b = find_kernel(*module.value(), "b");
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b.value().params[1].annotation, "int");
  EXPECT_TRUE(b.value().params[1].has_default);
  EXPECT_TRUE(find_kernel(*module.value(), "plain").ok());
  EXPECT_FALSE(find_kernel(*module.value(), "missing").ok());
  EXPECT_FALSE(find_kernel(*module.value(), "").ok());
}

/// Every file of test/golden/errors is refused with exactly the diagnostic beside it.
TEST(Golden, Errors) {
  for (const std::string& stem : files_in("test/golden/errors")) {
    SCOPED_TRACE(stem);
    const Result<ir::Program> program = trace_file(stem + ".py", "");
    ASSERT_FALSE(program.ok());
    expect_golden(kRoot + "/" + stem + ".err", diag::render(program.error()));
  }
}

/// Every file of test/golden/tile becomes exactly the tile IR beside it, and that verifies.
TEST(Golden, TileIr) {
  for (const std::string& stem : files_in("test/golden/tile")) {
    SCOPED_TRACE(stem);
    const Result<ir::Program> program = trace_file(stem + ".py", "");
    ASSERT_TRUE(program.ok()) << diag::render(program.error());
    const Status valid = ir::verify(program.value());
    EXPECT_TRUE(valid.ok()) << diag::render(valid.error());
    const std::string text = ir::print(program.value());
    expect_golden(kRoot + "/" + stem + ".tile", text);
    const Result<ir::Program> again = ir::parse(std::make_shared<diag::Source>(stem, text));
    ASSERT_TRUE(again.ok()) << diag::render(again.error());
    EXPECT_EQ(ir::print(again.value()), text);
  }
}

}  // namespace
}  // namespace hc::lang
