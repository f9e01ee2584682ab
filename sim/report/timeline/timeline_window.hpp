// The timeline of a prediction's last iteration, cut to a window: as many slices as a picture of some width can show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "traces/timeline/slices.hpp"

namespace distsim::report {

struct RankClasses;

/// A name on the timeline and what its op costs.
struct SliceName {
  std::string name, category;
  std::vector<std::pair<std::string, std::string>> args;  ///< op, cost, basis, source
};

/// One stream of one rank. Slices in order of start; times in picoseconds from the beginning of the iteration.
struct TimelineTrack {
  std::string process, thread;
  std::uint32_t rank = 0;
  std::uint32_t alike = 1;            ///< ranks with the same times, this one included
  std::optional<std::uint32_t> like;  ///< the rank with these times that comes before
  struct Slice {
    std::int64_t start = 0, length = 0;
    std::uint32_t name = 0;
  };
  std::vector<Slice> slices;
};

class TimelineIndex {
 public:
  static constexpr std::uint32_t kMostRanks = 64;
  static constexpr std::int64_t kMostSlices = 3'000'000;  ///< counted as if each collective were waited for

  /// `first`, `classes_only`: TimelineOptions.
  TimelineIndex(const Played& played, const Report& report, std::uint32_t max_ranks = kMostRanks,
                std::vector<std::uint32_t> first = {}, bool classes_only = false);

  std::int64_t period() const { return period_; }
  const std::vector<SliceName>& names() const { return names_; }
  const std::vector<std::string>& categories() const { return categories_; }
  /// One rank of each class of equal ranks before the others; each in order of rank.
  const std::vector<TimelineTrack>& tracks() const { return tracks_; }
  std::size_t slices() const;  ///< of all tracks
  const std::string& left_out() const { return left_out_; }
  Duration cycle_start() const { return cycle_start_; }

  /// start, length, name of each slice of a track that reaches into [from, to), one after the other. Neighbours that are
  /// shorter than a `columns`-th of the window are one, so that there are at most about 2 x columns; their name is -1 - c where
  /// most of their time is of category c.
  std::vector<std::int64_t> window(const TimelineTrack& track, std::int64_t from, std::int64_t to, int columns) const;

  std::uint32_t category_of(std::size_t name) const { return category_of_name_[name]; }  ///< its place in categories()

 private:
  void add_name(const traces::Slice& slice);
  void put_classes_first(const RankClasses& classes);

  std::int64_t period_ = 0;
  std::vector<SliceName> names_;
  std::vector<std::string> categories_;          ///< of the names, each once
  std::vector<std::uint32_t> category_of_name_;  ///< index into them
  std::vector<TimelineTrack> tracks_;
  std::string left_out_;
  Duration cycle_start_;
};

/// What is wanted of a timeline. `from`, `to` in picoseconds; `first`, `count`: of the tracks, whose slices are given.
struct TimelineWindow {
  std::int64_t from = 0, to = 0;
  int columns = 1024;
  std::size_t first = 0, count = 64;
  bool names = false;
};

/// The members of `timeline` in docs/serve.md as a JSON object.
std::string timeline_json(const TimelineIndex& index, const TimelineWindow& window);

/// What a page of its own has room for.
struct TimelineRoom {
  std::size_t slices = 12'000;  ///< about
  std::size_t bytes = 600'000;  ///< of JSON, about
};

/// The whole period for a page of its own: fewer columns where it would be more than there is room for, and without the
/// names that no slice has.
std::string timeline_json(const TimelineIndex& index, const TimelineRoom& room);

}  // namespace distsim::report
