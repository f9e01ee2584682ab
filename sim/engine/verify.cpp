#include "sim/engine/verify.hpp"

#include <algorithm>
#include <string>

#include "sim/engine/fingerprint.hpp"
#include "sim/engine/row_evaluator.hpp"

namespace distsim {
namespace {

/// Largest entry of `row` in the group of each rank, from the definition of Groups.
std::vector<std::int64_t> last_arrivals(const Groups& groups, const Row& row, std::uint32_t ranks) {
  std::vector<std::int64_t> last(ranks, 0);
  if (!groups.listed()) {
    const std::uint64_t block = std::uint64_t{groups.size} * groups.stride;
    const auto group_of = [&](std::uint64_t r) { return r / block * block + r % groups.stride; };
    for (std::uint32_t r = 0; r < ranks; ++r) last[group_of(r)] = std::max(last[group_of(r)], row.at(r));
    for (std::uint32_t r = 0; r < ranks; ++r) last[r] = last[group_of(r)];  // a group's number is its lowest rank
    return last;
  }
  for (std::size_t g = 0; g + 1 < groups.offsets.size(); ++g) {
    std::int64_t latest = 0;
    for (std::uint32_t i = groups.offsets[g]; i < groups.offsets[g + 1]; ++i) latest = std::max(latest, row.at(groups.members[i]));
    for (std::uint32_t i = groups.offsets[g]; i < groups.offsets[g + 1]; ++i) last[groups.members[i]] = latest;
  }
  return last;
}

class Verifier {
 public:
  Verifier(const Program& program, const Timeline& timeline) : p_(program), t_(timeline) {
    for (const Step& step : p_.steps) all_uniform_ = all_uniform_ && step.duration.uniform();
    for (const auto* rows : {&t_.ready, &t_.start, &t_.end}) {
      for (const Row& row : *rows) all_uniform_ = all_uniform_ && row.uniform();
    }
  }

  Result<void> run() {
    TRY(check_shape());
    const Streams streams = {IdVector<StreamId, std::uint32_t>(p_.streams, kNone)};
    TRY(check_steps(streams));
    TRY(check_streams());
    if (t_.digest == fingerprint_of(t_)) return {};
    return Error{"timeline.digest: differs from the fingerprint of its rows", "", ""};
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  struct Streams {
    IdVector<StreamId, std::uint32_t> last;
  };
  std::uint32_t ranks_to_look_at() const { return all_uniform_ ? 1 : p_.ranks; }

  static Error broken(StepId step, std::uint32_t rank, const std::string& law, std::int64_t found, std::int64_t expected) {
    return {"step " + std::to_string(step.value()) + " on rank " + std::to_string(rank) + ": " + law + ": found " +
                std::to_string(found) + " ps, expected " + std::to_string(expected) + " ps", "", ""};
  }

  Result<void> check_shape() const {
    const std::size_t steps = p_.steps.size();
    if (t_.ranks != p_.ranks || t_.ready.size() != steps || t_.start.size() != steps || t_.end.size() != steps) {
      return Error{"timeline: found " + std::to_string(t_.end.size()) + " steps on " + std::to_string(t_.ranks) + " ranks, expected " +
                       std::to_string(steps) + " on " + std::to_string(p_.ranks), "", ""};
    }
    for (const auto* rows : {&t_.ready, &t_.start, &t_.end}) {
      for (const Row& row : *rows) {
        if (!row.uniform() && row.values().size() != p_.ranks) return Error{"timeline: a row of the wrong length", "", ""};
      }
    }
    return {};
  }

  Result<void> check_steps(Streams streams) const {
    for (StepId s(0); s < p_.steps.end_id(); s = StepId(s.value() + 1)) {
      std::uint32_t& last = streams.last[p_.steps[s].stream];
      TRY(check_ready(s, last));
      TRY(check_start(s));
      TRY(check_end(s));
      last = s.value();
    }
    return {};
  }

  Result<void> check_ready(StepId s, std::uint32_t last) const {
    for (std::uint32_t r = 0; r < ranks_to_look_at(); ++r) {
      std::int64_t latest = last == kNone ? 0 : t_.end[StepId(last)].at(r);
      for (const StepId wait : p_.waits_of(s)) latest = std::max(latest, t_.end[wait].at(r));
      if (t_.ready[s].at(r) != latest) return broken(s, r, "ready when all it waits for has ended", t_.ready[s].at(r), latest);
    }
    return {};
  }

  Result<void> check_start(StepId s) const {
    const bool joins = p_.steps[s].group != Step::kNoGroup && !all_uniform_;
    const auto last = joins ? last_arrivals(p_.groups[p_.steps[s].group], t_.ready[s], p_.ranks) : std::vector<std::int64_t>{};
    for (std::uint32_t r = 0; r < ranks_to_look_at(); ++r) {
      const std::int64_t expected = joins ? last[r] : t_.ready[s].at(r);
      if (t_.start[s].at(r) != expected) return broken(s, r, "starts with the last arrival", t_.start[s].at(r), expected);
    }
    return {};
  }

  Result<void> check_end(StepId s) const {
    for (std::uint32_t r = 0; r < ranks_to_look_at(); ++r) {
      const std::int64_t expected = t_.start[s].at(r) + p_.steps[s].duration.at(r);
      if (t_.end[s].at(r) != expected) return broken(s, r, "ends its duration after its start", t_.end[s].at(r), expected);
    }
    return {};
  }

  /// Walks every stream from 0 to the makespan, adding up busy and idle spans.
  Result<void> check_streams() const {
    std::int64_t latest = 0;
    for (std::uint32_t r = 0; r < ranks_to_look_at(); ++r) {
      std::vector<std::int64_t> clock(p_.streams, 0), busy(p_.streams, 0), idle(p_.streams, 0);
      for (StepId s(0); s < p_.steps.end_id(); s = StepId(s.value() + 1)) {
        const std::uint32_t stream = p_.steps[s].stream.value();
        const std::int64_t gap = t_.start[s].at(r) - clock[stream];
        if (gap < 0) return broken(s, r, "does not overlap the step before it", t_.start[s].at(r), clock[stream]);
        idle[stream] += gap;
        busy[stream] += p_.steps[s].duration.at(r);
        clock[stream] = t_.end[s].at(r);
        latest = std::max(latest, clock[stream]);
      }
      TRY(check_conservation(r, clock, busy, idle));
    }
    if (latest == t_.makespan.ps()) return {};
    return Error{"timeline.makespan: found " + std::to_string(t_.makespan.ps()) + " ps, expected the latest end, " +
                     std::to_string(latest) + " ps", "", ""};
  }

  Result<void> check_conservation(std::uint32_t rank, const std::vector<std::int64_t>& clock, const std::vector<std::int64_t>& busy,
                                  const std::vector<std::int64_t>& idle) const {
    for (std::uint32_t stream = 0; stream < p_.streams; ++stream) {
      const std::int64_t tail = t_.makespan.ps() - clock[stream];
      if (tail >= 0 && busy[stream] + idle[stream] + tail == t_.makespan.ps()) continue;
      return Error{"stream " + std::to_string(stream) + " on rank " + std::to_string(rank) + ": busy + idle is not the makespan", "", ""};
    }
    return {};
  }

  const Program& p_;
  const Timeline& t_;
  bool all_uniform_ = true;
};

}  // namespace

Result<void> verify(const Program& program, const Timeline& timeline) {
  TRY(validate(program));
  return Verifier(program, timeline).run();
}

}  // namespace distsim
