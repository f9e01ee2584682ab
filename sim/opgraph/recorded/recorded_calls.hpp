// The calls of a PyTorch execution trace: who called whom, and which of them are one iteration.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace distsim::opgraph {

inline constexpr std::uint32_t kNoCaller = 0xFFFFFFFFu;

/// A node of the trace, with what decides whether it is kept.
struct Recorded {
  std::uint64_t id = 0;
  std::optional<std::uint64_t> parent;
  std::string name;
  simdjson::dom::element json;
  std::uint32_t caller = kNoCaller;   ///< its place
  std::vector<std::uint32_t> inside;  ///< places of the calls it makes
  bool has_kernels = false;           ///< launches them itself by the table, or something inside of it does

  bool is_collective() const { return name == "record_param_comms"; }
  bool is_triton() const { return name.starts_with("triton_"); }
  bool is_step() const { return name.starts_with("ProfilerStep#"); }
  bool is_optimizer() const { return name.starts_with("Optimizer.step#"); }
  /// Operations and bytes are recorded, and no tensors.
  bool has_stated_work() const;
};

/// A process group of the trace.
struct RecordedGroup {
  std::vector<std::uint32_t> ranks;
  std::uint32_t size = 0;  ///< 0: not said
};

struct RecordedCalls {
  std::vector<Recorded> nodes;     ///< in the order in which they began; a place is an index
  std::vector<std::uint32_t> top;  ///< places of those that nothing calls
  std::unordered_map<std::string, RecordedGroup> groups;
  std::uint32_t first = 0, last = 0;   ///< the iteration: places from .. to
  std::string choice;                  ///< which of several iterations that is; empty where there is one
  std::uint64_t broken = 0, lost = 0;  ///< nodes that cannot be read; nodes whose caller is missing

  bool is_in_iteration(std::uint32_t place) const { return place >= first && place < last; }
};

/// Of several profiled steps the one with the most nodes, the last of those; without steps, what lies between the ends of
/// optimizer steps. Errors: no list of nodes, too many, a node twice. The elements of `document` must outlive the result.
Result<RecordedCalls> read_recorded_calls(const simdjson::dom::object& document, const std::string& file);

/// `what` of a node: "FILE: node 7 (aten::mm): WHAT".
Error wrong_call(const std::string& file, const Recorded& n, const std::string& what);

}  // namespace distsim::opgraph
