// What curves say is carried and mixed by the formulas of carried_curve.hpp and blend.hpp, to the digit.
#include "collectives/blend.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "collective_fixture.hpp"
#include "collectives/curves/spread.hpp"

namespace distsim::collectives {
namespace {

using graph::CollectiveKind;

constexpr double kMiB = 1048576;
constexpr double kRunToRun = 0.04;  // kMeasuredSpread of blend.cpp

struct BlendMachine {
  topology::Topology cluster = a100_cluster(64);
  AnalyticModel two{CollectiveKind::all_reduce, cluster.facts(first_ranks(16)), {}};
  AnalyticModel eight{CollectiveKind::all_reduce, cluster.facts(first_ranks(64)), {}};

  /// A sweep of 16 ranks, `factor` times the model's times; `noise`: half the logarithm of high over low.
  Curve curve(double factor, double noise = 0) const {
    Curve c;
    c.ranks = 16;
    c.nodes = 2;
    for (double bytes = 1024; bytes <= 1024 * kMiB; bytes *= 1024) {
      const double us = factor * two.time_us(bytes);
      c.points.push_back({bytes, us, us * std::exp(-noise), us * std::exp(noise)});
    }
    return c;
  }
  Evidence measured(const Curve& c, bool of_user, double trust = 1) const {
    return {.curve = &c,
            .source = two,
            .target = two,
            .factors = {},
            .carry = Carry::none,
            .trust = trust,
            .of_user = of_user};
  }
};

/// ln(time) = ln(model of the other group) + share * ln(measured / model): a residual of ln(1.5) at every size.
TEST(CarriedCurve, AddsItsShareOfTheResidualToTheModelOfAnotherGroup) {
  const BlendMachine m;
  const Curve c = m.curve(1.5);
  for (const double share : {0.0, 0.25, 1.0}) {
    const Evidence e{
        .curve = &c, .source = m.two, .target = m.eight, .factors = {}, .carry = Carry::regime, .share = share};
    const CarriedCurve carried(e);
    for (const double bytes : {64 * 1024.0, kMiB, 64 * kMiB})
      EXPECT_NEAR(carried.at(std::log2(bytes)).log_time, std::log(m.eight.time_us(bytes)) + share * std::log(1.5), 1e-9)
          << share << " " << bytes;
  }
}

/// The curve of another regime is looked up where bytes made up the same part of the time, not at the same size.
TEST(CarriedCurve, IsReadWhereBytesMadeUpTheSamePartOfTheTime) {
  const BlendMachine m;
  Curve c = m.curve(1);
  for (CurvePoint& p : c.points) p.time_us *= p.bytes > kMiB ? 2 : 1;  // residual 0 up to 1 MiB, ln 2 at 1 GiB
  const Evidence e{.curve = &c, .source = m.two, .target = m.eight, .factors = {}, .carry = Carry::regime};
  const double bytes = 64 * kMiB;
  const auto part = [](const AnalyticModel& model, double size) { return 1 - model.time_us(1) / model.time_us(size); };
  const double from = part(m.two, kMiB), to = part(m.two, 1024 * kMiB), here = part(m.eight, bytes);
  ASSERT_GT(here, from);
  ASSERT_LT(here, to);
  EXPECT_NEAR(CarriedCurve(e).at(std::log2(bytes)).log_time - std::log(m.eight.time_us(bytes)),
              std::log(2) * (here - from) / (to - from), 1e-9);
}

TEST(Blend, ARangeIsTheNoiseOfTheUsersOwnCurve) {
  const BlendMachine m;
  const Curve c = m.curve(1.5, 0.3);
  for (const double trust : {1.0, 0.25}) {
    const Blend::Value v = Blend({m.measured(c, true, trust)}, m.two, false).at(kMiB);
    EXPECT_NEAR(v.time_us, 1.5 * m.two.time_us(kMiB), 1e-9 * v.time_us);
    EXPECT_NEAR(std::log(v.high_us / v.time_us), 0.3, 1e-9) << trust;
    EXPECT_NEAR(std::log(v.time_us / v.low_us), 0.3, 1e-9) << trust;
  }
}

/// Of a curve that states one side of its range, the time stands for the other.
TEST(CarriedCurve, HalfARangeIsNoise) {
  const BlendMachine m;
  for (const bool low : {true, false}) {
    Curve c = m.curve(1.5, 0.3);
    for (CurvePoint& p : c.points) (low ? p.high_us : p.low_us) = 0;
    const Evidence e = m.measured(c, true);
    EXPECT_NEAR(CarriedCurve(e).at(std::log2(kMiB)).noise, 0.15, 1e-9) << low;
  }
  Curve none = m.curve(1.5);
  for (CurvePoint& p : none.points) p.low_us = p.high_us = 0;
  const Evidence e = m.measured(none, true);
  EXPECT_EQ(CarriedCurve(e).at(std::log2(kMiB)).noise, 0);
}

TEST(Blend, AnotherSitesCurveAddsWhatSitesDifferBy) {
  const BlendMachine m;
  const Curve c = m.curve(1.5, 0.3);
  const RelativeSpread site = site_spread(false, kMiB);
  ASSERT_GT(site.high, 0.05);
  const Blend::Value v = Blend({m.measured(c, false, 0.25)}, m.two, false).at(kMiB);
  EXPECT_NEAR(std::log(v.high_us / v.time_us), std::log1p(site.high) + 0.3, 1e-9);
  EXPECT_NEAR(std::log(v.time_us / v.low_us), -std::log1p(-site.low) + 0.3, 1e-9);
  // Half of the weight is the user's own: so is half of what sites differ by.
  const Blend::Value half = Blend({m.measured(c, false), m.measured(c, true)}, m.two, false).at(kMiB);
  EXPECT_NEAR(std::log(half.high_us / half.time_us), std::log1p(site.high) / 2 + 0.3, 1e-9);
}

/// Two curves of one weight that differ by a factor of f^2: mean f times the lower, standard deviation ln f.
TEST(Blend, CurvesThatDisagreeWidenTheRange) {
  const BlendMachine m;
  for (const double f : {1.5, 3.0}) {
    const Curve slow = m.curve(f), fast = m.curve(1 / f);
    const Blend::Value v = Blend({m.measured(slow, true), m.measured(fast, true)}, m.two, false).at(kMiB);
    EXPECT_NEAR(v.time_us / m.two.time_us(kMiB), 1, 1e-9);
    EXPECT_NEAR(std::log(v.high_us / v.time_us), 1.28 * std::log(f) + kRunToRun, 1e-6) << f;
    EXPECT_NEAR(std::log(v.time_us / v.low_us), 1.28 * std::log(f) + kRunToRun, 1e-6) << f;
    // More than what sites differ by: that is not added on top.
    const Blend::Value others = Blend({m.measured(slow, false), m.measured(fast, false)}, m.two, false).at(kMiB);
    const double site = std::log1p(site_spread(false, kMiB).high);
    EXPECT_NEAR(std::log(others.high_us / others.time_us), std::max(site, 1.28 * std::log(f)) + kRunToRun, 1e-6) << f;
  }
}

/// Most sizes are no powers of two, and 2^log2 of them is another number.
TEST(Blend, EveryMeasuredSizeIsCalledSo) {
  const BlendMachine m;
  Curve c = m.curve(1);
  c.points.clear();
  for (double bytes = 1000; bytes < 1e9; bytes = 3 * bytes + 1000) c.points.push_back({bytes, m.two.time_us(bytes)});
  const Blend blend({m.measured(c, true)}, m.two, false);
  for (const CurvePoint& p : c.points) {
    EXPECT_EQ(blend.at(p.bytes).basis, graph::Basis::measured) << p.bytes;
    EXPECT_NEAR(blend.at(p.bytes).time_us / p.time_us, 1, 1e-9) << p.bytes;
    EXPECT_NE(blend.at(p.bytes + 1).basis, graph::Basis::measured) << p.bytes;
  }
  EXPECT_EQ(blend.at(c.points.back().bytes + 1).basis, graph::Basis::extrapolated);
}

/// A light curve that was measured at a size does not make a measurement of what a heavy one, carried over, says of it.
TEST(Blend, BasisAndSourceAreThoseOfTheHeaviestCurve) {
  const BlendMachine m;
  const Curve light = m.curve(2), heavy = m.curve(1);
  Evidence carried = m.measured(heavy, true, 1000);
  carried.carry = Carry::same_size;
  carried.source_name = "heavy";
  Evidence exact = m.measured(light, false);
  exact.source_name = "light";
  const Blend::Value v = Blend({carried, exact}, m.two, false).at(kMiB);
  EXPECT_EQ(v.basis, graph::Basis::scaled);
  EXPECT_EQ(v.source, "heavy");
  exact.trust = 1e6;
  const Blend::Value other = Blend({carried, exact}, m.two, false).at(kMiB);
  EXPECT_EQ(other.basis, graph::Basis::measured);
  EXPECT_EQ(other.source, "light");
  // Of two curves of one weight, the mean is neither's measurement.
  const Curve slow = m.curve(1.5);
  EXPECT_EQ(Blend({m.measured(slow, true), m.measured(heavy, true)}, m.two, false).at(kMiB).basis,
            graph::Basis::interpolated);
}

/// A point of the user's stays what it is beside a shipped curve whose smaller sizes took longer.
TEST(Blend, ALightPointDoesNotRaiseAHeavyOne) {
  const BlendMachine m;
  const Curve shipped = m.curve(4);
  Curve own = m.curve(1);
  own.points = {{2000, m.two.time_us(2000), 0, 0}};
  const Blend blend({m.measured(own, true, 1000), m.measured(shipped, false)}, m.two, false);
  EXPECT_NEAR(blend.at(2000).time_us / m.two.time_us(2000), 1, 0.03);
  EXPECT_EQ(blend.at(2000).basis, graph::Basis::measured);
}

}  // namespace
}  // namespace distsim::collectives
