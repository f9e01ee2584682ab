// Clocks under a power limit, on paper.
#include <gtest/gtest.h>

#include <cmath>

#include "shipped.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::topology {
namespace {

/// 1.8 GHz before limits, 1.5 GHz for nothing but products at 700 W.
const DeviceClocks kClocks = [] {
  DeviceClocks c;
  c.boost = Hertz(1.9e9);
  c.sustained = Hertz(1.5e9);
  c.burst = Hertz(1.8e9);
  c.power = Watts(700);
  return c;
}();
const Watts kLimit(700);

double held(const UnitsBusy& busy, Watts limit = kLimit) {
  return clock_of_mix(kClocks, limit, busy, kClocks.burst).value();
}

TEST(Power, NothingButProductsHoldTheSustainedClock) {
  EXPECT_NEAR(held({1, 0, 0}), 1.5e9, 1e3);
  EXPECT_EQ(clock_under_load(kClocks, kLimit), kClocks.sustained);
}

TEST(Power, WhatDrawsLittleRunsAtTheClockBeforeLimits) {
  EXPECT_EQ(held({0, 0, 1}), 1.8e9) << "a stream through memory: 0.2 + 0.4";
  EXPECT_EQ(held({0.3, 0, 0.5}), 1.8e9);
  EXPECT_EQ(held({}), 1.8e9);
}

/// Products 80 % of the time and memory 25 %, both of the time at 1.8 GHz. At f, with s = 1.8 / f, the time is
/// 1 + 0.8 (s - 1) and the draw 0.2 + (0.8 0.8 (f / 1.5)^3 s + 0.4 0.25) / time. At 1.6436 GHz: s = 1.09516, time 1.07613,
/// 0.64 x 1.31557 x 1.09516 = 0.92209, and 0.2 + (0.92209 + 0.1) / 1.07613 = 1.1498: too much. At the clock found it is 1.
TEST(Power, AMixHoldsTheClockAtWhichItDrawsTheLimit) {
  const double f = held({0.8, 0, 0.25}), s = 1.8e9 / f;
  EXPECT_GT(f, 1.5e9);
  EXPECT_LT(f, 1.6436e9);
  const double time = 1 + 0.8 * (s - 1), cube = std::pow(f / 1.5e9, 3);
  EXPECT_NEAR(0.2 + (0.64 * cube * s + 0.1) / time, 1, 1e-6);
}

TEST(Power, MorePowerAndLessWorkNeverLowerTheClock) {
  double before = 0;
  for (const double watts : {200.0, 350.0, 500.0, 600.0, 700.0, 800.0, 1000.0}) {
    const double now = held({0.8, 0.1, 0.3}, Watts(watts));
    EXPECT_GE(now, before) << watts;
    EXPECT_GE(now, clock_under_load(kClocks, Watts(watts)).value()) << watts;
    EXPECT_LE(now, kClocks.boost.value());
    before = now;
  }
  before = 1e10;
  for (const double busy : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    const double now = held({busy, 0, 0.3});
    EXPECT_LE(now, before) << busy;
    before = now;
  }
}

/// Ops are priced at the burst clock of the file, whatever the burst clock in question.
TEST(Power, AHigherBurstNeverLowersTheClock) {
  const UnitsBusy busy{0.8, 0, 0.25};
  double before = 0;
  for (const double burst : {1.5e9, 1.6e9, 1.65e9, 1.7e9, 1.8e9, 1.9e9}) {
    DeviceClocks clock = kClocks;
    clock.burst = Hertz(burst);
    const double now = clock_of_mix(clock, kLimit, busy, kClocks.burst).value();
    EXPECT_GE(now, before * (1 - 1e-6)) << burst;
    before = now;
  }
  EXPECT_NEAR(before, held(busy), 1e3) << "the power limit holds it, not the burst clock";
}

TEST(Power, ALockIsAnUpperBound) {
  DeviceClocks locked = kClocks;
  locked.locked = Hertz(1.2e9);
  EXPECT_EQ(clock_of_mix(locked, kLimit, {1, 0, 1}, locked.locked), locked.locked);
  EXPECT_EQ(clock_before_limits(locked, kLimit), locked.locked);
}

TEST(Power, WithoutABurstThePowerLimitAloneCounts) {
  DeviceClocks plain = kClocks;
  plain.burst = Hertz(0);
  EXPECT_EQ(clock_of_mix(plain, kLimit, {0, 0, 0}, plain.sustained), plain.sustained);
  EXPECT_LT(clock_before_limits(plain, Watts(350)), plain.sustained);
}

/// No shipped GPU holds less for short work than for long.
TEST(Power, ShippedClocksAreInOrder) {
  for (const auto& name : shipped("devices")) {
    const DeviceSpec d = read_device(name).value();
    EXPECT_LE(clock_under_load(d), clock_before_limits(d)) << name;
    EXPECT_LE(clock_before_limits(d), d.clock.boost) << name;
  }
}

}  // namespace
}  // namespace distsim::topology
