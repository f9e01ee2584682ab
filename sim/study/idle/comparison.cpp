#include "sim/study/idle/comparison.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/config/reference.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/idle/key_values.hpp"
#include "sim/study/idle/same_report.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study::idle {
namespace {

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

}  // namespace

Comparison::Comparison(const config::Experiment& whole, const report::Report& report, bool trials,
                       pipeline::CostModelCache& cache)
    : whole_(whole), report_(report), trials_(trials), cache_(cache) {
  auto built = workload::build_workload(whole.model, whole.framework, pipeline::shape_of(whole));
  if (built.ok()) graph_ = std::move(built->graph);
}

bool Comparison::is_idle(const ConfigNode& text, const Given& given) const {
  const auto rest = with_second_try([&] { return config::resolve(without(text, given.path)); });
  if (!rest.ok() || repeats(given, rest->merged) || has_effect(*rest)) return false;
  if (changes_ops(*rest) && another_choice_matters(text, given)) return false;
  if (replaces_automatic(given, rest->merged) && all_other_choices_matter(text, given)) return false;
  if (replaces_number(given, rest->merged)) return true;
  const Move twice = move_to(scaled(text, given.path, 2), given), half = move_to(scaled(text, given.path, 0.5), given);
  return twice == Move::none || half == Move::none || (twice == Move::unknown && half == Move::unknown);
}

bool Comparison::differs(const ConfigNode& text) const {
  const auto other = with_second_try([&] { return config::resolve(text); });
  return !other.ok() || has_effect(*other);
}

bool Comparison::changes_ops(const config::Experiment& rest) const {
  if (!graph_) return false;
  const auto built = workload::build_workload(rest.model, rest.framework, pipeline::shape_of(rest));
  return built.ok() && !same_ops(*graph_, built->graph);
}

Comparison::Move Comparison::move_to_word(const ConfigNode& text, const Given& given, const std::string& word) const {
  ConfigNode other = text;
  find_at(other, given.path)->scalar = word;
  return move_to(other, given);
}

bool Comparison::another_choice_matters(const ConfigNode& text, const Given& given) const {
  if (given.value->kind != ConfigNode::Kind::scalar) return false;
  return std::ranges::any_of(config::choices_of(reference_key(given.path)), [&](const std::string& word) {
    return word != given.value->scalar && move_to_word(text, given, word) == Move::some;
  });
}

bool Comparison::all_other_choices_matter(const ConfigNode& text, const Given& given) const {
  bool one = false;
  for (const std::string& word : config::choices_of(reference_key(given.path))) {
    if (word == given.value->scalar || word == kAutomatic) continue;
    const Move move = move_to_word(text, given, word);
    if (move == Move::none) return false;
    one = one || move == Move::some;
  }
  return one;
}

Comparison::Move Comparison::move_to(const std::optional<ConfigNode>& text, const Given& given) const {
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

bool Comparison::has_effect(const config::Experiment& rest) const {
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

}  // namespace distsim::study::idle
