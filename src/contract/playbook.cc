// The text of the playbook.
#include "contract/playbook.h"

#include <string_view>

namespace hc::contract {
namespace {

/// A paragraph or bullet; `needs` is a command that has to be there, or one with a `!` before it that must not.
struct Line {
  std::string_view needs, text;
};

constexpr Line kContract[] = {
    {"", "# Hillclimb: make a kernel as fast as the best known one, with proof\n"},
    {"",
     "You are done when `hillclimb check` exits with 0, and not before. It judges the goal from raw samples: every "
     "variant "
     "has to match or beat its best baseline within the fixed margin of 1 %, and the geometric mean has to reach its "
     "minimum. Good on average with some variants behind is not done. A gap is never inherent: the baseline's own time "
     "on "
     "the same device shows that it can be closed.\n"},
    {"", "## The contract\n"},
    {"",
     "* `artifacts/goal.json` holds one entry per variant. Only the commands write it; never edit anything under "
     "`artifacts/`, never delete or overwrite raw results. A number without an artifact does not exist."},
    {"",
     "* A stop hook runs `hillclimb gate` whenever you try to end your turn and sends you back while a variant fails. "
     "Do not argue with it and do not summarise instead: go on with the worst variant."},
    {"",
     "* There are two other ends, and neither counts as met. The owner told you to stop: `hillclimb goal pause --quote "
     "\"their words\"`. Or the goal is out of reach within the scope, shown by measurement: `hillclimb goal block "
     "--question \"what the owner has to decide?\" --evidence ID`. The evidence is a hand-edited kernel of the worst "
     "failing variant that has the baseline's structure and still falls short on the same device."},
    {"ablate",
     "* Where the best baseline is tuned itself or has no source to copy, take its config apart first: `hillclimb "
     "ablate TASK --variant V --baseline NAME` shows what carries its edge. Then transplant that by hand, measure it "
     "with `hillclimb try`, and name both objects: `--evidence ABLATION TRY`. `hillclimb ablate` without "
     "`--baseline` "
     "does the same to the knobs of the stored winner; that is for ideas and is no evidence."},
    {"",
     "* A hand-edited kernel that does reach parity is not a reason to stop but the specification of your next pass. "
     "Rooflines, noise and an exhausted backlog are no evidence; on a noisy machine ask the owner and pause."},
    {"", "* `hillclimb goal resume` goes on. `hillclimb goal amend --reason \"...\"` can only make the goal harder.\n"},
    {"", "## When you have lost your memory\n"},
    {"",
     "* Begin every iteration with `hillclimb status`: verdict, variants worst first, next step, backlog, last log "
     "lines. "
     "Believe it, not a summary in your context that claims success."},
    {"",
     "* End every iteration with `hillclimb log --idea ID --result \"what the cold tune gave\"`: one line; worst "
     "variant and "
     "verdict are filled in for you. `artifacts/<run>/plan.md` is generated from backlog and log.\n"},
};

constexpr Line kGround[] = {
    {"", "## Ground rules\n"},
    {"",
     "* **Generality.** Write passes and knobs that serve many kernels. Where A is better for one kernel and B for "
     "another, add a knob and let the tuner decide. No test on a kernel's name or a concrete shape, except in seeds, "
     "which only give the search a head start. If the design is in the way, change the design."},
    {"",
     "* **Scope.** The task file's `[scope]` says which paths may change: `hillclimb scope TASK` checks it, against "
     "the branch's upstream or `--base COMMIT`. Run it before each commit. Commit the agent's own files, and "
     "`.gitignore` once the first `start` or `climb` has written it, before you edit a source, and note that commit "
     "as the base: later they count as changes outside of the scope."},
    {"",
     "* **Subagents** may read, sweep, compare and babysit long runs, and report conclusions. Choice of ideas, "
     "measurements "
     "that are reported, and everything that writes the goal stay with you; a lock names who holds the goal."},
    {"",
     "* **One run, one folder.** Everything that is not committed goes under `artifacts/<run>/`, which git ignores."},
    {"",
     "* **Shared machine.** `hillclimb doctor` shows what there is. Use an idle GPU by setting CUDA_VISIBLE_DEVICES; "
     "one "
     "that somebody else was seen on is avoided for the rest of the run. The same variant always runs on the same GPU, "
     "and a ratio never has its two sides on different ones. Do not compile or test while something is timed."},
    {"",
     "* **Measurement is not yours to improvise.** One timer for every implementation, one config per process, fresh "
     "processes interleaved (ABAB), the machine at a steady temperature, a known-good anchor at both ends of a batch. "
     "The commands do this; a number from anything else is a hint and nothing more. A single reading of a small shape "
     "may be one of two modes: never act on it."},
    {"",
     "* **Frozen tree.** A run in the background reads sources when it spawns. Export a copy first (`hillclimb freeze "
     "DIR`), "
     "run from there, and see afterwards that it is unchanged (`hillclimb freeze DIR --check`). Do not edit, stash or "
     "check out the tree that a live run reads."},
    {"wait",
     "* While a run of yours is live there is nothing to stop for: `hillclimb wait`, or side work that is not timed."},
    {"", "* **Commit each working chunk**, tested and reviewed.\n"},
};

constexpr Line kSteps[] = {
    {"", "## Step 1: target, baselines, first numbers\n"},
    {"",
     "1. Which kernel? If the prompt does not say, ask. Take 8 variants unless told otherwise: realistic shapes, large "
     "enough to be bound by memory or arithmetic and not by launching, and different from each other. The baselines' "
     "own "
     "benchmarks are a good source."},
    {"",
     "2. See that the kernel is right: `hillclimb run KERNEL.py:NAME --args ...` compares it with the oracle; do it "
     "with "
     "`--backend oracle` and with the backend to be tuned."},
    {"",
     "3. Write the task file: kernel, inputs, `bytes` or `flops`, variants, baselines, `[scope]`. On a GPU name at "
     "least a "
     "PyTorch and a handwritten CuTe baseline; spend some time to make them strong, since they are the bar. Each "
     "baseline's config has to be pinned by the recipe, so that it can be run again alone."},
    {"start",
     "4. `hillclimb start TASK` measures every baseline, tunes every variant cold and to the end, stores the first "
     "numbers (the report's \"before\") and creates the goal. It may take an hour; never cut it short. Then `hillclimb "
     "climb TASK` confirms every variant by interleaved pairs."},
    {"!start",
     "4. `hillclimb climb TASK` measures every baseline, tunes every variant cold and to the end, stores the first "
     "numbers (the report's \"before\") and creates the goal. It may take an hour; never cut it short, and leave "
     "the sources alone meanwhile. A goal of an earlier run is archived with `--fresh`."},
    {"", "5. From here the gate is shut. `hillclimb check` shows the verdict; commit the benchmarks.\n"},
    {"", "## Step 2: one variant, the worst\n"},
    {"",
     "1. `hillclimb status` names it. Fill the backlog: `hillclimb idea add \"...\" --variant V`, put the best first "
     "with "
     "`hillclimb idea rank ID --rank 1`. ID is what `idea add` printed, such as `i1`, not its place."},
    {"handoff",
     "2. `hillclimb handoff TASK --variant V` writes winning source, config, the baselines' numbers and the rules into "
     "one folder."},
    {"diff",
     "3. `hillclimb diff TASK --variant V --baseline NAME` shows the winner beside the best baseline, down to the "
     "instructions where its code is to be had, and says what to do where it is not; without `--baseline` it shows "
     "another config. What does the baseline do that the generated code does not? `hillclimb measure "
     "TASK --variant V --set KNOB=VALUE` puts a number on one knob."},
    {"!diff",
     "2. `hillclimb show KERNEL.py:NAME --args ... --config FILE --stage source` prints the generated source. Read it "
     "beside the handwritten baseline, down to the instructions: what does the baseline do that it does not?"},
    {"try",
     "4. Try the idea by hand first: edit the generated source, `hillclimb try TASK --variant V --source FILE`. It is "
     "checked against "
     "the reference and paired with the incumbent and the best baseline. That is cheaper than a pass, and it is the "
     "evidence that a block would need."},
    {"",
     "5. Make what won a general pass, a knob, or a wider search space. When knobs and seeds are exhausted, go on with "
     "structure: transplant the baseline's structure by hand, and turn what reaches parity into a pass or a redesigned "
     "lowering."},
    {"confirm",
     "6. It counts once a cold full tune finds it by itself: `hillclimb confirm TASK --variant V` (new seed, nothing "
     "cached)."},
    {"!confirm",
     "6. It counts once a cold full tune finds it by itself: `hillclimb climb TASK --variant V` (new seed, nothing "
     "cached)."},
    {"", "7. A config that wins only when picked by hand is a hardcoded heuristic: mend the space or the seeds."},
    {"", "8. `hillclimb idea close ID --evidence OBJECT --outcome \"...\"`, `hillclimb log ...`, commit.\n"},
    {"", "## Step 3: judge, or go round again\n"},
    {"verify",
     "1. `hillclimb verify TASK --variant V` settles a variant by interleaved pairs; a variant within two margins of "
     "the "
     "bar needs "
     "it."},
    {"!verify", "1. `hillclimb climb TASK` confirms every variant by interleaved pairs that are due, worst first."},
    {"",
     "2. `hillclimb check`, and believe it: 0 met, 1 unmet, 2 the evidence is broken, 3 more pairs are needed. On 1 "
     "and 3 go "
     "back to step 2 with the worst variant. On 2 stop touching files and mend what is named."},
    {"audit", "3. `hillclimb audit` replays a random part of the measurements independently."},
    {"",
     "4. A gap that stays on some variants, often the largest, means that a capability is missing; the answer is "
     "structure, "
     "not another sweep."},
    {"", "5. Met is a floor. Work off the good leads that `hillclimb status` still lists, then go on.\n"},
    {"", "## Step 4: the history\n"},
    {"",
     "1. `hillclimb history plan TASK` proposes commits in a file: all benchmarks first, then logical pieces, then one "
     "`[noland]` commit with planning files and plots that nothing else refers to. Edit messages, order and paths "
     "there; "
     "`at` gives a group the state of its paths at an earlier commit."},
    {"",
     "2. `hillclimb history apply --branch NEW` builds them on a new branch and touches nothing else; the last tree is "
     "the "
     "same as before."},
    {"",
     "3. `hillclimb history check TASK --head NEW` judges order, scope, prefixes and references, and runs the task's "
     "test "
     "command on every commit. Raw results, configs and the goal stay out of git.\n"},
    {"", "## Step 5: the report\n"},
    {"", "1. Only when `hillclimb check` exits with 0, or the owner accepted a pause or block in so many words."},
    {"",
     "2. `hillclimb report` writes it: verdict and checker's output, before and after of each variant against each "
     "baseline, geometric means, device, power cap and versions, every number with its artifact. Until the goal is met "
     "every page says INTERIM."},
    {"",
     "3. Write down what changed, commit by commit, and what is risky or reaches beyond the backend, and hand it to "
     "`hillclimb report --claims FILE`: numbers only as `{{VARIANT.ratio}}` and the like. `hillclimb report --verify` "
     "derives every page anew. Send the owner that report; type no number yourself."},
};

constexpr const char* kFrontMatter =
    "---\n"
    "name: hillclimb\n"
    "description: Optimise a tile kernel until it matches or beats the best known implementation, under a mechanical "
    "goal contract. Use when asked to hillclimb, tune or speed up a kernel with proof, or when artifacts/goal.json "
    "exists.\n"
    "---\n";

bool wanted(std::string_view needs, const std::set<std::string>& commands) {
  if (needs.empty()) return true;
  return needs.front() == '!' ? commands.count(std::string(needs.substr(1))) == 0
                              : commands.count(std::string(needs)) > 0;
}

}  // namespace

std::string playbook(const std::set<std::string>& commands) {
  std::string out = kFrontMatter;
  out += std::string(kPlaybookMark) + "\n\n";
  const auto add = [&](const auto& lines) {
    for (const Line& line : lines) {
      if (wanted(line.needs, commands)) out += std::string(line.text) + "\n";
    }
  };
  add(kContract);
  add(kGround);
  add(kSteps);
  return out;
}

}  // namespace hc::contract
