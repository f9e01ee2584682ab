// The evaluators agree on 100,000 random programs (10,000 with sanitizers), bit for bit: rows, lists, and the event loop where no resource is
// short; deadlocks included. An oracle that shares no code with them looks at every tenth (row_oracle_test and
// irregular_test look at more).
#include <gtest/gtest.h>

#include "irregular_oracle.hpp"
#include "oracle.hpp"
#include "programs.hpp"
#include "sanitizers.hpp"
#include "sim/engine/events/contended_evaluator.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/verify.hpp"

namespace distsim::engine {
namespace {

const int kPrograms = test::samples(100'000);
constexpr RandomLimits kSmall{.ranks = 6, .streams = 3, .steps = 14, .waits = 2};

/// Every step asks for a resource that all of them together cannot fill.
Contention plenty(const IrregularProgram& p, Random& random) {
  Contention c{{1e9, 1e9}};
  for (std::uint32_t s = 0; s < p.steps.size(); ++s) {
    const Contention::Demand demands[] = {{0, 1 + static_cast<double>(random.below(9))}, {1, 1}};
    c.add(std::span(demands, random.below(3)));
  }
  return c;
}

StepTimes times_of(const Timeline& t, std::uint32_t step, std::uint32_t rank) {
  const StepId s(step);
  return {t.ready[s].at(rank), t.start[s].at(rank), t.end[s].at(rank)};
}

void expect_oracle_agrees(const Program& p, const Timeline& rows) {
  const Schedule oracle = play_by_events(p);
  ASSERT_EQ(rows.makespan.ps(), oracle.makespan);
  for (std::uint32_t s = 0; s < p.steps.size(); ++s) {
    for (std::uint32_t r = 0; r < p.ranks; ++r) {
      ASSERT_EQ(times_of(rows, s, r), (StepTimes{oracle.ready[s][r], oracle.start[s][r], oracle.end[s][r]}));
    }
  }
}

TEST(Agreement, OnRandomPrograms) {
  Random random(2026);
  for (int i = 0; i < kPrograms && !HasFatalFailure(); ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    const Program p = random_program(random, kSmall);
    const auto rows = evaluate_rows(p);
    const auto lists = expand(p);
    ASSERT_TRUE(rows.ok() && lists.ok());
    ASSERT_TRUE(verify(p, *rows).ok());
    const auto pushed = evaluate_irregular(*lists);
    const auto events = evaluate_contended(*lists, plenty(*lists, random));
    ASSERT_TRUE(pushed.ok() && events.ok());
    ASSERT_EQ(pushed->digest, events->digest);
    ASSERT_EQ(pushed->steps.raw(), events->steps.raw());
    ASSERT_EQ(rows->makespan, events->makespan);
    const auto steps = static_cast<std::uint32_t>(p.steps.size());
    for (std::uint32_t r = 0; r < p.ranks; ++r) {
      for (std::uint32_t s = 0; s < steps; ++s) ASSERT_EQ(events->steps[StepId(r * steps + s)], times_of(*rows, s, r));
    }
    if (i % 10 == 0) expect_oracle_agrees(p, *rows);
  }
}

/// Waits of any direction and meetings of two or three: about half of them deadlock.
IrregularProgram tangled(Random& random) {
  IrregularProgram p{1 + static_cast<std::uint32_t>(random.below(5)), 1 + static_cast<std::uint32_t>(random.below(2))};
  const auto n = static_cast<std::uint32_t>(random.below(12));
  for (std::uint32_t s = 0; s < n; ++s) {
    std::vector<StepId> waits;
    if (s > 0 && random.below(2) == 0)
      waits.emplace_back(static_cast<std::uint32_t>(random.below(random.below(8) == 0 ? n : s)));
    p.add({RankId(static_cast<std::uint32_t>(random.below(p.ranks))),
           StreamId(static_cast<std::uint32_t>(random.below(p.streams))), static_cast<std::int64_t>(random.below(6))},
          waits);
  }
  for (std::uint64_t m = n > 2 ? random.below(4) : 0; m > 0; --m) {
    p.meeting_sizes.push_back(0);
    for (std::uint64_t i = 2 + random.below(2); i > 0; --i) {
      RankStep& member = p.steps[StepId(static_cast<std::uint32_t>(random.below(n)))];
      if (member.meeting != RankStep::kAlone) continue;
      member.meeting = static_cast<std::uint32_t>(p.meeting_sizes.size() - 1);
      ++p.meeting_sizes.back();
    }
  }
  return p;
}

TEST(Agreement, OnDeadlocks) {
  Random random(2027);
  int deadlocks = 0;
  for (int i = 0; i < kPrograms; ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    const IrregularProgram p = tangled(random);
    const auto pushed = evaluate_irregular(p);
    const auto events = evaluate_contended(p, plenty(p, random));
    ASSERT_EQ(pushed.ok(), events.ok());
    if (i % 10 == 0) {
      ASSERT_EQ(pushed.ok(), play_by_rescanning(p).has_value());
    }
    if (pushed) {
      ASSERT_EQ(pushed->steps.raw(), events->steps.raw());
      continue;
    }
    ++deadlocks;
    ASSERT_EQ(pushed.error().what, events.error().what);  // the same circle
    const auto cycle = find_deadlock(p);
    ASSERT_FALSE(cycle.empty());
    for (std::size_t k = 0; k < cycle.size(); ++k) ASSERT_TRUE(waits_for(p, cycle[k], cycle[(k + 1) % cycle.size()]));
  }
  EXPECT_GT(deadlocks, kPrograms / 10);
}

}  // namespace
}  // namespace distsim::engine
