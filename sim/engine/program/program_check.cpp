#include "sim/engine/program/program_check.hpp"

#include <algorithm>
#include <string>

#include "sim/engine/program/check_text.hpp"

namespace distsim::engine {
namespace {

std::string name(StepId step) { return "step " + text(step.value()); }
Result<void> check_shape(const Program& p) {
  if (p.ranks == 0) return found("program.ranks", "0", "at least 1");
  if (p.streams == 0) return found("program.streams", "0", "at least 1");
  if (p.wait_offsets.size() != p.steps.size() + 1 || p.wait_offsets.front() != 0 ||
      p.wait_offsets.back() != p.waits.size() || !std::is_sorted(p.wait_offsets.begin(), p.wait_offsets.end())) {
    return found("program.wait_offsets",
                 text(p.wait_offsets.size()) + " offsets that do not list " + text(p.waits.size()) + " waits",
                 text(p.steps.size() + 1) + " rising offsets from 0 to the number of waits");
  }
  return {};
}

Result<void> check_strided(const Groups& g, std::uint32_t ranks, const std::string& name) {
  const std::uint64_t block = std::uint64_t{g.size} * g.stride;
  if (block != 0 && ranks % block == 0) return {};
  return found(name, "blocks of " + text(g.size) + " ranks " + text(g.stride) + " apart",
               "size x stride to divide " + text(ranks) + " ranks");
}

Result<void> check_offsets(const Groups& g, const std::string& name) {
  const bool fits = g.offsets.size() >= 2 && g.offsets.front() == 0 && g.offsets.back() == g.members.size();
  for (std::size_t i = 1; fits && i < g.offsets.size(); ++i) {
    if (g.offsets[i] <= g.offsets[i - 1])
      return found(name, "group " + text(i - 1) + " without members", "at least one member");
  }
  if (fits) return {};
  return found(name, text(g.offsets.size()) + " offsets",
               "rising offsets from 0 to " + text(g.members.size()) + " members");
}

Result<void> check_listed(const Groups& g, std::uint32_t ranks, const std::string& name) {
  TRY(check_offsets(g, name));
  std::vector<bool> seen(ranks);
  for (const std::uint32_t rank : g.members) {
    if (rank >= ranks) return found(name, "rank " + text(rank), "a rank below " + text(ranks));
    if (seen[rank]) return found(name, "rank " + text(rank) + " twice", "each rank once");
    seen[rank] = true;
  }
  if (g.members.size() == ranks) return {};
  const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
  return found(name, "no group with rank " + text(static_cast<std::uint64_t>(missing)), "each rank once");
}

Result<void> check_groups(const Program& p) {
  for (std::size_t i = 0; i < p.groups.size(); ++i) {
    const std::string name = "groups " + text(i);
    TRY(p.groups[i].listed() ? check_listed(p.groups[i], p.ranks, name) : check_strided(p.groups[i], p.ranks, name));
  }
  return {};
}

bool within_limit(std::int64_t ps) { return ps >= 0 && ps < kTimeLimit; }

Error bad_duration(std::int64_t ps, const std::string& name) {
  return found(name, std::to_string(ps) + " ps", ps < 0 ? "a non-negative duration" : "less than 2^62 ps");
}

Result<void> check_step(const Program& p, StepId id) {
  const Step& step = p.steps[id];
  if (step.stream.valid() && step.stream.value() >= p.streams) {
    return found(name(id) + ".stream", text(step.stream.value()), "a stream below " + text(p.streams));
  }
  if (step.group != Step::kNoGroup && step.group >= p.groups.size()) {
    return found(name(id) + ".group", text(step.group), "one of " + text(p.groups.size()) + " groups");
  }
  for (const StepId wait : p.waits_of(id)) {
    if (wait >= id) return found(name(id) + ".waits", name(wait), "an earlier step");
  }
  if (step.duration.uniform()) {
    if (within_limit(step.duration.scalar())) return {};
    return bad_duration(step.duration.scalar(), name(id) + ".duration");
  }
  if (step.duration.ranks() == p.ranks) return {};
  return found(name(id) + ".duration", text(step.duration.ranks()) + " numbers",
               "one for each of " + text(p.ranks) + " ranks");
}

}  // namespace

Result<void> check_structure(const Program& program) {
  TRY(check_shape(program));
  TRY(check_groups(program));
  for (StepId s(0); s < program.steps.end_id(); s = StepId(s.value() + 1)) TRY(check_step(program, s));
  return {};
}

Result<void> check_durations(const Program& program, StepId step) {
  const auto values = program.steps[step].duration.values();
  const auto bad = std::find_if_not(values.begin(), values.end(), within_limit);
  if (bad == values.end()) return {};
  return bad_duration(*bad,
                      name(step) + ".duration on rank " +
                          text(static_cast<std::uint64_t>(bad - values.begin()) * program.steps[step].duration.each()));
}

}  // namespace distsim::engine
