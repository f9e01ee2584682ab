// Keys that are looked for in several experiments, on several threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/variants.hpp"
#include "sim/study/idle/key_paths.hpp"

namespace distsim::study {

/// An experiment of a study.
struct VariedExperiment {
  std::shared_ptr<config::Variants> experiment;
  std::vector<std::string> sets;  ///< laid on it
};

}  // namespace distsim::study

namespace distsim::study::idle {

/// A key that is looked for in several experiments.
struct Question {
  Path path;
  std::vector<std::size_t> in;     ///< numbers of experiments
  bool is_answered_where_unasked;  ///< Effect::unasked in one of them counts as an effect
};

/// Of a question: in how many experiments the key is idle; nothing where it has an effect in one, or that is not known for the
/// lack of memory, or an early end.
using Idle = std::optional<std::size_t>;

/// Whether one of the experiments has another prediction without these keys together, on as many threads.
bool depend_on(const std::vector<VariedExperiment>& experiments, const std::vector<Path>& paths, unsigned jobs);

/// The answers in the order of the questions. Which thread asks what, and in which order, makes no difference: a key is idle if
/// it is so in all of the experiments that can be predicted. `jobs`: 0: as many threads as this process has cores.
std::vector<Idle> answers_to(const std::vector<Question>& questions, const std::vector<VariedExperiment>& experiments,
                             unsigned jobs);

}  // namespace distsim::study::idle
