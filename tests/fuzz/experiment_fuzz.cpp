// Experiments end to end: parse, merge, resolve, and where they are small, predict. What follows a line "--set" are
// overrides.
#include <vector>

#include "fuzz_target.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::fuzz {
namespace {

std::vector<std::string> sets_in(std::string_view& text) {
  constexpr std::string_view kMark = "\n--set ";
  std::vector<std::string> sets;
  for (std::size_t at = text.rfind(kMark); at != std::string_view::npos && sets.size() < 4; at = text.rfind(kMark)) {
    sets.emplace_back(text.substr(at + kMark.size()));
    text = text.substr(0, at);
  }
  return sets;
}

bool is_small(const config::Experiment& e) {
  return e.cluster.nodes <= 16 && e.cluster.gpus_per_node <= 16 && e.cluster.nodes * e.cluster.gpus_per_node <= 32;
}

void predict(std::string_view text) {
  const std::vector<std::string> sets = sets_in(text);
  const auto parsed = config::parse_experiment_text(text, "fuzz.yaml", sets);
  check_answer(parsed);
  if (!parsed.ok()) return;
  const auto resolved = config::resolve(*parsed);
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

FUZZ_TARGET(experiment) { distsim::fuzz::predict(text); }
