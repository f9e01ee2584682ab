// Keys that were given and change nothing: a plausible figure hides that a wish was not heeded. Found by taking each key
// away and predicting again, so that no list of cases can be out of date.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/report/report.hpp"
#include "sim/study/idle/questions.hpp"

namespace distsim::study {

/// A key of an experiment's text and where it was given.
struct GivenKey {
  std::string key;    ///< dotted, "parallel.tensor"
  std::string where;  ///< "x.yaml:12:5", "--set parallel.tensor"
};

/// The keys of `parsed`, with --set laid on it, that leave the prediction as it is, to the last event: without the key all steps
/// begin and end at the same picosecond, with the same ranges and the same memory. Where what would hold without it is not a
/// number of its own (a batch that follows from another key), it must be so with twice or half the value, too. In the order of
/// the text. Names of files, titles and keys that repeat the value that would hold without them are left out. With `trials`,
/// what only randomized trials read counts as heeded. A list is one key; of lists of up to 64 maps each key counts, too.
/// Cost: at most three predictions of figures a key, on `jobs` threads; none for what changes the workload itself.
std::vector<GivenKey> keys_without_effect(const ConfigNode& parsed, const config::Experiment& experiment,
                                          const report::Report& report, bool trials, unsigned jobs,
                                          pipeline::CostModelCache& cache);

/// Whether one key of `parsed` changes its prediction. Nothing where that cannot be said: one of the two cannot be
/// predicted, or the key repeats what would hold without it.
std::optional<bool> has_effect(const ConfigNode& parsed, const std::string& key, pipeline::CostModelCache& cache);

/// What was asked of a study and changes nothing of what it found.
struct IdleArgument {
  std::string argument;  ///< as the command takes it: "--top", "--set cluster.nodes=8"
  std::string says;      ///< "no effect, the whole front is shown"
  /// "--top: no effect, the whole front is shown".
  std::string text() const;
};

/// Those of `sets` that a later one of the same key, or of what holds it, replaces. Commands name them as they read them.
std::vector<IdleArgument> replaced_arguments(const std::vector<std::string>& sets);

/// Experiments of a study at which its keys are looked for: each takes predictions.
inline constexpr std::size_t kMostTried = 16;

/// Those of `sets` that change the prediction of none of the experiments, which all have them; of a map each key by itself,
/// as "--set parallel.prefetch=4". `of`: what the prediction is of, where it is not of all: " of x.yaml". Without `are_all` the
/// study has more experiments, and the line says how many were tried. Without replaced_arguments(). Cost: one prediction of
/// each experiment, up to the first in which every key has an effect, and of each key those of keys_without_effect(), on
/// `jobs` threads; 0: as many as there are cores. The lines are the same for any number of them.
std::vector<IdleArgument> sets_without_effect(const std::vector<VariedExperiment>& experiments,
                                              const std::vector<std::string>& sets, const std::string& of = "",
                                              bool are_all = true, unsigned jobs = 0);

/// The same of one experiment that is in a file. Nothing where it cannot be read.
std::vector<IdleArgument> sets_without_effect(const std::string& file, const std::vector<std::string>& sets);

/// An experiment that has `set`, one of the values of a swept key.
struct TriedMap {
  VariedExperiment experiment;
  std::string set;  ///< KEY={...}
};

/// Keys within those maps that change none of the predictions of the experiments that have them, on as many threads.
std::vector<std::string> map_keys_without_effect(const std::vector<TriedMap>& tried, unsigned jobs = 0);

/// "no effect on this prediction: parallel.tensor (x.yaml:12:5), device.power_limit (--set)"; empty for none.
std::string describe(const std::vector<GivenKey>& keys);

/// Lays that text before the other assumptions of a report.
void add_to_assumptions(const std::string& described, report::Report& report);

}  // namespace distsim::study
