// What HugeCTR's inline profiler is to measure: its `prof.schedule` (2021) and `prof.events` (releases v3.1 to
// v3.7), from a list of events.
//
// The list is YAML (or JSON), as the profiler's own script took it; layers in the order of the forward pass:
//
//   BottomMLP.fc1:
//     forward_events: [fused_fully_connected.fprop, fused_fully_connected.fprop.cublasGemmEx]
//     backward_events: [fused_fully_connected.bprop]
//
// One event is timed per iteration. Events with the same name are distinguished by their position among those of that
// name on a stream within one iteration: forward in the order of the layers, backward in the opposite order, counted
// apart.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::traces {

struct HugectrEvent {
  std::string layer, name;
  std::uint32_t order = 0;  ///< place among events of that name
  bool operator==(const HugectrEvent&) const = default;
};

/// Errors, with positions: not a map of layers, keys other than forward_events and backward_events, names that are
/// empty or hold a blank (the formats separate with blanks), labels ("fprop.start") for names of events, nothing at all.
Result<std::vector<HugectrEvent>> read_hugectr_events(const std::string& path);

/// "10\n" and then lines "<event> <iteration> <layer> <order>": every event `repeat` times, iterations from warmup + 1
/// on. No line end after the last.
std::string hugectr_schedule_text(const std::vector<HugectrEvent>& events, std::uint32_t warmup, std::uint32_t repeat);

/// An event name a line, each once.
std::string hugectr_events_text(const std::vector<HugectrEvent>& events);

}  // namespace distsim::traces
