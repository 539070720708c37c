// How long `check` takes on a large goal: every object hashed, parsed and judged.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ledger/checker.h"
#include "ledger/test_support.h"

namespace hc::ledger {
namespace {

/// A made-up goal of 100 variants x 40 pairs of processes with seven blocks each, removed at the end.
class LargeGoal {
 public:
  LargeGoal(int variants, int pairs) : folder_(make_temp_folder("check-bench")) {
    std::vector<testing::FakeShape> shapes;
    for (int i = 0; i < variants; ++i) {
      testing::FakeShape shape;
      shape.name = fmt::format("v{}", i);
      shape.pairs = pairs;
      shape.seed = static_cast<uint64_t>(i) + 1;
      shapes.push_back(shape);
    }
    testing::fake_goal(join_path(folder_, "artifacts"), anchor(), shapes);
  }
  ~LargeGoal() { std::filesystem::remove_all(folder_); }
  std::string anchor() const { return join_path(folder_, "anchor.json"); }
  std::string goal() const { return join_path(folder_, "artifacts/goal.json"); }

 private:
  std::string folder_;
};

void check(benchmark::State& state) {
  const LargeGoal goal(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state) {
    const CheckReport report = check_goal({goal.goal(), goal.anchor()});
    if (report.exit_code != kExitMet) state.SkipWithError(report.text.c_str());
  }
}
BENCHMARK(check)->Args({10, 10})->Args({100, 40})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hc::ledger

BENCHMARK_MAIN();
