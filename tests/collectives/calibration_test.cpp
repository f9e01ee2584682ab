// A system's pair of factors, how curves are carried by them, the curve between points, and the file of constants.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.hpp"
#include "collective_fixture.hpp"
#include "collectives/curves/monotone_cubic.hpp"
#include "collectives/evidence.hpp"
#include "collectives/pricer.hpp"

namespace distsim::collectives {
namespace {

/// A sweep of the model itself with latencies and bytes made dearer.
Curve made_of(const AnalyticModel& model, double latency, double bandwidth) {
  const AnalyticModel truth = model.with({latency, bandwidth, 1, 0});
  Curve c;
  c.ranks = 16;
  c.nodes = 2;
  for (double bytes = 8; bytes < 1e10; bytes *= 2) c.points.push_back({bytes, truth.time_us(bytes), 0, 0});
  return c;
}

TEST(Calibration, FindsTheFactorsThatMadeASweep) {
  const topology::Topology t = a100_cluster(2);
  const AnalyticModel model(graph::CollectiveKind::all_reduce, t.facts(first_ranks(16)), {});
  for (auto [latency, bandwidth] : {std::pair{1.0, 1.0}, {1.5, 1.0}, {1.0, 1.6}, {0.7, 2.0}, {2.0, 0.8}}) {
    const Curve c = made_of(model, latency, bandwidth);
    const Calibration found = calibrate(model.candidates(), model.launch_us(), c.points);
    EXPECT_NEAR(found.latency, latency, 0.04 * latency) << latency << " " << bandwidth;
    EXPECT_NEAR(found.bandwidth, bandwidth, 0.04 * bandwidth) << latency << " " << bandwidth;
    EXPECT_LT(found.spread, 0.03);
  }
}

TEST(Calibration, OnePointMovesWhatItIsMadeOf) {
  // 1 GiB is all bytes: twice the model's time there says nothing about latency.
  const topology::Topology t = a100_cluster(2);
  const AnalyticModel model(graph::CollectiveKind::all_reduce, t.facts(first_ranks(16)), {});
  const std::vector<CurvePoint> one{{1 << 30, 2 * model.time_us(1 << 30), 0, 0}};
  const Calibration found = calibrate(model.candidates(), model.launch_us(), one);
  EXPECT_NEAR(found.latency, 1, 0.05);
  EXPECT_GT(found.bandwidth, 1.3);
  EXPECT_LE(found.bandwidth, 2.0);
}

TEST(Carry, FactorsGoToMoreNodesAndToOtherCollectives) {
  const topology::Topology t = a100_cluster(8);
  const topology::GroupFacts two = t.facts(first_ranks(16)), eight = t.facts(first_ranks(64));
  const AnalyticModel model(graph::CollectiveKind::all_reduce, two, {});
  const LibraryCurve known{made_of(model, 1.3, 1.6), two, Origin::user, "two nodes", {}};
  for (graph::CollectiveKind kind : {graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_gather,
                                     graph::CollectiveKind::reduce_scatter, graph::CollectiveKind::all_to_all}) {
    const AnalyticModel plain(kind, eight, {});
    const Pricer pricer(kind, eight, {}, {known});
    const graph::Cost large = *pricer.price(1LL << 33), small = *pricer.price(8);
    EXPECT_NEAR(large.mean.us() / plain.time_us(1LL << 33), 1.6, 0.1) << graph::name_of(kind);
    EXPECT_NEAR(small.mean.us() / plain.time_us(8), 1.3, 0.1) << graph::name_of(kind);
    EXPECT_EQ(large.basis, graph::Basis::scaled) << graph::name_of(kind);
    EXPECT_LT(large.low, large.mean);
  }
  // Gathers go through one root's links: nothing is carried. Nor into one node, whose NVLinks the sweep has not met.
  EXPECT_EQ(Pricer(graph::CollectiveKind::gather, eight, {}, {known}).price(1 << 20)->basis, graph::Basis::analytic);
  EXPECT_EQ(Pricer(graph::CollectiveKind::all_reduce, t.facts(first_ranks(8)), {}, {known}).price(1 << 20)->basis,
            graph::Basis::analytic);
}

/// Times that are longer by one factor at every size: how far the sizes determine the factors is not less for it.
TEST(Carry, OneFactorAtEverySizeMakesNothingCheaper) {
  const topology::Topology t = a100_cluster(8);
  const topology::GroupFacts two = t.facts(first_ranks(16)), five = t.facts(first_ranks(40));
  for (graph::CollectiveKind kind :
       {graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_gather, graph::CollectiveKind::reduce_scatter}) {
    const AnalyticModel model(kind, two, {});
    for (const double bytes : {8.0, 65536.0, 1048576.0, 67108864.0, 8589934592.0}) {
      double before = 0;
      for (const double factor : {0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 1.8, 2.2}) {
        Curve few;
        few.kind = kind;
        few.ranks = 16;
        few.nodes = 2;
        for (double b = 131072; b <= 8388608; b *= 4) few.points.push_back({b, factor * model.time_us(b), 0, 0});
        const double us = Pricer(kind, five, {}, {{few, two, Origin::user, "x", {}}}).price(bytes)->mean.us();
        EXPECT_GE(us, before) << graph::name_of(kind) << " of " << bytes << ", factor " << factor;
        before = us;
      }
    }
  }
}

TEST(Carry, ASiblingIsNeverCalledMeasured) {
  const topology::Topology t = a100_cluster(2);
  const topology::GroupFacts two = t.facts(first_ranks(16));
  const AnalyticModel model(graph::CollectiveKind::all_reduce, two, {});
  const Curve c = made_of(model, 1, 1.2);
  for (Origin origin : {Origin::own_system, Origin::sibling_system}) {
    const Pricer pricer(graph::CollectiveKind::all_reduce, two, {}, {{c, two, origin, "x", {}}});
    EXPECT_EQ(pricer.price(c.points[10].bytes)->basis,
              origin == Origin::own_system ? graph::Basis::measured : graph::Basis::scaled);
    EXPECT_NEAR(pricer.price(c.points[10].bytes)->mean.us(), c.points[10].time_us, 0.01);
  }
}

TEST(Carry, DisagreementWidensTheRange) {
  const topology::Topology t = a100_cluster(2);
  const topology::GroupFacts two = t.facts(first_ranks(16));
  const AnalyticModel model(graph::CollectiveKind::all_reduce, two, {});
  const LibraryCurve a{made_of(model, 1, 1), two, Origin::user, "a", {}},  // his own: no other site's spread
      b{made_of(model, 1.4, 1.4), two, Origin::user, "b", {}};
  const auto width = [](const graph::Cost& c) { return c.high.us() / c.low.us(); };
  const double bytes = 1 << 20;
  EXPECT_GT(width(*Pricer(graph::CollectiveKind::all_reduce, two, {}, {a, b}).price(bytes)),
            1.2 * width(*Pricer(graph::CollectiveKind::all_reduce, two, {}, {a}).price(bytes)));
}

TEST(Carry, TheRangeOfAPointCounts) {
  const topology::Topology t = a100_cluster(2);
  const topology::GroupFacts two = t.facts(first_ranks(16));
  const AnalyticModel model(graph::CollectiveKind::all_reduce, two, {});
  Curve noisy = made_of(model, 1, 1);
  for (CurvePoint& p : noisy.points) {
    p.low_us = 0.6 * p.time_us;
    p.high_us = 1.5 * p.time_us;
  }
  const graph::Cost c =
      *Pricer(graph::CollectiveKind::all_reduce, two, {}, {{noisy, two, Origin::user, "noisy", {}}}).price(1 << 20);
  EXPECT_LT(c.low.us(), 0.68 * c.mean.us());
  EXPECT_GT(c.high.us(), 1.4 * c.mean.us());
}

TEST(MonotoneCubic, PassesThroughItsPointsAndNeverOvershoots) {
  const std::vector<double> x{0, 1, 2, 4, 5}, y{0, 0, 3, 3.1, 9};
  const MonotoneCubic curve(x, y);
  for (std::size_t i = 1; i < x.size(); ++i) {
    EXPECT_NEAR(curve.at(x[i - 1], i), y[i - 1], 1e-12);
    EXPECT_NEAR(curve.at(x[i], i), y[i], 1e-12);
    double previous = y[i - 1];
    for (double t = x[i - 1]; t <= x[i]; t += 0.01) {
      EXPECT_GE(curve.at(t, i), previous - 1e-12);
      previous = curve.at(t, i);
    }
  }
  // A straight line stays one.
  const std::vector<double> line{0, 2, 4, 8, 10};
  EXPECT_NEAR(MonotoneCubic(x, line).at(3, 3), 6, 1e-12);
}

TEST(Constants, TheFileIsReadWholeAndReplacedInPart) {
  const auto text = read_file(test::config("collectives/nccl.yaml"), 1 << 20);
  ASSERT_TRUE(text.ok());
  ASSERT_TRUE(read_constants(*text, "nccl.yaml", ModelConstants{}, true).ok());
  const auto part = read_constants("version: 1\nexchange_net_share: 0.5\nnccl_ring_base: [1, 2, 3]\n", "mine.yaml",
                                   shipped_constants(), false);
  ASSERT_TRUE(part.ok()) << part.error().text();
  EXPECT_EQ(part->exchange_net_share, 0.5);
  EXPECT_EQ(part->nccl.ring_base[2], 3);
  EXPECT_EQ(part->nccl.tree_base, shipped_constants().nccl.tree_base);
  const auto refuse = [](const char* bad, const char* why) {
    const auto r = read_constants(bad, "mine.yaml", shipped_constants(), false);
    ASSERT_FALSE(r.ok()) << bad;
    EXPECT_NE(r.error().text().find(why), std::string::npos) << r.error().text();
  };
  refuse("version: 2\n", "mine.yaml:1:10: version: found '2', expected 1");
  refuse("version: 1\nsharp_shar: 1\n", "sharp_share");
  refuse("version: 1\nnccl_ring_base: [1, 2]\n", "nccl_ring_base: found 2 numbers, expected 3");
  refuse("version: 1\nsend_share: -1\n", "mine.yaml:2:13: send_share: found '-1'");
  refuse("version: 1\nexchange_net_share: 0\n",
         "mine.yaml:2:21: exchange_net_share: found 0.000000, expected at least 0.001");
  refuse("version: 1\nfill_gbps: [0.165, 0, 0.75]\n", "fill_gbps: found 0.000000");
  refuse("version: 1\nsend_share: nan\n", "expected a number from 0 to 1e6");
}

TEST(Constants, AFileOfTheUserChangesPrices) {
  const topology::Topology t = a100_cluster(4);
  CollectiveOptions options;
  options.constants = file_with("mine.yaml", "version: 1\nexchange_net_share: 0.39\n");
  const auto op = op_of(graph::CollectiveKind::all_to_all, 1LL << 33);
  const auto facts = t.facts(first_ranks(32));
  const double half = models_of(t, options).price(op, facts)->mean.us(),
               whole = models_of(t).price(op, facts)->mean.us();
  EXPECT_NEAR(half / whole, shipped_constants().exchange_net_share / 0.39, 0.02);
  options.constants = "/nonexistent.yaml";
  EXPECT_FALSE(CollectiveModels::create(t, options).ok());
}

}  // namespace
}  // namespace distsim::collectives
