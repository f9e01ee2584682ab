#include "sim/report/timeline/timeline_window.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/json/json.hpp"
#include "sim/report/rank_sweep.hpp"
#include "sim/report/steady_state.hpp"
#include "sim/report/timeline/timeline_slices.hpp"

namespace distsim::report {

TimelineIndex::TimelineIndex(const Played& played, const Report& report, std::uint32_t max_ranks,
                             std::vector<std::uint32_t> first, bool classes_only)
    : cycle_start_(report.cycle_start) {
  const SteadyState steady = steady_state(played);
  period_ = steady.period();
  TimelineOptions options;
  options.max_ranks = max_ranks;
  options.ranks_first = std::move(first);
  options.classes_only = classes_only;
  options.max_slices = kMostSlices;
  options.last_iteration_only = true;
  options.gpus_per_node = report.context.gpus_per_node;
  const TimelineSlices slices = timeline_slices(played, options);
  const RankClasses classes = rank_classes(steady, played.program->ranks);
  for (const traces::Track& track : slices.source.tracks) {
    const std::uint32_t alike = track.process < played.program->ranks ? classes.count[classes.of(track.process)] : 1;
    tracks_.push_back({track.process_name, track.thread_name, track.process, alike, {}});
  }
  if (!slices.left_out.empty()) tracks_.pop_back();  // an empty one that says so
  std::set<std::uint32_t> shown;
  for (const TimelineTrack& track : tracks_) shown.insert(classes.of(track.rank));
  if (!classes_only || shown.size() < classes.size()) left_out_ = slices.left_out;
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

std::string timeline_json(const TimelineIndex& index, const TimelineWindow& window) {
  using TrackJson = nlohmann::json;
  const std::int64_t to = window.to > window.from ? window.to : index.period();
  TrackJson tracks = TrackJson::array();
  for (std::size_t i = 0; i < index.tracks().size(); ++i) {
    const TimelineTrack& track = index.tracks()[i];
    TrackJson t{{"process", track.process}, {"thread", track.thread}, {"rank", track.rank}, {"alike", track.alike}};
    if (i >= window.first && i - window.first < window.count)
      t["slices"] = index.window(track, window.from, to, window.columns);
    tracks.push_back(std::move(t));
  }
  TrackJson out{{"period", index.period()},
                {"from", window.from},
                {"to", to},
                {"first", window.first},
                {"tracks", std::move(tracks)},
                {"left_out", index.left_out()},
                {"cycle_start", index.cycle_start().ps()}};
  if (window.names) {
    TrackJson names = TrackJson::array();
    for (const SliceName& name : index.names()) {
      TrackJson args = TrackJson::object();
      for (const auto& [key, value] : name.args) args[key] = value;
      names.push_back({{"name", name.name}, {"category", name.category}, {"args", std::move(args)}});
    }
    out["names"] = std::move(names);
  }
  return out.dump(-1, ' ', false, TrackJson::error_handler_t::replace);
}

std::string timeline_json(const TimelineIndex& index, std::size_t most) {
  TimelineWindow window;
  window.count = index.tracks().size();
  window.names = true;
  for (window.columns = 1 << 20; window.columns > 64; window.columns /= 2) {
    std::size_t slices = 0;
    for (const TimelineTrack& track : index.tracks())
      slices += index.window(track, 0, index.period(), window.columns).size() / 3;
    if (slices <= most) break;
  }
  return timeline_json(index, window);
}

}  // namespace distsim::report
