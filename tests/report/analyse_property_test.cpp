// Random jobs: the split of the iteration against a count of single picoseconds, and sums that must be exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "job.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {
namespace {

Job random_job(std::uint64_t seed) {
  Random random(seed);
  const std::uint32_t ranks = 1u << random.below(4);  // 1, 2, 4, 8
  JobBuilder b(ranks);
  std::vector<TaskId> tasks;
  const std::uint64_t count = 1 + random.below(12);
  for (std::uint64_t i = 0; i < count; ++i) {
    b.launch(static_cast<std::int64_t>(random.below(12)));
    std::vector<TaskId> deps;
    if (!tasks.empty() && random.below(3) != 0) deps.push_back(tasks[random.below(tasks.size())]);
    const std::string name = "t" + std::to_string(i);
    if (random.below(3) == 0) {
      const std::uint32_t size = ranks >> random.below(ranks > 1 ? 2 : 1);
      const auto stream = random.below(4) == 0 ? graph::Stream::comm.lane(1) : graph::Stream::comm;
      tasks.push_back(b.collective(name, static_cast<std::int64_t>(random.below(30)), 100, deps,
                                   graph::CollectiveKind::all_reduce, stream,
                                   graph::Partition::strided(size, random.below(2) == 0 ? 1 : ranks / size)));
    } else {
      std::vector<std::int64_t> times(ranks);
      for (auto& t : times) t = static_cast<std::int64_t>(random.below(25));
      const auto stream = random.below(5) == 0 ? graph::Stream::copy : graph::Stream::compute;
      if (random.below(2) == 0)
        tasks.push_back(b.compute_per_rank(name, times, deps, stream));
      else
        tasks.push_back(b.compute(name, times[0], deps, graph::Gemm{1, 4, 4, 4}, graph::Phase::forward, stream));
    }
  }
  return b.play(static_cast<std::uint16_t>(1 + random.below(4)), static_cast<std::int64_t>(random.below(20)));
}

/// The definitions of report.hpp, a picosecond at a time.
RankTime count_picoseconds(const SteadyState& state, std::uint32_t rank) {
  const auto n = static_cast<std::size_t>(state.period());
  std::vector<char> compute(n), transfer(n), comm(n);
  std::vector<std::pair<std::int64_t, std::int64_t>> starts;  // of compute steps: folded begin, launch
  const auto paint = [&](std::vector<char>& cells, std::int64_t from, std::int64_t to) {
    for (std::int64_t t = from; t < to; ++t) {
      std::int64_t folded = t;
      while (folded < state.begin) folded += state.period();
      cells[static_cast<std::size_t>(folded - state.begin)] = 1;
    }
  };
  for (const DeviceStep& d : state.steps) {
    const std::int64_t start = d.start.at(rank), end = d.end.at(rank);
    if (d.collective) {
      paint(transfer, start, end);
      paint(comm, d.ready.at(rank), end);
      continue;
    }
    paint(compute, start, end);
    if (end == start) continue;
    std::int64_t launch = 0;
    for (const RowView& l : state.launches_of(d)) launch = std::max(launch, l.at(rank));
    std::int64_t shift = 0;
    while (start + shift < state.begin) shift += state.period();
    starts.emplace_back(start + shift, launch + shift);
    if (state.repeats) starts.emplace_back(start + shift + state.period(), launch + shift + state.period());
  }
  std::sort(starts.begin(), starts.end());
  std::int64_t sums[7] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t now = state.begin + static_cast<std::int64_t>(i);
    sums[1] += transfer[i];
    sums[2] += transfer[i] && compute[i];
    if (compute[i])
      ++sums[0];
    else if (transfer[i])
      ++sums[3];
    else if (comm[i])
      ++sums[4];
    else {
      const auto next = std::find_if(starts.begin(), starts.end(), [&](const auto& s) { return s.first > now; });
      ++sums[next != starts.end() && now < next->second ? 5 : 6];
    }
  }
  const auto ps = [](std::int64_t v) { return Duration::picoseconds(v); };
  return {ps(sums[0]), ps(sums[1]), ps(sums[2]), ps(sums[3]), ps(sums[4]), ps(sums[5]), ps(sums[6])};
}

class RandomJob : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomJob, SplitEqualsTheCountOfPicoseconds) {
  const Job job = random_job(GetParam());
  const Report r = job.report();
  const SteadyState state = steady_state(job.played());
  for (std::uint32_t rank = 0; rank < r.rank_count; ++rank) {
    const RankTime& t = r.rank(rank);
    EXPECT_EQ((t.compute + t.exposed_comm + t.waiting + t.host_bound + t.idle).ps(), r.iteration.ps())
        << "rank " << rank;
    EXPECT_EQ((t.exposed_comm + t.hidden_comm).ps(), t.comm.ps()) << "rank " << rank;
    if (state.period() > 0) {
      EXPECT_EQ(t, count_picoseconds(state, rank)) << "rank " << rank;
    }
  }
  EXPECT_EQ((r.compute + r.exposed_comm + r.waiting + r.host_bound + r.idle).ps(), r.iteration.ps());
  EXPECT_EQ((r.exposed_comm + r.hidden_comm).ps(), r.comm.ps());
  for (const Duration part : {r.compute, r.exposed_comm, r.waiting, r.host_bound, r.idle}) EXPECT_GE(part, Duration());
}

TEST_P(RandomJob, CriticalPathCoversTheIterationWithoutAGap) {
  const Report r = random_job(GetParam()).report();
  Duration reached;
  double share = 0;
  for (const CriticalStep& s : r.critical_path) {
    EXPECT_EQ(s.start.ps(), reached.ps()) << s.name;
    EXPECT_GT(s.time.ps(), 0);
    reached += s.time;
  }
  EXPECT_EQ(reached.ps(), r.iteration.ps());
  for (const BasisShare& b : r.bases) share += b.share;
  if (r.iteration.ps() > 0) {
    EXPECT_NEAR(share, 1, 1e-12);
  }
  EXPECT_LE(r.low, r.iteration);
  EXPECT_GE(r.high, r.iteration);
}

TEST_P(RandomJob, CollectivesExposeWhatTheRanksSee) {
  const Report r = random_job(GetParam()).report();
  Duration exposed, waiting;
  for (const CollectiveTime& c : r.collectives) {
    EXPECT_LE(c.exposed, c.total) << c.name;
    exposed += c.exposed;
    waiting += c.waiting;
  }
  const double rounding = 1.0 + static_cast<double>(r.collectives.size());  // each row is rounded to a picosecond
  EXPECT_NEAR(static_cast<double>(exposed.ps()), static_cast<double>(r.exposed_comm.ps()), rounding);
  EXPECT_NEAR(static_cast<double>(waiting.ps()), static_cast<double>(r.waiting.ps()), rounding);
}

/// Reading rank by rank and class by class is the same: ranks of one class have equal splits.
TEST_P(RandomJob, ClassesHoldRanksWithEqualTimes) {
  const Job job = random_job(GetParam());
  const SteadyState state = steady_state(job.played());
  const RankClasses classes = rank_classes(state, job.program.ranks);
  std::uint32_t ranks = 0;
  for (const std::uint32_t count : classes.count) ranks += count;
  EXPECT_EQ(ranks, job.program.ranks);
  for (std::uint32_t rank = 0; rank < job.program.ranks; ++rank) {
    const std::uint32_t other = classes.first[classes.of(rank)];
    for (const DeviceStep& d : state.steps) {
      EXPECT_EQ(d.start.at(rank), d.start.at(other));
      EXPECT_EQ(d.end.at(rank), d.end.at(other));
      EXPECT_EQ(d.ready.at(rank), d.ready.at(other));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomJob, testing::Range<std::uint64_t>(0, 300));

}  // namespace
}  // namespace distsim::report
