// Reading task files.
#include "contract/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/tensor.h"
#include "contract/family.h"
#include "contract/toml_reader.h"
#include "ledger/calibration.h"

namespace hc::contract {
namespace {

constexpr double kMargin = 0.01;  ///< fixed by the contract: may be tightened, never widened

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// The file beside the task file, or in a folder above it; empty if there is none.
std::string find_file(const std::string& task_path, const std::string& file) {
  if (!file.empty() && file[0] == '/') return file_exists(file) ? file : "";
  std::string folder = folder_of(task_path);
  for (int up = 0; up < 8; ++up) {
    const std::string path = folder == "." ? file : join_path(folder, file);
    if (file_exists(path)) return path;
    folder = folder == "." ? ".." : join_path(folder, "..");
  }
  return "";
}

Json json_of(const toml::node& node) {
  if (const auto* v = node.as_string()) return v->get();
  if (const auto* v = node.as_integer()) return v->get();
  if (const auto* v = node.as_floating_point()) return v->get();
  if (const auto* v = node.as_boolean()) return v->get();
  Json out = Json::array();
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& element : *list) out.push_back(json_of(element));
  }
  if (const toml::table* table = node.as_table()) {
    out = Json::object();
    for (const auto& [key, value] : *table) out[std::string(key.str())] = json_of(value);
  }
  return out;
}

/// Whether an input's text is meant as a tensor: `name[`.
bool looks_like_tensor(std::string_view text) {
  const size_t bracket = text.find('[');
  return bracket != std::string_view::npos && bracket > 0 &&
         text.substr(0, bracket).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string_view::npos;
}

/// One formula of the task: bytes or flops.
struct Formula {
  const toml::node* node = nullptr;
  std::string text, unit;
};

/// Builds a Task from a parsed file; the reader keeps the first error.
class TaskBuilder {
 public:
  TaskBuilder(TomlReader& in, const std::string& path) : in_(in), path_(path) {}

  Task build() {
    const toml::table& root = in_.root();
    in_.only(root,
             {"name", "kernel", "backend", "description", "waive", "bytes", "flops", "inputs", "variant", "baseline",
              "criteria", "scope", "effort", "candidate", "device"},
             "a task");
    task_.path = path_;
    in_.need(root, "name", "a task");
    task_.name = in_.text(root, "name");
    if (!in_.failed() && task_.name.find_first_of("/ \t\n") != std::string::npos) {
      in_.fail(in_.head("name"), "a task's name may hold no slash and no space");
    }
    task_.kernel = in_.text(root, "kernel");
    task_.description = in_.text(root, "description");
    task_.waive = in_.text(root, "waive");
    backend(root);
    formula(root);
    effort(root);
    criteria(root);
    scope(root);
    baselines(root);
    candidate(root);
    device(root);
    variants(root);
    return std::move(task_);
  }

 private:
  void backend(const toml::table& root) {
    task_.backend = in_.text(root, "backend", "cpu");
    if (task_.backend == "cpu" || task_.backend == "cute") return;
    in_.fail(in_.span(*root.get("backend")), fmt::format("there is no backend \"{}\"", task_.backend),
             "cpu and cute are there");
  }

  void formula(const toml::table& root) {
    const toml::node *bytes = root.get("bytes"), *flops = root.get("flops");
    if (bytes && flops) {
      in_.fail(in_.span(*flops), "a task has either `bytes` or `flops`, not both",
               "keep `bytes` where memory is the limit and `flops` where arithmetic is");
    }
    formula_.node = bytes ? bytes : flops;
    formula_.unit = bytes ? "GB/s" : "TFLOPS";
    if (!formula_.node) in_.need(root, "bytes", "a task without `flops`");
    formula_.text = in_.text(root, bytes ? "bytes" : "flops");
  }

  void effort(const toml::table& root) {
    const toml::table* t = in_.table(root, "effort");
    if (!t) return;
    in_.only(*t,
             {"tune_seconds", "max_candidates", "pairs", "nominate_pairs", "aa_pairs", "blocks", "block_seconds",
              "threads", "seed", "preheat_seconds", "back_to_back"},
             "[effort]");
    TaskEffort& e = task_.effort;
    e.tune_seconds = in_.number(*t, "tune_seconds", e.tune_seconds, 0, 1e6);
    e.max_candidates = in_.integer(*t, "max_candidates", e.max_candidates, 0, 1000000000);
    e.pairs = static_cast<int>(in_.integer(*t, "pairs", e.pairs, 5, 1000));
    e.nominate_pairs = static_cast<int>(in_.integer(*t, "nominate_pairs", e.nominate_pairs, 1, 1000));
    e.aa_pairs = static_cast<int>(in_.integer(*t, "aa_pairs", e.aa_pairs, 0, 1000));
    if (e.aa_pairs > 0 && e.aa_pairs < ledger::kLeastAaPairs) {
      in_.fail(in_.span(*t->get("aa_pairs")),
               fmt::format("{} pairs of one implementation with itself cannot show a bias; {} can", e.aa_pairs,
                           ledger::kLeastAaPairs),
               "0 leaves the calibration out, and every report says so");
    }
    e.blocks = static_cast<int>(in_.integer(*t, "blocks", e.blocks, 1, 10000));
    e.block_seconds = in_.number(*t, "block_seconds", e.block_seconds, 1e-6, 60);
    e.threads = static_cast<int>(in_.integer(*t, "threads", e.threads, 0, 4096));
    e.seed = static_cast<uint64_t>(in_.integer(*t, "seed", 0, 0, INT64_MAX));
    e.preheat_seconds = in_.number(*t, "preheat_seconds", e.preheat_seconds, 0, 120);
    if (const toml::node* row = t->get("back_to_back")) {
      e.back_to_back = row->value<bool>().value_or(false);
      if (!row->is_boolean()) in_.fail(in_.span(*row), "`back_to_back` is true or false");
    }
  }

  void criteria(const toml::table& root) {
    ledger::Criteria& c = task_.criteria;
    c.looks = {task_.effort.pairs};
    const toml::table* t = in_.table(root, "criteria");
    if (!t) return;
    in_.only(*t, {"geomean_min", "margin", "alpha", "looks", "rate_tolerance"}, "[criteria]");
    c.geomean_min = in_.number(*t, "geomean_min", c.geomean_min, 1e-3, 1e3);
    c.margin = in_.number(*t, "margin", c.margin, 0, kMargin);
    c.alpha = in_.number(*t, "alpha", c.alpha, 1e-6, 0.05);
    c.rate_tolerance = in_.number(*t, "rate_tolerance", c.rate_tolerance, 0, 0.2);
    if (const toml::node* looks = t->get("looks")) read_looks(*looks);
  }

  void read_looks(const toml::node& node) {
    std::vector<int>& looks = task_.criteria.looks;
    looks.clear();
    const toml::array* list = node.as_array();
    for (size_t i = 0; list && i < list->size(); ++i) {
      const std::optional<int64_t> value = (*list)[i].value<int64_t>();
      const bool grows = value && *value >= 5 && *value <= 1000 && (looks.empty() || *value > looks.back());
      if (!grows)
        in_.fail(in_.span((*list)[i]), "`looks` are numbers of pairs from 5 upwards, each larger than the one before");
      looks.push_back(static_cast<int>(value.value_or(5)));
    }
    if (looks.empty()) in_.fail(in_.span(node), "`looks` must be a list of numbers of pairs, such as [8, 12, 16]");
  }

  void scope(const toml::table& root) {
    const toml::table* t = in_.table(root, "scope");
    if (!t) return;
    in_.only(*t, {"allow", "deny", "test"}, "[scope]");
    task_.scope.allow = in_.texts(*t, "allow");
    task_.scope.deny = in_.texts(*t, "deny");
    task_.scope.test = in_.text(*t, "test");
  }

  void baselines(const toml::table& root) {
    std::set<std::string> names;
    for (const toml::table* t : in_.tables(root, "baseline")) {
      TaskBaseline b;
      b.span = in_.span(*t);
      const toml::node* name = in_.need(*t, "name", "a baseline");
      in_.need(*t, "worker", "a baseline");
      b.name = in_.text(*t, "name");
      b.worker = command(*t);
      if (name && !names.insert(b.name).second)
        in_.fail(in_.span(*name), fmt::format("there are two baselines named \"{}\"", b.name));
      recipe(*t, &b);
      family(*t, &b);
      task_.baselines.push_back(std::move(b));
    }
    if (task_.baselines.empty()) {
      in_.fail(in_.head("name"), "the task has no baseline, so nothing could be compared",
               "add a [[baseline]] with name and worker");
    }
  }

  /// What it is written in: as our table of implementations says, or else as the task does.
  void family(const toml::table& t, TaskBaseline* b) {
    const std::string implementation = b->key("implementation").empty() ? b->name : b->key("implementation");
    const std::string known = family_of(implementation);
    b->family = in_.text(t, "family", known);
    const toml::node* given = t.get("family");
    if (given && !is_family(b->family)) {
      in_.fail(in_.span(*given), fmt::format("there is no family \"{}\"", b->family), family_names() + " are there");
    } else if (!known.empty() && known != b->family) {
      in_.fail(in_.span(*given), fmt::format("`{}` is of the family {}, not {}", implementation, known, b->family),
               "leave `family` out");
    }
  }

  /// The worker's command: a word at least.
  std::vector<std::string> command(const toml::table& t) {
    std::vector<std::string> words = in_.texts(t, "worker");
    const bool given = !words.empty() && !words.front().empty();
    if (!given && t.get("worker")) {
      in_.fail(in_.span(*t.get("worker")), "`worker` is empty, so nothing could be started",
               "give its command, such as [\"python3\", \"worker.py\"]");
    }
    return given ? words : std::vector<std::string>{""};
  }

  /// Every key but name and worker, and what the referee itself needs of them.
  void recipe(const toml::table& t, TaskBaseline* b) {
    for (const auto& [key, node] : in_.in_order(t)) {
      if (key->str() != "name" && key->str() != "worker")
        b->recipe.emplace_back(std::string(key->str()), json_of(*node).dump());
    }
    (void)in_.text(t, "implementation");
    (void)in_.text(t, "operation");
    if (t.get("tune_seconds")) b->tune_seconds = in_.number(t, "tune_seconds", 0, 0, 1e6);
    if (t.get("files")) b->files = in_.texts(t, "files");
    const toml::node* config = t.get("config");
    if (!config) return;
    b->config = json_of(*config).dump();
    if (!config->is_table()) {
      in_.fail(in_.span(*config), "`config` is what the implementation reported, a table",
               "config = { num_warps = 4 }");
    }
    if (b->tune_seconds >= 0) {
      in_.fail(in_.span(*config), "a pinned `config` leaves nothing to tune, and `tune_seconds` is given too",
               "keep one of the two");
    }
  }

  void candidate(const toml::table& root) {
    const toml::table* t = in_.table(root, "candidate");
    if (!t) return;
    TaskBaseline c;
    c.span = in_.span(*t);
    in_.need(*t, "worker", "a candidate");
    in_.need(*t, "implementation", "a candidate");
    c.worker = command(*t);
    c.name = in_.text(*t, "name", in_.text(*t, "implementation"));
    recipe(*t, &c);
    second(*t, &c);
    for (const TaskBaseline& b : task_.baselines) {
      if (b.name != c.name) continue;
      in_.fail(c.span, fmt::format("candidate and a baseline are both named \"{}\"", c.name),
               "give one of them another `name`");
    }
    if (const toml::node* backend = root.get("backend")) {
      in_.fail(in_.span(*backend), "`backend` chooses among our own, and the candidate is a worker",
               "leave it out; the worker's `implementation` says what runs");
    }
    task_.candidate = std::move(c);
  }

  /// Further backends of the candidate's own worker; the one that is measured is checked anyway.
  void second(const toml::table& t, TaskBaseline* c) {
    if (!t.get("second")) return;
    c->second = in_.texts(t, "second");
    for (const std::string& name : c->second) {
      if (!name.empty() && name != c->key("implementation")) continue;
      in_.fail(in_.span(*t.get("second")),
               name.empty() ? "`second` names an implementation without a name"
                            : fmt::format("`second` is \"{}\", which is the candidate itself", name),
               "name another implementation of the same kernel, or leave `second` out");
    }
  }

  void device(const toml::table& root) {
    const toml::node* node = root.get("device");
    if (!node) return;
    task_.device = in_.text(root, "device", "cpu");
    if (task_.device != "cpu" && task_.device != "gpu") {
      in_.fail(in_.span(*node), fmt::format("there is no device \"{}\"", task_.device), "cpu and gpu are there");
    }
    if (task_.device == "cpu") return;
    if (!task_.candidate) {
      in_.fail(in_.span(*node), "a task on a GPU needs a [candidate], since our own tuner's candidates run on the CPU",
               "add [candidate] with worker and implementation");
    }
    for (const auto& [wanted, words] : {std::pair{"pytorch", "of PyTorch"}, std::pair{"cute", "written in CuTe"}}) {
      const bool there = std::any_of(task_.baselines.begin(), task_.baselines.end(),
                                     [&](const TaskBaseline& b) { return b.family == wanted; });
      if (there || !task_.waive.empty()) continue;
      in_.fail(in_.span(*node), fmt::format("a task on a GPU needs a baseline {}, and none is of that family", words),
               fmt::format("add one, name the family of one that is there by family = \"{}\", or say why it can be "
                           "spared: waive = \"...\"",
                           wanted));
    }
  }

  void variants(const toml::table& root) {
    std::set<std::string> names;
    const toml::table* inputs = in_.table(root, "inputs");
    if (!inputs && !in_.failed())
      in_.fail(in_.head("name"), "the task has no inputs", "add [inputs] with one line per parameter of the kernel");
    for (const toml::table* t : in_.tables(root, "variant")) {
      if (in_.failed()) return;
      TaskVariant v;
      v.span = in_.span(*t);
      const toml::node* name = in_.need(*t, "name", "a variant");
      v.name = in_.text(*t, "name");
      v.target = in_.number(*t, "target", 1.0, 0.01, 100);
      if (name && !names.insert(v.name).second)
        in_.fail(in_.span(*name), fmt::format("there are two variants named \"{}\"", v.name));
      parameters(*t, *inputs, &v);
      kernel(*t, &v);
      expand_inputs(*t, *inputs, &v);
      evaluate_work(*t, &v);
      v.hash = variant_hash(v);
      task_.variants.push_back(std::move(v));
    }
    if (task_.variants.empty())
      in_.fail(in_.head("name"), "the task has no variant", "add a [[variant]] with name and parameters");
  }

  /// Every key of a variant but name, kernel and target is a parameter; one that nothing uses is a mistake.
  void parameters(const toml::table& t, const toml::table& inputs, TaskVariant* v) {
    std::vector<std::string> used = words(formula_.text);
    for (const auto& [key, node] : in_.in_order(inputs)) {
      if (const auto* text = node->as_string()) {
        const std::vector<std::string> more = words(text->get());
        used.insert(used.end(), more.begin(), more.end());
      }
    }
    for (const auto& [key, node] : in_.in_order(t)) {
      const std::string name(key->str());
      if (name == "name" || name == "kernel" || name == "target") continue;
      if (std::find(used.begin(), used.end(), name) == used.end()) {
        std::vector<std::string_view> known{"name", "kernel", "target"};
        known.insert(known.end(), used.begin(), used.end());
        const std::string near = nearest(name, known);
        in_.fail(in_.span(*key), fmt::format("the parameter `{}` is used by no input and no formula", name),
                 near.empty() ? "" : fmt::format("did you mean `{}`?", near));
      }
      Number value;
      if (const auto* whole = node->as_integer()) {
        value.integer = whole->get();
      } else if (const auto* fraction = node->as_floating_point()) {
        value = {false, 0, fraction->get(), {}};
      } else if (const auto* word = node->as_string(); word && !word->get().empty()) {
        value.word = word->get();
      } else {
        in_.fail(in_.span(*node), fmt::format("the parameter `{}` must be a number or a text", name));
      }
      v->parameters.emplace_back(name, value);
    }
  }

  static std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    std::string word;
    for (size_t i = 0; i <= text.size(); ++i) {
      const char c = i < text.size() ? text[i] : ' ';
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9' && !word.empty())) {
        word += c;
      } else if (!word.empty()) {
        out.push_back(std::move(word));
        word.clear();
      }
    }
    return out;
  }

  void kernel(const toml::table& t, TaskVariant* v) {
    const toml::node* node = t.get("kernel");
    v->kernel = in_.text(t, "kernel", task_.kernel);
    if (!node) node = in_.root().get("kernel");
    if (!node) {
      in_.fail(v->span, fmt::format("the variant \"{}\" has no kernel", v->name),
               "give `kernel` for the task or for each variant");
      return;
    }
    const size_t colon = v->kernel.rfind(':');
    const std::string file = v->kernel.substr(0, colon);
    v->kernel_name = colon == std::string::npos ? "" : v->kernel.substr(colon + 1);
    v->kernel_file = find_file(path_, file);
    if (v->kernel_file.empty()) {
      in_.fail(in_.inside(*node, 0, file.size()), fmt::format("the kernel's file \"{}\" is not there", file),
               "the path is taken from the task file's folder, then from each folder above it");
    }
  }

  void expand_inputs(const toml::table& t, const toml::table& inputs, TaskVariant* v) {
    for (const auto& [key, node] : in_.in_order(inputs)) {
      if (in_.failed()) return;
      TaskInput input;
      input.name = key->str();
      input.span = in_.span(*node);
      if (!node->is_string()) {
        input.text = json_of(*node).dump();
      } else {
        const std::string text = node->as_string()->get();
        const Expansion expansion = expand(text, v->parameters);
        if (!expansion.ok()) return wrong(expansion.error, *node, *v);
        input.text = expansion.text;
        check_tensor(input, *node, *v);
      }
      v->inputs.push_back(std::move(input));
    }
    (void)t;
  }

  void check_tensor(const TaskInput& input, const toml::node& node, const TaskVariant& v) {
    if (!looks_like_tensor(input.text)) return;
    std::string why;
    if (tensor_spec_from_text(input.text, &why)) return;
    in_.fail(in_.span(node), fmt::format("the input `{}` of the variant \"{}\" is \"{}\", which is no tensor: {}",
                                         input.name, v.name, input.text, why));
  }

  void wrong(const ExpressionError& error, const toml::node& node, const TaskVariant& v) {
    in_.fail(in_.inside(node, error.begin, error.end), fmt::format("variant \"{}\": {}", v.name, error.message),
             error.fix);
  }

  void evaluate_work(const toml::table& t, TaskVariant* v) {
    if (in_.failed() || !formula_.node) return;
    const Evaluation value = evaluate(formula_.text, v->parameters);
    if (!value.ok()) return wrong(value.error, *formula_.node, *v);
    v->work = {formula_.unit, value.value.as_double()};
    if (v->work.amount <= 0) {
      in_.fail(in_.span(*formula_.node), fmt::format("the formula gives {} for the variant \"{}\"; it must be positive",
                                                     value.value.text(), v->name));
    }
    (void)t;
  }

  static std::string variant_hash(const TaskVariant& v) {
    std::string text = v.kernel_file.substr(v.kernel_file.rfind('/') + 1) + ":" + v.kernel_name + "\n";
    for (const TaskInput& input : v.inputs) text += input.name + "=" + input.text + "\n";
    return sha256_hex(text + fmt::format("{} {}\n", v.work.amount, v.work.unit));
  }

  TomlReader& in_;
  std::string path_;
  Formula formula_;
  Task task_;
};

}  // namespace

std::string TaskBaseline::key(std::string_view wanted) const {
  for (const auto& [key_name, value] : recipe) {
    if (key_name != wanted) continue;
    const std::optional<Json> json = parse_json(value);
    return json && json->is_string() ? json->get<std::string>() : value;
  }
  return "";
}

const TaskVariant* Task::variant(std::string_view wanted) const {
  for (const TaskVariant& v : variants) {
    if (v.name == wanted || name + "/" + v.name == wanted) return &v;
  }
  return nullptr;
}

Result<Task> read_task(const std::string& path) {
  std::string why;
  const std::optional<std::string> text = read_file(path, &why);
  if (!text)
    return Diagnostic{.code = Code::file_error,
                      .message = fmt::format("the task file {} cannot be read: {}", path, why)};
  return parse_task(path, *text);
}

Result<Task> parse_task(const std::string& path, const std::string& text) {
  TomlReader in(path, text);
  if (!in.parse()) return in.error();
  Task task = TaskBuilder(in, path).build();
  if (in.failed()) return in.error();
  task.sha256 = sha256_hex(text);
  return task;
}

}  // namespace hc::contract
