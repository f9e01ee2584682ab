#include "sim/report/timeline/timeline_window.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/json/json_text.hpp"
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
  options.args_once = true;
  options.gpus_per_node = report.context.gpus_per_node;
  const TimelineSlices slices = timeline_slices(played, options);
  const RankClasses classes = rank_classes(steady, played.program->ranks);
  for (const traces::Track& track : slices.source.tracks) {
    const std::uint32_t alike = track.process < played.program->ranks ? classes.count[classes.of(track.process)] : 1;
    tracks_.push_back({track.process_name, track.thread_name, track.process, alike, {}, {}});
  }
  if (!slices.left_out.empty()) tracks_.pop_back();  // an empty one that says so
  std::set<std::uint32_t> shown;
  for (const TimelineTrack& track : tracks_) shown.insert(classes.of(track.rank));
  if (!classes_only || shown.size() < classes.size()) left_out_ = slices.left_out;
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> known;
  std::unordered_map<const char*, std::pair<const char*, std::uint32_t>>
      last;  // by where a text lies: its category, its name
  slices.source.for_each([&](const traces::Slice& slice) {
    if (slice.track >= tracks_.size() || slice.duration_ps <= 0) return;
    auto& [category, name] = last.try_emplace(slice.name.data(), nullptr, 0).first->second;
    if (category != slice.category.data()) {
      const auto [it, is_new] =
          known.try_emplace({slice.name, slice.category}, static_cast<std::uint32_t>(names_.size()));
      if (is_new) add_name(slice);
      category = slice.category.data();
      name = it->second;
    }
    tracks_[slice.track].slices.push_back({slice.start_ps - steady.begin, slice.duration_ps, name});
  });
  put_classes_first(classes);
}

void TimelineIndex::put_classes_first(const RankClasses& classes) {
  std::map<std::uint32_t, std::uint32_t> first;  // of each class, among those that are shown
  for (TimelineTrack& track : tracks_) {
    const auto [it, is_new] = first.try_emplace(classes.of(track.rank), track.rank);
    if (it->second != track.rank) track.like = it->second;
  }
  std::stable_partition(tracks_.begin(), tracks_.end(), [](const TimelineTrack& track) { return !track.like; });
}

void TimelineIndex::add_name(const traces::Slice& slice) {
  SliceName name{std::string(slice.name), std::string(slice.category), {}};
  for (const auto& [key, value] : slice.args) name.args.emplace_back(std::string(key), value);
  const auto at = std::ranges::find(categories_, name.category);
  category_of_name_.push_back(static_cast<std::uint32_t>(at - categories_.begin()));
  if (at == categories_.end()) categories_.push_back(name.category);
  names_.push_back(std::move(name));
}

std::size_t TimelineIndex::slices() const {
  std::size_t count = 0;
  for (const TimelineTrack& track : tracks_) count += track.slices.size();
  return count;
}

std::vector<std::int64_t> TimelineIndex::window(const TimelineTrack& track, std::int64_t from, std::int64_t to,
                                                int columns) const {
  std::vector<std::int64_t> out;
  const std::int64_t least = std::max<std::int64_t>(1, (to - from) / std::max(1, columns));
  std::int64_t run_begin = 0, run_end = -1, run_count = 0;  // of neighbours that are too short to be seen apart
  std::uint32_t run_name = 0;
  std::vector<std::int64_t> run_times(categories_.size());
  const auto end_run = [&] {
    if (run_count == 0) return;
    const auto most = std::ranges::max_element(run_times);
    out.insert(out.end(), {run_begin, run_end - run_begin,
                           run_count == 1 ? std::int64_t{run_name} : -1 - (most - run_times.begin())});
    std::ranges::fill(run_times, 0);
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
    run_times[category_of_name_[it->name]] += it->length;
  }
  end_run();
  return out;
}

namespace {

/// "[1,2,3]" of start, length and name: each start as the time since the end before, which takes fewer digits.
std::string slices_text(const std::vector<std::int64_t>& window) {
  std::string out = "[";
  char digits[24];
  const auto add = [&](std::int64_t value) {
    if (out.size() > 1) out += ',';
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  std::int64_t end = 0;
  for (std::size_t i = 0; i < window.size(); i += 3) {
    add(window[i] - end);
    add(window[i + 1]);
    add(window[i + 2]);
    end = window[i] + window[i + 1];
  }
  return out + "]";
}

using TrackJson = nlohmann::json;

std::string dumped(const TrackJson& json) { return json_text(json); }

/// `names`: name, place of its category, and of its arguments if it has some; those of equal ops, as of all layers of a
/// model, are written once. `is_used`: the others are left out; empty: all are written.
void add_names(const TimelineIndex& index, const std::vector<bool>& is_used, TrackJson& out) {
  TrackJson names = TrackJson::array(), sets = TrackJson::array();
  std::map<std::vector<std::pair<std::string, std::string>>, std::size_t> known;
  for (std::size_t i = 0; i < index.names().size(); ++i) {
    if (!is_used.empty() && !is_used[i]) continue;
    const SliceName& name = index.names()[i];
    TrackJson one{name.name, index.category_of(i)};
    if (!name.args.empty()) {
      const auto [it, is_new] = known.try_emplace(name.args, sets.size());
      if (is_new) {
        TrackJson args = TrackJson::object();
        for (const auto& [key, value] : name.args) args[key] = value;
        sets.push_back(std::move(args));
      }
      one.push_back(it->second);
    }
    names.push_back(std::move(one));
  }
  out["names"] = std::move(names);
  out["arg_sets"] = std::move(sets);
}

/// The slices of the tracks that a window has, each empty where it has none of them.
std::vector<std::vector<std::int64_t>> slices_of(const TimelineIndex& index, const TimelineWindow& window) {
  std::vector<std::vector<std::int64_t>> out(index.tracks().size());
  for (std::size_t i = window.first; i < out.size() && i - window.first < window.count; ++i)
    out[i] = index.window(index.tracks()[i], window.from, window.to, window.columns);
  return out;
}

/// `is_used`: of the names; the others are left out, and those that stay have the places that are left. Empty: all stay.
std::string written(const TimelineIndex& index, const TimelineWindow& window,
                    std::vector<std::vector<std::int64_t>> slices, const std::vector<bool>& is_used) {
  TrackJson head{
      {"period", index.period()},         {"from", window.from},          {"to", window.to},
      {"columns", window.columns},        {"first", window.first},        {"total", index.slices()},
      {"categories", index.categories()}, {"left_out", index.left_out()}, {"cycle_start", index.cycle_start().ps()}};
  if (window.names) add_names(index, is_used, head);
  std::vector<std::int64_t> place(is_used.size());
  for (std::size_t i = 1; i < place.size(); ++i) place[i] = place[i - 1] + (is_used[i - 1] ? 1 : 0);
  std::string out = dumped(head);
  out.pop_back();
  out += ",\"tracks\":[";
  for (std::size_t i = 0; i < index.tracks().size(); ++i) {
    const TimelineTrack& track = index.tracks()[i];
    TrackJson one{{"process", track.process}, {"thread", track.thread}, {"rank", track.rank}, {"alike", track.alike}};
    if (track.like) one["like"] = *track.like;
    std::string text = dumped(one);
    if (i >= window.first && i - window.first < window.count) {
      for (std::size_t k = 2; k < slices[i].size() && !place.empty(); k += 3)
        if (slices[i][k] >= 0) slices[i][k] = place[static_cast<std::size_t>(slices[i][k])];
      text.pop_back();
      text += ",\"slices\":" + slices_text(slices[i]) + "}";
    }
    out += (i > 0 ? "," : "") + text;
  }
  return out + "]}";
}

}  // namespace

std::string timeline_json(const TimelineIndex& index, const TimelineWindow& window) {
  TimelineWindow whole = window;
  if (whole.to <= whole.from) whole.to = index.period();
  return written(index, whole, slices_of(index, whole), {});
}

std::string timeline_json(const TimelineIndex& index, const TimelineRoom& room) {
  constexpr int kFewest = 64;  // columns
  TimelineWindow window{.to = index.period(), .count = index.tracks().size(), .names = true};
  for (window.columns = 1 << 20;; window.columns /= 2) {
    std::vector<std::vector<std::int64_t>> slices = slices_of(index, window);
    std::vector<bool> is_used(index.names().size());
    std::size_t count = 0;
    for (const std::vector<std::int64_t>& track : slices) {
      count += track.size() / 3;
      for (std::size_t k = 2; k < track.size(); k += 3)
        if (track[k] >= 0) is_used[static_cast<std::size_t>(track[k])] = true;
    }
    if (count > room.slices && window.columns > kFewest) continue;
    std::string out = written(index, window, std::move(slices), is_used);
    if (out.size() <= room.bytes || window.columns <= kFewest) return out;
  }
}

}  // namespace distsim::report
