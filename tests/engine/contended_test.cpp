// Contention: small systems worked out on paper, closed forms, an oracle in small steps of work, and equality with the
// plain evaluator where nothing is short.
#include "sim/engine/events/contended_evaluator.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "programs.hpp"
#include "sim/engine/events/fair_share.hpp"

namespace distsim::engine {
namespace {

using Demand = Contention::Demand;

/// Programs and demands side by side.
struct Scene {
  IrregularProgram p;
  Contention c;
  Scene(std::uint32_t ranks, std::uint32_t streams, std::vector<double> capacities)
      : p{ranks, streams}, c{std::move(capacities)} {}
  StepId add(std::uint32_t rank, std::int64_t duration, std::vector<Demand> demands = {}, std::uint32_t stream = 0,
             std::uint32_t meeting = RankStep::kAlone) {
    c.add(demands);
    return p.add({RankId(rank), StreamId(stream), duration, meeting});
  }
  IrregularTimeline play() const {
    auto t = evaluate_contended(p, c);
    EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().text());
    return *t;
  }
};

TEST(Contended, TwoFlowsOfUnequalLengthOnOneLink) {
  // Each would fill the link alone. Half speed each: the short one (4) ends at 8; the long one (10) has done 4 by then
  // and ends 6 later, at 14.
  Scene s(2, 1, {100});
  const StepId longer = s.add(0, 10, {{0, 100}}), shorter = s.add(1, 4, {{0, 100}});
  const auto t = s.play();
  EXPECT_EQ(t.steps[shorter].end, 8);
  EXPECT_EQ(t.steps[longer].end, 14);
}

TEST(Contended, ALateFlowSlowsTheFirst) {
  // A (10) starts at 0; B (10) at 6. A has 4 left, at half speed until 14; B has done 4 by then, 6 left: 20.
  Scene s(2, 1, {1});
  const StepId a = s.add(0, 10, {{0, 1}});
  s.add(1, 6);
  const StepId b = s.add(1, 10, {{0, 1}});
  const auto t = s.play();
  EXPECT_EQ(t.steps[a].end, 14);
  EXPECT_EQ(t.steps[b], (StepTimes{6, 6, 20}));
}

TEST(Contended, FlowsThatFitDoNotSlowEachOther) {
  // 40 + 60 of 100.
  Scene s(2, 1, {100});
  const StepId a = s.add(0, 10, {{0, 40}}), b = s.add(1, 7, {{0, 60}});
  const auto t = s.play();
  EXPECT_EQ(t.steps[a].end, 10);
  EXPECT_EQ(t.steps[b].end, 7);
}

TEST(Contended, AModestFlowKeepsItsFullSpeed) {
  // Demands 20 and 100 of 100: the modest one is under its fair share of 50; the other runs at 80 %: 8 takes 10.
  Scene s(2, 1, {100});
  const StepId modest = s.add(0, 20, {{0, 20}}), greedy = s.add(1, 8, {{0, 100}});
  const auto t = s.play();
  EXPECT_EQ(t.steps[modest].end, 20);
  EXPECT_EQ(t.steps[greedy].end, 10);
}

TEST(Contended, IncastTakesTheSumOfItsMessages) {
  // n senders of equal messages (5) to one receiver: all end at 5 n.
  for (const std::uint32_t n : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    Scene s(n, 1, {25});
    for (std::uint32_t r = 0; r < n; ++r) s.add(r, 5'000'000, {{0, 25}});
    const auto t = s.play();
    for (const StepTimes& times : t.steps) ASSERT_NEAR(static_cast<double>(times.end), 5e6 * n, 5e6 * n * 1e-7) << n;
    EXPECT_EQ(t.steps[StepId(0)].end, t.steps[StepId(n - 1)].end);
  }
}

TEST(Contended, AllReduceAndAllToAllOnOneNic) {
  // Two ranks, a NIC each. An all-reduce (6, whole NIC) and an all-to-all (9, whole NIC) at once on two streams: half
  // speed each; the first ends at 12 with 6 of the second done; it ends at 15, the sum of both.
  Scene s(2, 2, {25, 25});
  s.p.meeting_sizes = {2, 2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    s.add(rank, 6, {{rank, 25}}, 0, 0);
    s.add(rank, 9, {{rank, 25}}, 1, 1);
  }
  const auto t = s.play();
  EXPECT_EQ(t.steps[StepId(0)].end, 12);
  EXPECT_EQ(t.steps[StepId(2)].end, 12);
  EXPECT_EQ(t.steps[StepId(1)].end, 15);
  EXPECT_EQ(t.makespan.ps(), 15);
}

TEST(Contended, ASlowLinkHoldsTheWholeMeeting) {
  // A collective of three ranks whose third has a NIC of half the rate it needs: all run at half speed.
  Scene s(3, 1, {10, 10, 5});
  s.p.meeting_sizes = {3};
  for (std::uint32_t rank = 0; rank < 3; ++rank) s.add(rank, 8, {{rank, 10}}, 0, 0);
  const auto t = s.play();
  for (const StepTimes& times : t.steps) EXPECT_EQ(times.end, 16);
}

TEST(Contended, MembersOfAMeetingEndByTheirOwnDurations) {
  // At half speed, members with 4 and 6 of work end at 8 and 12.
  Scene s(2, 1, {1});
  s.p.meeting_sizes = {2};
  const StepId six = s.add(0, 6, {{0, 1}}, 0, 0), four = s.add(1, 4, {{0, 1}}, 0, 0);
  const auto t = s.play();
  EXPECT_EQ(t.steps[four].end, 8);
  EXPECT_EQ(t.steps[six].end, 12);
}

TEST(Contended, KernelsSlowDownWhileACollectiveHoldsSms) {
  // The collective takes 0.2 of the SMs for 10; a GEMM of 16 would take them all, runs at 0.8 and has 8 left at 10:
  // ends at 18.
  Scene s(1, 2, {1});
  const StepId collective = s.add(0, 10, {{0, 0.2}}, 0), gemm = s.add(0, 16, {{0, 1}}, 1);
  const auto t = s.play();
  EXPECT_EQ(t.steps[collective].end, 10);
  EXPECT_EQ(t.steps[gemm].end, 18);
}

TEST(Contended, LinearAllToAllOnOversubscribedLeaves) {
  // 2 leaves of 2 hosts, uplinks of half the hosts' sum. Each host sends 1 unit of work to each other one, at full host
  // rate if alone (duration 12). Hosts' links: 3 flows; uplink (capacity 1): 4 flows at 1/4 each. Local flows: (1 -
  // 2/4) / 1 = 1/2. Locals end at 24; the crossing flows stay at 1/4 (uplink bound) and end at 48.
  Scene s(4, 3, std::vector<double>(12, 1.0));
  for (std::uint32_t from = 0; from < 4; ++from) {
    std::uint32_t stream = 0;
    for (std::uint32_t to = 0; to < 4; ++to) {
      if (from == to) continue;
      std::vector<Demand> demands = {{from, 1}, {4 + to, 1}};
      if (from / 2 != to / 2) demands.insert(demands.end(), {{8 + from / 2, 1}, {10 + to / 2, 1}});
      const StepId step = s.add(from, 12, demands, stream++);
      (void)step;
    }
  }
  const auto t = s.play();
  for (StepId id(0); id < t.steps.end_id(); id = StepId(id.value() + 1)) {
    const bool crosses = s.c.demand_offsets[id.value() + 1] - s.c.demand_offsets[id.value()] == 4;
    EXPECT_EQ(t.steps[id].end, crosses ? 48 : 24);
  }
}

TEST(Contended, EndsAreRoundedUpToWholePicoseconds) {
  // Three flows of 1 ps at a third of the speed: 3 ps, though 1/3 has no exact fixed-point form (it is rounded down, so
  // that 3 ps are not quite enough).
  Scene s(3, 1, {1});
  for (std::uint32_t r = 0; r < 3; ++r) s.add(r, 1, {{0, 1}});
  for (const StepTimes& times : s.play().steps) EXPECT_LE(std::abs(times.end - 3), 1);
}

TEST(Contended, VoidEventsDoNotMoveTheEnd) {
  // While B (2) runs, A (10) is due at a later time than once B has gone: the old date must not count as the makespan.
  Scene s(2, 1, {1});
  s.add(0, 10, {{0, 1}});
  s.add(1, 2, {{0, 1}});
  EXPECT_EQ(s.play().makespan.ps(), 12);
}

TEST(Contended, RefusesInvalidDemandsAndNamesDeadlocks) {
  const auto refused = [](auto change, const std::string& message) {
    Scene s(1, 1, {1});
    s.add(0, 1, {{0, 1}});
    ASSERT_TRUE(evaluate_contended(s.p, s.c).ok());
    change(s);
    const auto t = evaluate_contended(s.p, s.c);
    ASSERT_FALSE(t.ok()) << message;
    EXPECT_NE(t.error().text().find(message), std::string::npos) << t.error().text();
  };
  refused([](Scene& s) { s.c.capacities[0] = 0; }, "capacity of resource 0");
  refused([](Scene& s) { s.c.capacities[0] = NAN; }, "capacity of resource 0");
  refused([](Scene& s) { s.c.demands[0].rate = -1; }, "demand 0.rate");
  refused([](Scene& s) { s.c.demands[0].rate = INFINITY; }, "demand 0.rate");
  refused([](Scene& s) { s.c.demands[0].resource = 1; }, "demand 0.resource");
  refused([](Scene& s) { s.c.demand_offsets.pop_back(); }, "contention.demand_offsets");
  refused([](Scene& s) { s.p.steps[StepId(0)].duration = -1; }, "step 0.duration");
  refused(
      [](Scene& s) {
        s.c.capacities[0] = 1e-30;
        s.p.steps[StepId(0)].duration = std::int64_t{1} << 61;
      },
      "beyond the limit");
  refused(
      [](Scene& s) {
        const StepId self(1);
        s.c.add({});
        s.p.add({RankId(0), StreamId(0), 1}, std::span(&self, 1));
      },
      "deadlock: step 1");
}

Contention random_contention(Random& random, const IrregularProgram& p, double capacity) {
  Contention c{std::vector<double>(1 + random.below(5), capacity)};
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    std::vector<Demand> demands;
    for (std::uint32_t l = 0; l < c.capacities.size(); ++l) {
      if (random.below(3) == 0) demands.push_back({l, 0.1 + random.uniform()});
    }
    c.add(demands);
  }
  return c;
}

TEST(ContendedOracle, WithoutShortageTheSameToTheLastBit) {
  Random random(41);
  for (int i = 0; i < 20'000; ++i) {
    const Program rows = random_program(random, {.ranks = 8, .streams = 3, .steps = 12, .waits = 2});
    const auto p = expand(rows);
    ASSERT_TRUE(p.ok());
    const auto plain = evaluate_irregular(*p);
    const auto contended = evaluate_contended(*p, random_contention(random, *p, 1e6));
    ASSERT_TRUE(plain.ok() && contended.ok());
    ASSERT_EQ(plain->steps.raw(), contended->steps.raw()) << "program " << i;
    ASSERT_EQ(plain->digest, contended->digest);
    ASSERT_EQ(plain->makespan, contended->makespan);
  }
}

/// Times of independent steps that all start at 0, in double precision: from end to end of the next step, with shares
/// solved anew for each.
std::vector<double> play_in_doubles(const IrregularProgram& p, const Contention& c) {
  std::vector<double> left, ends(p.steps.size(), -1);
  for (const RankStep& step : p.steps) left.push_back(static_cast<double>(step.duration));
  for (double now = 0;;) {
    FairShareProblem problem{c.capacities};
    std::vector<std::uint32_t> running;
    std::vector<double> peaks;
    for (std::uint32_t s = 0; s < left.size(); ++s) {
      if (ends[s] >= 0) continue;
      std::vector<FairShareProblem::Use> uses;
      double peak = 0;
      for (std::uint32_t d = c.demand_offsets[s]; d < c.demand_offsets[s + 1]; ++d)
        peak = std::max(peak, c.demands[d].rate);
      if (peak == 0) peak = 1;
      for (std::uint32_t d = c.demand_offsets[s]; d < c.demand_offsets[s + 1]; ++d)
        uses.push_back({c.demands[d].resource, c.demands[d].rate / peak});
      problem.add_flow(peak, uses);
      running.push_back(s);
      peaks.push_back(peak);
    }
    if (running.empty()) return ends;
    const auto rates = max_min_rates(problem);
    double wait = INFINITY;
    for (std::size_t i = 0; i < running.size(); ++i) wait = std::min(wait, left[running[i]] * peaks[i] / rates[i]);
    now += wait;
    for (std::size_t i = 0; i < running.size(); ++i) {
      double& rest = left[running[i]];
      rest -= wait * rates[i] / peaks[i];
      if (rest < 1e-3) ends[running[i]] = now;
    }
  }
}

TEST(ContendedOracle, AgreesWithDoublesOnRandomFlows) {
  Random random(42);
  for (int i = 0; i < 3'000; ++i) {
    const auto flows = 1 + static_cast<std::uint32_t>(random.below(10));
    IrregularProgram p{flows, 1};
    for (std::uint32_t f = 0; f < flows; ++f)
      p.add({RankId(f), StreamId(0), static_cast<std::int64_t>(1 + random.below(1'000'000'000))});
    const Contention c = random_contention(random, p, 1.0);
    const auto t = evaluate_contended(p, c);
    ASSERT_TRUE(t.ok()) << t.error().text();
    const auto oracle = play_in_doubles(p, c);
    for (std::uint32_t f = 0; f < flows; ++f) {
      ASSERT_NEAR(static_cast<double>(t->steps[StepId(f)].end), oracle[f], 2 + oracle[f] * 1e-7)
          << "program " << i << ", flow " << f;
    }
  }
}

TEST(ContendedOracle, ContentionOnlyDelaysTheEndOfIndependentFlowsAndConservesWork) {
  // No flow ends before it would alone, and no resource gives more than its capacity times the time it is in use.
  Random random(43);
  for (int i = 0; i < 3'000; ++i) {
    const auto flows = 1 + static_cast<std::uint32_t>(random.below(10));
    IrregularProgram p{flows, 1};
    for (std::uint32_t f = 0; f < flows; ++f)
      p.add({RankId(f), StreamId(0), static_cast<std::int64_t>(1 + random.below(1'000'000))});
    const Contention c = random_contention(random, p, 1.0);
    const auto t = evaluate_contended(p, c);
    ASSERT_TRUE(t.ok());
    std::vector<double> given(c.capacities.size(), 0);
    for (std::uint32_t f = 0; f < flows; ++f) {
      ASSERT_GE(t->steps[StepId(f)].end, p.steps[StepId(f)].duration);
      for (std::uint32_t d = c.demand_offsets[f]; d < c.demand_offsets[f + 1]; ++d) {
        given[c.demands[d].resource] += c.demands[d].rate * static_cast<double>(p.steps[StepId(f)].duration);
      }
    }
    for (const double amount : given) ASSERT_LE(amount, static_cast<double>(t->makespan.ps()) * (1 + 1e-9) + 10);
  }
}

}  // namespace
}  // namespace distsim::engine
