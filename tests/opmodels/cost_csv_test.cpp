#include "opmodels/cost_csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "device_fixtures.hpp"

namespace distsim {
namespace {

/// Devices by gpu text; other names are refused as the command does.
class Fixture : public ::testing::Test {
 protected:
  Fixture() {
    for (const auto& [name, spec] : test::measured_devices()) models_.emplace(name, *OpModels::create(spec));
  }
  Result<const OpModels*> find(std::string_view gpu) {
    ++lookups_;
    const auto found = models_.find(std::string(gpu));
    if (found == models_.end()) return Error{"gpu: found '" + std::string(gpu) + "', expected a device", "", ""};
    return &found->second;
  }
  Result<CostCsvCount> run(const std::string& text) {
    std::istringstream in(text);
    out_.str("");
    return cost_csv(in, "shapes.csv", out_, [this](std::string_view gpu) { return find(gpu); });
  }
  std::vector<std::vector<std::string>> table() {
    std::istringstream in(out_.str());
    auto reader = *CsvReader::open(in, "out");
    std::vector<std::vector<std::string>> rows;
    for (auto row = reader.next(); row.ok() && *row; row = reader.next()) rows.push_back(**row);
    return rows;
  }
  Result<OpRow> parse(const std::string& header, const std::string& row) {
    std::istringstream in(header + "\n" + row + "\n");
    auto reader = *CsvReader::open(in, "in");
    const auto columns = OpColumns::from(reader);
    if (!columns.ok()) return columns.error();
    return op_from_row(*columns, **reader.next());
  }

  std::map<std::string, OpModels> models_;
  std::ostringstream out_;
  int lookups_ = 0;
};

const std::string kGemm = "gpu,op,pass,dtype,b,m,n,k,layout,timing";

TEST_F(Fixture, RepeatsTheColumnsAndAddsFive) {
  const auto count = run(kGemm + "\nA100-SXM4-80GB,linear,fwd,bf16,1,4096,4096,4096,NT,cudagraph_multiweight\n");
  ASSERT_TRUE(count.ok()) << count.error().text();
  EXPECT_EQ(out_.str().substr(0, out_.str().find('\n')), kGemm + ",predicted_us,low_us,high_us,basis,source");
  const auto row = table().at(0);
  ASSERT_EQ(row.size(), 15u);
  EXPECT_EQ(row[0], "A100-SXM4-80GB");
  const double us = std::stod(row[10]), low = std::stod(row[11]), high = std::stod(row[12]);
  EXPECT_GT(us, 2.0 * 4096 * 4096 * 4096 / 312e12 * 1e6);
  EXPECT_LT(us, 3 * 2.0 * 4096 * 4096 * 4096 / 312e12 * 1e6);
  EXPECT_LT(low, us);
  EXPECT_LT(us, high);
  EXPECT_EQ(row[13], "analytic");
}

TEST_F(Fixture, ARowThatCannotBePricedKeepsItsPlaceAndSaysWhy) {
  const auto count = run(kGemm +
                         "\nA100-SXM4-80GB,linear,fwd,bf16,1,64,64,64,NT,\nVoodoo2,linear,fwd,bf16,1,64,64,64,NT,\nV100-SXM2-32GB,linear,fwd,fp8,1,64,64,64,NT,\n"
                         "A100-SXM4-80GB,linear,fwd,bf16,1,0,64,64,NT,\nA100-SXM4-80GB,linear,fwd,bf16,1,x,64,64,NT,\nA100-SXM4-80GB,linaer,fwd,bf16,1,64,64,64,NT,\n"
                         "A100-SXM4-80GB,linear,sideways,bf16,1,64,64,64,NT,\nA100-SXM4-80GB,linear,fwd,bf17,1,64,64,64,NT,\n"
                         "A100-SXM4-80GB,linear,fwd,bf16,1,1e15,1e15,64,NT,\n");
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->rows, 9u);
  EXPECT_EQ(count->unpriced, 8u);
  const auto rows = table();
  ASSERT_EQ(rows.size(), 9u);
  const char* reasons[] = {"analytic", "Voodoo2", "fp8", "m: found 0", "m: found 'x'", "linear", "sideways", "bf17", "2^62"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NE(rows[i][13].find(reasons[i]), std::string::npos) << rows[i][13];
    EXPECT_EQ(rows[i][10].empty(), i != 0);
  }
}

TEST_F(Fixture, CarriageReturnsAndByteOrderMark) {
  const std::string row = "A100-SXM4-80GB,linear,fwd,bf16,1,64,64,64,NT,";
  ASSERT_TRUE(run(kGemm + "\n" + row + "\n").ok());
  const std::string plain = out_.str();
  ASSERT_TRUE(run("\xEF\xBB\xBF" + kGemm + "\r\n" + row + "\r\n").ok());
  EXPECT_EQ(out_.str(), plain);
}

TEST_F(Fixture, RefusesFilesWithoutTheirColumns) {
  EXPECT_FALSE(run("").ok());
  EXPECT_FALSE(run("gpu,op,pass\n").ok()) << "no dtype";
  const auto no_sizes = run("gpu,op,dtype,m,n\n");
  ASSERT_FALSE(no_sizes.ok());
  EXPECT_NE(no_sizes.error().text().find("m,n,k"), std::string::npos);
  EXPECT_FALSE(run(kGemm + ",predicted_us\n").ok()) << "the output's column is already there";
  EXPECT_FALSE(run(kGemm + "\nA100-SXM4-80GB,linear\n").ok()) << "a torn row";
}

TEST_F(Fixture, LooksADeviceUpOnce) {
  std::string text = kGemm + "\n";
  for (int i = 0; i < 50; ++i) text += "A100-SXM4-80GB,linear,fwd,bf16,1,64,64,64,NT,\nVoodoo2,linear,fwd,bf16,1,64,64,64,NT,\n";
  ASSERT_TRUE(run(text).ok());
  EXPECT_EQ(lookups_, 2);
}

TEST_F(Fixture, BothGradientsAreTwoProducts) {
  const auto row = parse(kGemm, "A100,linear,bwd_both,fp16,2,3,5,7,NT,wall_sync_avg");
  ASSERT_TRUE(row.ok()) << row.error().text();
  ASSERT_EQ(row->ops.size(), 2u);
  const Gemm data = std::get<Gemm>(row->ops[0]), weight = std::get<Gemm>(row->ops[1]);
  EXPECT_EQ(std::tie(data.batch, data.m, data.n, data.k), std::make_tuple(2, 3, 7, 5)) << "dA = dC B^T";
  EXPECT_EQ(std::tie(weight.m, weight.n, weight.k), std::make_tuple(7, 5, 3)) << "dB = A^T dC";
  EXPECT_EQ(row->timing, Timing::wall);
}

TEST_F(Fixture, UnequalPaddingKeepsTheOutputs) {
  const auto row = parse("gpu,op,pass,dtype,n,c,h,w,k,r,s,stride_h,stride_w,pad_h,pad_w,dil,groups", "A100,conv2d,fwd,fp32,2,3,20,30,8,3,5,1,1,1,2,1,1");
  ASSERT_TRUE(row.ok()) << row.error().text();
  const Conv2d conv = std::get<Conv2d>(row->ops[0]);
  EXPECT_EQ(conv.out_h(), 20);
  EXPECT_EQ(conv.out_w(), 30);
  EXPECT_FALSE(parse("gpu,op,dtype,n,c,h,w,k,r,s,stride_h,stride_w,pad_h,pad_w", "A100,conv2d,fp32,2,3,20,30,8,3,5,1,2,1,2").ok()) << "unequal strides";
}

TEST_F(Fixture, EmbeddingRowsCarryTheirOptimizer) {
  const auto row = parse("gpu,op,pass,dtype,tables,batch,nnz,rows_total,dim", "A100,fbgemm_tbe_weighted,bwd+rowwise_adagrad,fp32,5,2048,163840,5000,96.0");
  ASSERT_TRUE(row.ok()) << row.error().text();
  const EmbeddingBag bag = std::get<EmbeddingBag>(row->ops[0]);
  ASSERT_EQ(bag.tables.size(), 5u);
  EXPECT_EQ(bag.tables[0].rows, 1000);
  EXPECT_DOUBLE_EQ(bag.tables[0].pooling_factor, 16);
  EXPECT_EQ(bag.optimizer, EmbeddingOptimizer::rowwise_adagrad);
  EXPECT_EQ(bag.update, SparseUpdate::fused);
}

TEST(Timing, ConventionsByTheirText) {
  EXPECT_EQ(parse_timing("evt_min5of25"), Timing::event);
  EXPECT_EQ(parse_timing("wall_sync_avg"), Timing::wall);
  EXPECT_EQ(parse_timing("cudagraph_multiweight"), Timing::kernel);
  EXPECT_EQ(parse_timing(""), Timing::kernel);
}

TEST(Timing, TheLaunchGapIsAddedOnceAndHidesShortKernels) {
  EXPECT_DOUBLE_EQ(as_measured(Timing::kernel, HostCall::linear, "x", 5e-6, 1), 5e-6);
  // linear: 44 us until the kernel starts, the end event no earlier than 10 us later.
  EXPECT_NEAR(as_measured(Timing::event, HostCall::linear, "x", 5e-6, 1), 54e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::event, HostCall::linear, "x", 100e-6, 1), 144e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::wall, HostCall::linear, "x", 100e-6, 1), 154e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::event, HostCall::linear, "P100-PCIE-16GB", 1e-3, 1), 1e-3 + 1.65 * 44e-6, 1e-12) << "its slower host";
}

}  // namespace
}  // namespace distsim
