#include "sim/chakra/chakra_play.hpp"

#include <algorithm>

#include "base/text/counted.hpp"
#include "sim/chakra/chakra_parts.hpp"

namespace distsim::chakra {
namespace {

/// True where the ranks differ only in durations, so that one program over rank vectors plays them all.
bool all_alike(const traces::ChakraSet& set) {
  return set.graphs.size() == 1 && std::ranges::none_of(set.graphs[0].nodes, is_message);
}

std::vector<std::string> notes_of(const traces::ChakraSet& set, const ChakraPlay& play, const WorkTimes& work,
                                  bool wants_recorded) {
  std::uint64_t dropped = 0, recorded = 0, unrecorded = 0;
  for (const traces::ChakraGraph& g : set.graphs) dropped += g.dropped_deps;
  for (const ChakraCommunicator& c : play.communicators) {
    recorded +=
        static_cast<std::uint64_t>(std::ranges::count_if(c.calls, [](const ChakraCall& call) { return !call.priced; }));
  }
  for (const ChakraCommunicator& c : play.communicators) {
    if (!wants_recorded || c.members.size() == 1) continue;
    unrecorded += static_cast<std::uint64_t>(std::ranges::count(c.calls, 0, &ChakraCall::recorded_ps));
  }
  std::vector<std::string> out;
  for (const traces::ChakraGraph& g : set.graphs) {
    for (const std::string& line : g.misspelt) {
      if (std::ranges::find(out, line) == out.end()) out.push_back(line);
    }
  }
  if (set.job_ranks > 0)
    out.push_back(
        std::to_string(set.ranks.size()) + " of the " + counted(set.job_ranks, "rank") + " of the job " +
        std::string(agreeing(set.ranks.size(), "is", "are")) +
        " played: collectives are priced among all of their members, and those without a trace do not keep others waiting");
  if (!set.order_is_known)
    out.push_back(
        "the files are those of the ranks in their names: the .set.json that was written with them, and would tell, is missing");
  if (dropped > 0)
    out.push_back(counted(dropped, "control dependency of the old layout names a caller and is ignored",
                          "control dependencies of the old layout name callers and are ignored"));
  if (recorded > 0)
    out.push_back(counted(recorded, "collective without kind or size keeps its recorded time",
                          "collectives without kind or size keep their recorded time"));
  if (unrecorded > 0)
    out.push_back(counted(unrecorded, "collective without a recorded time is priced by the models",
                          "collectives without a recorded time are priced by the models"));
  if (work.rooflines() > 0)
    out.push_back(counted(work.rooflines(), "node without a duration uses its roofline time",
                          "nodes without a duration use their roofline time"));
  if (work.timeless() > 0)
    out.push_back(counted(work.timeless(),
                          "node of computation has neither a duration nor operations or bytes, and takes no time",
                          "nodes of computation have neither a duration nor operations or bytes, and take no time"));
  return out;
}

}  // namespace

Result<ChakraPlay> play_chakra(const traces::ChakraSet& set, CommunicationCost& costs,
                               const topology::DeviceSpec& device, const ChakraPlayOptions& options) {
  const bool rows = all_alike(set);
  TRY_ASSIGN(ChakraCalls calls, ChakraCalls::find(set, options, rows));
  TRY(calls.price(costs, options.recorded_collectives));
  WorkTimes work(device, options.compute_scale);
  const ChakraJob job{set, calls, costs, work};
  TRY_ASSIGN(ChakraPlay play, rows ? play_rows(job) : play_lists(job));
  play.communicators = calls.communicators();
  play.notes = notes_of(set, play, work, options.recorded_collectives);
  return play;
}

}  // namespace distsim::chakra
