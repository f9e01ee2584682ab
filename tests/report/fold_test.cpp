// Micro-steps that are extrapolated give the report of playing them.
#include "sim/report/fold.hpp"

#include <gtest/gtest.h>

#include "job.hpp"

namespace distsim::report {
namespace {

/// `count` times: forward of 400 and 700 ps, an all-reduce of 200 during a piece of 50, each micro-step after the one
/// before. 900 ps each, of which rank 0 computes 450, and rank 1 750 with 50 of the transfer hidden. Without
/// communication a micro-step takes rank 1's 750, of which rank 0 waits 300, but for the first: there the piece runs in
/// its wait for 700.
Report micro_steps(int count) {
  JobBuilder b(2);
  std::vector<TaskId> last;
  for (int i = 0; i < count; ++i) {
    const TaskId forward = b.compute_per_rank("forward", {400, 700}, last);
    last = {b.collective("reduce", 200, 1000, {forward})};
    b.compute("piece", 50, {forward}, graph::Elementwise{10});
  }
  return b.play(1).report();
}

TEST(FoldMicroSteps, EqualsPlayingThem) {
  const Report folded = fold_micro_steps(micro_steps(2), micro_steps(3), 5, {}), played = micro_steps(8);
  EXPECT_EQ(played.iteration.ps(), 8 * 900);
  EXPECT_EQ(played.exposed_comm.ps(), 8 * 150);
  EXPECT_EQ(played.ranks[0].waiting.ps(), 250 + 7 * 300);
  EXPECT_EQ(played.ranks[1].hidden_comm.ps(), 8 * 50);
  EXPECT_EQ(folded.iteration, played.iteration);
  EXPECT_EQ(folded.ranks, played.ranks);
  EXPECT_EQ(folded.waiting, played.waiting);
  EXPECT_EQ(folded.comm, played.comm);
  EXPECT_EQ(folded.compute + folded.exposed_comm + folded.waiting + folded.host_bound + folded.idle, folded.iteration);
  EXPECT_EQ(folded.limits.limited_by, played.limits.limited_by);
  EXPECT_EQ(folded.limits.slack, played.limits.slack);
  ASSERT_EQ(folded.collectives.size(), 1u);
  EXPECT_EQ(folded.collectives[0].calls, 8u);
  EXPECT_EQ(folded.collectives[0].bytes, 8000);
  EXPECT_EQ(folded.collectives[0].exposed, played.collectives[0].exposed);
  EXPECT_EQ(folded.collectives[0].waiting, played.collectives[0].waiting);
}

/// An iteration beyond what a time holds is refused, its parts are never wrapped around.
TEST(FoldMicroSteps, TooLongIterationsAreRefused) {
  const Report shorter = micro_steps(2), longer = micro_steps(3);
  EXPECT_TRUE(check_foldable(shorter, longer, 1'000'000).ok());
  const auto refused = check_foldable(shorter, longer, std::int64_t{1} << 60);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("found an iteration of more than 1281 h"), std::string::npos);
  const Report folded = fold_micro_steps(shorter, longer, std::int64_t{1} << 60, {});
  EXPECT_GT(folded.iteration, longer.iteration);
  EXPECT_GE(folded.low, Duration());
}

/// Work that an iteration has not to wait for yet: it will be the limit of longer ones, and until then nothing is linear.
TEST(FoldMicroSteps, NoIterationIsShorterThanItsBusiestStream) {
  const auto ps = [](std::int64_t v) { return Duration::picoseconds(v); };
  Report shorter = micro_steps(2), longer = micro_steps(3);
  EXPECT_TRUE(is_linear(shorter, longer));
  longer.iteration = shorter.iteration;  // bound by something that does not grow
  EXPECT_FALSE(is_linear(shorter, longer));
  shorter.busy = longer.busy = {};
  EXPECT_TRUE(is_linear(shorter, longer));
  shorter.busy[2] = ps(1000), longer.busy[2] = ps(1500);
  EXPECT_FALSE(is_linear(shorter, longer));
  EXPECT_EQ(fold_micro_steps(shorter, longer, 100, {}).iteration, ps(1500 + 100 * 500));
}

/// Cycles that lead through other steps: no law connects their parts, but together they are the iteration.
TEST(FoldMicroSteps, TheCycleIsAsLongAsTheIteration) {
  Report shorter = micro_steps(2), longer = micro_steps(3);
  for (Report* r : {&shorter, &longer})
    for (ResourceTime& of : r->limits.of_resource) of.on_cycle = Duration();
  shorter.limits[Resource::host_loop].on_cycle = shorter.iteration;
  longer.limits[Resource::memory].on_cycle = longer.iteration;
  const Report folded = fold_micro_steps(shorter, longer, 50, {});
  EXPECT_EQ(folded.limits[Resource::memory].on_cycle, folded.iteration);
  EXPECT_EQ(folded.limits[Resource::host_loop].on_cycle, Duration());
}

/// Figures that fall from one length to the next are cut at zero; what that moves comes out of idle, then the host,
/// then waiting.
TEST(FoldMicroSteps, PartsStayWithinTheIteration) {
  const auto ps = [](std::int64_t v) { return Duration::picoseconds(v); };
  Report shorter = micro_steps(2), longer = shorter;
  const auto fill = [&](Report& r, std::int64_t compute, std::int64_t waiting, std::int64_t host) {
    r.ranks = {RankTime{ps(compute), ps(0), ps(0), ps(0), ps(waiting), ps(host), ps(0)}};
    r.compute = ps(compute);
    r.comm = r.hidden_comm = r.exposed_comm = r.idle = ps(0);
    r.waiting = ps(waiting);
    r.host_bound = ps(host);
    r.iteration = ps(compute + waiting + host);
    r.busy = {};
  };
  fill(shorter, 100, 20, 50);
  fill(longer, 180, 25, 20);
  // 2 more: iteration 225 + 2 x 55 = 335, compute 340, waiting 35, host 20 - 60 -> 0: 40 too much, 35 from waiting and
  // 5 from compute
  const Report folded = fold_micro_steps(shorter, longer, 2, {});
  EXPECT_EQ(folded.iteration, ps(335));
  EXPECT_EQ(folded.ranks[0], (RankTime{ps(335), ps(0), ps(0), ps(0), ps(0), ps(0), ps(0)}));
  EXPECT_EQ(folded.compute, ps(335));
}

/// A stage of a pipeline may spend the rest of its time on the host or idle, now more of one, now of the other.
TEST(FoldMicroSteps, MeansAreThoseOfTheRanksWhateverWasClamped) {
  const auto ps = [](std::int64_t v) { return Duration::picoseconds(v); };
  Report shorter = micro_steps(2), longer = shorter;
  const auto fill = [&](Report& r, std::int64_t iteration, std::int64_t host_of_first, std::int64_t compute_of_second) {
    r.ranks = {RankTime{ps(60), ps(0), ps(0), ps(0), ps(0), ps(host_of_first), ps(iteration - 60 - host_of_first)},
               RankTime{ps(compute_of_second), ps(0), ps(0), ps(0), ps(0), ps(0), ps(iteration - compute_of_second)}};
    r.iteration = ps(iteration);
    r.busy = {};
  };
  fill(shorter, 100, 30, 50);
  fill(longer, 110, 10, 65);
  // 4 more: iteration 150. Host time of the first would be 10 - 80: of the 90 that are left it keeps the share 10 / 50.
  const Report folded = fold_micro_steps(shorter, longer, 4, {});
  EXPECT_EQ(folded.iteration, ps(150));
  EXPECT_EQ(folded.ranks[0].host_bound, ps(18));
  EXPECT_EQ(folded.ranks[0].idle, ps(72));
  EXPECT_EQ(folded.host_bound, ps(9)) << "the mean of 18 and 0";
  EXPECT_EQ(folded.compute, ps((60 + 125) / 2));
  EXPECT_EQ(folded.compute + folded.exposed_comm + folded.waiting + folded.host_bound + folded.idle, folded.iteration);
  EXPECT_EQ(folded.slowest_rank, 1u);
  EXPECT_EQ(folded.fastest_rank, 0u);
}

/// Ranks that are alike are one entry, also where those of the shorter play were not.
TEST(FoldMicroSteps, RanksMayBecomeAlike) {
  const auto ps = [](std::int64_t v) { return Duration::picoseconds(v); };
  const auto rank = [&](std::int64_t compute, std::int64_t idle) {
    return RankTime{ps(compute), ps(0), ps(0), ps(0), ps(0), ps(0), ps(idle)};
  };
  Report shorter = micro_steps(2), longer = shorter;
  shorter.iteration = ps(100), longer.iteration = ps(110);
  shorter.busy = longer.busy = {};
  shorter.ranks = {rank(60, 40), rank(70, 30)};
  longer.ranks = {rank(80, 30)};
  const Report folded = fold_micro_steps(shorter, longer, 1, {});
  ASSERT_EQ(folded.ranks.size(), 2u);
  EXPECT_EQ(folded.ranks[0].compute, ps(100));
  EXPECT_EQ(folded.ranks[1].compute, ps(90));
  EXPECT_EQ(folded.compute, ps(95));
}

/// Where compute falls and exposed communication rises by more than the iteration, exposed communication gives way.
TEST(FoldMicroSteps, NoPartIsNegative) {
  const auto ps = [](std::int64_t v) { return Duration::picoseconds(v); };
  Report shorter = micro_steps(2), longer = shorter;
  const auto fill = [&](Report& r, std::int64_t compute, std::int64_t exposed) {
    r.ranks = {RankTime{ps(compute), ps(exposed), ps(0), ps(exposed), ps(0), ps(0), ps(0)}};
    r.compute = ps(compute);
    r.comm = r.exposed_comm = ps(exposed);
    r.hidden_comm = r.idle = r.waiting = r.host_bound = ps(0);
    r.iteration = ps(compute + exposed);
    r.busy = {};
  };
  fill(shorter, 60, 50);
  fill(longer, 40, 80);
  // 3 more: iteration 120 + 3 x 10 = 150, compute 40 - 60 -> 0, exposed 80 + 90 = 170: 20 too much
  const Report folded = fold_micro_steps(shorter, longer, 3, {});
  EXPECT_EQ(folded.iteration, ps(150));
  EXPECT_EQ(folded.ranks[0], (RankTime{ps(0), ps(170), ps(0), ps(150), ps(0), ps(0), ps(0)}));
  EXPECT_EQ(folded.exposed_comm, ps(150));
}

}  // namespace
}  // namespace distsim::report
