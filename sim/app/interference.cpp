#include "sim/app/interference.hpp"

#include <algorithm>
#include <vector>

#include "sim/report/steady_state.hpp"

namespace distsim {
namespace {

struct Span { std::int64_t begin, end; };

/// Sorted, disjoint union of the transfers on one rank.
void transfers_of(const SteadyState& state, std::uint32_t rank, std::vector<Span>& out) {
  out.clear();
  for (const DeviceStep& d : state.steps) {
    if (d.collective && d.end.at(rank) > d.start.at(rank)) out.push_back({d.start.at(rank), d.end.at(rank)});
  }
  std::sort(out.begin(), out.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (const Span& s : out) {
    if (kept > 0 && s.begin <= out[kept - 1].end) out[kept - 1].end = std::max(out[kept - 1].end, s.end);
    else out[kept++] = s;
  }
  out.resize(kept);
}

std::int64_t overlap(const std::vector<Span>& spans, std::size_t& from, std::int64_t begin, std::int64_t end) {
  while (from < spans.size() && spans[from].end <= begin) ++from;
  std::int64_t sum = 0;
  for (std::size_t i = from; i < spans.size() && spans[i].begin < end; ++i) sum += std::min(end, spans[i].end) - std::max(begin, spans[i].begin);
  return sum;
}

/// Overlaps of the kernels of the last iteration: a column per class of ranks, an entry per kernel.
class Overlaps {
 public:
  Overlaps(const SteadyState& state, const Program& program, std::uint32_t ranks) : classes_(rank_classes(state, ranks)) {
    for (std::uint32_t i = 0; i < state.steps.size(); ++i) {
      const DeviceStep& d = state.steps[i];
      if (!d.collective && program.steps[d.step].stream.value() == static_cast<std::uint32_t>(Stream::compute)) kernels_.push_back(i);
    }
    times_.resize(classes_.size() * kernels_.size());
    std::vector<Span> spans;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const std::uint32_t rank = classes_.first[c];
      transfers_of(state, rank, spans);
      std::size_t from = 0;
      for (std::size_t k = 0; k < kernels_.size() && !spans.empty(); ++k) {
        const DeviceStep& d = state.steps[kernels_[k]];
        times_[c * kernels_.size() + k] = overlap(spans, from, d.start.at(rank), d.end.at(rank));
      }
    }
  }

  const std::vector<std::uint32_t>& kernels() const { return kernels_; }
  std::int64_t longest() const {
    std::int64_t longest = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < kernels_.size(); ++k) sum += at(c, k);
      longest = std::max(longest, sum);
    }
    return longest;
  }

  /// `row` with what kernel `k` loses.
  Row slowed(const Row& row, std::size_t k, double cost) const {
    const auto added = [&](std::size_t c) { return static_cast<std::int64_t>(cost * static_cast<double>(at(c, k))); };
    bool same = true;
    for (std::size_t c = 1; c < classes_.size(); ++c) same = same && at(c, k) == at(0, k);
    if (same && at(0, k) == 0) return row;
    if (same && row.uniform()) return Row(row.scalar() + added(0));
    std::vector<std::int64_t> values(ranks());
    for (std::uint32_t r = 0; r < values.size(); ++r) values[r] = row.at(r) + added(classes_.of(r));
    return Row(std::move(values));
  }

 private:
  std::int64_t at(std::size_t c, std::size_t k) const { return times_[c * kernels_.size() + k]; }
  std::uint32_t ranks() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t n : classes_.count) sum += n;
    return sum;
  }

  RankClasses classes_;
  std::vector<std::uint32_t> kernels_;
  std::vector<std::int64_t> times_;
};

}  // namespace

Result<Duration> slow_beside_collectives(Lowered& lowered, const Timeline& timeline, const CostedGraph& graph, double overlap_cost) {
  const SteadyState state = steady_state({&graph, &lowered.program, &lowered.origins, &timeline, lowered.iterations});
  const Overlaps overlaps(state, lowered.program, lowered.program.ranks);
  const Duration longest = Duration::picoseconds(static_cast<std::int64_t>(overlap_cost * static_cast<double>(overlaps.longest())));
  if (longest == Duration()) return longest;

  constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  IdVector<TaskId, std::uint32_t> kernel_of(graph.graph.tasks.size(), kNone);
  IdVector<TaskId, Row> slowed(graph.graph.tasks.size());
  for (std::uint32_t k = 0; k < overlaps.kernels().size(); ++k) {
    const DeviceStep& d = state.steps[overlaps.kernels()[k]];
    kernel_of[d.task] = k;
    slowed[d.task] = overlaps.slowed(lowered.program.steps[d.step].duration, k, overlap_cost);
  }
  for (std::uint32_t s = 0; s < lowered.program.steps.size(); ++s) {
    const StepOrigin& o = lowered.origins[StepId(s)];
    if (o.role == StepRole::device && kernel_of[o.task] != kNone) lowered.program.steps[StepId(s)].duration = slowed[o.task];
  }
  return longest;
}

}  // namespace distsim
