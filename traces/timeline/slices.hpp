// Slices: a neutral timeline (tracks, slices, flows, counters) between its producers and the file writers. Independent
// of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distsim::traces {

struct Track {
  std::uint32_t process = 0, thread = 0;
  std::string process_name, thread_name;
};

/// A slice's place in its flow: arrows run from the first slice through every middle one to the last.
enum class FlowPlace : std::uint8_t { first, middle, last };

struct Slice {
  std::uint32_t track = 0;  ///< index of a Track
  std::string_view name, category;
  std::int64_t start_ps = 0, duration_ps = 0;
  std::uint64_t flow = 0;  ///< slices with the same non-zero flow id are joined by arrows (members of a collective)
  FlowPlace flow_place = FlowPlace::middle;
  std::vector<std::pair<std::string_view, std::string>> args;
};

/// A number that changes in time, shown below the threads of its process: "link use" in "GB/s".
struct CounterTrack {
  std::uint32_t process = 0;
  std::string name, unit;
};

/// From `time_ps` on the counter has this value.
struct CounterSample {
  std::uint32_t counter = 0;
  std::int64_t time_ps = 0;
  double value = 0;
};

/// A source of slices: tracks first, then every slice once, handed to `sink`. Slices of a track come in order of start,
/// an outer one before those within it; they nest or follow each other, but never overlap in part. Those of a flow come
/// first to last. Tracks of a process are neighbours.
struct SliceSource {
  std::vector<Track> tracks;
  std::function<void(const std::function<void(const Slice&)>& sink)> for_each;
  std::vector<CounterTrack>
      counters;  ///< of processes that have a track; may be empty, and then for_each_sample need not be there
  std::function<void(const std::function<void(const CounterSample&)>& sink)> for_each_sample;
};

}  // namespace distsim::traces
