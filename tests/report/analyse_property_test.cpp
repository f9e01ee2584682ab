// Random jobs: the split of the iteration against a count of single picoseconds, the critical cycle and what is exposed
// against replays by the engine, and sums that must be exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "job.hpp"
#include "sim/report/replays.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {
namespace {

/// `iterations`: how many are played; 0: one to four.
Job random_job(std::uint64_t seed, std::uint16_t iterations = 0) {
  Random random(seed);
  const std::uint32_t ranks = 1u << random.below(4);  // 1, 2, 4, 8
  JobBuilder b(ranks);
  std::vector<TaskId> tasks;
  const std::uint64_t count = 1 + random.below(12);
  for (std::uint64_t i = 0; i < count; ++i) {
    b.launch(static_cast<std::int64_t>(random.below(12)));
    std::vector<TaskId> deps;
    if (!tasks.empty() && random.below(3) != 0) deps.push_back(tasks[random.below(tasks.size())]);
    const std::string name = std::string("task ") + static_cast<char>('a' + i);  // each a row of its own
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
  const auto few = static_cast<std::uint16_t>(1 + random.below(4));
  return b.play(iterations > 0 ? iterations : few, static_cast<std::int64_t>(random.below(20)));
}

/// The program with other durations, played by the engine itself.
struct Replayed {
  engine::Program program;
  engine::Timeline timeline;
  SteadyState state;
  std::int64_t period() const { return state.period(); }
};

template <class Change>
std::unique_ptr<Replayed> replay(const Job& job, Change change) {
  auto out = std::make_unique<Replayed>();
  out->program = job.program;
  for (StepId s(0); s < out->program.steps.end_id(); s = StepId(s.value() + 1))
    change(s, out->program.steps[s].duration);
  out->timeline = engine::evaluate_rows(out->program).value();
  out->state = steady_state({&job.costed, &out->program, &job.origins, &out->timeline, job.iterations});
  return out;
}

bool is_collective(const Job& job, StepId s) {
  const StepOrigin& o = job.origins[s];
  return o.role == StepRole::device && job.costed.graph.tasks[o.task].partition.valid();
}

std::unique_ptr<Replayed> silent(const Job& job) {
  return replay(job, [&](StepId s, engine::Row& row) {
    if (is_collective(job, s)) row = engine::Row(0);
  });
}

/// A cell for each picosecond of the window.
class Cells {
 public:
  explicit Cells(const SteadyState& state) : state_(state), cells_(static_cast<std::size_t>(state.period())) {}
  void paint(std::int64_t from, std::int64_t to) {
    for (std::int64_t t = from; t < to; ++t) {
      std::int64_t folded = t;
      while (folded < state_.begin) folded += state_.period();
      cells_[static_cast<std::size_t>(folded - state_.begin)] = 1;
    }
  }
  bool operator[](std::size_t i) const { return cells_[i] != 0; }
  std::int64_t count() const { return std::count(cells_.begin(), cells_.end(), 1); }

 private:
  const SteadyState& state_;
  std::vector<char> cells_;
};

/// The definitions of report.hpp, a picosecond at a time: compute, waiting, host_bound and idle of `state`.
RankTime count_split(const SteadyState& state, std::uint32_t rank) {
  Cells compute(state), waits(state);
  std::vector<std::pair<std::int64_t, std::int64_t>> starts;  // of compute steps: folded begin, launch
  for (const DeviceStep& d : state.steps) {
    const std::int64_t start = d.start.at(rank), end = d.end.at(rank);
    if (d.collective) {
      waits.paint(d.ready.at(rank), start);
      continue;
    }
    compute.paint(start, end);
    if (end == start) continue;
    std::int64_t launch = 0;
    for (const RowView& l : state.launches_of(d)) launch = std::max(launch, l.at(rank));
    std::int64_t shift = 0;
    while (start + shift < state.begin) shift += state.period();
    starts.emplace_back(start + shift, launch + shift);
    if (state.repeats) starts.emplace_back(start + shift + state.period(), launch + shift + state.period());
  }
  std::sort(starts.begin(), starts.end());
  std::int64_t sums[4] = {};
  for (std::size_t i = 0; i < static_cast<std::size_t>(state.period()); ++i) {
    const std::int64_t now = state.begin + static_cast<std::int64_t>(i);
    const auto next = std::find_if(starts.begin(), starts.end(), [&](const auto& s) { return s.first > now; });
    ++sums[compute[i] ? 0 : waits[i] ? 1 : next != starts.end() && now < next->second ? 2 : 3];
  }
  RankTime out;
  out.compute = Duration::picoseconds(sums[0]);
  out.waiting = Duration::picoseconds(sums[1]);
  out.host_bound = Duration::picoseconds(sums[2]);
  out.idle = Duration::picoseconds(sums[3]);
  return out;
}

/// Adds comm and hidden_comm of the program as played.
void count_transfers(const SteadyState& state, std::uint32_t rank, RankTime& out) {
  Cells compute(state), transfer(state);
  for (const DeviceStep& d : state.steps) (d.collective ? transfer : compute).paint(d.start.at(rank), d.end.at(rank));
  std::int64_t both = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(state.period()); ++i) both += transfer[i] && compute[i];
  out.comm = Duration::picoseconds(transfer.count());
  out.hidden_comm = Duration::picoseconds(both);
}

class RandomJob : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomJob, SplitEqualsTheCountOfPicoseconds) {
  const Job job = random_job(GetParam());
  const Report r = job.report();
  const SteadyState state = steady_state(job.played());
  const auto quiet = silent(job);
  const bool settled = quiet->period() <= state.period();
  for (std::uint32_t rank = 0; rank < r.rank_count; ++rank) {
    const RankTime& t = r.rank(rank);
    EXPECT_EQ((t.compute + t.exposed_comm + t.waiting + t.host_bound + t.idle).ps(), r.iteration.ps())
        << "rank " << rank;
    if (state.period() <= 0) continue;
    RankTime counted = count_split(settled ? quiet->state : state, rank);
    counted.exposed_comm = Duration::picoseconds(settled ? state.period() - quiet->period() : 0);
    count_transfers(state, rank, counted);
    EXPECT_EQ(t, counted) << "rank " << rank;
  }
  EXPECT_EQ((r.compute + r.exposed_comm + r.waiting + r.host_bound + r.idle).ps(), r.iteration.ps());
  for (const Duration part : {r.compute, r.exposed_comm, r.waiting, r.host_bound, r.idle}) EXPECT_GE(part, Duration());
}

TEST_P(RandomJob, CriticalCycleSumsToThePeriodWithoutAGap) {
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
    EXPECT_LT(r.cycle_start, r.iteration);
  }
  EXPECT_GE(r.cycle_start, Duration());
  EXPECT_LE(r.low, r.iteration);
  EXPECT_GE(r.high, r.iteration);
}

/// Steps of one iteration on the cycle, each with its rank.
std::set<std::pair<std::uint32_t, std::uint32_t>> places_of(const Replays& replays, const Chain& chain) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const PathStep& s : chain.steps) out.emplace(replays.in_first(s.step).value(), s.rank);
  return out;
}

/// A job that has found its rhythm: played so long that shorter steps settle too.
constexpr std::uint16_t kSettled = 24;

/// With all other steps at zero, those of a cycle still take the period; no step outside it is needed for it.
TEST_P(RandomJob, TheCycleAloneTakesThePeriod) {
  const Job job = random_job(GetParam(), kSettled);
  Replays replays(job.played());
  const std::int64_t period = replays.period();
  const Chain chain = replays.chain();
  if (!chain.closed) return;
  const auto on_cycle = places_of(replays, chain);
  ASSERT_TRUE(replays.play([&](StepId s) -> std::optional<engine::Row> {
    std::vector<std::int64_t> values(replays.roles().size());
    for (std::uint32_t role = 0; role < values.size(); ++role)
      if (on_cycle.contains({replays.in_first(s).value(), role})) values[role] = replays.duration(s).at(role);
    return engine::Row(std::move(values));
  }));
  EXPECT_EQ(replays.period(), period);
}

/// A step of the cycle that is shorter by 1 ps shortens the period by 1 ps, or by nothing where another cycle is as long.
/// A step outside it changes nothing.
TEST_P(RandomJob, ShorterStepsOfTheCycleShortenThePeriod) {
  const Job job = random_job(GetParam(), kSettled);
  Replays replays(job.played());
  const std::int64_t period = replays.period();
  const Chain chain = replays.chain();
  if (!chain.closed) return;
  const auto on_cycle = places_of(replays, chain);
  std::set<std::uint32_t> critical;
  for (const auto& [step, role] : on_cycle) critical.insert(step);
  for (std::uint32_t step = 0; step < replays.steps(); ++step) {
    ASSERT_TRUE(replays.play([&](StepId s) -> std::optional<engine::Row> {
      if (replays.in_first(s).value() != step) return std::nullopt;
      std::vector<std::int64_t> values(replays.roles().size());
      for (std::uint32_t role = 0; role < values.size(); ++role)
        values[role] = std::max<std::int64_t>(0, replays.duration(s).at(role) - 1);
      return engine::Row(std::move(values));
    }));
    if (critical.contains(step)) {
      EXPECT_GE(replays.period(), period - 1) << "step " << step;
      EXPECT_LE(replays.period(), period) << "step " << step;
    } else {
      EXPECT_EQ(replays.period(), period) << "step " << step;
    }
  }
}

/// What a collective exposes is what the engine saves without it; never negative, never more than its time.
TEST_P(RandomJob, ExposedIsWhatIsSavedWithoutTheCollective) {
  const Job job = random_job(GetParam(), kSettled);
  const Report r = job.report();
  EXPECT_EQ(r.exposed_comm.ps(), std::max<std::int64_t>(0, r.iteration.ps() - silent(job)->period()));
  Duration waiting;
  for (const CollectiveTime& c : r.collectives) {
    std::int64_t longest = 0;
    const auto without = replay(job, [&](StepId s, engine::Row& row) {
      if (!is_collective(job, s)) return;
      const graph::Task& task = job.costed.graph.tasks[job.origins[s].task];
      if (job.costed.graph.names[task.name] != c.name) return;
      longest = row.uniform() ? row.scalar() : std::ranges::max(row.values());
      row = engine::Row(0);
    });
    waiting += c.waiting;
    if (c.calls != 1) continue;
    EXPECT_GE(c.exposed.ps(), 0) << c.name;
    EXPECT_LE(c.exposed.ps(), longest) << c.name;
    if (r.cycle_closed) {
      EXPECT_EQ(c.exposed.ps(), r.iteration.ps() - without->period()) << c.name;
    }
  }
  const double rounding = 1.0 + static_cast<double>(r.collectives.size());  // each row is rounded to a picosecond
  EXPECT_NEAR(static_cast<double>(waiting.ps()), static_cast<double>(r.waiting.ps()), rounding);
}

TEST_P(RandomJob, ResourcesOnTheCycleSumToThePeriod) {
  const Report r = random_job(GetParam()).report();
  Duration sum, most;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Resource::waiting_for_rank); ++i) {
    sum += r.limits.of_resource[i].on_cycle;
    most = std::max(most, r.limits.of_resource[i].on_cycle);
    EXPECT_LE(r.limits.of_resource[i].without, r.iteration);
  }
  EXPECT_EQ(sum, r.iteration);
  EXPECT_EQ(r.limits.limited_by.has_value(), r.iteration > Duration());
  EXPECT_GE(r.limits.slack, Duration());
  EXPECT_LE(r.limits.slack, r.iteration);
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

/// The tests above look at cycles that close; there must be such.
TEST(RandomJobs, NearlyAllCyclesClose) {
  int closed = 0, taking_time = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Report r = random_job(seed, kSettled).report();
    taking_time += r.iteration > Duration();
    closed += r.cycle_closed;
  }
  EXPECT_GT(taking_time, 250);
  EXPECT_GE(closed, taking_time * 95 / 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomJob, testing::Range<std::uint64_t>(0, 300));

}  // namespace
}  // namespace distsim::report
