#include "sim/api/idle_keys.hpp"

#include <algorithm>
#include <thread>

#include "sim/config/flag_sets.hpp"
#include "sim/study/idle/without_effect.hpp"

namespace distsim::api {
namespace {

/// Threads for predictions that are not printed: of a large job one at a time, which needs no more memory than it.
unsigned threads_for(const pipeline::Prediction& p) {
  constexpr std::size_t kLarge = 2'000'000;
  constexpr unsigned kMost = 4;
  if (p.lowered->program.ranks * p.lowered->program.steps.size() > kLarge) return 1;
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMost);
}

}  // namespace

std::string idle_keys(const ConfigNode& parsed, const config::Experiment& experiment,
                      const pipeline::Prediction& prediction, bool trials, pipeline::CostModelCache& cache,
                      unsigned threads) {
  return study::describe(study::keys_without_effect(parsed, experiment, prediction.report, trials,
                                                    threads > 0 ? threads : threads_for(prediction), cache));
}

std::string replaced_keys(const std::vector<std::string>& sets) {
  std::vector<study::GivenKey> keys;
  for (const config::ReplacedSet& replaced : config::replaced_sets(sets))
    keys.push_back({replaced.set, "replaced by --set " + replaced.by});
  return study::describe(keys);
}

}  // namespace distsim::api
