#include "sim/engine/timeline/verify.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "sim/engine/program/alike.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/fingerprint.hpp"

namespace distsim::engine {
namespace {

using Values = std::vector<std::int64_t>;
constexpr std::uint32_t kBlock = 1024;  // ranks looked at together: what is held of them fits a cache

std::string text(std::int64_t n) { return std::to_string(n); }

/// Every entry becomes the largest of its group, from the definition of Groups.
Values last_arrivals(const Groups& groups, const Row& ready, std::uint32_t ranks) {
  Values last(ranks, 0);
  if (groups.listed()) {
    for (std::size_t g = 0; g + 1 < groups.offsets.size(); ++g) {
      std::int64_t latest = 0;
      for (std::uint32_t i = groups.offsets[g]; i < groups.offsets[g + 1]; ++i)
        latest = std::max(latest, ready.at(groups.members[i]));
      for (std::uint32_t i = groups.offsets[g]; i < groups.offsets[g + 1]; ++i) last[groups.members[i]] = latest;
    }
    return last;
  }
  const std::size_t block = std::size_t{groups.size} * groups.stride;
  for (std::size_t base = 0; base < ranks; base += block) {
    for (std::size_t first = base; first < base + groups.stride; ++first) {
      std::int64_t latest = 0;
      for (std::size_t r = first; r < base + block; r += groups.stride)
        latest = std::max(latest, ready.at(static_cast<std::uint32_t>(r)));
      for (std::size_t r = first; r < base + block; r += groups.stride) last[r] = latest;
    }
  }
  return last;
}

/// Some neighbouring ranks of a row; a uniform row is written out.
class Slice {
 public:
  Slice(const Row& row, std::uint32_t first, std::uint32_t n)
      : values_(row.uniform() ? filled_.data() : row.values().data() + first) {
    if (row.uniform()) std::fill_n(filled_.begin(), n, row.scalar());
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;
  std::int64_t operator[](std::uint32_t i) const { return values_[i]; }

 private:
  std::array<std::int64_t, kBlock> filled_;
  const std::int64_t* values_;
};

/// What a stream has done so far on each rank of a block.
struct StreamState {
  Values clock, busy, idle;
};

class Verifier {
 public:
  Verifier(const Program& program, const Timeline& timeline) : p_(program), t_(timeline) {
    const auto is_uniform = [](const Row& row) { return row.uniform(); };
    all_uniform_ =
        std::all_of(p_.steps.begin(), p_.steps.end(), [](const Step& step) { return step.duration.uniform(); });
    for (const auto* rows : {&t_.ready, &t_.start, &t_.end}) {
      all_uniform_ = all_uniform_ && std::all_of(rows->begin(), rows->end(), is_uniform);
    }
  }

  Result<void> run() {
    const std::uint32_t ranks = all_uniform_ ? 1 : p_.ranks;
    for (std::uint32_t first = 0; first < ranks; first += std::min(kBlock, ranks - first)) {
      TRY(check_ranks(first, std::min(kBlock, ranks - first)));
    }
    for (StepId s(0); !all_uniform_ && s < p_.steps.end_id(); s = StepId(s.value() + 1)) TRY(check_join(s));
    if (latest_ != t_.makespan.ps()) {
      return Error{"timeline.makespan: found " + text(t_.makespan.ps()) + " ps, expected the latest end, " +
                       text(latest_) + " ps",
                   "", ""};
    }
    if (t_.digest != fingerprint_of(t_))
      return Error{"timeline.digest: differs from the fingerprint of its rows", "", ""};
    return {};
  }

 private:
  static Error broken(StepId step, std::uint32_t rank, const std::string& law, std::int64_t found,
                      std::int64_t expected) {
    return {"step " + text(step.value()) + " on rank " + text(rank) + ": " + law + ": found " + text(found) +
                " ps, expected " + text(expected) + " ps",
            "", ""};
  }

  /// All laws but joining, which crosses ranks, for ranks first .. first + n - 1.
  Result<void> check_ranks(std::uint32_t first, std::uint32_t n) {
    IdVector<StreamId, StreamState> streams(p_.streams, {Values(n, 0), Values(n, 0), Values(n, 0)});
    for (StepId s(0); s < p_.steps.end_id(); s = StepId(s.value() + 1)) {
      const bool alone = !p_.steps[s].stream.valid();
      StreamState own{Values(alone ? n : 0, 0), Values(alone ? n : 0, 0), Values(alone ? n : 0, 0)};
      StreamState& stream = alone ? own : streams[p_.steps[s].stream];
      TRY(check_ready(s, stream.clock, first, n));
      TRY(check_span(s, stream, first, n));
      if (alone) TRY(check_conservation(own, first, n));
    }
    for (const StreamState& stream : streams) TRY(check_conservation(stream, first, n));
    return {};
  }

  Result<void> check_ready(StepId s, Values expected, std::uint32_t first, std::uint32_t n) const {
    for (const StepId wait : p_.waits_of(s)) {
      const Slice end(t_.end[wait], first, n);
      for (std::uint32_t i = 0; i < n; ++i) expected[i] = std::max(expected[i], end[i]);
    }
    const Slice ready(t_.ready[s], first, n);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (ready[i] != expected[i])
        return broken(s, first + i, "ready when all it waits for has ended", ready[i], expected[i]);
    }
    return {};
  }

  Result<void> check_span(StepId s, StreamState& stream, std::uint32_t first, std::uint32_t n) {
    const Slice ready(t_.ready[s], first, n), start(t_.start[s], first, n), end(t_.end[s], first, n);
    const Slice duration(p_.steps[s].duration, first, n);
    const bool joins = p_.steps[s].group != Step::kNoGroup && !all_uniform_;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (!joins && start[i] != ready[i]) return broken(s, first + i, "starts when ready", start[i], ready[i]);
      const std::int64_t gap = start[i] - stream.clock[i];
      if (gap < 0) return broken(s, first + i, "does not overlap the step before it", start[i], stream.clock[i]);
      if (end[i] != start[i] + duration[i]) {
        return broken(s, first + i, "ends its duration after its start", end[i], start[i] + duration[i]);
      }
      stream.idle[i] += gap;
      stream.busy[i] += duration[i];
      stream.clock[i] = end[i];
      latest_ = std::max(latest_, end[i]);
    }
    return {};
  }

  Result<void> check_conservation(const StreamState& stream, std::uint32_t first, std::uint32_t n) const {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::int64_t tail = t_.makespan.ps() - stream.clock[i];
      if (tail >= 0 && stream.busy[i] + stream.idle[i] + tail == t_.makespan.ps()) continue;
      return Error{"rank " + text(first + i) + ": busy + idle is not the makespan on a stream", "", ""};
    }
    return {};
  }

  Result<void> check_join(StepId s) const {
    if (p_.steps[s].group == Step::kNoGroup) return {};
    const Values last = last_arrivals(p_.groups[p_.steps[s].group], t_.ready[s], p_.ranks);
    for (std::uint32_t r = 0; r < p_.ranks; ++r) {
      if (t_.start[s].at(r) != last[r]) return broken(s, r, "starts with the last arrival", t_.start[s].at(r), last[r]);
    }
    return {};
  }

  const Program& p_;
  const Timeline& t_;
  bool all_uniform_ = true;
  std::int64_t latest_ = 0;
};

}  // namespace

namespace {

/// The rows of all ranks as a program of places has them; nothing where a row is not made of such blocks.
std::optional<Timeline> timeline_of_places(const Timeline& t, const Alike& alike) {
  Timeline out = t;
  out.ranks = t.ranks / alike.each / alike.repeats;
  for (auto* rows : {&out.ready, &out.start, &out.end}) {
    for (Row& row : *rows) {
      if (!row.uniform() && (row.each() != alike.each || row.repeats() != alike.repeats)) return {};
      row = row.with_each(1);
    }
  }
  out.digest = fingerprint_of(out);
  return out;
}

Timeline spread_out(Timeline t) {
  for (auto* rows : {&t.ready, &t.start, &t.end}) {
    for (Row& row : *rows) {
      if (row.whole()) continue;
      std::vector<std::int64_t> values(t.ranks);
      for (std::uint32_t r = 0; r < t.ranks; ++r) values[r] = row.at(r);
      row = Row(std::move(values));
    }
  }
  return t;
}

/// Rows of the right number and length, which all that follows relies on.
Result<void> check_rows(const Program& program, const Timeline& t) {
  const std::size_t steps = program.steps.size();
  if (t.ranks != program.ranks || t.ready.size() != steps || t.start.size() != steps || t.end.size() != steps) {
    return Error{"timeline: found " + std::to_string(t.end.size()) + " steps on " + text(t.ranks) +
                     " ranks, expected " + std::to_string(steps) + " on " + text(program.ranks),
                 "", ""};
  }
  for (const auto* rows : {&t.ready, &t.start, &t.end}) {
    for (const Row& row : *rows) {
      if (row.uniform() || row.ranks() == program.ranks) continue;
      return Error{"timeline: a row of the wrong length: found " + std::to_string(row.values().size()) +
                       " numbers for " + text(row.each()) + " ranks each, expected " + text(program.ranks) +
                       " ranks in total",
                   "", ""};
    }
  }
  return {};
}

}  // namespace

Result<void> verify(const Program& program, const Timeline& timeline) {
  TRY(validate(program));
  TRY(check_rows(program, timeline));
  const auto blocks = [](const auto& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.whole(); });
  };
  const bool in_program =
      std::any_of(program.steps.begin(), program.steps.end(), [](const Step& s) { return !s.duration.whole(); });
  if (!in_program && !blocks(timeline.ready) && !blocks(timeline.start) && !blocks(timeline.end))
    return Verifier(program, timeline).run();
  if (const Alike alike = alike_ranks(program); alike.any() && timeline.ranks == program.ranks) {
    if (const auto places = timeline_of_places(timeline, alike)) {
      TRY(Verifier(places_of(program, alike), *places).run());
      if (timeline.digest != fingerprint_of(timeline))
        return Error{"timeline.digest: differs from the fingerprint of its rows", "", ""};
      return {};
    }
  }
  return Verifier(spread_out(program), spread_out(timeline)).run();
}

}  // namespace distsim::engine
