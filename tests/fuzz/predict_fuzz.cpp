// Experiments end to end, where they are small.
#include "experiment_input.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::fuzz {
namespace {

bool is_small(const config::Experiment& e) {
  return e.cluster.nodes <= 16 && e.cluster.gpus_per_node <= 16 && e.cluster.nodes * e.cluster.gpus_per_node <= 32;
}

void predict(std::string_view text) {
  const auto resolved = experiment_in(text);
  check_answer(resolved);
  if (!resolved.ok() || !is_small(*resolved)) return;
  static pipeline::CostModelCache cache;
  pipeline::Passes passes;
  const auto p = pipeline::predict(*resolved, passes, cache, pipeline::kPlayedMicroSteps, report::Detail::figures);
  check_answer(p);
  if (!p.ok()) return;
  CHECK(p->report.low <= p->report.iteration && p->report.iteration <= p->report.high);
}

}  // namespace
}  // namespace distsim::fuzz

FUZZ_TARGET(predict) { distsim::fuzz::predict(text); }
