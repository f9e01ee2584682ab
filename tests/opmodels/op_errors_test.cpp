// The op-by-op report of errors, before and after calibration.
#include "opmodels/measured/op_errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "device_fixtures.hpp"

namespace distsim::opmodels {
namespace {

class OpErrorsTest : public testing::Test {
 protected:
  std::string row(std::int64_t m, double times_model, const std::string& dtype = "fp16") const {
    const graph::DType type = dtype == "fp16" ? graph::DType::fp16 : graph::DType::bf16;
    const double us = models_.price(graph::Gemm{1, m, 1024, 1024, type})->mean.us() * times_model;
    std::ostringstream line;
    line.precision(17);
    line << "A100-SXM4-80GB,linear," << dtype << ',' << m << ",1024,1024," << us << ",trace\n";
    return line.str();
  }
  std::vector<OpKindErrors> errors(const std::string& rows) {
    std::istringstream in("gpu,op,dtype,m,n,k,latency_us,timing\n" + rows);
    EXPECT_TRUE(calibration_.add(in, "rows.csv").ok());
    const auto found = op_errors(calibration_.rows(), [&](MeasuredTable table) {
      return OpModels::create(device_, nullptr, std::make_shared<const MeasuredTable>(std::move(table)));
    });
    EXPECT_TRUE(found.ok()) << found.error().text();
    return found.ok() ? *found : std::vector<OpKindErrors>{};
  }
  const topology::DeviceSpec device_ = measured_devices().at("A100-SXM4-80GB");
  const OpModels models_ = *OpModels::create(device_);
  OpCalibration calibration_{models_, [](std::string_view gpu) { return gpu == "A100-SXM4-80GB"; }, true};
};

/// All kernels take twice the models' time: half too fast before. A neighbour a sixteenth of an octave away mends
/// nearly all of it.
TEST_F(OpErrorsTest, NeighboursMendWhatTheModelsMiss) {
  std::string rows;
  for (int i = 0; i < 64; ++i) rows += row(std::llround(1024 * std::exp2(i / 16.0)), 2);
  const auto kinds = errors(rows);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].kind, "linear fp16");
  EXPECT_EQ(kinds[0].ops.size(), 64u);
  EXPECT_NEAR(kinds[0].before.median, 0.5, 1e-3);
  EXPECT_NEAR(kinds[0].before.worst, 0.5, 1e-3);
  EXPECT_LT(kinds[0].after.median, 0.1);
  EXPECT_GT(kinds[0].after.median, 0) << "a shape was priced with the table that holds it";
  EXPECT_EQ(kinds[1].kind, "all");
}

/// One shape has no neighbour: its error stays, though it was measured twice.
TEST_F(OpErrorsTest, AShapeNeverVouchesForItself) {
  const auto kinds = errors(row(4096, 2) + row(4096, 2));
  EXPECT_NEAR(kinds.at(0).after.worst, 0.5, 1e-3);
}

TEST_F(OpErrorsTest, KindsAreApartAndTheWorstComesFirst) {
  const auto kinds = errors(row(64, 1.25) + row(4096, 4) + row(1024, 2, "bf16"));
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].kind, "linear bf16");
  EXPECT_EQ(kinds[1].kind, "linear fp16");
  EXPECT_NEAR(kinds[1].before.worst, 0.75, 1e-3);
  EXPECT_EQ(kinds[1].ops.at(0).op->shape, "4096x1024x1024");
  EXPECT_EQ(kinds[2].ops.size(), 3u);
  const std::string text = op_errors_text("a100", kinds, 1);
  EXPECT_NE(text.find("linear fp16                              2"), std::string::npos) << text;
  EXPECT_NE(text.find("(-75.0 %)"), std::string::npos) << text;
  EXPECT_EQ(text.find("    64x1024x1024 "), std::string::npos) << "one worst shape for each kind:\n" << text;
  const std::string csv = op_errors_csv(kinds);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_NE(csv.find(",-75.000,"), std::string::npos) << csv;
}

}  // namespace
}  // namespace distsim::opmodels
