#include "sim/report/steady_state.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <unordered_set>

namespace distsim::report {
namespace {

/// Streams are FIFO, so the last device step of each stream ends last on every rank.
std::int64_t end_of_iteration(const Played& p, std::uint16_t iteration) {
  std::array<StepId, graph::kStreamCount> last{};
  for (std::uint32_t s = 0; s < p.origins->size(); ++s) {
    const StepOrigin& o = (*p.origins)[StepId(s)];
    if (o.role == StepRole::device && o.iteration == iteration)
      last[p.program->steps[StepId(s)].stream.value()] = StepId(s);
  }
  std::int64_t end = 0;
  for (const StepId s : last) {
    if (s.valid()) end = std::max(end, max_of(p.timeline->end[s]));
  }
  return end;
}

DeviceStep device_step(const Played& p, StepId s, SteadyState& out) {
  DeviceStep d;
  d.step = s;
  d.task = (*p.origins)[s].task;
  d.collective = p.costed->graph.tasks[d.task].partition.valid();
  const bool bubble = p.costed->graph.tasks[d.task].between_stages;  // stages that wait for each other are idle
  d.ready = RowView(bubble ? p.timeline->start[s] : p.timeline->ready[s]);
  d.start = RowView(p.timeline->start[s]);
  d.end = RowView(p.timeline->end[s]);
  d.first_launch = static_cast<std::uint32_t>(out.launch_ends.size());
  for (const StepId w : p.program->waits_of(s)) {
    if ((*p.origins)[w].role != StepRole::device) out.launch_ends.push_back(RowView(p.timeline->end[w]));
  }
  d.launches = static_cast<std::uint32_t>(out.launch_ends.size()) - d.first_launch;
  return d;
}

void mix(std::vector<std::uint64_t>& fingerprint, const std::int64_t* v, std::uint32_t each) {
  for (std::size_t i = 0; i < fingerprint.size(); ++i) {
    fingerprint[i] = std::rotl(
        (fingerprint[i] ^ static_cast<std::uint64_t>(v[each == 1 ? i : i / each])) * 0x9E3779B97F4A7C15ull, 29);
  }
}

/// The block that all rows have in common; 1 where they differ.
std::uint32_t common_block(const std::vector<RowView>& rows) {
  const std::uint32_t each = rows.front().each();
  return std::all_of(rows.begin(), rows.end(), [each](const RowView& row) { return row.each() == each; }) ? each : 1;
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

}  // namespace

std::int64_t max_of(const engine::Row& row) {
  return row.uniform() ? row.scalar() : *std::max_element(row.values().begin(), row.values().end());
}

SteadyState steady_state(const Played& p) {
  CHECK(p.iterations > 0 && p.origins->size() == p.program->steps.size())
      << "a played program has an origin for every step";
  SteadyState out;
  const auto last = static_cast<std::uint16_t>(p.iterations - 1);
  out.begin = last == 0 ? 0 : end_of_iteration(p, static_cast<std::uint16_t>(last - 1));
  out.end = end_of_iteration(p, last);
  out.repeats = last > 0;
  for (std::uint32_t s = 0; s < p.origins->size(); ++s) {
    const StepOrigin& o = (*p.origins)[StepId(s)];
    if (o.role == StepRole::device && o.iteration == last) out.steps.push_back(device_step(p, StepId(s), out));
  }
  return out;
}

RankClasses rank_classes(const SteadyState& state, std::uint32_t ranks) {
  RankClasses out;
  const auto rows = varying_rows(state);
  if (rows.empty()) {
    out.first = {0};
    out.count = {ranks};
    return out;
  }
  out.each = common_block(rows);
  std::vector<std::uint64_t> fingerprint(ranks / out.each, 0);
  for (const RowView& row : rows) mix(fingerprint, row.values(), row.each() / out.each);
  std::unordered_map<std::uint64_t, std::uint32_t> class_of;
  out.of_place.resize(fingerprint.size());
  for (std::uint32_t i = 0; i < fingerprint.size(); ++i) {
    const auto [it, is_new] = class_of.emplace(fingerprint[i], static_cast<std::uint32_t>(out.first.size()));
    if (is_new) {
      out.first.push_back(i * out.each);
      out.count.push_back(0);
    }
    out.of_place[i] = it->second;
    out.count[it->second] += out.each;
  }
  return out;
}

}  // namespace distsim::report
