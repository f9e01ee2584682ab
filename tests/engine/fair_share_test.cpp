// Max-min shares: systems with known answers, and the defining property on random ones.
#include "sim/engine/events/fair_share.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace distsim::engine {
namespace {

constexpr double kFree = std::numeric_limits<double>::infinity();
using Uses = std::vector<FairShareProblem::Use>;

std::vector<double> rates(const FairShareProblem& p) {
  const auto valid = validate(p);
  EXPECT_TRUE(valid.ok()) << (valid.ok() ? "" : valid.error().text());
  return max_min_rates(p);
}

TEST(FairShare, Dumbbell) {
  // Two senders with access links of 10, a bottleneck of 8 between them and two receivers with links of 10: 4 each.
  FairShareProblem p{{10, 10, 8, 10, 10}};
  p.add_flow(kFree, {{0}, {2}, {3}});
  p.add_flow(kFree, {{1}, {2}, {4}});
  EXPECT_EQ(rates(p), (std::vector<double>{4, 4}));
}

TEST(FairShare, DumbbellWithASlowAccessLink) {
  // The first sender's link gives 1; the second takes the 7 that are left of the bottleneck.
  FairShareProblem p{{1, 10, 8}};
  p.add_flow(kFree, {{0}, {2}});
  p.add_flow(kFree, {{1}, {2}});
  EXPECT_EQ(rates(p), (std::vector<double>{1, 7}));
}

TEST(FairShare, Star) {
  // n hosts with links of 1 in each direction around a switch without limits, every ordered pair a flow: each 1 / (n -
  // 1).
  constexpr std::uint32_t n = 9;
  FairShareProblem p{std::vector<double>(2 * n, 1.0)};
  for (std::uint32_t from = 0; from < n; ++from) {
    for (std::uint32_t to = 0; to < n; ++to) {
      if (from != to) p.add_flow(kFree, {{from}, {n + to}});
    }
  }
  for (const double rate : rates(p)) EXPECT_NEAR(rate, 1.0 / (n - 1), 1e-12);
}

TEST(FairShare, Incast) {
  // Five senders to one receiver with a link of 10; a sixth flow leaves the first sender, whose link of 10 has 8 left
  // for it.
  FairShareProblem p{{10, 10, 10, 10, 10, 10}};
  for (std::uint32_t sender = 0; sender < 5; ++sender) p.add_flow(kFree, {{sender}, {5}});
  p.add_flow(kFree, {{0}});
  EXPECT_EQ(rates(p), (std::vector<double>{2, 2, 2, 2, 2, 8}));
}

TEST(FairShare, ParkingLot) {
  // One flow over k links of 1, and on each link one local flow: all get 1/2.  With two locals on the last link: the
  // long one and they get 1/3, the other locals 2/3.
  constexpr std::uint32_t k = 4;
  FairShareProblem p{std::vector<double>(k, 1.0)};
  p.add_flow(kFree, {{0}, {1}, {2}, {3}});
  for (std::uint32_t link = 0; link < k; ++link) p.add_flow(kFree, {{link}});
  EXPECT_EQ(rates(p), (std::vector<double>(k + 1, 0.5)));
  p.add_flow(kFree, {{k - 1}});
  const std::vector<double> expected = {1 / 3., 2 / 3., 2 / 3., 2 / 3., 1 / 3., 1 / 3.};
  const auto found = rates(p);
  for (std::size_t f = 0; f < expected.size(); ++f) EXPECT_NEAR(found[f], expected[f], 1e-15);
}

TEST(FairShare, FatTreeWithUniformAllToAll) {
  // L leaves with h hosts of bandwidth 1, uplinks and downlinks of capacity u a leaf (h/u to 1 oversubscribed). Of a
  // host's n - 1 flows, n - h cross the tree. A leaf's uplink carries h (n - h) flows, so that these get min(1/(n-1), u
  // / (h (n-h))); those inside a leaf share what is left of the hosts' links: (1 - (n-h) cross) / (h-1).
  constexpr std::uint32_t leaves = 4, h = 4, n = leaves * h;
  for (const double u : {4.0, 2.0, 1.0}) {
    FairShareProblem p;
    p.capacities.assign(2 * n, 1.0);
    p.capacities.insert(p.capacities.end(), 2 * leaves, u);
    std::vector<bool> crosses;
    for (std::uint32_t from = 0; from < n; ++from) {
      for (std::uint32_t to = 0; to < n; ++to) {
        if (from == to) continue;
        Uses uses = {{from}, {n + to}};
        if (from / h != to / h) uses.insert(uses.end(), {{2 * n + from / h}, {2 * n + leaves + to / h}});
        p.add_flow(kFree, uses);
        crosses.push_back(from / h != to / h);
      }
    }
    const double cross = std::min(1.0 / (n - 1), u / (h * (n - h)));
    const double local = (1 - (n - h) * cross) / (h - 1);
    const auto found = rates(p);
    for (std::size_t f = 0; f < found.size(); ++f) ASSERT_NEAR(found[f], crosses[f] ? cross : local, 1e-12) << u;
  }
}

TEST(FairShare, RingOnATorusOfOneDimension) {
  // Neighbour exchange uses each of n links once, each at its full capacity; a hop of two links shares each link with
  // one other: half.
  constexpr std::uint32_t n = 6;
  for (const std::uint32_t hops : {1u, 2u}) {
    FairShareProblem p{std::vector<double>(n, 3.0)};
    for (std::uint32_t from = 0; from < n; ++from) {
      Uses uses;
      for (std::uint32_t i = 0; i < hops; ++i) uses.push_back({(from + i) % n});
      p.add_flow(kFree, uses);
    }
    EXPECT_EQ(rates(p), (std::vector<double>(n, 3.0 / hops)));
  }
}

TEST(FairShare, BoundsLeaveTheRestToOthers) {
  FairShareProblem p{{10}};
  p.add_flow(1, {{0}});
  p.add_flow(kFree, {{0}});
  p.add_flow(kFree, {{0}});
  p.add_flow(5, {});
  EXPECT_EQ(rates(p), (std::vector<double>{1, 4.5, 4.5, 5}));
}

TEST(FairShare, CoefficientsWeighTheUse) {
  // A flow that uses a resource twice as hard takes twice as much of it at the same rate: x + 2 x = 9.
  FairShareProblem p{{9}};
  p.add_flow(kFree, {{0, 1}});
  p.add_flow(kFree, {{0, 2}});
  EXPECT_EQ(rates(p), (std::vector<double>{3, 3}));
}

TEST(FairShare, VeryUnequalCoefficientsKeepTheirDigits) {
  // The heavy flow is held at 1e-20 elsewhere and takes 1 of the 3; the light one gets the other 2.
  FairShareProblem p{{3}};
  p.add_flow(1e-20, {{0, 1e20}});
  p.add_flow(kFree, {{0, 1}});
  EXPECT_EQ(rates(p), (std::vector<double>{1e-20, 2}));
}

TEST(FairShare, NoFlowsNoRates) { EXPECT_TRUE(rates(FairShareProblem{{1, 2}}).empty()); }

FairShareProblem random_problem(Random& random) {
  FairShareProblem p;
  const std::uint64_t resources = 1 + random.below(12), flows = 1 + random.below(20);
  for (std::uint64_t l = 0; l < resources; ++l) p.capacities.push_back(static_cast<double>(1 + random.below(8)));
  for (std::uint64_t f = 0; f < flows; ++f) {
    Uses uses;
    for (std::uint32_t l = 0; l < resources; ++l) {
      if (random.below(3) == 0) uses.push_back({l, random.below(2) == 0 ? 1.0 : 0.25 + random.uniform()});
    }
    p.add_flow(uses.empty() || random.below(3) == 0 ? 0.1 + random.uniform() * 2 : kFree, uses);
  }
  return p;
}

TEST(FairShare, EveryFlowHasItsBoundOrABottleneck) {
  Random random(31);
  for (int i = 0; i < 5'000; ++i) {
    const FairShareProblem p = random_problem(random);
    const auto x = rates(p);
    std::vector<double> used(p.capacities.size(), 0), fastest(p.capacities.size(), 0);
    const auto for_uses = [&](auto visit) {
      for (std::size_t f = 0; f < x.size(); ++f) {
        for (std::uint32_t u = p.use_offsets[f]; u < p.use_offsets[f + 1]; ++u) visit(f, p.uses[u]);
      }
    };
    for_uses([&](std::size_t f, auto use) {
      used[use.resource] += use.coefficient * x[f];
      fastest[use.resource] = std::max(fastest[use.resource], x[f]);
    });
    std::vector<bool> held(x.size());
    for (std::size_t l = 0; l < used.size(); ++l) ASSERT_LE(used[l], p.capacities[l] * (1 + 1e-12)) << "problem " << i;
    for (std::size_t f = 0; f < x.size(); ++f) held[f] = x[f] == p.bounds[f];
    for_uses([&](std::size_t f, auto use) {
      const bool full = used[use.resource] >= p.capacities[use.resource] * (1 - 1e-9);
      if (full && x[f] >= fastest[use.resource] * (1 - 1e-9)) held[f] = true;
    });
    for (std::size_t f = 0; f < x.size(); ++f)
      ASSERT_TRUE(held[f]) << "flow " << f << " of problem " << i << " could be faster";
  }
}

TEST(FairShare, RefusesWhatHasNoAnswer) {
  const auto refused = [](FairShareProblem p, const std::string& message) {
    const auto result = validate(p);
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_NE(result.error().text().find(message), std::string::npos) << result.error().text();
  };
  const auto with_flow = [](double capacity, double bound, Uses uses) {
    FairShareProblem p{{capacity}};
    p.add_flow(bound, uses);
    return p;
  };
  refused(with_flow(0, 1, {}), "capacity of resource 0");
  refused(with_flow(NAN, 1, {}), "capacity of resource 0");
  refused(with_flow(kFree, 1, {}), "capacity of resource 0");
  refused(with_flow(1, 0, {{0}}), "flow 0.bound");
  refused(with_flow(1, NAN, {{0}}), "flow 0.bound");
  refused(with_flow(1, kFree, {}), "flow 0.bound");
  refused(with_flow(1, 1, {{1}}), "flow 0.resource");
  refused(with_flow(1, 1, {{0}, {0}}), "each resource once");
  refused(with_flow(1, 1, {{0, -1}}), "flow 0.coefficient");
  refused(with_flow(1, 1, {{0, 1}, {0, -1}}), "flow 0.coefficient");
  FairShareProblem last_flow{{1, 1}};
  last_flow.add_flow(1, {{0}});
  last_flow.add_flow(0, {{1}});
  refused(last_flow, "flow 1.bound");
  FairShareProblem last_resource{{1, 0}};
  last_resource.add_flow(1, {{0}});
  refused(last_resource, "capacity of resource 1");
}

}  // namespace
}  // namespace distsim::engine
