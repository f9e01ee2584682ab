#include "sim/web/answers/timeline_window.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "sim/report/steady_state.hpp"
#include "sim/report/timeline/timeline_slices.hpp"

namespace distsim::web {

TimelineIndex::TimelineIndex(const pipeline::Prediction& prediction) {
  const report::Played played = prediction.played();
  const report::SteadyState steady = report::steady_state(played);
  period_ = steady.period();
  report::TimelineOptions options;
  options.max_ranks = kMostRanks;
  options.max_slices = kMostSlices;
  options.last_iteration_only = true;
  options.gpus_per_node = prediction.report.context.gpus_per_node;
  const report::TimelineSlices slices = report::timeline_slices(played, options);
  left_out_ = slices.left_out;
  for (const traces::Track& track : slices.source.tracks)
    tracks_.push_back({track.process_name, track.thread_name, track.process, {}});
  if (!left_out_.empty()) tracks_.pop_back();  // an empty one that says so
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> known;
  slices.source.for_each([&](const traces::Slice& slice) {
    if (slice.track >= tracks_.size() || slice.duration_ps <= 0) return;
    const auto [it, is_new] =
        known.try_emplace({slice.name, slice.category}, static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      SliceName name{std::string(slice.name), std::string(slice.category), {}};
      for (const auto& [key, value] : slice.args) name.args.emplace_back(std::string(key), value);
      names_.push_back(std::move(name));
    }
    tracks_[slice.track].slices.push_back({slice.start_ps - steady.begin, slice.duration_ps, it->second});
  });
}

std::vector<std::int64_t> TimelineIndex::window(const TimelineTrack& track, std::int64_t from, std::int64_t to,
                                                int columns) const {
  std::vector<std::int64_t> out;
  const std::int64_t least = std::max<std::int64_t>(1, (to - from) / std::max(1, columns));
  std::int64_t run_begin = 0, run_end = -1;  // of neighbours that are too short to be seen apart
  std::int64_t run_name = -1, run_count = 0;
  const auto end_run = [&] {
    if (run_count > 0) out.insert(out.end(), {run_begin, run_end - run_begin, run_count == 1 ? run_name : -1});
    run_count = 0;
  };
  // Slices of a stream follow each other, so their ends are in order too.
  auto it = std::ranges::partition_point(track.slices, [&](const auto& s) { return s.start + s.length <= from; });
  for (; it != track.slices.end() && it->start < to; ++it) {
    if (run_count > 0 && (it->length >= least || it->start - run_end >= least || run_end - run_begin >= least))
      end_run();
    if (it->length >= least) {
      out.insert(out.end(), {it->start, it->length, it->name});
      continue;
    }
    if (run_count++ == 0) run_begin = it->start;
    run_end = it->start + it->length;
    run_name = it->name;
  }
  end_run();
  return out;
}

}  // namespace distsim::web
