// Measured curves: what is read, what is refused, and what they make of a price.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "collective_fixture.hpp"
#include "collectives/curves/curve_set.hpp"
#include "collectives/pricer.hpp"

namespace distsim::collectives {
namespace {

using collectives::parse_curve_text;

const char* const kTwoNodes =
    "version: 1 system: \"test_a100\" device: \"a100_sxm4_40gb\" curve_count: 1\n"
    "curves { kind: \"all_reduce\" ranks: 16 nodes: 2 launch: \"mpi\" label: \"bench 2 nodes\"\n"
    "  points { bytes: 1024 time_us: 50 }\n"
    "  points { bytes: 1048576 time_us: 150 }\n"
    "  points { bytes: 1073741824 time_us: 20000 }\n"
    "}\n";

void expect_curve_error(const std::string& text, const std::string& part) {
  auto r = parse_curve_text(text, "x.curve.txtpb");
  ASSERT_FALSE(r.ok()) << text;
  EXPECT_NE(r.error().text().find(part), std::string::npos) << r.error().text();
  EXPECT_EQ(r.error().text().find('\n'), std::string::npos) << "one line";
}

TEST(CurveText, RoundTrip) {
  auto set = parse_curve_text(kTwoNodes, "x");
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 1u);
  EXPECT_EQ(set->curves[0].points.size(), 3u);
  auto again = parse_curve_text(collectives::curve_text(*set), "y");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->curves[0].points[1].time_us, 150);
  EXPECT_EQ(again->curves[0].label, "bench 2 nodes");
}

TEST(CurveText, CutAnywhereIsRefused) {
  const std::string text = kTwoNodes;
  // The last brace is at the end but for the line feed; any shorter text has lost something.
  for (std::size_t n = 0; n + 2 < text.size(); ++n) {
    auto r = parse_curve_text(text.substr(0, n), "x");
    EXPECT_FALSE(r.ok()) << "cut at " << n;
  }
}

TEST(CurveText, ErrorsCarryTheirPosition) {
  std::string nan = kTwoNodes;
  nan.replace(nan.find("150"), 3, "nan");
  expect_curve_error(nan, "x.curve.txtpb:4:");
  std::string zero = kTwoNodes;
  zero.replace(zero.find("150"), 3, "0");
  expect_curve_error(zero, "expected a positive number");
  std::string tiny = kTwoNodes;
  tiny.replace(tiny.find("150"), 3, "1e-310");  // its bandwidth would be infinite
  expect_curve_error(tiny, "expected a positive number, 0.001 .. 1e12");
  std::string order = kTwoNodes;
  order.replace(order.find("1048576"), 7, "1024");
  expect_curve_error(order, "expected ascending sizes");
  std::string kind = kTwoNodes;
  kind.replace(kind.find("all_reduce"), 10, "all_redcue");
  expect_curve_error(kind, "all_reduce");
  expect_curve_error("version: 2 curves { kind: \"all_reduce\" }", "version: found 2, expected 1");
  expect_curve_error("version: 1 colour: 3", "colour");
  expect_curve_error("version: 1", "curves: found none");
}

TEST(CurveText, PercentilesLieAroundTheirTime) {
  const auto with = [](const char* more) {
    std::string text = kTwoNodes;
    return text.replace(text.find("150"), 3, std::string("150 ") + more);
  };
  for (const char* more : {"low_us: 150 high_us: 150", "low_us: 100", "high_us: 1e6",
                           "statistics { min_us: 9 max_us: 150 }", "statistics { median_us: 9 }"})
    EXPECT_TRUE(parse_curve_text(with(more), "x").ok()) << more;
  expect_curve_error(with("low_us: 151"), "x.curve.txtpb:4:40: low_us: found 151, expected at most time_us, 150");
  expect_curve_error(with("low_us: 1 high_us: 2"),
                     "x.curve.txtpb:4:50: high_us: found 2, expected at least time_us, 150");
  expect_curve_error(with("low_us: 1e-5"), "low_us: found 1e-05, expected less than a factor of a million");
  expect_curve_error(with("high_us: 1e9"), "high_us: found 1e+09, expected less than a factor of a million");
  expect_curve_error(with("high_us: -1"), "high_us: found -1, expected 0 or a positive number");
  expect_curve_error(with("low_us: nan"), "low_us: found nan, expected 0 or a positive number");
  expect_curve_error(with("statistics { p5_us: 9 max_us: 8 }"), "max_us: found 8, expected at least p5_us, 9");
  expect_curve_error(with("statistics { min_us: 9 max_us: 9 }"),
                     "x.curve.txtpb:4:27: time_us: found 150, expected what its statistics say: 9 .. 9");
  expect_curve_error(with("statistics { min_us: 151 max_us: 160 }"), "time_us: found 150, expected what its");
  expect_curve_error(with("in_place { min_us: -9 }"), "min_us: found -9, expected microseconds");
  const std::string at = "x.curve.txtpb:4:";
  for (const char* more :
       {"statistics { max_us: 150 mean_us: 151 rank_min_us: 9 rank_max_us: 150 arrival_skew_us: 1e4 }",
        "statistics { slowest_rank: 31 }"})
    EXPECT_TRUE(parse_curve_text(with(more), "x").ok()) << more;
  expect_curve_error(with("statistics { max_us: 150 mean_us: 301 }"),
                     at + "65: mean_us: found 301, expected at most what max_us says, 150");
  expect_curve_error(with("statistics { mad_us: nan }"), at + "53: mad_us: found nan, expected 0 or a positive number");
  expect_curve_error(with("in_place { max_us: 150 rank_max_us: 160 }"), "rank_max_us: found 160, expected at most");
  expect_curve_error(with("statistics { rank_min_us: 9 rank_max_us: 8 }"),
                     "rank_min_us: found 9, expected at most rank_max_us, 8");
}

TEST(CurveText, HostsAndClocksAreWhatTheySay) {
  const auto with = [](const char* more) {
    std::string text = kTwoNodes;
    return text.replace(text.find("curves {"), 0, std::string(more) + " ");
  };
  for (const char* more : {"hosts: \"a\" hosts: \"b\"", "hosts: \"a\" hosts: \"b\" hosts: \"c\"",
                           "clocks { sm_mhz: 1410 memory_mhz: 14001 cpu_locked_mhz: 2250 }"})
    EXPECT_TRUE(parse_curve_text(with(more), "x").ok()) << more;
  expect_curve_error(with("hosts: \"a\""), "nodes: found 2, expected at most the 1 host of the file");
  expect_curve_error(with("hosts: \"a\" hosts: \"a\""), "hosts: found 'a' twice, expected a name for each node");
  expect_curve_error(with("clocks { sm_mhz: 9999 }"), "sm_mhz: found 9999, expected MHz, at most 5000");
}

TEST(CurveText, WhatGlooMovedIsNotUsed) {
  std::string text = kTwoNodes;
  text.replace(text.find("points"), 0, "library: \"Gloo 0.5\" ");
  const auto set = parse_curve_text(text, "x");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].not_used, "library Gloo: host buffers, not GPU memory");
}

TEST(CurveText, GroupsAndDatesAreWhatTheySay) {
  const auto with = [](const char* more) {
    std::string text = kTwoNodes;
    return text.replace(text.find("points"), 0, std::string(more) + " ");
  };
  for (const char* more : {"group: \"16x2\"", "group: \"16x2.alone\"", "group: \"all\"", "group: \"halves\"",
                           "group: \"x\"", "date: \"2024-02-29\"", "date: \"2024\"", "date: \"spring 2024\""})
    EXPECT_TRUE(parse_curve_text(with(more), "x").ok()) << more;
  expect_curve_error(with("group: \"8x2\""), "group: found '8x2', expected '16x2', as its ranks and nodes say");
  expect_curve_error(with("group: \"16x1\""), "group: found '16x1', expected '16x2'");
  for (const char* name : {"rails", "one_per_node", "pairs", "far_pairs", "nodes"})
    expect_curve_error(with((std::string("group: \"") + name + "\"").c_str()),
                       std::string("group: found '") + name + "', expected '16x2', as its ranks and nodes say");
  for (const char* date : {"2025-02-31", "2025-13-01", "2025-00-10", "20x5-01-10"})
    expect_curve_error(with((std::string("date: \"") + date + "\"").c_str()),
                       std::string("date: found '") + date + "', expected a day of the calendar as YYYY-MM-DD");
}

TEST(CurveText, MayBeginWithAByteOrderMark) {
  const std::string marked = std::string("\xEF\xBB\xBF") + kTwoNodes;
  const auto set = collectives::read_curve_file(file_with("marked.curve.txtpb", marked));
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].points.size(), 3u);
}

CollectiveModels with_curve(const topology::Topology& t, const std::string& name, const std::string& text) {
  CollectiveOptions options;
  options.curve_files = {file_with(name, text)};
  return models_of(t, options);
}

TEST(CurvePrices, MeasuredPointsInterpolationAndTheModelBeyond) {
  const topology::Topology t = a100_cluster(4);
  const auto models = with_curve(t, "two.curve.txtpb", kTwoNodes);
  const topology::GroupFacts two = t.facts(first_ranks(16));
  const auto at = [&](std::int64_t bytes, const topology::GroupFacts& f) {
    return *models.price(op_of(graph::CollectiveKind::all_reduce, bytes), f);
  };
  EXPECT_NEAR(at(1 << 20, two).mean.us(), 150, 0.001);
  EXPECT_EQ(at(1 << 20, two).basis, graph::Basis::measured);
  EXPECT_EQ(at(1 << 20, two).source, "bench 2 nodes");
  EXPECT_EQ(at(3 << 20, two).basis, graph::Basis::interpolated);
  EXPECT_GT(at(3 << 20, two).mean.us(), 150);
  EXPECT_LT(at(3 << 20, two).mean.us(), 20000);
  EXPECT_EQ(at(8, two).basis, graph::Basis::extrapolated);
  EXPECT_EQ(at(std::int64_t{1} << 34, two).basis, graph::Basis::extrapolated);
  for (const std::int64_t beside : {std::int64_t{1000}, (std::int64_t{1} << 30) + (1 << 24)})
    EXPECT_EQ(at(beside, two).basis, graph::Basis::extrapolated) << beside << ", next to a measured size";
  // Four nodes have no curve of their own: the model's ratio carries it, and says so.
  EXPECT_EQ(at(1 << 20, t.facts(first_ranks(32))).basis, graph::Basis::scaled);
  // Inside one node the curve says nothing.
  EXPECT_EQ(at(1 << 20, t.facts(first_ranks(8))).basis, graph::Basis::analytic);
}

TEST(CurvePrices, ContinuousAndMonotoneAcrossTheEdges) {
  const topology::Topology t = a100_cluster(4);
  const auto models = with_curve(t, "edges.curve.txtpb", kTwoNodes);
  for (std::uint32_t ranks : {16u, 32u}) {
    const topology::GroupFacts facts = t.facts(first_ranks(ranks));
    double previous = 0;
    for (double x = 0; x < 39.5; x += 0.01) {
      const auto bytes = static_cast<std::int64_t>(std::exp2(x));
      const double us = models.price(op_of(graph::CollectiveKind::all_reduce, bytes), facts)->mean.us();
      EXPECT_GE(us, previous) << bytes;
      const double most =
          previous > 0 ? 1.03 * previous : us;  // bytes grow by 0.7 % a step; log-log slopes stay below 4
      EXPECT_LE(us, most) << "a jump at " << bytes;
      if (bytes > 1000) previous = us;
    }
  }
}

TEST(CurvePrices, ARunThatDidNotEndIsRefusedUnlessAllowed) {
  const topology::Topology t = a100_cluster(2);
  CollectiveOptions options;
  options.curve_files = {file_with("partial.curve.txtpb", std::string("partial: true ") + kTwoNodes)};
  const auto refused = CollectiveModels::create(t, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("of a run that did not end (partial)"), std::string::npos)
      << refused.error().text();
  options.allow_partial = true;
  EXPECT_EQ(
      models_of(t, options).price(op_of(graph::CollectiveKind::all_reduce, 1 << 20), t.facts(first_ranks(16)))->basis,
      graph::Basis::measured);
}

TEST(CurvePrices, BandwidthMeasuredAloneSaysLittleAboutLatency) {
  // All points lie where bytes decide (32 MiB and up) and are 1.5 times the model: 8 bytes keep the model's latency
  // within 10 %, 16 GiB the factor.
  const topology::Topology t = a100_cluster(2);
  const topology::GroupFacts facts = t.facts(first_ranks(16));
  const collectives::AnalyticModel model(graph::CollectiveKind::all_to_all, facts, {});
  std::string text = "version: 1 curves { kind: \"all_to_all\" ranks: 16 nodes: 2 launch: \"mpi\"";
  for (double bytes = 32 << 20; bytes < 1e10; bytes *= 2) {
    text += " points { bytes: " + std::to_string(static_cast<std::int64_t>(bytes)) +
            " time_us: " + std::to_string(1.5 * model.time_us(bytes)) + " }";
  }
  const auto models = with_curve(t, "large.curve.txtpb", text + " }");
  const auto ratio = [&](std::int64_t bytes) {
    return models.price(op_of(graph::CollectiveKind::all_to_all, bytes), facts)->mean.us() /
           model.time_us(static_cast<double>(bytes));
  };
  EXPECT_NEAR(ratio(8), 1.0, 0.10);
  EXPECT_NEAR(ratio(std::int64_t{1} << 34), 1.5, 0.01);
}

TEST(CurvePrices, NoisyPointsAreSmoothedNotFollowedDown) {
  std::string noisy = kTwoNodes;
  noisy.replace(noisy.find("time_us: 50"), 11, "time_us: 170");  // 1 KiB dearer than 1 MiB
  const topology::Topology t = a100_cluster(2);
  const auto models = with_curve(t, "noisy.curve.txtpb", noisy);
  const topology::GroupFacts facts = t.facts(first_ranks(16));
  const graph::Cost small = *models.price(op_of(graph::CollectiveKind::all_reduce, 1024), facts),
                    large = *models.price(op_of(graph::CollectiveKind::all_reduce, 1 << 20), facts);
  EXPECT_LE(small.mean, large.mean);
  EXPECT_GT(small.mean.us(), 140);
  EXPECT_LT(large.mean.us(), 180);
}

TEST(CurvePrices, SeveralCurvesMeetInTheMiddle) {
  // Twice the same group, 100 and 144 us at 1 MiB: the geometric mean is 120, and the range holds both.
  const auto one = [](const char* us) {
    return std::string(
               "curves { kind: \"all_reduce\" ranks: 16 nodes: 2 launch: \"mpi\" label: \"x\" points { bytes: 1048576 time_us: ") +
           us + " } }\n";
  };
  const topology::Topology t = a100_cluster(2);
  const auto models = with_curve(t, "several.curve.txtpb", "version: 1 curve_count: 2\n" + one("100") + one("144"));
  const graph::Cost c = *models.price(op_of(graph::CollectiveKind::all_reduce, 1 << 20), t.facts(first_ranks(16)));
  EXPECT_NEAR(c.mean.us(), 120, 0.01);
  EXPECT_LT(c.low.us(), 100);
  EXPECT_GT(c.high.us(), 144);
}

/// An all_reduce over all GPUs of so many nodes, one size.
std::string curve_of_nodes(std::uint32_t nodes, const std::string& hardware) {
  return "version: 1 hardware: \"" + hardware + "\" curves { kind: \"all_reduce\" ranks: " + std::to_string(8 * nodes) +
         " nodes: " + std::to_string(nodes) +
         " launch: \"mpi\" points { bytes: 1048576 time_us: 200 } points { bytes: 67108864 time_us: 2000 } }\n";
}

TEST(CurvePrices, DoNotDependOnTheOrderOfTheFiles) {
  const topology::Topology t = a100_cluster(8);
  CollectiveOptions options;
  options.curve_files = {file_with("few.curve.txtpb", curve_of_nodes(2, "few nodes")),
                         file_with("many.curve.txtpb", curve_of_nodes(8, "many nodes"))};
  const CollectiveModels one = models_of(t, options);
  std::ranges::reverse(options.curve_files);
  const CollectiveModels other = models_of(t, options);
  const auto op = op_of(graph::CollectiveKind::all_reduce, 1 << 20);
  const auto group = t.facts(first_ranks(32));
  const graph::Cost a = *one.price(op, group), b = *other.price(op, group);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.source, "few nodes");
  EXPECT_EQ(b.source, "few nodes");
}

/// The lines on the user's files; names of devices are those beside the shipped curves.
std::vector<std::string> remarks_of(const topology::Topology& t, const std::string& name, const std::string& text) {
  CollectiveOptions options;
  options.curve_dirs = {test::config("curves")};
  if (!name.empty()) options.curve_files = {file_with(name, text)};
  return models_of(t, options).remarks();
}

TEST(CurveRemarks, TheWordsOfALogMayNameAnotherGpu) {
  const std::string log =
      "# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n8 25.5\n1048576 150.5\n";
  const std::string words = "ABCI: 8x V100-SXM2-16GB, 2 IB ports", shape = "# nodes: 2  ranks: 16\n# hardware: ";
  const topology::Topology t = a100_cluster(2);
  const auto lines = remarks_of(t, "words.txt", shape + words + "\n" + log);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "using curves measured on '" + words + "' for a100_sxm4_40gb");
  for (const char* own : {"2x 8 A100-SXM4-40GB", "two nodes with NVSwitch", "NVIDIA A100-SXM4-80GB"})
    EXPECT_TRUE(remarks_of(t, "words.txt", shape + own + "\n" + log).empty()) << own;
}

TEST(CurveRemarks, AReplacedDeviceIsSaidOfShippedCurves) {
  for (const char* system : {"oci_gpu4", "dgx_a100_40gb"}) {  // its own curves, and those of a sibling
    topology::ClusterSpec spec = a100_cluster(2, system).spec();
    EXPECT_TRUE(remarks_of(a100_cluster(2, system), "", "").empty());
    spec.device = "h100_sxm5_80gb";
    std::string all;
    for (const std::string& line : remarks_of(*topology::Topology::build(spec, 90), "", "")) all += line + "\n";
    EXPECT_NE(all.find("oci_gpu4.curve.txtpb: using curves measured on 'a100_sxm4_40gb' for h100_sxm5_80gb\n"),
              std::string::npos)
        << system << ": " << all;
  }
}

TEST(CurveRemarks, CurvesThatContradictEachOtherAreNamedOnce) {
  const auto curve = [](const char* launch, const char* first, const char* second) {
    return std::string("curves { kind: \"all_reduce\" ranks: 16 nodes: 2 launch: \"") + launch +
           "\" points { bytes: 1024 time_us: " + first + " } points { bytes: 1048576 time_us: " + second + " } }\n";
  };
  const topology::Topology t = a100_cluster(2);
  const auto both = [&](const std::string& other) {
    return remarks_of(t, "apart.curve.txtpb", "version: 1 curve_count: 2\n" + curve("mpi", "30", "100") + other);
  };
  EXPECT_TRUE(both(curve("mpi", "80", "290")).empty());
  EXPECT_TRUE(both(curve("single_process", "100", "310")).empty()) << "another launch";
  const auto lines = both(curve("mpi", "100", "400"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("all_reduce of 1048576 B, 16 ranks on 2 nodes: found 100 us in "), 0u) << lines[0];
  EXPECT_NE(lines[0].find("apart.curve.txtpb and 400 us in "), std::string::npos) << lines[0];
}

/// Between two sizes the time is not below that of the smaller, nor of a lower bandwidth than its; so from above.
TEST(CurveRemarks, CurvesOfOtherSizesContradictEachOtherWhereTheirRangesMeet) {
  const auto curve = [](double small, double us, double large, double more_us) {
    return "curves { kind: \"all_reduce\" ranks: 16 nodes: 2 points { bytes: " + std::to_string(std::llround(small)) +
           " time_us: " + std::to_string(us) + " } points { bytes: " + std::to_string(std::llround(large)) +
           " time_us: " + std::to_string(more_us) + " } }\n";
  };
  const topology::Topology t = a100_cluster(2);
  constexpr double kMiB = 1 << 20;
  const auto both = [&](const std::string& one, const std::string& other) {
    return remarks_of(t, "sizes.curve.txtpb", "version: 1 curve_count: 2\n" + one + other);
  };
  const std::string first = curve(kMiB, 100, 4 * kMiB, 400);
  EXPECT_TRUE(both(first, curve(2 * kMiB, 500, 8 * kMiB, 1000)).empty()) << "2.5 times";
  EXPECT_TRUE(both(first, curve(8 * kMiB, 9000, 16 * kMiB, 18000)).empty()) << "no common range";
  EXPECT_TRUE(both(curve(8, 20, 1024 * kMiB, 10000), curve(kMiB / 16, 40, kMiB, 90)).empty())
      << "between sizes far apart little is certain";
  const auto slower = both(first, curve(2 * kMiB, 1000, 8 * kMiB, 3000));
  ASSERT_EQ(slower.size(), 1u);
  EXPECT_EQ(slower[0].find("all_reduce of 2097152 B, 16 ranks on 2 nodes: found at most 200 us between 1048576 B and "
                           "4194304 B in "),
            0u)
      << slower[0];
  EXPECT_NE(slower[0].find("sizes.curve.txtpb and 1000 us in "), std::string::npos) << slower[0];
  const auto faster = both(first, curve(2 * kMiB, 40, 8 * kMiB, 70));
  ASSERT_EQ(faster.size(), 1u);
  EXPECT_NE(faster[0].find("found 400 us in "), std::string::npos) << faster[0];
  EXPECT_NE(faster[0].find(" and at most 70 us between 2097152 B and 8388608 B in "), std::string::npos) << faster[0];
}

/// A curve of another launch is carried by what the model knows of both launches, also where the user named it.
TEST(CurvePrices, ACurveOfAnotherLaunchIsScaled) {
  const topology::Topology t = a100_cluster(1);
  const auto price = [&](const char* launch, Launch asked, bool replayed, double bytes) {
    CollectiveOptions options;
    options.curve_files = {file_with(
        "launch.curve.txtpb", std::string("version: 1 curves { kind: \"all_reduce\" ranks: 8 nodes: 1 ") + launch +
                                  " points { bytes: 8 time_us: 37.2 } points { bytes: 1048576 time_us: 75.5 } "
                                  "points { bytes: 1073741824 time_us: 8120 } }")};
    options.launch = asked;
    options.cuda_graph = replayed;
    const auto op = op_of(graph::CollectiveKind::all_reduce, static_cast<std::int64_t>(bytes));
    return *models_of(t, options).price(op, t.facts(first_ranks(8)));
  };
  const char* const single = "launch: \"single_process\"";
  const graph::Cost own = price(single, Launch::single_process, false, 8), mpi = price(single, Launch::mpi, false, 8);
  EXPECT_EQ(own.basis, graph::Basis::measured);
  EXPECT_NEAR(own.mean.us(), 37.2, 0.4);
  EXPECT_EQ(mpi.basis, graph::Basis::scaled);
  EXPECT_LT(mpi.mean.us(), 0.7 * own.mean.us()) << "without the launches of one process";
  const graph::Cost large = price(single, Launch::mpi, false, 1 << 30);
  EXPECT_EQ(large.basis, graph::Basis::scaled);
  EXPECT_NEAR(large.mean.us(), 8120, 81) << "which take no longer than the transfer";
  const graph::Cost of_graph = price("cuda_graph: true", Launch::mpi, false, 8);
  EXPECT_EQ(of_graph.basis, graph::Basis::scaled);
  EXPECT_EQ(price("cuda_graph: true", Launch::mpi, true, 8).basis, graph::Basis::measured);
}

TEST(CurvePrices, AFileThatDoesNotFitIsRefused) {
  CollectiveOptions options;
  options.curve_files = {
      file_with("nine.curve.txtpb",
                "version: 1 curves { kind: \"all_reduce\" ranks: 9 nodes: 1 points { bytes: 8 time_us: 9 } }")};
  auto m = CollectiveModels::create(a100_cluster(2), options);
  ASSERT_FALSE(m.ok());
  EXPECT_NE(m.error().text().find("9 ranks on 1 node,"), std::string::npos) << m.error().text();
  options.curve_files = {"/nonexistent/curve"};
  EXPECT_FALSE(CollectiveModels::create(a100_cluster(2), options).ok());
}

TEST(ShippedCurves, AllReadAndServeTheirSystems) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::config("curves"))) {
    if (entry.path().extension() != ".txtpb") continue;
    ++files;
    auto set = collectives::read_curve_file(entry.path().string());
    EXPECT_TRUE(set.ok()) << set.error().text();
  }
  EXPECT_GT(files, 10u);
  CollectiveOptions options;
  options.curve_dirs = {test::config("curves")};
  const topology::Topology t = a100_cluster(2, "dgx_a100_40gb");
  const auto models = models_of(t, options);
  // 8 x A100: Azure, OCI, ABCI and others measured 580 to 700 us at 64 MiB.
  const graph::Cost node = *models.price(op_of(graph::CollectiveKind::all_reduce, 64 << 20), t.facts(first_ranks(8)));
  EXPECT_NE(node.basis, graph::Basis::analytic);
  EXPECT_NEAR(node.mean.us(), 640, 60);
  // 2 nodes: OCI 9188 us and DeepOps 11085 us at 1 GiB.
  const graph::Cost nodes = *models.price(op_of(graph::CollectiveKind::all_reduce, 1 << 30), t.facts(first_ranks(16)));
  EXPECT_GT(nodes.mean.us(), 9000);
  EXPECT_LT(nodes.mean.us(), 11100);
}

TEST(ShippedCurves, ASlowerNicScalesThem) {
  CollectiveOptions options;
  options.curve_dirs = {test::config("curves")};
  const topology::Topology now = a100_cluster(2, "dgx_a100_40gb");
  topology::ClusterSpec spec = now.spec();
  spec.nic.bandwidth = BytesPerSecond(12.5e9);
  const topology::Topology slow = *topology::Topology::build(spec, 80);
  const auto big = op_of(graph::CollectiveKind::all_reduce, std::int64_t{4} << 30);
  const graph::Cost a = *models_of(now, options).price(big, now.facts(first_ranks(16)));
  const graph::Cost b = *models_of(slow, options).price(big, slow.facts(first_ranks(16)));
  EXPECT_GT(b.mean.us(), 1.2 * a.mean.us());
  EXPECT_EQ(b.basis, graph::Basis::scaled);
}

/// As a shipped curve, one of the user is of the system as its file describes it.
TEST(CurvePrices, OtherLinksThanDescribedScaleCurvesOfTheUser) {
  const topology::Topology described = a100_cluster(2);
  CollectiveOptions options;
  // 64 MiB in 700 us are 180 GB/s, as 8 NICs of 25 GB/s allow
  options.curve_files = {file_with(
      "own.curve.txtpb",
      "version: 1 curves { kind: \"all_reduce\" ranks: 16 nodes: 2 launch: \"mpi\" points { bytes: 1048576 time_us: 90 } "
      "points { bytes: 67108864 time_us: 700 } }\n")};
  const auto op = op_of(graph::CollectiveKind::all_reduce, 64 << 20);
  const graph::Cost alone = *models_of(described, options).price(op, described.facts(first_ranks(16)));
  options.described = described.spec();
  const auto with_nics = [&](double share) {
    topology::ClusterSpec spec = described.spec();
    spec.nic.bandwidth = BytesPerSecond(share * spec.nic.bandwidth.value());
    const topology::Topology t = *topology::Topology::build(spec, 80);
    return *models_of(t, options).price(op, t.facts(first_ranks(16)));
  };
  EXPECT_EQ(with_nics(1).mean, alone.mean);
  EXPECT_EQ(with_nics(1).basis, graph::Basis::measured);
  EXPECT_GT(with_nics(0.25).mean.us(), 2 * alone.mean.us());
  EXPECT_EQ(with_nics(0.25).basis, graph::Basis::scaled);
  options.described->name = "another";
  const topology::Topology slow = [&] {
    topology::ClusterSpec spec = described.spec();
    spec.nic.bandwidth = BytesPerSecond(0.25 * spec.nic.bandwidth.value());
    return *topology::Topology::build(spec, 80);
  }();
  EXPECT_FALSE(CollectiveModels::create(slow, options).ok()) << "faster than its links";
}

/// What one machine has read of them is not taken for another's: half of the NICs of a node may be a smaller node's.
TEST(CurvePrices, CurvesOfTheUserAreReadForTheGpusOfANode) {
  CollectiveOptions options;
  options.curve_files = {file_with(
      "own.curve.txtpb",
      "version: 1 curves { kind: \"all_reduce\" ranks: 8 nodes: 2 launch: \"mpi\" points { bytes: 1048576 time_us: 90 } "
      "points { bytes: 67108864 time_us: 1400 } }\n")};
  options.described = a100_cluster(2).spec();
  const auto machine = [&](std::int64_t installed) {
    topology::ClusterSpec spec = a100_cluster(2).spec();
    spec.gpus_per_node = 4, spec.gpus_installed = installed;
    spec.nic.bandwidth = BytesPerSecond(0.5 * spec.nic.bandwidth.value());
    return *topology::Topology::build(spec, 80);
  };
  const auto op = op_of(graph::CollectiveKind::all_reduce, 64 << 20);
  const topology::Topology whole = machine(4), half = machine(8);
  for (const auto& [first, second] : {std::pair(&whole, &half), std::pair(&half, &whole)}) {
    const CollectiveModels before = models_of(*first, options), alone = models_of(*second, options);
    const auto after = CollectiveModels::create(*second, options, &before);
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(after->price(op, second->facts(first_ranks(8)))->mean,
              alone.price(op, second->facts(first_ranks(8)))->mean);
  }
}

}  // namespace
}  // namespace distsim::collectives
