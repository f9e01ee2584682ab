// The measured tier: points, interpolation, the file, and calibration from a CSV.
#include "opmodels/measured/measured_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "device_fixtures.hpp"
#include "opmodels/measured/op_calibration.hpp"
#include "sim/graph/ops/flops_per_element.hpp"

namespace distsim::opmodels {
namespace {

graph::Op gemm(std::int64_t m) { return graph::Gemm{1, m, 1024, 1024, graph::DType::fp16}; }

MeasuredTable table_of(const std::vector<std::pair<std::int64_t, double>>& rows) {
  std::vector<MeasuredPoint> points;
  for (const auto& [m, ratio] : rows) points.push_back({*point_of(gemm(m)), 100 * ratio, 100});
  return {"gpu", "library", points};
}

TEST(MeasuredTable, IsExactAtItsPointsAndFadesWithDistance) {
  const MeasuredTable table = table_of({{1024, 2.0}});
  EXPECT_DOUBLE_EQ(table.ask(*point_of(gemm(1024))).measured_us, 200);
  const auto half = table.ask(*point_of(gemm(1448)));  // half an octave: trust 0.5 of log 2
  EXPECT_EQ(half.measured_us, 0);
  EXPECT_NEAR(half.trust, 0.5, 1e-3);
  EXPECT_NEAR(half.log_ratio, std::log(2.0), 1e-9);
  EXPECT_EQ(table.ask(*point_of(gemm(2048))).trust, 0) << "an octave away";
  EXPECT_EQ(table.ask(*point_of(graph::Gemm{1, 1024, 1024, 1024, graph::DType::bf16})).trust, 0) << "another type";
}

/// Sizes that double are how people measure: no size between two of them falls back to the models.
TEST(MeasuredTable, IsTrustedFromOnePointToTheNext) {
  const MeasuredTable table = table_of({{1024, 2.5}, {2048, 2.5}, {4096, 2.5}});
  for (std::int64_t m = 1025; m < 4096; m += 97) {
    const auto answer = table.ask(*point_of(gemm(m)));
    if (answer.measured_us > 0) continue;
    EXPECT_NEAR(answer.trust, 1, 1e-6) << m;
    EXPECT_NEAR(answer.log_ratio, std::log(2.5), 1e-9) << m;
  }
  EXPECT_NEAR(table.ask(*point_of(gemm(5793))).trust, 0.5, 1e-3) << "beyond the last";
  EXPECT_NEAR(table.ask(*point_of(gemm(724))).trust, 0.5, 1e-3) << "before the first";
}

TEST(MeasuredTable, IsTrustedWithinAGridOfSizes) {
  std::vector<MeasuredPoint> points;
  for (const std::int64_t m : {1024, 2048}) {
    for (const std::int64_t n : {1024, 2048})
      points.push_back({*point_of(graph::Gemm{1, m, n, 1024, graph::DType::fp16}), 200, 100});
  }
  const MeasuredTable table("gpu", "library", points);
  EXPECT_NEAR(table.ask(*point_of(graph::Gemm{1, 1448, 1448, 1024, graph::DType::fp16})).trust, 1, 1e-6);
  EXPECT_LT(table.ask(*point_of(graph::Gemm{1, 2896, 1448, 1024, graph::DType::fp16})).trust, 0.6);
}

/// A jump would make an op cheaper than a slightly smaller one.
TEST(MeasuredTable, TrustHasNoJumps) {
  std::vector<MeasuredPoint> points;
  for (const auto& [m, n] : {std::pair{1024, 4096}, {2048, 4096}, {2048, 8192}, {4096, 3000}})
    points.push_back({*point_of(graph::Gemm{1, m, n, 4096, graph::DType::fp16}), 200, 100});
  const MeasuredTable table("gpu", "library", points);
  for (const std::int64_t m : {1100, 1448, 1800, 2048, 2500, 3900}) {
    double before = -1;
    for (std::int64_t n = 2000; n < 16000; n += n / 400) {
      const MeasuredTable::Answer answer = table.ask(*point_of(graph::Gemm{1, m, n, 4096, graph::DType::fp16}));
      if (before >= 0) {
        EXPECT_LT(std::abs(answer.trust - before), 0.05) << m << " " << n;
      }
      before = answer.trust;
    }
  }
}

TEST(MeasuredTable, WeighsNeighboursByTheSquareOfTheirDistance) {
  // Between 1024 and 2048, a quarter octave above the first: weights 16 and 1 / 0.75^2 = 1.778.
  const MeasuredTable table = table_of({{1024, 2.0}, {2048, 1.0}});
  const auto answer = table.ask(*point_of(gemm(std::llround(1024 * std::pow(2.0, 0.25)))));
  EXPECT_NEAR(answer.log_ratio, std::log(2.0) * 16 / (16 + 1 / 0.5625), 1e-2);
}

TEST(MeasuredTable, FindsTheSamePointsAsALookAtAllOfThem) {
  std::vector<MeasuredPoint> points;
  std::uint32_t state = 1;
  const auto random = [&](int n) {
    return static_cast<std::int64_t>((state = state * 1664525U + 1013904223U) >> 16) % n + 1;
  };
  for (int i = 0; i < 3000; ++i)
    points.push_back(
        {*point_of(graph::Gemm{1, random(4096), random(4096), random(4096), graph::DType::fp16}), double(i + 1), 1});
  const MeasuredTable table("gpu", "library", points);
  for (int i = 0; i < 300; ++i) {
    const OpPoint at = *point_of(graph::Gemm{1, random(4096), random(4096), random(4096), graph::DType::fp16});
    std::vector<std::pair<double, const MeasuredPoint*>> near;
    for (const MeasuredPoint& p : points) {
      double sum = 0;
      for (std::size_t d = 0; d < OpPoint::kDims; ++d) sum += std::pow(double(p.point.at[d]) - double(at.at[d]), 2);
      if (sum < 1) near.emplace_back(std::sqrt(sum), &p);
    }
    std::sort(near.begin(), near.end());
    near.resize(std::min<std::size_t>(near.size(), 4));
    double weights = 0, sum = 0;
    for (const auto& [d, p] : near) {
      weights += 1 / (d * d);
      sum += std::log(p->measured_us) / (d * d);
    }
    const MeasuredTable::Answer answer = table.ask(at);
    EXPECT_GE(answer.trust, near.empty() ? 0 : 1 - near[0].first - 1e-9);
    if (answer.measured_us == 0 && !near.empty()) {
      EXPECT_NEAR(answer.log_ratio, sum / weights, 1e-9);
    }
  }
}

TEST(MeasuredTable, ReadsBackWhatItWrites) {
  const MeasuredTable table = table_of({{1024, 2.0}, {1000, 1.5}, {77, 0.25}});
  const auto back = parse_measured_table(table.text());
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->text(), table.text());
  EXPECT_DOUBLE_EQ(back->ask(*point_of(gemm(77))).measured_us, 25);
}

TEST(MeasuredTable, RefusesATruncatedOrEditedFile) {
  const std::string text = table_of({{1024, 2.0}, {1000, 1.5}}).text();
  for (std::size_t length = 0; length + 1 < text.size(); ++length)
    EXPECT_FALSE(parse_measured_table(text.substr(0, length)).ok()) << length;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    std::string edited = text;
    edited[at] = edited[at] == '7' ? '8' : '7';
    const auto table = parse_measured_table(edited);
    if (!table.ok()) continue;
    EXPECT_EQ(table->text(), text) << at;  // a digit of the checksum, written otherwise
  }
}

TEST(MeasuredTable, RefusesTimesThatAreNone) {
  for (const auto& [measured, models] : {std::pair(-1.0, 100.0), {0.0, 100.0}, {100.0, -1.0}, {1e12, 100.0}}) {
    const auto table =
        parse_measured_table(MeasuredTable("gpu", "library", {{*point_of(gemm(64)), measured, models}}).text());
    ASSERT_FALSE(table.ok()) << measured << ' ' << models;
    EXPECT_NE(table.error().what.find("expected a group, six coordinates and two positive times"), std::string::npos);
  }
}

TEST(MeasuredTable, RefusesARangeThatDoesNotHoldItsTime) {
  const auto parsed = [](double low, double high) {
    return parse_measured_table(MeasuredTable("gpu", "library", {{*point_of(gemm(64)), 20, 100, low, high}}).text())
        .ok();
  };
  EXPECT_TRUE(parsed(10, 30));
  EXPECT_FALSE(parsed(21, 30));
  EXPECT_FALSE(parsed(10, 19));
  EXPECT_FALSE(parsed(10, 1e12));
}

TEST(OpModels, TheTableLeadsTheModelsFollow) {
  const topology::DeviceSpec device = measured_devices().at("A100-SXM4-80GB");
  const double analytic = OpModels::create(device)->price(gemm(1024))->mean.us();
  const auto table = std::make_shared<const MeasuredTable>(
      "gpu", "library", std::vector<MeasuredPoint>{{*point_of(gemm(1024)), 3 * analytic, analytic}});
  const OpModels models = *OpModels::create(device, nullptr, table);
  EXPECT_NEAR(models.price(gemm(1024))->mean.us(), 3 * analytic, 1e-5);
  EXPECT_EQ(models.price(gemm(1024))->basis, graph::Basis::measured);
  EXPECT_EQ(models.price(gemm(1100))->basis, graph::Basis::interpolated);
  EXPECT_EQ(models.price(gemm(4096))->basis, graph::Basis::analytic);
  EXPECT_EQ(models.price(gemm(4096))->mean, OpModels::create(device)->price(gemm(4096))->mean);
}

/// A time that was measured at the clock of a benchmark is none of an op that runs for seconds, where that clock is lower.
TEST(OpModels, ATimeCarriedToTheClockOfALongRunIsNotCalledMeasured) {
  topology::DeviceSpec device = measured_devices().at("A100-SXM4-80GB");
  device.clock.burst = device.clock.boost;
  device.clock.sustained = Hertz(0.8 * device.clock.boost.value());
  const auto models_with = [&](const graph::Op& op) {
    return *OpModels::create(
        device, nullptr,
        std::make_shared<const MeasuredTable>("gpu", "library", std::vector<MeasuredPoint>{{*point_of(op), 600, 590}}));
  };
  const graph::Op product = graph::Gemm{1, 4096, 8192, 8192, graph::DType::fp16};
  const OpModels models = models_with(product);
  EXPECT_EQ(models.price(product)->basis, graph::Basis::measured);
  EXPECT_GT(models.price_steady(product)->mean, models.price(product)->mean);
  EXPECT_EQ(models.price_steady(product)->basis, graph::Basis::scaled);
  const graph::Op stream = graph::Copy{graph::CopyKind::h2d, 1 << 24};
  const OpModels of_stream = models_with(stream);
  EXPECT_EQ(of_stream.price_steady(stream)->mean, of_stream.price(stream)->mean);
  EXPECT_EQ(of_stream.price_steady(stream)->basis, graph::Basis::measured);
}

struct Calibrated {
  Result<MeasuredTable> table;
  CalibrationCount count;
};
Calibrated calibrate(const std::string& csv) {
  std::istringstream in(csv);
  const OpModels models = *OpModels::create(measured_devices().at("A100-SXM4-80GB"));
  OpCalibration calibration(models, [](std::string_view gpu) { return gpu == "A100-SXM4-80GB"; });
  const Result<void> added = calibration.add(in, "rows.csv");
  if (!added) return {added.error(), calibration.count()};
  return {calibration.table(), calibration.count()};
}

TEST(Calibration, TakesTheMeanOfRowsOfOneOpAndLeavesOutWhatItCannotUse) {
  const auto [table, count] = calibrate(
      "\xEF\xBB\xBFgpu,op,pass,dtype,m,n,k,latency_us,timing,framework\r\n"
      "A100-SXM4-80GB,linear,fwd,fp16,1024,1024,1024,20,kernel,cublas 12\r\n"
      "A100-SXM4-80GB,linear,fwd,fp16,1024,1024,1024,45,kernel,cublas 12\r\n"  // geometric mean of 20 and 45: 30
      "V100,linear,fwd,fp16,1024,1024,1024,45,kernel,\r\n"
      "A100-SXM4-80GB,linear,fwd,fp8,1024,1024,1024,45,kernel,\r\n"        // no fp8 on an A100
      "A100-SXM4-80GB,linear,bwd_both,fp16,1024,1024,1024,45,kernel,\r\n"  // two products
      "A100-SXM4-80GB,linear,fwd,fp16,64,64,64,40,event,\r\n"              // 44 us of launch alone
      "A100-SXM4-80GB,linear,fwd,fp16,64,64,64,0,kernel,\r\n");
  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(table->size(), 1u);
  EXPECT_NEAR(table->ask(*point_of(gemm(1024))).measured_us, 30, 1e-6);
  EXPECT_EQ(count.rows, 7u);
  EXPECT_EQ(count.used, 2u);
  EXPECT_EQ(count.other_gpu, 1u);
  EXPECT_EQ(count.unpriced, 2u);
  EXPECT_EQ(count.several, 1u);
  EXPECT_EQ(count.hidden, 1u);
  EXPECT_NE(count.first_problem.find("rows.csv:5"), std::string::npos) << count.first_problem;
  EXPECT_NE(table->text().find("library cublas 12\n"), std::string::npos);
}

/// Nothing in an op tells powu and tanh apart, so one point stands for both; it must not claim to be exact for either.
TEST(Calibration, KernelsThatTheModelsDescribeAlikeShareARangeThatHoldsThem) {
  const std::string header = "gpu,op,pass,dtype,rows,cols,latency_us,timing\n", gpu = "A100-SXM4-80GB,";
  const auto [table, count] =
      calibrate(header + gpu + "powu,fwd,fp32,4096,4096,200,kernel\n" + gpu + "tanh,fwd,fp32,4096,4096,120,kernel\n");
  ASSERT_TRUE(table.ok()) << table.error().text();
  ASSERT_EQ(table->size(), 1u);
  EXPECT_EQ(count.alike, 1u);
  EXPECT_EQ(
      count.first_alike,
      "rows.csv:3: latency_us: found 120 us for tanh fp32 fwd, where rows.csv:2, which the models describe alike, "
      "took 200 us");
  const auto back = parse_measured_table(table->text());
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->text(), table->text());
  const auto shared = std::make_shared<const MeasuredTable>(*back);
  const OpModels models = *OpModels::create(measured_devices().at("A100-SXM4-80GB"), nullptr, shared);
  const graph::Elementwise tanh{std::int64_t{4096} * 4096, 1, 1, graph::kSpecialFlops, graph::DType::fp32};
  const graph::Cost cost = *models.price(tanh);
  EXPECT_EQ(cost.basis, graph::Basis::measured);
  EXPECT_NEAR(cost.mean.us(), std::sqrt(200.0 * 120), 0.01);
  EXPECT_NEAR(cost.low.us(), 120, 0.01);
  EXPECT_NEAR(cost.high.us(), 200, 0.01);
  graph::Elementwise near = tanh;
  near.elements += near.elements / 16;
  const graph::Cost beside = *models.price(near);
  EXPECT_EQ(beside.basis, graph::Basis::interpolated);
  EXPECT_LT(beside.low.us() / beside.mean.us(), 0.82);
  EXPECT_GT(beside.high.us() / beside.mean.us(), 1.25);
}

TEST(Calibration, RowsOfOneKernelAreNotNamedAsTwo) {
  const std::string header = "gpu,op,pass,dtype,rows,cols,latency_us,timing\n", gpu = "A100-SXM4-80GB,";
  const auto alike = [&](const std::string& rows) { return calibrate(header + rows).count.alike; };
  EXPECT_EQ(alike(gpu + "tanh,fwd,fp32,4096,4096,200,kernel\n" + gpu + "tanh,forward,float32,4096,4096,120,kernel\n"),
            0u);
  EXPECT_EQ(alike(gpu + "powu,fwd,fp32,4096,4096,125,kernel\n" + gpu + "tanh,fwd,fp32,4096,4096,120,kernel\n"), 0u);
  EXPECT_EQ(alike(gpu + "gelu,fwd,fp32,4096,4096,200,kernel\n" + gpu + "tanh,fwd,fp32,4096,4096,120,kernel\n"), 0u);
  EXPECT_EQ(alike(gpu + "layernorm,bwd_data,fp32,4096,4096,200,kernel\n" + gpu +
                  "layernorm,bwd_weight,fp32,4096,4096,120,kernel\n"),
            1u);
}

/// The launch that is taken off a time is named, where the rest is used and where no GPU is so fast.
TEST(Calibration, NamesTheLaunchThatItTakesOff) {
  const std::string header = "gpu,op,dtype,m,n,k,timing,latency_us\n", gpu = "A100-SXM4-80GB,linear,fp16,";
  const auto [table, count] = calibrate(header + gpu + "512,4096,4096,event_median,96.8\n" + gpu +
                                        "1024,4096,4096,kernel,160\n" + gpu + "2048,4096,4096,wall_sync,400\n");
  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(count.launched, 2u);
  EXPECT_EQ(count.first_launched,
            "rows.csv:2: latency_us: of 96.8 us of linear fp16, 44 us of launch (timed by events) are taken off");
  const auto refused = calibrate(header + gpu + "256,4096,4096,event_median,58.4\n");
  EXPECT_NE(
      refused.count.first_problem.find(
          "latency_us: found 596.5 TFLOP/s in 14.4 us, which is left of 58.4 us without 44 us of launch (timed by "
          "events), expected at most 312 TFLOP/s"),
      std::string::npos)
      << refused.count.first_problem;
  EXPECT_NE(
      calibrate(header + gpu + "256,4096,4096,wall_sync,64\n")
          .count.first_problem.find("in 10 us, which is left of 64 us without 54 us of launch and synchronization "
                                    "(timed by the host's clock)"),
      std::string::npos);
  EXPECT_EQ(calibrate(header + gpu + "256,4096,4096,kernel,14.4\n").count.first_problem.find("left of"),
            std::string::npos);
}

TEST(Calibration, RefusesAFileWithoutAUsableRowOrWithoutLatencies) {
  EXPECT_NE(
      calibrate("gpu,op,dtype,m,n,k,latency_us\nV100,linear,fp16,8,8,8,3\n").table.error().text().find("no usable row"),
      std::string::npos);
  EXPECT_NE(calibrate("gpu,op,dtype,m,n,k,latency\nV100,linear,fp16,8,8,8,3\n").table.error().text().find("latency_us"),
            std::string::npos);
}

TEST(Calibration, RefusesTimesInAnotherUnitAndNamesAFew) {
  const std::string header = "gpu,op,dtype,m,n,k,latency_us,timing\n";
  const auto row = [](int m, const char* latency) {
    return "A100-SXM4-80GB,linear,fp16," + std::to_string(m) + ",4096,4096," + latency + ",kernel\n";
  };
  const auto nanoseconds = calibrate(header + row(4096, "600000") + row(2048, "300000"));
  ASSERT_FALSE(nanoseconds.table.ok());
  const std::string text = nanoseconds.table.error().text();
  EXPECT_EQ(text.find("rows.csv:2: latency_us: found 600 ms, where the models say "), 0u) << text;
  EXPECT_NE(text.find("in 2 of 2 rows; expected microseconds"), std::string::npos) << text;
  const auto one = calibrate(header + row(4096, "600") + row(2048, "300000") + row(1024, "160"));
  ASSERT_TRUE(one.table.ok()) << one.table.error().text();
  EXPECT_EQ(one.count.too_long, 1u);
  EXPECT_EQ(one.count.first_too_long.find("rows.csv:3: latency_us: found 300 ms"), 0u) << one.count.first_too_long;
}

TEST(Calibration, SaysWhyTheFirstRowIsNotUsable) {
  const std::string header = "gpu,op,pass,dtype,m,n,k,latency_us,timing\n", gpu = "A100-SXM4-80GB,linear,";
  const auto why = [&](const std::string& rows) { return calibrate(header + rows).table.error().text(); };
  EXPECT_NE(why(gpu + "bwd,fp16,64,64,64,40,kernel\n" + gpu + "fwd,fp16,x,64,64,40,kernel\n")
                .find("rows.csv:2: found one time for 2 kernels, expected a row for each"),
            std::string::npos);
  EXPECT_NE(why(gpu + "fwd,fp16,64,64,64,4,event\n").find("behind which the host's launch hides kernels"),
            std::string::npos);
}

TimedPoint timed(int m, double us, double models_us, std::uint32_t line) {
  OpPoint at = *point_of(gemm(1024));
  at.at[1] = std::log2(static_cast<float>(m));
  return {at, us, models_us, {0, line}};
}

TEST(Calibration, FindsTimesThatFallBeyondTheModels) {
  const auto falling = falling_times({timed(97, 45, 45, 4), timed(33, 468, 44, 2), timed(48, 128, 44, 3)});
  EXPECT_EQ(falling.series, 1u);
  EXPECT_EQ(falling.smaller.place.line, 2u);
  EXPECT_EQ(falling.larger.place.line, 4u);
  EXPECT_NEAR(falling.factor, 468.0 / 45, 1e-9);
  EXPECT_EQ(falling_times({timed(33, 130, 44, 2), timed(48, 45, 44, 3)}).series, 0u);   // less than thrice
  EXPECT_EQ(falling_times({timed(33, 468, 400, 2), timed(48, 45, 40, 3)}).series, 0u);  // the models fall too
  TimedPoint other = timed(97, 45, 45, 4);
  other.point.group ^= 1;
  EXPECT_EQ(falling_times({timed(33, 468, 44, 2), other}).series, 0u);
  other = timed(97, 45, 45, 4);
  other.point.at[2] += 1;
  EXPECT_EQ(falling_times({timed(33, 468, 44, 2), other}).series, 0u);  // of another series
}

/// Beyond the last of a series the models go on alone.
TEST(FallingTimes, TheLastOfASeriesMayBeFarAbove) {
  const auto timed = [](float at, double measured, double models, std::uint32_t line) {
    return TimedPoint{{1, {at, 3}}, measured, models, {0, line}};
  };
  const auto last = last_times({timed(12, 2000, 540, 2), timed(11, 270, 270, 3)});
  EXPECT_EQ(last.points, 1u);
  EXPECT_EQ(last.worst.place.line, 2u);
  EXPECT_NEAR(last.factor, 2000.0 / 540, 1e-9);
  EXPECT_EQ(last_times({timed(12, 1600, 540, 2)}).points, 0u);                            // less than thrice
  EXPECT_EQ(last_times({timed(12, 2000, 540, 2), timed(13, 2100, 1080, 3)}).points, 0u);  // a larger one is there
  EXPECT_EQ(last_times({timed(12, 2000, 540, 2), timed(13, 9000, 1080, 3)}).points, 1u);  // which is above as well
  TimedPoint wider = timed(12, 9000, 1080, 3);
  wider.point.at[1] = 4;
  EXPECT_EQ(last_times({timed(12, 2000, 540, 2), wider}).worst.place.line, 3u);
  wider.point.group = 2;
  EXPECT_EQ(last_times({timed(12, 2000, 540, 2), wider}).points, 2u);
}

TEST(Calibration, HoldsABoundedNumberOfPoints) {
  std::string csv = "gpu,op,dtype,m,n,k,latency_us\n";
  constexpr int kRows = 210'000;
  for (int i = 1; i <= kRows; ++i) csv += "A100-SXM4-80GB,linear,fp16," + std::to_string(i) + ",64,64,5\n";
  const auto [table, count] = calibrate(csv);
  ASSERT_TRUE(table.ok());
  EXPECT_LE(table->size(), MeasuredTable::kMaxPoints);
  EXPECT_GE(table->size(), MeasuredTable::kMaxPoints / 3);
  EXPECT_EQ(count.rows, static_cast<std::size_t>(kRows));
}

topology::DeviceSpec locked_to(double mhz) {
  topology::DeviceSpec device = measured_devices().at("A100-SXM4-80GB");
  device.clock.locked = Hertz(mhz * 1e6);
  return device;
}

/// What is measured at a locked clock comes back at that clock, whatever limits the op, and is less at free clocks where the
/// clock limits it: the way there and the way back are one.
TEST(Calibration, TimesAtALockedClockComeBackAtIt) {
  const std::string gpu = "A100-SXM4-80GB,";
  const graph::Op product = graph::Gemm{1, 8192, 4096, 3584, graph::DType::bf16};
  const graph::Op stream = graph::Elementwise{std::int64_t{1} << 28, 1, 1, 1, graph::DType::fp32};
  const auto check = [&](const std::string& csv, const graph::Op& op, double us, bool by_clock) {
    for (const double mhz : {600., 1095., 1275.}) {
      const auto [table, count] = calibrate(csv + "," + std::to_string(static_cast<int>(mhz)) + "\n");
      ASSERT_TRUE(table.ok()) << table.error().text();
      EXPECT_EQ(count.carried, 1u);
      const auto back = parse_measured_table(table->text());
      ASSERT_TRUE(back.ok()) << back.error().text();
      EXPECT_EQ(back->text(), table->text());
      const auto shared = std::make_shared<const MeasuredTable>(*back);
      for (const bool warm : {false, true}) {
        const graph::Cost locked = *OpModels::create(locked_to(mhz), nullptr, shared)->price(op, warm);
        if (!warm) {
          EXPECT_NEAR(locked.mean.us(), us, 1e-3 * us) << mhz;
        }
        EXPECT_EQ(locked.basis, graph::Basis::scaled);
      }
      const graph::Cost free = *OpModels::create(locked_to(0), nullptr, shared)->price(op);
      EXPECT_EQ(free.basis, graph::Basis::scaled) << "not measured at this clock";
      if (by_clock)
        EXPECT_NEAR(free.mean.us(), us * mhz / 1330, 0.02 * us) << mhz;
      else
        EXPECT_NEAR(free.mean.us(), us, 0.02 * us) << mhz;
    }
  };
  check("gpu,op,pass,dtype,m,n,k,timing,latency_us,sm_clock_mhz\n" + gpu +
            "linear,fwd,bf16,8192,4096,3584,kernel,2089.18",
        product, 2089.18, true);
  check("gpu,op,pass,dtype,rows,cols,timing,latency_us,sm_clock_mhz\n" + gpu + "addu,fwd,fp32,16384,16384,kernel,1500",
        stream, 1500, false);
}

TEST(Calibration, OnlyClocksClearlyBelowThatOfPricesAreCarried) {
  const std::string header = "gpu,op,pass,dtype,m,n,k,latency_us,timing,sm_clock_mhz\n", gpu = "A100-SXM4-80GB,";
  const auto row = [&](const std::string& clock) {
    return gpu + "linear,fwd,bf16,8192,4096,3584,1089.18,kernel," + clock + "\n";
  };
  for (const char* usual : {"1410", "1330", "1300", ""}) {
    const auto [table, count] = calibrate(header + row(usual));
    ASSERT_TRUE(table.ok()) << table.error().text();
    EXPECT_EQ(count.carried, 0u) << usual;
    EXPECT_EQ(count.no_clock, *usual == '\0' ? 1u : 0u);
    EXPECT_EQ(table->text().find("scaled"), std::string::npos);
  }
  const auto [table, count] = calibrate(header + row("1410") + row("1095") + row("1095"));
  EXPECT_EQ(count.carried, 2u);
  EXPECT_EQ(count.at_other_clocks, 0u) << "they are at one clock now";
  EXPECT_EQ(count.first_carried,
            "rows.csv:3: sm_clock_mhz: found 1095 MHz, where A100-SXM4-80GB holds 1330 MHz at free clocks");
  EXPECT_NE(table->text().find(" scaled\n"), std::string::npos);
}

/// Prices know no clock of the memory, so that times are not carried from one to another.
TEST(Calibration, MemoryClocksThatDifferAreNamed) {
  const std::string header = "gpu,op,pass,dtype,m,n,k,latency_us,timing,memory_clock_mhz\n", gpu = "A100-SXM4-80GB,";
  const auto row = [&](const std::string& clock) {
    return gpu + "linear,fwd,bf16,8192,4096,3584,1089.18,kernel," + clock + "\n";
  };
  const auto same = calibrate(header + row("1593") + row("") + row("1512")).count;
  EXPECT_EQ(same.used, 3u);
  EXPECT_EQ(same.at_other_memory, 0u);
  const auto apart = calibrate(header + row("1593") + row("810") + row("405")).count;
  EXPECT_EQ(apart.at_other_memory, 2u);
  EXPECT_EQ(apart.first_other_memory, "rows.csv:3: memory_clock_mhz: found 810 MHz, where rows.csv:2 states 1593 MHz");
  EXPECT_EQ(calibrate(header + row("1593") + row("x") + row("-1") + row("1e6")).count.unpriced, 3u);
}

/// Another clock in every row must not keep the models of each.
TEST(Calibration, ModelsOfManyClocksAreLetGo) {
  std::string csv = "gpu,op,dtype,m,n,k,latency_us,sm_clock_mhz\n";
  for (int mhz = 300; mhz < 900; ++mhz)
    csv += "A100-SXM4-80GB,linear,fp16," + std::to_string(mhz) + ",4096,4096,2000," + std::to_string(mhz) + "\n";
  const auto [table, count] = calibrate(csv);
  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(count.carried, 600u);
}

}  // namespace
}  // namespace distsim::opmodels
