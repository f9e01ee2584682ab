// What a replay says: text for people, CSV a row per rank and step, JSON.
#pragma once

#include <string>
#include <vector>

#include "sim/replay/build/replay_graph.hpp"
#include "sim/replay/results/step_results.hpp"

namespace distsim::replay {

struct ReplayReport {
  const ReplayGraph* graph = nullptr;
  std::vector<StepResult> replayed;                  ///< with the measured costs
  std::vector<StepResult> what_if;                   ///< with other costs; empty where none were asked for
  std::int64_t replayed_span = 0, what_if_span = 0;  ///< device_span of each, ps
  bool wants_held_out = false;
  std::vector<StepResult> held_out;  ///< each step predicted from the others
  std::vector<std::string> changes;  ///< what the what-if changed, in words
  std::uint64_t digest = 0;          ///< of the last play
};

std::string replay_text(const ReplayReport& report);
std::string replay_csv(const ReplayReport& report);
std::string replay_json(const ReplayReport& report);

}  // namespace distsim::replay
