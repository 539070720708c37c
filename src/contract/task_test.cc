// Task files: the shipped ones, what a good one yields, and a golden error for each way to be wrong.
#include "contract/task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"

namespace hc::contract {
namespace {

const std::string kRoot = HC_SOURCE_DIR;

TEST(Task, ReadsEverything) {
  const Result<Task> task = read_task(kRoot + "/test/golden/task/good.toml");
  ASSERT_TRUE(task.ok()) << diag::render(task.error());
  const Task& t = task.value();
  EXPECT_EQ(t.name, "good");
  EXPECT_EQ(t.backend, "cpu");
  EXPECT_EQ(t.waive, "one library only");
  ASSERT_EQ(t.variants.size(), 2u);
  const TaskVariant& a = t.variants[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.kernel_name, "softmax");
  EXPECT_TRUE(file_exists(a.kernel_file)) << a.kernel_file;
  ASSERT_EQ(a.inputs.size(), 3u);
  EXPECT_EQ(a.inputs[0].name, "x") << "inputs keep the order of the file";
  EXPECT_EQ(a.inputs[0].text, "f32[64,256]");
  EXPECT_EQ(a.inputs[1].text, "1e-05");
  EXPECT_EQ(a.inputs[2].text, "7");
  EXPECT_EQ(a.work.unit, "GB/s");
  EXPECT_EQ(a.work.amount, 2 * 4 * 64 * 256.0);
  EXPECT_EQ(t.variants[1].target, 1.1);
  EXPECT_EQ(t.variants[1].kernel_name, "softmax_two_pass");
  EXPECT_NE(a.hash, t.variants[1].hash);
  ASSERT_EQ(t.baselines.size(), 2u);
  EXPECT_EQ(t.baselines[0].worker, std::vector<std::string>{"onednn"});
  EXPECT_EQ(t.baselines[0].key("operation"), "softmax");
  EXPECT_EQ(t.baselines[0].key("axis"), "1");
  EXPECT_EQ(t.baselines[0].key("nothing"), "");
  EXPECT_EQ(t.baselines[1].worker, (std::vector<std::string>{"python3", "baselines/python/torch_worker.py"}));
  EXPECT_EQ(t.criteria.looks, (std::vector<int>{8, 12}));
  EXPECT_EQ(t.criteria.geomean_min, 1.05);
  EXPECT_EQ(t.effort.pairs, 12);
  EXPECT_EQ(t.effort.seed, 9u);
  EXPECT_EQ(t.scope.allow, std::vector<std::string>{"src/**"});
  EXPECT_EQ(t.scope.test, "./run-tests");
  EXPECT_NE(t.variant("good/b"), nullptr);
  EXPECT_NE(t.variant("b"), nullptr);
  EXPECT_EQ(t.variant("c"), nullptr);
  EXPECT_EQ(t.sha256.size(), 64u);
}

TEST(Task, TheModeOfTimingIsSingleUnlessTheTaskSaysOtherwise) {
  const std::string path = kRoot + "/test/golden/task/good.toml";
  std::string text = read_file(path).value();
  EXPECT_FALSE(parse_task(path, text).value().effort.back_to_back);
  ASSERT_NE(text.find("[effort]\n"), std::string::npos);
  std::string row = text;
  row.replace(row.find("[effort]\n"), 9, "[effort]\nback_to_back = true\n");
  const Result<Task> task = parse_task(path, row);
  ASSERT_TRUE(task.ok()) << diag::render(task.error());
  EXPECT_TRUE(task.value().effort.back_to_back);
  text.replace(text.find("[effort]\n"), 9, "[effort]\nback_to_back = 1\n");
  const Result<Task> wrong = parse_task(path, text);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "`back_to_back` is true or false");
}

TEST(Task, TheHashOfAVariantFollowsItsMeaning) {
  const std::string text = read_file(kRoot + "/test/golden/task/good.toml").value();
  const std::string path = kRoot + "/test/golden/task/good.toml";
  const auto hash = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    const Result<Task> task = parse_task(path, changed);
    EXPECT_TRUE(task.ok()) << diag::render(task.error());
    return task.value().variants[0].hash;
  };
  const std::string same = parse_task(path, text).value().variants[0].hash;
  EXPECT_EQ(hash("geomean_min = 1.05", "geomean_min = 1.01"), same);
  EXPECT_NE(hash("m = 64", "m = 65"), same);
  EXPECT_NE(hash("f32[{m},{n}]", "f16[{m},{n}]"), same);
  EXPECT_NE(hash("2 * 4 * m", "3 * 4 * m"), same);
}

TEST(Task, ACandidateMayBeAWorker) {
  const std::string path = kRoot + "/test/golden/task/good.toml";
  std::string text = read_file(path).value();
  text.replace(text.find("backend = \"cpu\""), 15, "device = \"gpu\"");
  text +=
      "\n[candidate]\nworker = [\"python3\", \"w.py\"]\nimplementation = \"mine\"\ntune_seconds = 20\n"
      "files = [\"a.py\", \"b.py\"]\nflavour = { hot = true }\n";
  const Result<Task> task = parse_task(path, text);
  ASSERT_TRUE(task.ok()) << diag::render(task.error());
  EXPECT_EQ(task.value().device, "gpu");
  ASSERT_TRUE(task.value().candidate.has_value());
  const TaskBaseline& mine = *task.value().candidate;
  EXPECT_EQ(mine.name, "mine") << "named after its implementation";
  EXPECT_EQ(mine.worker, (std::vector<std::string>{"python3", "w.py"}));
  EXPECT_EQ(mine.tune_seconds, 20);
  EXPECT_EQ(mine.config, "");
  EXPECT_EQ(mine.files, (std::vector<std::string>{"a.py", "b.py"}));
  EXPECT_EQ(mine.key("flavour"), "{\"hot\":true}") << "the worker's own keys reach it as they stand";
  EXPECT_TRUE(mine.second.empty());
  EXPECT_EQ(parse_task(path, text + "second = \"other\"\n").value().candidate->second,
            (std::vector<std::string>{"other"}));
  EXPECT_EQ(parse_task(path, text + "second = [\"b\", \"c\"]\n").value().candidate->second.size(), 2u);
  EXPECT_FALSE(parse_task(path, text + "second = \"mine\"\n").ok()) << "that is the candidate itself";
  text.replace(text.find("tune_seconds = 20"), 17, "config = { w = 4 }");
  EXPECT_EQ(parse_task(path, text).value().candidate->config, "{\"w\":4}");
  EXPECT_EQ(parse_task(path, text).value().candidate->tune_seconds, -1);
}

TEST(Task, AGpuTaskMeetsPyTorchAndCute) {
  const std::string path = kRoot + "/test/golden/task/gpu_one_baseline.toml";
  const std::string one = read_file(path).value();
  const auto with = [&](const std::string& more) { return parse_task(path, one + more); };
  const std::string baseline = "\n[[baseline]]\nname = \"other\"\nworker = [\"python3\", \"w.py\"]\n";
  EXPECT_FALSE(with("").ok());
  EXPECT_FALSE(with(baseline).ok()) << "nobody says what it is written in";
  EXPECT_FALSE(with(baseline + "implementation = \"triton\"\n").ok());
  const Result<Task> known = with(baseline + "implementation = \"quack\"\n");
  ASSERT_TRUE(known.ok()) << diag::render(known.error());
  EXPECT_EQ(known.value().baselines[0].family, "pytorch");
  EXPECT_EQ(known.value().baselines[1].family, "cute");
  const Result<Task> given = with(baseline + "family = \"cute\"\n");
  ASSERT_TRUE(given.ok()) << diag::render(given.error());
  EXPECT_EQ(given.value().baselines[1].family, "cute");
  std::string waived = one;
  waived.insert(waived.find("device"), "waive = \"no such kernel is public\"\n");
  ASSERT_TRUE(parse_task(path, waived).ok());
  EXPECT_EQ(parse_task(path, waived).value().waive, "no such kernel is public");
}

TEST(Task, EveryShippedTaskIsGood) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/tasks")) {
    const std::string text = read_file(entry.path().string()).value_or("");
    // a list for a script is not a task
    if (entry.path().extension() != ".toml" || text.find("[[variant]]") == std::string::npos) continue;
    const Result<Task> task = parse_task(entry.path().string(), text);
    EXPECT_TRUE(task.ok()) << diag::render(task.error());
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(Task, EveryMistakeHasItsDiagnostic) {
  const std::string folder = kRoot + "/test/golden/task";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml" && entry.path().stem() != "good") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  EXPECT_GE(files.size(), 20u);
  for (const std::string& file : files) {
    const Result<Task> task = parse_task(file, read_file(file).value());
    ASSERT_FALSE(task.ok()) << file;
    EXPECT_EQ(task.error().code, Code::task_error) << file;
    std::string text = diag::render(task.error());
    for (size_t at; (at = text.find(folder + "/")) != std::string::npos;) text.erase(at, folder.size() + 1);
    const std::string approved = file.substr(0, file.size() - 5) + ".err";
    if (std::getenv("UPDATE")) {
      ASSERT_EQ(write_file_atomic(approved, text), "");
    }
    EXPECT_EQ(text, read_file(approved).value_or("missing")) << file << "\nUPDATE=1 approves a new text";
  }
}

TEST(Task, AMissingFileIsAFileError) {
  const Result<Task> task = read_task("/nowhere/task.toml");
  ASSERT_FALSE(task.ok());
  EXPECT_EQ(task.error().code, Code::file_error);
}

}  // namespace
}  // namespace hc::contract
