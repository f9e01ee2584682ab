// What a measured curve may say, and about what: a launch floor is not a latency, a factor that was not determined does
// not travel, evidence of no weight leaves the analytic model alone, and one site's curve has the spread of sites.
#include <gtest/gtest.h>

#include <cmath>

#include "collective_fixture.hpp"
#include "collectives/curves/curve_library.hpp"
#include "collectives/curves/launch_floor.hpp"
#include "collectives/curves/spread.hpp"
#include "collectives/evidence.hpp"
#include "collectives/pricer.hpp"

namespace distsim::collectives {
namespace {

using graph::CollectiveKind;

/// A sweep of all_reduce on 16 ranks of two nodes: the model's times with factors, and what launching adds.
Curve sweep(const AnalyticModel& model, const Calibration& factors, double from_bytes, double floor_us) {
  Curve c;
  c.ranks = 16;
  c.nodes = 2;
  c.timed_by = floor_us > 0 ? TimedBy::pytorch : TimedBy::nccl_tests;
  const AnalyticModel truth = model.with(factors);
  for (double bytes = from_bytes; bytes < 1e10; bytes *= 2)
    c.points.push_back({bytes, floor_us + truth.time_us(bytes), 0, 0});
  return c;
}

struct EvidenceMachine {
  topology::Topology cluster = a100_cluster(64);
  topology::GroupFacts two = cluster.facts(first_ranks(16));
  AnalyticModel model{CollectiveKind::all_reduce, two, {}};
};

/// A log that the user names counts as his, whatever library ran it, unless he names one of NCCL as well.
TEST(Evidence, OtherSettingsAreHeldAgainstANamedCurveOnlyBesideABetterOne) {
  const EvidenceMachine m;
  const Curve plain = sweep(m.model, {1, 1.3, 0, 0}, 1024, 0);
  Curve mpi = plain;
  mpi.settings = "MPI";
  const auto trusts = [&](std::vector<LibraryCurve> library) {
    std::vector<double> out;
    for (const Evidence& e : evidence_for(CollectiveKind::all_reduce, m.two, m.model, {}, library, shipped_constants()))
      out.push_back(e.trust);
    return out;
  };
  const LibraryCurve named{plain, m.two, Origin::user, "nccl"}, named_mpi{mpi, m.two, Origin::user, "mpi"},
      own{plain, m.two, Origin::own_system, "own"}, own_mpi{mpi, m.two, Origin::own_system, "own"};
  EXPECT_EQ(trusts({named_mpi, own}), trusts({named, own}));
  const std::vector<double> both = trusts({named, named_mpi});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_DOUBLE_EQ(both[1], 0.1 * both[0]);
  EXPECT_LT(trusts({own_mpi})[0], trusts({own})[0]);
}

TEST(LaunchFloor, IsFoundInTheFlatPartAndIsNoLatency) {
  const EvidenceMachine m;
  const Curve timed = sweep(m.model, {1, 1.3, 0, 0}, 32768, 300);
  const LaunchFloor floor = launch_floor_of(timed, m.model);
  EXPECT_NEAR(floor.us, 300, 30);
  const Curve c = curve_without_launch(timed, m.two);
  ASSERT_GE(c.points.size(), 8u);
  EXPECT_GT(c.points.front().bytes, 1e6) << "where the floor is most of the time nothing is left but noise";
  for (const CurvePoint& p : c.points) {
    EXPECT_NEAR(p.time_us / m.model.with({1, 1.3, 0, 0}).time_us(p.bytes), 1, 0.1) << p.bytes;
    EXPECT_LT(p.low_us, p.time_us);
    EXPECT_GT(p.high_us, p.time_us);
  }
  const Calibration found = calibration_of(c, m.two);
  EXPECT_EQ(found.latency, 1);
  EXPECT_EQ(found.latency_known, 0);
  EXPECT_NEAR(found.bandwidth, 1.3, 0.1);
}

TEST(LaunchFloor, OfTheSourceIsTakenAsItIsAndOfNcclTestsThereIsNone) {
  const EvidenceMachine m;
  Curve c = sweep(m.model, {1, 1, 0, 0}, 32768, 300);
  c.launch_floor_us = 250;
  EXPECT_EQ(launch_floor_of(c, m.model).us, 250);
  EXPECT_EQ(launch_floor_of(sweep(m.model, {3, 1, 0, 0}, 8, 0), m.model).us, 0);
}

TEST(LaunchFloor, IsKeptInACurveFileAndChecked) {
  const std::string head = "version: 1 system: \"x\" curves { kind: \"all_reduce\" ranks: 16 nodes: 2 ";
  const std::string tail = "points { bytes: 8 time_us: 40 } }";
  const auto set = parse_curve_text(head + "timed_by: \"pytorch\" launch_floor_us: 30 " + tail, "f");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].timed_by, TimedBy::pytorch);
  const auto again = parse_curve_text(curve_text(*set), "f");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->curves[0].timed_by, TimedBy::pytorch);
  EXPECT_EQ(again->curves[0].launch_floor_us, 30);
  EXPECT_EQ(parse_curve_text(head + tail, "f")->curves[0].timed_by, TimedBy::nccl_tests) << "an older file";
  EXPECT_FALSE(parse_curve_text(head + "timed_by: \"a watch\" " + tail, "f").ok());
  EXPECT_FALSE(parse_curve_text(head + "timed_by: \"pytorch\" launch_floor_us: -1 " + tail, "f").ok());
  EXPECT_FALSE(parse_curve_text(head + "timed_by: \"pytorch\" launch_floor_us: nan " + tail, "f").ok());
  EXPECT_FALSE(parse_curve_text(head + "launch_floor_us: 30 " + tail, "f").ok()) << "no floor in nccl-tests";
}

/// Two curves of dgx_b200 that were timed through PyTorch made "latency x3.45" of their dispatch, for every collective.
TEST(LaunchFloor, OfAKnownCurveDoesNotReachOtherCollectivesAndGroups) {
  const EvidenceMachine m;
  const Curve timed = sweep(m.model, {1, 1, 0, 0}, 32768, 360);
  const Curve c = curve_without_launch(timed, m.two);
  const LibraryCurve known{c, m.two, Origin::own_system, "through PyTorch", {}};
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::all_gather}) {
    for (const std::uint32_t nodes : {4u, 32u}) {
      const topology::GroupFacts facts = m.cluster.facts(first_ranks(8 * nodes));
      const AnalyticModel plain(kind, facts, {});
      const Pricer pricer(kind, facts, {}, {known});
      for (const double bytes : {8.0, 65536.0, 1048576.0})
        EXPECT_NEAR(pricer.price(bytes)->mean.us() / plain.time_us(bytes), 1, 0.1)
            << graph::name_of(kind) << " " << nodes << " " << bytes;
    }
  }
}

/// One site's curve through PyTorch, slower than the model at every size by more than its dispatch, is no word on larger
/// groups but that they are not faster than the one that was timed; a sweep of nccl-tests with the same times is.
TEST(LaunchFloor, ASlowCurveThroughPyTorchYieldsToTheModelElsewhere) {
  const EvidenceMachine m;
  const Curve timed = curve_without_launch(sweep(m.model, {1, 1.6, 0, 0}, 32768, 320), m.two);
  Curve swept = timed;
  swept.timed_by = TimedBy::nccl_tests;
  swept.launch_floor_us = 0;
  const topology::GroupFacts many = m.cluster.facts(first_ranks(256));
  const AnalyticModel plain(CollectiveKind::all_reduce, many, {});
  const auto us = [&](const Curve& c, const topology::GroupFacts& facts, double bytes) {
    const LibraryCurve known{c, m.two, Origin::own_system, "x", {}};
    return Pricer(CollectiveKind::all_reduce, facts, {}, {known}).price(bytes)->mean.us();
  };
  for (const double bytes : {1048576.0, 67108864.0, 1073741824.0}) {
    const double least = std::max(plain.time_us(bytes), us(timed, m.two, bytes));
    EXPECT_LT(us(timed, many, bytes), 1.1 * least) << bytes;
    EXPECT_LE(us(timed, many, bytes), us(swept, many, bytes)) << bytes;
  }
  EXPECT_GT(us(swept, many, 67108864), 1.2 * us(timed, many, 67108864));
}

/// Below the sizes that are left of such a curve nothing was seen of the collective: the model has the word there, and
/// next to them the two meet without a jump.
TEST(LaunchFloor, HidesTheCollectiveBelowWhatIsLeftOfTheCurve) {
  const EvidenceMachine m;
  const Curve timed = curve_without_launch(sweep(m.model, {1, 1.6, 0, 0}, 32768, 320), m.two);
  const Pricer pricer(CollectiveKind::all_reduce, m.two, {}, {{timed, m.two, Origin::own_system, "x", {}}});
  const double first = timed.points.front().bytes;
  EXPECT_EQ(pricer.price(first / 8)->basis, graph::Basis::analytic);
  EXPECT_NEAR(pricer.price(first / 8)->mean.us() / m.model.time_us(first / 8), 1, 0.05);
  EXPECT_LT(pricer.price(first)->mean.us() / pricer.price(first * 0.99)->mean.us(), 1.1);
}

TEST(Factors, TravelAsFarAsTheyWereDetermined) {
  const EvidenceMachine m;
  const Calibration all_sizes = calibration_of(sweep(m.model, {2, 1.5, 0, 0}, 8, 0), m.two);
  EXPECT_GT(all_sizes.latency_known, 0.9);
  EXPECT_GT(all_sizes.bandwidth_known, 0.9);
  Curve large = sweep(m.model, {1, 1, 0, 0}, 16777216, 0);
  for (CurvePoint& p : large.points) p.time_us += 400;  // of whatever kind it was: large sizes cannot tell
  const Calibration some = calibration_of(large, m.two);
  EXPECT_LT(some.latency_known, 0.75);
  EXPECT_LT(carried(some).latency, some.latency);
  EXPECT_GE(carried(some).latency, 1);
}

TEST(AnalyticVoice, KeepsItsNameAndItsRangeAgainstEvidenceOfNoWeight) {
  const EvidenceMachine m;
  const LibraryCurve far{sweep(m.model, {2, 2, 0, 0}, 8, 0), m.two, Origin::own_system, "far", {}};
  const topology::GroupFacts many = m.cluster.facts(first_ranks(512));
  const AnalyticModel plain(CollectiveKind::all_to_all, many, {});
  const Pricer pricer(CollectiveKind::all_to_all, many, {}, {far});
  for (const double bytes : {8.0, 1048576.0, 1073741824.0}) {
    const graph::Cost c = *pricer.price(bytes);
    EXPECT_EQ(c.basis, graph::Basis::analytic) << bytes;
    EXPECT_NEAR(c.mean.us() / plain.time_us(bytes), 1, 0.1) << bytes;
    const RelativeSpread own = analytic_spread(false, bytes);
    EXPECT_GE(c.high.us() / c.low.us(), 0.9 * (1 + own.high) / (1 - own.low)) << bytes;
  }
}

TEST(AnalyticVoice, IsSilentAtMeasuredSizes) {
  const EvidenceMachine m;
  const Curve c = sweep(m.model, {3, 3, 0, 0}, 1024, 0);
  const Pricer pricer(CollectiveKind::all_reduce, m.two, {}, {{c, m.two, Origin::own_system, "own", {}}});
  for (const CurvePoint& p : c.points) {
    EXPECT_EQ(pricer.price(p.bytes)->basis, graph::Basis::measured);
    EXPECT_NEAR(pricer.price(p.bytes)->mean.us(), p.time_us, 1e-5 * p.time_us);
  }
}

TEST(AnalyticVoice, FarOutsideOfACurveTheRangeIsThatOfTheModel) {
  const EvidenceMachine m;
  const Curve c = sweep(m.model, {1, 1, 0, 0}, 268435456, 0);
  const Pricer pricer(CollectiveKind::all_reduce, m.two, {}, {{c, m.two, Origin::own_system, "large", {}}});
  const RelativeSpread own = analytic_spread(false, 8);
  const graph::Cost small = *pricer.price(8);
  EXPECT_GE(small.high.us() / small.low.us(), 0.95 * (1 + own.high) / (1 - own.low));
}

TEST(Sites, OneSitesCurveHasTheSpreadThatSitesShow) {
  const topology::Topology t = a100_cluster(1);
  const topology::GroupFacts node = t.facts(first_ranks(8));
  const AnalyticModel model(CollectiveKind::all_reduce, node, {});
  Curve c = sweep(model, {1, 1, 0, 0}, 8, 0);
  c.ranks = 8;
  c.nodes = 1;
  const auto width = [&](Origin origin, double bytes) {
    const graph::Cost cost = *Pricer(CollectiveKind::all_reduce, node, {}, {{c, node, origin, "x", {}}}).price(bytes);
    EXPECT_EQ(cost.basis, graph::Basis::measured);
    return cost.high.us() / cost.low.us();
  };
  EXPECT_GE(width(Origin::own_system, 1 << 20), 1.6) << "five sites of 8 x A100 differ by up to 1.8 at 1 MiB";
  EXPECT_LT(width(Origin::own_system, 1 << 30), 1.4);
  EXPECT_LT(width(Origin::user, 1 << 20), 1.15) << "the user's own log is of the user's own site";
}

}  // namespace
}  // namespace distsim::collectives
