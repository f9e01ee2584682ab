#include "sim/report/steady_state.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace distsim::report {
namespace {

/// First step of an iteration, and the one after its last. Iterations follow each other and have as many steps each.
std::pair<StepId, StepId> steps_of(const Played& p, std::uint16_t iteration) {
  const auto each = static_cast<std::uint32_t>(p.origins->size() / p.iterations);
  return {StepId(iteration * each), StepId((iteration + 1u) * each)};
}

/// The times of a step, as they were played.
struct TimelineRows {
  const engine::Timeline& t;
  RowView ready(StepId s) const { return RowView(t.ready[s]); }
  RowView start(StepId s) const { return RowView(t.start[s]); }
  RowView end(StepId s) const { return RowView(t.end[s]); }
  std::int64_t last_end(StepId s) const { return max_of(t.end[s]); }
};
struct RecurrenceRows {
  const engine::Recurrence& r;
  RowView ready(StepId s) const { return RowView(r.ready(s)); }
  RowView start(StepId s) const { return RowView(r.start(s)); }
  RowView end(StepId s) const { return RowView(r.end(s)); }
  std::int64_t last_end(StepId s) const { return r.end(s).high; }
};

/// Streams are FIFO, so the last device step of each stream ends last on every rank.
template <class Rows>
std::int64_t end_of_iteration(const Played& p, const Rows& rows, std::uint16_t iteration) {
  std::int64_t end = 0;
  for (const StepId s : last_of_streams(p, iteration)) end = std::max(end, rows.last_end(s));
  return end;
}

}  // namespace

bool prepares(const graph::CostedGraph& costed, const graph::Task& task) {
  return std::holds_alternative<graph::HostWork>(costed.graph.ops[task.first_op]);
}

namespace {

template <class Rows>
DeviceStep device_step(const Played& p, const Rows& rows, StepId s, SteadyState& out) {
  DeviceStep d;
  d.step = s;
  d.task = (*p.origins)[s].task;
  d.collective = p.costed->graph.tasks[d.task].partition.valid();
  d.prepares = prepares(*p.costed, p.costed->graph.tasks[d.task]);
  const bool bubble = p.costed->graph.tasks[d.task].between_stages;  // stages that wait for each other are idle
  d.ready = bubble ? rows.start(s) : rows.ready(s);
  d.start = rows.start(s);
  d.end = rows.end(s);
  d.first_launch = static_cast<std::uint32_t>(out.launch_ends.size());
  for (const StepId w : p.program->waits_of(s)) {
    if ((*p.origins)[w].role != StepRole::device) out.launch_ends.push_back(rows.end(w));
  }
  d.launches = static_cast<std::uint32_t>(out.launch_ends.size()) - d.first_launch;
  return d;
}

template <class Rows>
SteadyState state_of(const Played& p, const Rows& rows) {
  CHECK(p.iterations > 0 && p.origins->size() == p.program->steps.size())
      << "a played program has an origin for every step";
  SteadyState out;
  const auto last = static_cast<std::uint16_t>(p.iterations - 1);
  out.begin = last == 0 ? 0 : end_of_iteration(p, rows, static_cast<std::uint16_t>(last - 1));
  out.end = end_of_iteration(p, rows, last);
  out.repeats = last > 0;
  out.steps.reserve(p.origins->size() / p.iterations / 2);
  const auto [first, end] = steps_of(p, last);
  for (StepId s = first; s < end; s = StepId(s.value() + 1)) {
    if ((*p.origins)[s].role == StepRole::device) out.steps.push_back(device_step(p, rows, s, out));
  }
  return out;
}

/// Numbers of a row for every `each` ranks.
void mix(std::vector<std::uint64_t>& fingerprint, const RowView& row, std::uint32_t each) {
  for (std::size_t i = 0; i < fingerprint.size(); ++i) {
    const auto value = static_cast<std::uint64_t>(row.at(static_cast<std::uint32_t>(i) * each));
    fingerprint[i] = std::rotl((fingerprint[i] ^ value) * 0x9E3779B97F4A7C15ull, 29);
  }
}

/// What all rows have in common.
struct RowForm {
  std::uint32_t each = 1, period = 0;  ///< of RowView
};
RowForm common_row_form(const std::vector<RowView>& rows) {
  const RowForm form{rows.front().each(), rows.front().period()};
  const auto has = [&](auto member, std::uint32_t value) {
    return std::ranges::all_of(rows, [&](const RowView& row) { return (row.*member)() == value; });
  };
  const bool same_blocks = has(&RowView::each, form.each);
  return {same_blocks ? form.each : 1, same_blocks && has(&RowView::period, form.period) ? form.period : 0};
}

/// All rows that differ between ranks, each once: they share their numbers where one step starts as another ends.
std::vector<RowView> varying_rows(const SteadyState& state) {
  std::unordered_set<const std::int64_t*> seen;
  std::vector<RowView> out;
  const auto add = [&](const RowView& row) {
    if (!row.uniform() && seen.insert(row.values()).second) out.push_back(row);
  };
  for (const DeviceStep& d : state.steps) {
    if (d.collective) add(d.ready);  // elsewhere ready = start
    add(d.start);
    add(d.end);
  }
  for (const RowView& row : state.launch_ends) add(row);
  return out;
}

/// The largest difference of two rows.
std::int64_t most_later(const RowView& later, const RowView& earlier, std::uint32_t ranks) {
  if (later.uniform() && earlier.uniform()) return later.at(0) - earlier.at(0);
  std::int64_t most = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) most = std::max(most, later.at(r) - earlier.at(r));
  return most;
}

template <class Rows>
bool settled(const Played& p, const Rows& rows, std::uint32_t ranks) {
  constexpr double kSlack = 1.001;
  if (p.iterations < 2) return true;
  const auto last = static_cast<std::uint16_t>(p.iterations - 1);
  const std::int64_t period =
      end_of_iteration(p, rows, last) - end_of_iteration(p, rows, static_cast<std::uint16_t>(last - 1));
  const auto most = static_cast<std::int64_t>(static_cast<double>(period) * kSlack);
  const auto [first, end] = steps_of(p, last);
  const auto steps = end.value() - first.value();  // of an iteration
  std::array<StepId, graph::kStreamCount> of_stream{};
  for (StepId s = first; s < end; s = StepId(s.value() + 1)) of_stream[p.program->steps[s].stream.value()] = s;
  return std::ranges::none_of(of_stream, [&](StepId s) {
    return s.valid() && most_later(rows.end(s), rows.end(StepId(s.value() - steps)), ranks) > most;
  });
}

}  // namespace

std::int64_t max_of(const engine::Row& row) {
  return row.uniform() ? row.scalar() : *std::max_element(row.values().begin(), row.values().end());
}

std::vector<StepId> last_of_streams(const Played& p, std::uint16_t iteration) {
  std::array<StepId, graph::kStreamCount> last{};
  const auto [first, end] = steps_of(p, iteration);
  for (StepId s = first; s < end; s = StepId(s.value() + 1)) {
    if ((*p.origins)[s].role == StepRole::device) last[p.program->steps[s].stream.value()] = s;
  }
  std::vector<StepId> out;
  std::ranges::copy_if(last, std::back_inserter(out), [](StepId s) { return s.valid(); });
  std::ranges::sort(out);
  return out;
}

bool is_settled(const Played& p) { return settled(p, TimelineRows{*p.timeline}, p.program->ranks); }

bool is_settled(const Played& p, const engine::Recurrence& recurrence) {
  return settled(p, RecurrenceRows{recurrence}, recurrence.program().ranks);
}

SteadyState steady_state(const Played& p) { return state_of(p, TimelineRows{*p.timeline}); }

SteadyState steady_state(const Played& p, const engine::Recurrence& recurrence) {
  return state_of(p, RecurrenceRows{recurrence});
}

RankClasses rank_classes(const SteadyState& state, std::uint32_t ranks) {
  RankClasses out;
  const auto rows = varying_rows(state);
  if (rows.empty()) {
    out.first = {0};
    out.count = {ranks};
    return out;
  }
  const RowForm form = common_row_form(rows);
  out.each = form.each;
  std::vector<std::uint64_t> fingerprint(form.period > 0 ? form.period : ranks / out.each, 0);
  const std::uint32_t all = ranks / static_cast<std::uint32_t>(fingerprint.size());  // that a place stands for
  for (const RowView& row : rows) mix(fingerprint, row, out.each);
  std::unordered_map<std::uint64_t, std::uint32_t> class_of;
  out.of_place.resize(fingerprint.size());
  for (std::uint32_t i = 0; i < fingerprint.size(); ++i) {
    const auto [it, is_new] = class_of.emplace(fingerprint[i], static_cast<std::uint32_t>(out.first.size()));
    if (is_new) {
      out.first.push_back(i * out.each);
      out.count.push_back(0);
    }
    out.of_place[i] = it->second;
    out.count[it->second] += all;
  }
  return out;
}

}  // namespace distsim::report
