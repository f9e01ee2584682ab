// Compares an experiment with what is left of it without a key.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/config/config.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/report/report.hpp"
#include "sim/study/idle/key_paths.hpp"

namespace distsim::study::idle {

/// Of one experiment, which it refers to, with its report. May be asked by several threads.
class Comparison {
 public:
  /// With `trials`, what only randomized trials read counts as heeded.
  Comparison(const config::Experiment& whole, const report::Report& report, bool trials,
             pipeline::CostModelCache& cache);

  /// Its absence makes no difference, although another number would hold then; or, where what would hold is worked out from
  /// other keys, neither does twice or half its value: a batch that another key would make as large is heeded, a bound that
  /// is not reached is not. `text`: of the experiment, with the key.
  bool is_idle(const ConfigNode& text, const Given& given) const;

  /// Whether another text gives other figures, or none.
  bool differs(const ConfigNode& text) const;

 private:
  /// What another value of a key does: changes figures, does not, or nothing that is known: there is none, or it is refused for
  /// its size.
  enum class Move : std::uint8_t { some, none, unknown };

  /// Whether the ops of an experiment that has no other figures are others all the same.
  bool changes_ops(const config::Experiment& rest) const;
  /// Whether another word of the key changes figures: bf16 for fp16 is heeded, if fp32 makes a difference.
  bool another_choice_matters(const ConfigNode& text, const Given& given) const;
  /// Whether all other words of the key that may stand there change figures: what it says is what `automatic` comes to.
  bool all_other_choices_matter(const ConfigNode& text, const Given& given) const;
  Move move_to_word(const ConfigNode& text, const Given& given, const std::string& word) const;
  Move move_to(const std::optional<ConfigNode>& text, const Given& given) const;
  /// Also where a prediction is not possible.
  bool has_effect(const config::Experiment& rest) const;

  const config::Experiment& whole_;
  const report::Report& report_;
  bool trials_;
  pipeline::CostModelCache& cache_;
  std::optional<graph::TaskGraph> graph_;
};

}  // namespace distsim::study::idle
