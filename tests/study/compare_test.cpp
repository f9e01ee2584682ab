#include "sim/study/compare.hpp"
#include "base/json/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "sim/study/dominance.hpp"
#include "sim/study/sensitivity/resources.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

const std::string kFlagship = test::root() + "/configs/dgx_a100_4node.yaml";

Comparison comparison_of(const std::vector<Side>& sides) {
  auto c = compare(sides);
  EXPECT_TRUE(c.ok()) << c.error().text();
  return std::move(*c);
}

/// An experiment against itself: nothing differs, and shared errors cancel to nothing.
TEST(Compare, OfAnExperimentWithItselfIsOne) {
  const Comparison c = comparison_of({{"a", kFlagship, {}}, {"b", kFlagship, {}}});
  EXPECT_TRUE(c.inputs.empty());
  EXPECT_EQ(c.ratios[1].value, 1);
  EXPECT_EQ(c.ratios[1].low, 1);
  EXPECT_EQ(c.ratios[1].high, 1);
  for (const DifferencePart& p : c.parts[1]) EXPECT_EQ(p.change_ms(), 0) << p.name;
}

TEST(Compare, WhatRoundsToNothingHasNoSign) {
  Comparison c = comparison_of({{"a", kFlagship, {}}, {"b", kFlagship, {}}});
  c.parts[1][0].ms = c.parts[1][0].first_ms - 1e-9;
  EXPECT_EQ(comparison_text(c).find("-0.0000"), std::string::npos) << comparison_text(c);
}

/// More bandwidth is not slower, whatever the errors of the costs; against another number of nodes that is not known.
TEST(Compare, RangeEndsAtOneWhereHardwareIsBetterThroughout) {
  const Comparison c =
      comparison_of({{"a", kFlagship, {}},
                     {"faster NIC", kFlagship, {"cluster.nic.bandwidth=400 Gb/s"}},
                     {"slower host", kFlagship, {"cluster.host.dispatch_scale=1.02"}},
                     {"both", kFlagship, {"cluster.nic.bandwidth=400 Gb/s", "cluster.host.dispatch_scale=1.02"}},
                     {"nodes", kFlagship, {"cluster.nodes=3", "cluster.nic.bandwidth=400 Gb/s"}}});
  EXPECT_LT(c.ratios[1].low, c.ratios[1].value);
  EXPECT_EQ(c.ratios[1].high, 1);
  EXPECT_EQ(c.ratios[2].low, 1);
  EXPECT_GT(c.ratios[2].high, c.ratios[2].value);
  EXPECT_GT(c.ratios[3].high, 1);
  EXPECT_LT(c.ratios[3].low, 1);
  EXPECT_NE(c.ratios[4].high, 1);
}

TEST(Compare, NamesAFileOnceInAnError) {
  const auto c = compare({{kFlagship, kFlagship, {}}, {"nofile", "nofile", {}}});
  ASSERT_FALSE(c.ok());
  const std::string text = c.error().text();
  EXPECT_EQ(text.find("nofile"), text.rfind("nofile")) << text;
  EXPECT_NE(text.find("nofile"), text.npos) << text;
}

TEST(Compare, NamesTheKeysThatDiffer) {
  const Comparison c = comparison_of({{"a", kFlagship, {}}, {"b", kFlagship, {"cluster.nic.bandwidth=400 Gb/s"}}});
  ASSERT_EQ(c.inputs.size(), 1u);
  EXPECT_EQ(c.inputs[0].key, "cluster.nic.bandwidth");
  EXPECT_EQ(c.inputs[0].values[1], "400 Gb/s");
}

/// The parts of the difference add up to it.
TEST(Compare, PartsAddUpToTheDifference) {
  const Comparison c = comparison_of({{"a", kFlagship, {}},
                                      {"b", kFlagship, {"cluster.nodes=2"}},
                                      {"c", kFlagship, {"model.global_batch=32768"}},
                                      {"d", kFlagship, {"cluster.system=dgx_h100"}}});
  const double first = c.sides[0].prediction.report.iteration.ms();
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    const double sum = std::accumulate(c.parts[i].begin(), c.parts[i].end(), 0.0,
                                       [](double s, const DifferencePart& p) { return s + p.change_ms(); });
    EXPECT_NEAR(sum, c.scaled_ms[i] - first, 1e-8) << i;
  }
  EXPECT_TRUE(c.per_sample);
}

/// A slower host on the same cycle: the ratio is surer than either time. Another device: less sure.
TEST(Compare, SharedErrorsCancelInTheRatio) {
  const Comparison c = comparison_of({{"a", kFlagship, {}},
                                      {"b", kFlagship, {"cluster.host.dispatch_scale=1.1"}},
                                      {"c", kFlagship, {"cluster.system=dgx_h100"}}});
  const auto width = [](const Ratio& r) { return r.high / r.low; };
  const report::Report& first = c.sides[0].prediction.report;
  EXPECT_LT(width(c.ratios[1]), first.high.seconds() / first.low.seconds());
  EXPECT_GT(width(c.ratios[2]), width(c.ratios[1]));
  for (const Ratio& r : c.ratios) {
    EXPECT_LE(r.low, r.value);
    EXPECT_GE(r.high, r.value);
  }
}

/// A host that gets slower step by step passes from hidden to limiting; the range of the ratio goes along without a jump.
TEST(Compare, TheRangeOfTheRatioIsContinuousWhereTheCriticalCycleChanges) {
  std::vector<Side> sides{{"a", kFlagship, {}}};
  for (double scale = 0.5; scale < 1.6; scale *= 1.02)
    sides.push_back({"b", kFlagship, {"cluster.host.dispatch_scale=" + std::to_string(scale)}});
  const Comparison c = comparison_of(sides);
  std::set<std::string> limiters;
  const auto width = [](const Ratio& r) { return std::log(r.high / r.low); };
  for (std::size_t i = 2; i < c.ratios.size(); ++i) {
    EXPECT_NEAR(width(c.ratios[i]), width(c.ratios[i - 1]), 0.035) << c.sides[i].experiment.cluster.host.dispatch_scale;
    limiters.insert(report::text_of(c.sides[i].prediction.report.limits.limited_by));
  }
  EXPECT_GE(limiters.size(), 2u) << "the critical cycle changes on the way";
}

/// Of everything that a sensitivity improves, alone and with others; not where one of them is worse.
TEST(Compare, TheRangeOfBetterHardwareEndsAtOne) {
  const std::string nic = "cluster.nic.latency=1 us", peak = "device.peak.fp16=320 TFLOP/s",
                    bandwidth = "cluster.nic.bandwidth=400 Gb/s", host = "cluster.host.dispatch_scale=1.02";
  const Comparison c = comparison_of({{"a", kFlagship, {}},
                                      {"b", kFlagship, {peak}},
                                      {"c", kFlagship, {nic, peak}},
                                      {"d", kFlagship, {bandwidth, peak}},
                                      {"e", kFlagship, {bandwidth, peak, host}}});
  for (std::size_t i = 1; i < 4; ++i) EXPECT_LE(c.ratios[i].high, 1) << i;
  EXPECT_GT(c.ratios[4].high, 1);
}

/// Better by each figure of each resource, which the comparison knows by its key.
TEST(Compare, KnowsEveryFigureThatASensitivityImproves) {
  const auto e = config::load_experiment(
      kFlagship, {"framework.input.per_sample=1 ns", "device.calibration.speed_variation=0.01",
                  "cluster.fabric.oversubscription=2", "cluster.fabric.spine_oversubscription=2"});
  ASSERT_TRUE(e.ok()) << e.error().text();
  for (const Resource& resource : resources()) {
    if (resource.figures == nullptr || !resource.present(*e)) continue;
    config::Experiment same = *e, better = *e;
    resource.improve(better, 1.5);
    std::size_t improved = 0;
    for (const Figure& figure : resource.figures(better)) {
      const Better which = better_hardware(same, better, {figure.key});
      EXPECT_NE(which, Better::first) << figure.key;
      improved += which == Better::second ? 1 : 0;
    }
    EXPECT_GT(improved, 0u) << resource.name;
  }
}

/// Half the batch in half the time is the same time per sample.
TEST(Compare, OfDifferentBatchesIsPerSample) {
  const Comparison c = comparison_of({{"a", kFlagship, {}}, {"b", kFlagship, {"model.global_batch=32768"}}});
  const report::Report &a = c.sides[0].prediction.report, &b = c.sides[1].prediction.report;
  EXPECT_NEAR(c.ratios[1].value, a.samples_per_second / b.samples_per_second, 1e-9);
  EXPECT_NE(comparison_text(c).find("per sample"), std::string::npos);
}

TEST(Compare, PageShowsBothTimelines) {
  const std::string page =
      comparison_html(comparison_of({{"<i>", kFlagship, {}}, {"b", kFlagship, {"cluster.nodes=2"}}}));
  const std::string begin = "id=\"page-data\">";
  const std::size_t from = page.find(begin) + begin.size();
  const std::string text = page.substr(from, page.find("</script>", from) - from);
  EXPECT_EQ(text.find('<'), std::string::npos);
  const auto data = nlohmann::json::parse(text);
  EXPECT_EQ(data["kind"], "compare");
  ASSERT_EQ(data["sides"].size(), 2u);
  EXPECT_EQ(data["sides"][0]["name"], "<i>");
  for (const auto& side : data["sides"]) {
    EXPECT_GT(side["timeline"]["tracks"].size(), 4u);
    EXPECT_GT(side["timeline"]["tracks"][0]["slices"].size(), 3u);
  }
  double change = 0;
  for (const auto& part : data["sides"][1]["parts"])
    change += part["ms"].get<double>() - part["first_ms"].get<double>();
  EXPECT_NEAR(data["sides"][0]["report"]["iteration_ms"].get<double>() + change,
              data["sides"][1]["scaled_ms"].get<double>(), 1e-6);
  EXPECT_LT(page.size(), 1'000'000u);
}

TEST(Compare, NamesTheSideThatCannotBePredicted) {
  const auto c = compare({{"a", kFlagship, {}}, {"broken", kFlagship, {"cluster.nodes=0"}}});
  ASSERT_FALSE(c.ok());
  EXPECT_NE(c.error().what.find("broken"), std::string::npos);
}

}  // namespace
}  // namespace distsim::study
