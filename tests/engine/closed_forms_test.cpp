// Networks whose times under fair sharing are known in closed form. Times in picoseconds, rates in units of a link;
// speeds are kept to 2^-36, so ends are exact to about 1e-10.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/engine/events/contended_evaluator.hpp"

namespace distsim::engine {
namespace {

using Demand = Contention::Demand;
constexpr std::int64_t kWork = 1'000'000;

/// Flows that start at once, each alone on its stream and rank; `work` is the time at full rate 1.
struct Network {
  IrregularProgram p{0, 1};
  Contention c;
  explicit Network(std::vector<double> capacities) { c.capacities = std::move(capacities); }
  StepId flow(std::vector<std::uint32_t> links, std::int64_t work = kWork, double rate = 1) {
    std::vector<Demand> demands;
    for (const std::uint32_t link : links) demands.push_back({link, rate});
    c.add(demands);
    return p.add({RankId(p.ranks++), StreamId(0), work});
  }
  IrregularTimeline play() const {
    auto t = evaluate_contended(p, c);
    EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().text());
    return *t;
  }
};

void expect_ends(const IrregularTimeline& t, StepId flow, double expected) {
  EXPECT_NEAR(static_cast<double>(t.steps[flow].end), expected, expected * 1e-9 + 2) << "flow " << flow.value();
}

TEST(ClosedForms, Dumbbell) {
  // n pairs over one middle link of capacity 1, own links of capacity 1 at both ends: 1/n each, all end at n.
  for (const std::uint32_t n : {1u, 2u, 5u, 40u}) {
    Network net(std::vector<double>(2 * n + 1, 1.0));
    for (std::uint32_t i = 0; i < n; ++i) net.flow({i, 2 * n, n + i});
    const auto t = net.play();
    for (std::uint32_t i = 0; i < n; ++i) expect_ends(t, StepId(i), double(kWork) * n);
  }
}

TEST(ClosedForms, DumbbellWithLocalTraffic) {
  // Two flows cross the middle (1/2 each); a third uses the first sender's link alone and gets the other half of it.
  // All end at 2.
  Network net({1, 1, 1});
  const StepId a = net.flow({0, 2}), b = net.flow({1, 2}), local = net.flow({0});
  const auto t = net.play();
  for (const StepId f : {a, b, local}) expect_ends(t, f, 2.0 * kWork);
}

TEST(ClosedForms, ParkingLot) {
  // k links in a row; one flow over all of them, one flow on each: 1/2 each everywhere. All end at 2.
  constexpr std::uint32_t kLinks = 7;
  Network net(std::vector<double>(kLinks, 1.0));
  std::vector<std::uint32_t> all;
  for (std::uint32_t l = 0; l < kLinks; ++l) all.push_back(l);
  net.flow(all);
  for (std::uint32_t l = 0; l < kLinks; ++l) net.flow({l});
  const auto t = net.play();
  for (std::uint32_t f = 0; f <= kLinks; ++f) expect_ends(t, StepId(f), 2.0 * kWork);
}

TEST(ClosedForms, StarWithUnequalFans) {
  // A switch with up and down links. Host 0 sends to 1, 2, 3 (1/3 each on its uplink); host 4 also sends to 1: on 1's
  // downlink 1/3 + 2/3. Host 4's flow ends at 1.5; the others were never held by 1's downlink: they end at 3.
  constexpr std::uint32_t kHosts = 5;
  Network net(std::vector<double>(2 * kHosts, 1.0));
  const auto flow = [&](std::uint32_t from, std::uint32_t to) { return net.flow({from, kHosts + to}); };
  const StepId to1 = flow(0, 1), to2 = flow(0, 2), to3 = flow(0, 3), greedy = flow(4, 1);
  const auto t = net.play();
  expect_ends(t, greedy, 1.5 * kWork);
  for (const StepId f : {to1, to2, to3}) expect_ends(t, f, 3.0 * kWork);
}

TEST(ClosedForms, Incast) {
  for (const std::uint32_t n : {2u, 7u, 63u}) {
    Network net(std::vector<double>(n + 1, 1.0));
    for (std::uint32_t i = 0; i < n; ++i) net.flow({i, n});
    const auto t = net.play();
    for (std::uint32_t i = 0; i < n; ++i) expect_ends(t, StepId(i), double(kWork) * n);
  }
}

TEST(ClosedForms, FatTreeUniformAllToAll) {
  // `leaves` x `hosts`, uplinks oversubscribed by o: each leaf sends hosts^2 (leaves - 1) messages up through hosts /
  // o, each host sends N - 1 through 1. Messages of other leaves end at o hosts (leaves - 1); those of the own leaf
  // when their host's link has carried all: at the latest with them.
  constexpr std::uint32_t kLeaves = 4, kHosts = 4, kAll = kLeaves * kHosts;
  for (const double o : {1.0, 2.0, 4.0}) {
    std::vector<double> capacities(2 * kAll, 1.0);
    capacities.insert(capacities.end(), 2 * kLeaves, kHosts / o);
    Network net(capacities);
    for (std::uint32_t from = 0; from < kAll; ++from) {
      for (std::uint32_t to = 0; to < kAll; ++to) {
        if (from == to) continue;
        std::vector<std::uint32_t> links{from, kAll + to};
        if (from / kHosts != to / kHosts)
          links.insert(links.end(), {2 * kAll + from / kHosts, 2 * kAll + kLeaves + to / kHosts});
        net.flow(links);
      }
    }
    const double by_uplink = o * kHosts * (kLeaves - 1), by_host = kAll - 1;
    EXPECT_NEAR(static_cast<double>(net.play().makespan.ps()), std::max(by_uplink, by_host) * kWork, kWork * 1e-5) << o;
  }
}

TEST(ClosedForms, RingsOnATorus) {
  // A torus of 4 x 4, links of each direction of their own: rings along rows and along columns share nothing. A second
  // ring along every row halves the rows.
  constexpr std::uint32_t kSide = 4, kAll = kSide * kSide;
  for (const bool doubled : {false, true}) {
    Network net(std::vector<double>(2 * kAll, 1.0));  // link r: to the right of r; link kAll + r: below it
    std::vector<StepId> rows, columns;
    for (std::uint32_t r = 0; r < kAll; ++r) {
      rows.push_back(net.flow({r}));
      if (doubled) rows.push_back(net.flow({r}));
      columns.push_back(net.flow({kAll + r}));
    }
    const auto t = net.play();
    for (const StepId f : rows) expect_ends(t, f, (doubled ? 2.0 : 1.0) * kWork);
    for (const StepId f : columns) expect_ends(t, f, kWork);
  }
}

TEST(ClosedForms, ALogicalRingThatDoesNotFitTheTorus) {
  // Neighbours of the ring are d places apart on a physical ring of n: every link carries d flows, so all end at d.
  constexpr std::uint32_t n = 12;
  for (const std::uint32_t d : {1u, 5u}) {
    Network net(std::vector<double>(n, 1.0));
    for (std::uint32_t from = 0; from < n; ++from) {
      std::vector<std::uint32_t> links;
      for (std::uint32_t i = 0; i < d; ++i) links.push_back((from + i) % n);
      net.flow(links);
    }
    const auto t = net.play();
    for (std::uint32_t f = 0; f < n; ++f) expect_ends(t, StepId(f), double(d) * kWork);
  }
}

TEST(ClosedForms, TwoJobsOnOneUplink) {
  // Job A: two flows of work 1 through an uplink of 2; job B: two of work 3. Half speed each: A ends at 2, by when B
  // has done 1; its other 2 take 2: 4.
  Network net({1, 1, 1, 1, 2});
  const StepId a = net.flow({0, 4}), b = net.flow({2, 4}, 3 * kWork);
  net.flow({1, 4});
  net.flow({3, 4}, 3 * kWork);
  const auto t = net.play();
  expect_ends(t, a, 2.0 * kWork);
  expect_ends(t, b, 4.0 * kWork);
}

TEST(ClosedForms, ASlowLinkHoldsTheRingThatUsesIt) {
  // A ring of 8 is one meeting: its slowest link, at a quarter, sets the pace; a ring beside it on sound links does not
  // feel it.
  Network net(std::vector<double>(16, 1.0));
  net.c.capacities[5] = 0.25;
  net.p.meeting_sizes = {8, 8};
  std::vector<StepId> steps;
  for (std::uint32_t r = 0; r < 16; ++r) {
    steps.push_back(net.flow({r}));
    net.p.steps[steps.back()].meeting = r / 8;
  }
  const auto t = net.play();
  expect_ends(t, steps[0], 4.0 * kWork);
  expect_ends(t, steps[8], kWork);
}

}  // namespace
}  // namespace distsim::engine
