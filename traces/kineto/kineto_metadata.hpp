// The top-level keys of a Kineto trace: clock base, devices, ranks and process groups. They may come before or after
// the events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/kineto/kineto_event.hpp"
#include "traces/trace_format.hpp"

namespace distsim::traces {

class KinetoMetadata {
 public:
  explicit KinetoMetadata(TraceJob& job) : job_(job) {}

  static bool wanted(std::string_view key);
  /// `json` is readable for kJsonPadding bytes beyond its end.
  void take(std::string_view key, std::string_view json);
  /// Moves all times to the absolute clock, and sets the rank, the world size, devices and groups.
  void finish(ReadRank& out);

 private:
  void devices(std::string_view json);
  void distributed(std::string_view json);
  void complete_groups();

  TraceJob& job_;
  std::int64_t base_ns_ = 0;
  bool rank_known_ = false;
  std::int64_t rank_ = 0, world_ = 0;
  std::string host_, backend_;
  std::vector<TraceDevice> devices_;
  std::vector<TraceGroup> configured_;
  std::vector<std::string> unreadable_;
};

/// The value of "baseTimeNanoseconds"; nothing where it is no time.
std::optional<std::int64_t> base_time(std::string_view json);

/// The arguments that describe a collective.
CollectiveArgs collective_args(const KinetoArgs& args);

/// A collective on the CPU, known by the name of its range ("gloo:all_reduce") and the shapes of its inputs.
TraceCollective gloo_collective(TraceJob& job, std::string_view name, std::uint32_t inputs);

}  // namespace distsim::traces
