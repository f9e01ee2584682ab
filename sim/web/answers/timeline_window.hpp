// The timeline of a prediction's last iteration, cut to a window: as many slices as a picture of some width can show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/pipeline/pipeline.hpp"

namespace distsim::web {

/// A name on the timeline and what its op costs.
struct SliceName {
  std::string name, category;
  std::vector<std::pair<std::string, std::string>> args;  ///< op, cost, basis, source
};

/// One stream of one rank. Slices in order of start; times in picoseconds from the beginning of the iteration.
struct TimelineTrack {
  std::string process, thread;
  std::uint32_t rank = 0;
  struct Slice {
    std::int64_t start = 0, length = 0;
    std::uint32_t name = 0;
  };
  std::vector<Slice> slices;
};

class TimelineIndex {
 public:
  static constexpr std::uint32_t kMostRanks = 64;
  static constexpr std::int64_t kMostSlices = 1'000'000;

  explicit TimelineIndex(const pipeline::Prediction& prediction);

  std::int64_t period() const { return period_; }
  const std::vector<SliceName>& names() const { return names_; }
  const std::vector<TimelineTrack>& tracks() const { return tracks_; }
  const std::string& left_out() const { return left_out_; }

  /// start, length, name of each slice of a track that reaches into [from, to), one after the other. Neighbours that are
  /// shorter than a `columns`-th of the window are one, of which the name is -1; so there are at most about 2 x columns.
  std::vector<std::int64_t> window(const TimelineTrack& track, std::int64_t from, std::int64_t to, int columns) const;

 private:
  std::int64_t period_ = 0;
  std::vector<SliceName> names_;
  std::vector<TimelineTrack> tracks_;
  std::string left_out_;
};

}  // namespace distsim::web
