#include "sim/study/without_effect.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/reference.hpp"
#include "sim/graph/op_key.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/workers.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using Path = std::vector<std::string>;

std::string dotted(const Path& path) {
  std::string text;
  for (const std::string& part : path) text += (text.empty() ? "" : ".") + part;
  return text;
}

/// What names a file or is there for people.
bool is_name(const Path& path) {
  const std::string& key = path.back();
  return config::is_for_people(key) || key == "name" || key == "aliases" || dotted(path) == "cluster.system";
}

struct Given {
  Path path;
  const ConfigNode* value;
};

/// Keys of longer lists are not looked at one by one: each takes predictions.
constexpr std::size_t kLongestList = 64;

bool is_list_of_maps(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::sequence && node.items.size() <= kLongestList &&
         std::ranges::all_of(node.items, [](const ConfigNode& item) { return item.kind == ConfigNode::Kind::map; });
}

void collect(const ConfigNode& node, Path& path, std::vector<Given>& out) {
  for (const ConfigNode::Entry& entry : node.entries) {
    path.push_back(entry.key);
    if (entry.value.kind == ConfigNode::Kind::map)
      collect(entry.value, path, out);
    else if (!is_name(path))
      out.push_back({path, &entry.value});
    for (std::size_t i = 0; is_list_of_maps(entry.value) && i < entry.value.items.size(); ++i) {
      path.push_back(std::to_string(i));
      collect(entry.value.items[i], path, out);
      path.pop_back();
    }
    path.pop_back();
  }
}

/// The node at the end of a path; null where there is none.
const ConfigNode* find_at(const ConfigNode& root, const Path& path) {
  const ConfigNode* node = &root;
  for (const std::string& part : path) {
    if (node->kind == ConfigNode::Kind::sequence) {
      const auto index = parse_integer(part);
      const bool there = index.ok() && *index >= 0 && static_cast<std::size_t>(*index) < node->items.size();
      node = there ? &node->items[static_cast<std::size_t>(*index)] : nullptr;
    } else {
      node = node->find(part);
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

/// What the file has at the end of a path that --set replaced; null where it has nothing there, or nothing was replaced.
const ConfigNode* replaced_at(const ConfigNode& root, const Path& path) {
  const ConfigNode *node = &root, *before = nullptr;
  for (const std::string& part : path) {
    node = find_at(*node, {part});
    if (node == nullptr) return nullptr;
    if (before != nullptr) before = find_at(*before, {part});
    if (node->before != nullptr) before = node->before.get();
  }
  return before;
}

/// The tree with the key taken away: where it is of --set, what the file says holds again.
ConfigNode without(const ConfigNode& root, const Path& path) {
  ConfigNode out = root;
  if (const ConfigNode* before = replaced_at(root, path)) {
    *const_cast<ConfigNode*>(find_at(out, path)) = *before;
    return out;
  }
  auto* node = const_cast<ConfigNode*>(find_at(out, {path.begin(), path.end() - 1}));
  std::erase_if(node->entries, [&](const ConfigNode::Entry& e) { return e.key == path.back(); });
  return out;
}

/// A model file of the user's own is part of what was given: its keys, and those of the layout that it suggests, stand in
/// place of its name.
ConfigNode with_own_model(const ConfigNode& parsed, const ConfigNode& merged) {
  const ConfigNode *model = parsed.find("model"), *whole = merged.find("model");
  const bool named = model != nullptr && model->find("name") != nullptr;
  if (!named || whole->where.file == nullptr || config::is_shipped(*whole->where.file)) return parsed;
  ConfigNode out = parsed;
  *out.find("model") = *whole;
  std::erase_if(out.find("model")->entries, [](const ConfigNode::Entry& e) { return e.key == "name"; });
  std::erase_if(out.entries, [](const ConfigNode::Entry& e) { return e.key == "parallel"; });
  if (const ConfigNode* layout = merged.find("parallel")) out.entries.push_back({"parallel", layout->where, *layout});
  return out;
}

bool same_number(const std::string& a, const std::string& b) {
  for (const Dimension d : {Dimension::none, Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second,
                            Dimension::flops_per_second, Dimension::hertz, Dimension::watts}) {
    const auto x = parse_quantity(a, d), y = parse_quantity(b, d);
    if (x.ok() && y.ok() && *x == *y) return true;
  }
  return false;
}

bool same_value(const ConfigNode& a, const ConfigNode& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return false;
  if (a.kind == ConfigNode::Kind::scalar) return a.scalar == b.scalar || same_number(a.scalar, b.scalar);
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same_value(a.items[i], b.items[i])) return false;
  }
  for (const ConfigNode::Entry& entry : a.entries) {
    const ConfigNode* other = b.find(entry.key);
    if (other == nullptr || !same_value(entry.value, *other)) return false;
  }
  return true;
}

/// The key as the reference names it: model.program.steps.2.size -> model.program.steps[].size.
std::string reference_key(const Path& path) {
  std::string text;
  for (const std::string& part : path) {
    const bool index = part.find_first_not_of("0123456789") == std::string::npos;
    text += index ? "[]" : (text.empty() ? "" : ".") + part;
  }
  return text;
}

/// As the reference writes the default of a list of scalars.
std::string list_text(const ConfigNode& list) {
  std::string out;
  for (const ConfigNode& item : list.items) out += (out.empty() ? "[" : ", ") + item.scalar;
  return out.empty() ? "empty" : out + "]";
}

/// Where the merged experiment has a key: that of a layout in the model stands in the section parallel.
Path merged_place(const Path& path) {
  const std::string key = dotted(path);
  return {path.begin() + (config::plain_key(key).size() < key.size() ? 1 : 0), path.end()};
}

/// Whether a key says what would hold without it: by the file that its section names, or by its default.
bool repeats(const Given& given, const ConfigNode& rest) {
  if (const ConfigNode* held = find_at(rest, merged_place(given.path))) return same_value(*given.value, *held);
  const std::string fallback = config::default_of(reference_key(given.path));
  if (given.value->kind == ConfigNode::Kind::sequence) return list_text(*given.value) == fallback;
  if (given.value->kind == ConfigNode::Kind::map) return fallback == "empty" && given.value->entries.empty();
  return given.value->scalar == fallback || same_number(given.value->scalar, fallback);
}

/// The number at the start of a text and where it ends; nothing where it is zero, infinite or none.
std::optional<std::pair<double, std::size_t>> leading_number(const std::string& text) {
  double value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value == 0) return std::nullopt;
  return std::pair{value, static_cast<std::size_t>(at - text.data())};
}

/// The tree with the number at the end of the path so many times as large, unit and all, of whole numbers the lower whole
/// one; nothing where it is no number, or where a whole one would be zero, which stands for what holds anyway.
std::optional<ConfigNode> scaled(const ConfigNode& root, const Path& path, double factor) {
  ConfigNode out = root;
  auto* node = const_cast<ConfigNode*>(find_at(out, path));
  if (node == nullptr || node->kind != ConfigNode::Kind::scalar) return std::nullopt;
  const auto number = leading_number(node->scalar);
  if (!number) return std::nullopt;
  double value = factor * number->first;
  const bool may_be_integer = number->second == node->scalar.size();  // quantities with units are not
  if (may_be_integer && number->first == std::floor(number->first)) value = std::floor(value);
  if (value == 0) return std::nullopt;
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  node->scalar = digits + node->scalar.substr(number->second);
  return out;
}

/// Whether without the key another number would hold, which is neither zero nor negative: such numbers stand for what other
/// keys say.
bool replaces_number(const Given& given, const ConfigNode& rest) {
  if (given.value->kind != ConfigNode::Kind::scalar || !leading_number(given.value->scalar)) return false;
  const ConfigNode* held = find_at(rest, merged_place(given.path));
  if (held != nullptr && held->kind != ConfigNode::Kind::scalar) return false;
  const auto number = leading_number(held != nullptr ? held->scalar : config::default_of(reference_key(given.path)));
  return number && number->first > 0;
}

bool same_op(const graph::Op& a, const graph::Op& b) {
  const auto x = graph::key_of(a), y = graph::key_of(b);
  return x.has_value() == y.has_value() && a.index() == b.index() && (!x || *x == *y);
}

/// False where two graphs differ for certain. What their ops cost is compared later, and what their dependencies change:
/// one that others imply changes nothing.
bool alike(const graph::TaskGraph& a, const graph::TaskGraph& b) {
  return a.ranks == b.ranks && a.alike == b.alike && a.repeats == b.repeats && a.tasks.size() == b.tasks.size() &&
         a.ops.size() == b.ops.size() && a.rank_tables == b.rank_tables;
}

bool same_times(const report::OpKindTime& a, const report::OpKindTime& b) {
  return a.kind == b.kind && a.time == b.time && a.kernels == b.kernels && a.tflops == b.tflops;
}

/// But for what they expose, which is not worked out for figures alone.
bool same_transfers(const report::CollectiveTime& a, const report::CollectiveTime& b) {
  return a.name == b.name && a.kind == b.kind && a.bytes == b.bytes && a.group_size == b.group_size &&
         a.calls == b.calls && a.total == b.total && a.waiting == b.waiting;
}

bool same_memory(const report::ReportContext::Memory& a, const report::ReportContext::Memory& b) {
  return a.rank == b.rank && a.kinds == b.kinds;
}

bool same_exposure(const report::CollectiveTime& a, const report::CollectiveTime& b) { return a.exposed == b.exposed; }

bool same_step(const report::CriticalStep& a, const report::CriticalStep& b) {
  return a.name == b.name && a.stream == b.stream && a.rank == b.rank && a.start == b.start && a.time == b.time &&
         a.kind == b.kind && a.phase == b.phase && a.steps == b.steps;
}

template <class Rows, class Same>
bool same_rows(const Rows& a, const Rows& b, Same same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// What sets the period, and what would if that took no time: a report shows both. REQUIRES: Detail::report of both.
bool same_limits(const report::Report& a, const report::Report& b) {
  const report::Limits &x = a.limits, &y = b.limits;
  return x.limited_by == y.limited_by && x.runner_up == y.runner_up && x.slack == y.slack &&
         same_rows(a.critical_path, b.critical_path, same_step) &&
         same_rows(a.collectives, b.collectives, same_exposure);
}

/// What an attempt gives, or another where it fails: a file that could not be opened once says nothing of a key, and what
/// is wrong with a text fails twice.
template <class Attempt>
auto with_second_try(const Attempt& attempt) {
  auto result = attempt();
  return result.ok() ? std::move(result) : attempt();
}

/// Whether a refusal is of the key itself, or of a batch that so many micro-steps do not divide: twice as much is too much, which
/// says nothing of the key as it was given.
bool refuses_size(const std::string& what, const Given& given) {
  return what.starts_with(dotted(merged_place(given.path))) ||
         (given.path.back() == "accumulation" &&
          (what.starts_with("model.global_batch") || what.starts_with("model.per_gpu_batch")));
}

/// Compares an experiment with what is left of it without a key.
class Comparison {
 public:
  Comparison(const config::Experiment& whole, const report::Report& report, bool trials,
             pipeline::CostModelCache& cache)
      : whole_(whole), report_(report), trials_(trials), cache_(cache) {
    auto built = workload::build_workload(whole.model, whole.framework, pipeline::shape_of(whole));
    if (built.ok()) graph_ = std::move(built->graph);
  }

  /// Its absence makes no difference, although another number would hold then; or, where what would hold is worked out from
  /// other keys, neither does twice or half its value: a batch that another key would make as large is heeded, a bound that
  /// is not reached is not.
  bool is_idle(const ConfigNode& text, const Given& given) const {
    const auto rest = with_second_try([&] { return config::resolve(without(text, given.path)); });
    if (!rest.ok() || repeats(given, rest->merged) || has_effect(*rest)) return false;
    if (changes_ops(*rest) && another_choice_matters(text, given)) return false;
    if (replaces_number(given, rest->merged)) return true;
    const Move twice = move_to(scaled(text, given.path, 2), given),
               half = move_to(scaled(text, given.path, 0.5), given);
    return twice == Move::none || half == Move::none || (twice == Move::unknown && half == Move::unknown);
  }

  /// Whether the ops of an experiment that has no other figures are others all the same.
  bool changes_ops(const config::Experiment& rest) const {
    if (!graph_) return false;
    const auto built = workload::build_workload(rest.model, rest.framework, pipeline::shape_of(rest));
    const auto &a = graph_->ops, &b = built.ok() ? built->graph.ops : a;
    return !std::equal(a.begin(), a.end(), b.begin(), b.end(), same_op);
  }

  /// Whether another word of the key changes figures: bf16 for fp16 is heeded, if fp32 makes a difference.
  bool another_choice_matters(const ConfigNode& text, const Given& given) const {
    return std::ranges::any_of(config::choices_of(reference_key(given.path)), [&](const std::string& word) {
      if (given.value->kind != ConfigNode::Kind::scalar || word == given.value->scalar) return false;
      ConfigNode other = text;
      const_cast<ConfigNode*>(find_at(other, given.path))->scalar = word;
      return move_to(other, given) == Move::some;
    });
  }

  /// What another value of a key does: changes figures, does not, or nothing that is known: there is none, or it is refused for
  /// its size.
  enum class Move : std::uint8_t { some, none, unknown };
  Move move_to(const std::optional<ConfigNode>& text, const Given& given) const {
    if (!text) return Move::unknown;
    const auto other = with_second_try([&] { return config::resolve(*text); });
    if (!other.ok()) {
      const bool names_it = other.error().what.find(given.path.back()) != std::string::npos;
      return names_it || refuses_size(other.error().what, given) ? Move::unknown : Move::some;
    }
    const auto built = workload::build_workload(other->model, other->framework, pipeline::shape_of(*other));
    if (!built.ok() && refuses_size(built.error().what, given)) return Move::unknown;
    return has_effect(*other) ? Move::some : Move::none;
  }

  /// Also where a prediction is not possible.
  bool has_effect(const config::Experiment& rest) const {
    if (trials_ && rest.device.calibration.speed_variation != whole_.device.calibration.speed_variation) return true;
    if (graph_) {  // else only its fold could be built
      const auto built = workload::build_workload(rest.model, rest.framework, pipeline::shape_of(rest));
      if (!built.ok() || !alike(*graph_, built->graph)) return true;
      if (trials_ && graph_->deps != built->graph.deps) return true;  // it may be heeded in some of them
    }
    // The cheaper figures are the same to the bit: most keys are told by them.
    const auto quick = pipeline::predict_figures(rest, cache_);
    if (quick.ok() && (quick->iteration != report_.iteration || quick->compute != report_.compute)) return true;
    if (quick.ok() && !quick->ops.empty() && !same_figures(report_, *quick)) return true;
    const auto p = with_second_try([&] {
      pipeline::Passes passes;
      return pipeline::predict(rest, passes, cache_);
    });
    return !p.ok() || !same_figures(report_, p->report) || !same_limits(report_, p->report);
  }

 private:
  const config::Experiment& whole_;
  const report::Report& report_;
  bool trials_;
  pipeline::CostModelCache& cache_;
  std::optional<graph::TaskGraph> graph_;
};

Path path_of(const std::string& key) {
  Path out;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    out.push_back(key.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return out;
}

/// As --set takes it.
std::string value_text(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::scalar) return node.scalar;
  std::string out;
  for (const ConfigNode& item : node.items) out += (out.empty() ? "" : ", ") + value_text(item);
  for (const ConfigNode::Entry& e : node.entries) out += (out.empty() ? "" : ", ") + e.key + ": " + value_text(e.value);
  return node.kind == ConfigNode::Kind::map ? "{" + out + "}" : "[" + out + "]";
}

/// A key that one of --set gives.
struct SetKey {
  Path path;
  std::string set;  ///< KEY=VALUE of it alone
};

/// Those that a map holds, each by itself as in a prediction; any other value is one key.
std::vector<SetKey> keys_of(const std::string& set) {
  std::vector<SetKey> out;
  std::vector<Given> held;
  if (const auto parsed = config::parse_set(set); parsed.ok() && parsed->value.kind == ConfigNode::Kind::map) {
    Path path = parsed->path;
    collect(parsed->value, path, held);
    for (const Given& key : held) out.push_back({key.path, dotted(key.path) + "=" + value_text(*key.value)});
  }
  if (out.empty()) out.push_back({path_of(std::string(config::key_of_set(set))), set});
  return out;
}

bool is_inside(const Path& key, const Path& of) {
  return key.size() > of.size() && std::equal(of.begin(), of.end(), key.begin());
}

/// Whether one that comes after `set` gives its key `own` anew, or what holds it.
bool is_replaced(const std::string& set, const SetKey& own, const std::vector<std::string>& sets) {
  const auto at = std::ranges::find(sets, set);
  return at != sets.end() && std::any_of(at + 1, sets.end(), [&](const std::string& later) {
           return config::is_of_key(own.set, config::key_of_set(later));
         });
}

/// An experiment of which keys are asked, by several threads: as a whole it is predicted once.
class Asked {
 public:
  Asked(ConfigNode parsed, pipeline::CostModelCache& cache)
      : parsed_(std::move(parsed)), whole_(config::resolve(parsed_)), cache_(cache) {}

  /// `unasked`: it is needed, a name, or repeats what would hold without it; `unknown`: there is no prediction.
  enum class Effect : std::uint8_t { some, none, unasked, unknown };
  Effect effect_of(const Path& path) {
    const ConfigNode* value = find_at(parsed_, path);
    if (!whole_.ok()) return Effect::unknown;
    if (value == nullptr || is_name(path)) return Effect::unasked;
    const auto rest = config::resolve(without(parsed_, path));
    if (!rest.ok() || repeats({path, value}, rest->merged)) return Effect::unasked;
    if (!is_predicted()) return Effect::unknown;
    return comparison_->is_idle(parsed_, {path, value}) ? Effect::none : Effect::some;
  }

  /// As the function of that name says.
  std::optional<bool> has_effect(const Path& path) {
    const Effect effect = effect_of(path);
    return effect == Effect::some || effect == Effect::none ? std::optional(effect == Effect::some) : std::nullopt;
  }

 private:
  bool is_predicted() {
    const std::lock_guard lock(predicting_);
    if (!prediction_) {
      pipeline::Passes passes;
      prediction_ = pipeline::predict(*whole_, passes, cache_);
      if (prediction_->ok()) comparison_.emplace(*whole_, (*prediction_)->report, false, cache_);
    }
    return prediction_->ok();
  }

  const ConfigNode parsed_;
  const Result<config::Experiment> whole_;
  pipeline::CostModelCache& cache_;
  std::mutex predicting_;
  std::optional<Result<pipeline::Prediction>> prediction_;
  std::optional<Comparison> comparison_;
};

/// A key that is looked for in several experiments.
struct Question {
  Path path;
  std::vector<std::size_t> in;     ///< numbers of experiments
  bool is_answered_where_unasked;  ///< Effect::unasked in one of them counts as an effect
};

/// Of a question: in how many experiments the key is idle; nothing where it has an effect in one, or that is not known for the
/// lack of memory, or an early end.
using Idle = std::optional<std::size_t>;

/// Experiments and keys that are looked for in them. Which thread asks what, and in which order, makes no difference: a key is
/// idle if it is so in all of them that can be predicted.
class Questions {
 public:
  Questions(const std::vector<VariedExperiment>& experiments, const std::vector<Question>& questions)
      : experiments_(experiments), questions_(questions), asked_(experiments.size()), answers_(questions.size()) {
    for (std::size_t q = 0; q < questions.size(); ++q) {
      for (const std::size_t e : questions[q].in) pieces_.push_back({e, q});
    }
    std::ranges::stable_sort(pieces_, {}, &Piece::experiment);  // most keys have an effect in the first that has them
    for (const Piece& piece : pieces_) ++asked_[piece.experiment].left;
  }

  std::vector<Idle> answers(unsigned jobs) {
    const auto ask = [&](std::size_t i) {
      const LogSilence silence;
      answer(pieces_[i]);
    };
    if (jobs == 0) jobs = std::max(1u, std::thread::hardware_concurrency());
    for (const std::size_t i : for_each_index(pieces_.size(), jobs, ask, [] {}))
      answers_[pieces_[i].question].is_open = false;
    std::vector<Idle> out;
    for (const Answer& a : answers_) out.push_back(a.is_open ? Idle(a.idle_in) : std::nullopt);
    return out;
  }

 private:
  struct Piece {
    std::size_t experiment, question;
  };
  struct Answer {
    std::atomic<bool> is_open = true;
    std::atomic<std::size_t> idle_in = 0;
  };
  /// Kept from its first question to its last.
  struct Shared {
    std::mutex making;
    std::shared_ptr<Asked> asked;
    bool is_made = false;
    std::atomic<std::size_t> left = 0;
  };

  void answer(const Piece& piece) {
    const Question& question = questions_[piece.question];
    Answer& answer = answers_[piece.question];
    Shared& shared = asked_[piece.experiment];
    if (answer.is_open) {
      const std::shared_ptr<Asked> asked = experiment(piece.experiment);
      const Asked::Effect effect = asked ? asked->effect_of(question.path) : Asked::Effect::unknown;
      if (effect == Asked::Effect::none) ++answer.idle_in;
      const bool closes = effect == Asked::Effect::unasked && question.is_answered_where_unasked;
      if (effect == Asked::Effect::some || closes) answer.is_open = false;
    }
    if (--shared.left > 0) return;
    const std::lock_guard lock(shared.making);
    shared.asked.reset();
  }

  /// Null where its text cannot be read: nothing is known of a key from that.
  std::shared_ptr<Asked> experiment(std::size_t e) {
    Shared& shared = asked_[e];
    const std::lock_guard lock(shared.making);
    if (!shared.is_made) {
      auto parsed = experiments_[e].experiment->parsed(experiments_[e].sets);
      if (parsed.ok()) shared.asked = std::make_shared<Asked>(std::move(*parsed), cache_);
      shared.is_made = true;
    }
    return shared.asked;
  }

  const std::vector<VariedExperiment>& experiments_;
  const std::vector<Question>& questions_;
  std::vector<Shared> asked_;
  std::vector<Answer> answers_;
  std::vector<Piece> pieces_;
  pipeline::CostModelCache cache_;
};

}  // namespace

bool same_figures(const report::Report& a, const report::Report& b) {
  const report::ReportContext &x = a.context, &y = b.context;
  return a.iteration == b.iteration && a.low == b.low && a.high == b.high && a.digest == b.digest &&
         a.ranks == b.ranks && a.rank_count == b.rank_count && a.mfu == b.mfu && a.hfu == b.hfu &&
         same_rows(a.ops, b.ops, same_times) && same_rows(a.collectives, b.collectives, same_transfers) &&
         same_rows(x.memory, y.memory, same_memory) && x.samples == y.samples &&
         x.tokens_per_sample == y.tokens_per_sample && x.model_flops == y.model_flops &&
         x.repeated_flops == y.repeated_flops && x.nodes == y.nodes && x.gpus_per_node == y.gpus_per_node &&
         x.memory_per_rank == y.memory_per_rank && x.activations_per_rank == y.activations_per_rank &&
         x.memory_capacity == y.memory_capacity && x.table_places == y.table_places;
}

std::optional<bool> has_effect(const ConfigNode& parsed, const std::string& key, pipeline::CostModelCache& cache) {
  const LogSilence silence;
  return Asked(parsed, cache).has_effect(path_of(key));
}

std::string IdleArgument::text() const { return printable(argument, 200) + ": " + says; }

std::vector<IdleArgument> replaced_arguments(const std::vector<std::string>& sets) {
  std::vector<IdleArgument> out;
  for (const config::ReplacedSet& replaced : config::replaced_sets(sets))
    out.push_back({"--set " + replaced.set, replaced.why()});
  return out;
}

std::vector<IdleArgument> sets_without_effect(const std::vector<VariedExperiment>& experiments,
                                              const std::vector<std::string>& sets, const std::string& of, bool are_all,
                                              unsigned jobs) {
  struct Asking {
    SetKey key;
    const std::string* set;
  };
  std::vector<Asking> keys;
  std::vector<Question> questions;
  for (const std::string& set : sets) {
    for (SetKey& key : keys_of(set)) {
      const bool replaced =
          std::ranges::any_of(experiments, [&](const VariedExperiment& e) { return is_replaced(set, key, e.sets); });
      if (replaced) continue;
      Question& question = questions.emplace_back(key.path, std::vector<std::size_t>(experiments.size()), true);
      std::iota(question.in.begin(), question.in.end(), std::size_t{0});
      keys.push_back({std::move(key), &set});
    }
  }
  const std::vector<Idle> idle = Questions(experiments, questions).answers(jobs);
  std::vector<IdleArgument> out;
  const Asking* list = nullptr;  // that is idle as a whole: its keys are not named, too
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Asking& key = keys[i];
    const bool within = list != nullptr && list->set == key.set && is_inside(key.key.path, list->key.path);
    if (idle[i].value_or(0) == 0 || within) continue;
    const std::string tried = are_all ? "the prediction" + of : "the " + counted(*idle[i], "prediction") + " tried";
    out.push_back({"--set " + key.key.set, "no effect on " + tried});
    list = &key;
  }
  return out;
}

std::vector<std::string> map_keys_without_effect(const std::vector<TriedMap>& tried, unsigned jobs) {
  std::map<Path, std::vector<std::size_t>> keys;
  std::vector<VariedExperiment> experiments;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    for (SetKey& key : keys_of(tried[i].set)) keys[std::move(key.path)].push_back(i);
    experiments.push_back(tried[i].experiment);
  }
  std::vector<Question> questions;
  for (const auto& [path, in] : keys) questions.emplace_back(path, in, false);
  const std::vector<Idle> idle = Questions(experiments, questions).answers(jobs);
  std::vector<std::string> out;
  const Path* list = nullptr;
  for (std::size_t i = 0; i < questions.size(); ++i) {  // a list stands before its keys
    const Path& path = questions[i].path;
    if (idle[i].value_or(0) == 0 || (list != nullptr && is_inside(path, *list))) continue;
    out.push_back(dotted(path));
    list = &path;
  }
  return out;
}

std::vector<IdleArgument> sets_without_effect(const std::string& file, const std::vector<std::string>& sets) {
  if (sets.empty()) return {};
  const auto experiment = config::Variants::of(file);
  return experiment ? sets_without_effect({{*experiment, sets}}, sets) : std::vector<IdleArgument>();
}

std::vector<GivenKey> keys_without_effect(const ConfigNode& parsed, const config::Experiment& experiment,
                                          const report::Report& report, bool trials, unsigned jobs,
                                          pipeline::CostModelCache& cache) {
  std::vector<Given> given;
  Path path;
  const ConfigNode text = with_own_model(parsed, experiment.merged);
  collect(text, path, given);
  const Comparison comparison(experiment, report, trials, cache);
  std::vector<char> idle(given.size(), 0);
  const auto compare = [&](std::size_t i) {
    const LogSilence silence;
    // Without a key of the experiment, that of its model's file holds.
    const bool of_experiment = find_at(parsed, given[i].path) != nullptr;
    idle[i] = comparison.is_idle(of_experiment ? parsed : text, given[i]) ? 1 : 0;
  };
  // Nothing is said of a key for which memory does not suffice: the prediction itself is there.
  (void)for_each_index(given.size(), jobs, compare, [] {});
  std::vector<GivenKey> out;
  const Path* list = nullptr;  // that is idle as a whole: its keys are not named, too
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Path& key = given[i].path;
    if (idle[i] == 0 || (list != nullptr && is_inside(key, *list))) continue;
    out.push_back({dotted(key), given[i].value->where.text()});
    list = &key;
  }
  return out;
}

std::string describe(const std::vector<GivenKey>& keys) {
  std::string text;
  for (const GivenKey& k : keys) {
    const bool set = k.where.starts_with("--set");
    text += (text.empty() ? "no effect on this prediction: " : ", ") + printable(k.key, 120) + " (" +
            (set ? "--set" : printable(k.where, 200)) + ")";
  }
  return text;
}

void add_to_assumptions(const std::string& described, report::Report& report) {
  if (described.empty()) return;
  auto& assumptions = report.context.assumptions;
  assumptions.insert(assumptions.begin(), {graph::AssumptionKind::settings, described});
}

}  // namespace distsim::study
