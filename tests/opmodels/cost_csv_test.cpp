#include "opmodels/csv/cost_csv.hpp"
#include "opmodels/learned/training_rows.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <sstream>

#include "device_fixtures.hpp"

namespace distsim::opmodels {
namespace {

/// Devices by gpu text; other names are refused as the command does.
class Fixture : public ::testing::Test {
 protected:
  Fixture() {
    for (const auto& [name, spec] : measured_devices()) models_.emplace(name, *OpModels::create(spec));
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

// Whatever is wrong with a column's name, it is not passed over in silence.
TEST_F(Fixture, EveryColumnThatIsNotUsedIsNamed) {
  const std::string sizes = "gpu,op,pass,dtype,m,n,k,", row = "A100-SXM4-80GB,bmm,fwd,fp16,1024,64,1024,80\n";
  for (const std::string name : {"bb", "l", "dl", "oil", "tride_w", "foo", "heds", "is_causal"}) {
    const auto count = run(sizes + name + "\n" + row);
    ASSERT_TRUE(count.ok()) << count.error().text();
    ASSERT_EQ(count->remarks.size(), 1u) << name;
    EXPECT_NE(count->remarks.front().find(name), std::string::npos) << count->remarks.front();
  }
  EXPECT_TRUE(run(sizes + "b\n" + row)->remarks.empty());
  EXPECT_TRUE(run(sizes + "notes\n" + row)->remarks.empty()) << "a column of the public data sets";
}

TEST_F(Fixture, CapitalLettersAloneAreRefused) {
  const std::string row = "\nA100-SXM4-80GB,bmm,fwd,fp16,NN,80,1024,64,1024\n";
  const std::string header = "gpu,op,pass,dtype,layout,b,m,n,k";
  ASSERT_TRUE(run(header + row).ok());
  for (std::size_t i = header.find("pass"); i < header.size(); ++i) {
    if (header[i] == ',') continue;
    std::string changed = header;
    changed[i] = static_cast<char>(std::toupper(changed[i]));
    const auto count = run(changed + row);
    ASSERT_FALSE(count.ok()) << changed;
    EXPECT_NE(count.error().text().find("shapes.csv:1: "), std::string::npos) << count.error().text();
  }
  EXPECT_EQ(run("gpu,op,pass,dtype,B,m,n,k\nA100-SXM4-80GB,bmm,fwd,fp16,80,1024,64,1024\n").error().text(),
            "shapes.csv:1: columns: found 'B', expected 'b'");
  EXPECT_EQ(run("gpu,op,pass,dtype,B,b,m,n,k\nA100-SXM4-80GB,bmm,fwd,fp16,80,80,1024,64,1024\n").error().text(),
            "shapes.csv:1: columns: found 'B' beside 'b', expected only 'b'");
}

/// A benchmark runs at the clock before power limits; a row that does not say how it is timed runs for seconds.
TEST_F(Fixture, ARowWithoutTimingIsPricedAsALongRun) {
  topology::DeviceSpec hot = measured_devices().at("H100-SXM5-80GB");
  hot.clock.burst = hot.clock.boost;
  hot.clock.power = hot.power_limit;
  models_.emplace("hot", *OpModels::create(hot));
  const auto us = [&](const std::string& timing) {
    EXPECT_TRUE(run(kGemm + "\nhot,gemm,fwd,bf16,1,8192,8192,8192,NT," + timing + "\n").ok());
    return std::stod(table().at(0)[10]);
  };
  EXPECT_GT(us(""), 1.02 * us("cudagraph_multiweight"));
}

TEST_F(Fixture, ARowThatCannotBePricedKeepsItsPlaceAndSaysWhy) {
  const auto count = run(
      kGemm +
      "\nA100-SXM4-80GB,linear,fwd,bf16,1,64,64,64,NT,\nVoodoo2,linear,fwd,bf16,1,64,64,64,NT,\nV100-SXM2-32GB,linear,fwd,fp8,1,64,64,64,NT,\n"
      "A100-SXM4-80GB,linear,fwd,bf16,1,0,64,64,NT,\nA100-SXM4-80GB,linear,fwd,bf16,1,x,64,64,NT,\nA100-SXM4-80GB,linaer,fwd,bf16,1,64,64,64,NT,\n"
      "A100-SXM4-80GB,linear,sideways,bf16,1,64,64,64,NT,\nA100-SXM4-80GB,linear,fwd,bf17,1,64,64,64,NT,\n"
      "A100-SXM4-80GB,linear,fwd,bf16,1,1e15,1e15,64,NT,\n");
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->rows, 9u);
  EXPECT_EQ(count->unpriced, 8u);
  const auto rows = table();
  ASSERT_EQ(rows.size(), 9u);
  const char* reasons[] = {"analytic", "Voodoo2",  "fp8",  "m: found 0", "m: found 'x'",
                           "linear",   "sideways", "bf17", "2^62"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NE(rows[i][13].find(reasons[i]), std::string::npos) << rows[i][13];
    EXPECT_EQ(rows[i][10].empty(), i != 0);
  }
}

/// As op_bench writes it, in any case; a word that is no layout is not taken for one.
TEST_F(Fixture, LayoutsAreReadInAnyCaseAndNoOthers) {
  const std::string conv = "gpu,op,dtype,n,c,h,w,k,r,s,layout";
  const auto channels_last = [&](const std::string& layout) -> Result<bool> {
    TRY_ASSIGN(const OpRow row, parse(conv, "A100-SXM4-80GB,conv2d,tf32,64,256,56,56,256,3,3," + layout));
    return std::get<graph::Conv2d>(row.ops.at(0)).channels_last;
  };
  for (const char* layout : {"", "NHWC", "nhwc", "channels_last"}) EXPECT_TRUE(*channels_last(layout)) << layout;
  for (const char* layout : {"NCHW", "nchw"}) EXPECT_FALSE(*channels_last(layout)) << layout;
  EXPECT_NE(channels_last("NHCW").error().text().find("layout: found 'NHCW', expected NCHW or NHWC"),
            std::string::npos);
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
  for (int i = 0; i < 50; ++i)
    text += "A100-SXM4-80GB,linear,fwd,bf16,1,64,64,64,NT,\nVoodoo2,linear,fwd,bf16,1,64,64,64,NT,\n";
  ASSERT_TRUE(run(text).ok());
  EXPECT_EQ(lookups_, 2);
}

TEST_F(Fixture, BothGradientsAreTwoProducts) {
  const auto row = parse(kGemm, "A100,linear,bwd_both,fp16,2,3,5,7,NT,wall_sync_avg");
  ASSERT_TRUE(row.ok()) << row.error().text();
  ASSERT_EQ(row->ops.size(), 2u);
  const graph::Gemm data = std::get<graph::Gemm>(row->ops[0]), weight = std::get<graph::Gemm>(row->ops[1]);
  EXPECT_EQ(std::tie(data.batch, data.m, data.n, data.k), std::make_tuple(2, 3, 7, 5)) << "dA = dC B^T";
  EXPECT_EQ(std::tie(weight.m, weight.n, weight.k), std::make_tuple(7, 5, 3)) << "dB = A^T dC";
  EXPECT_EQ(row->timing, Timing::wall);
}

TEST_F(Fixture, UnequalPaddingKeepsTheOutputs) {
  const auto row = parse("gpu,op,pass,dtype,n,c,h,w,k,r,s,stride_h,stride_w,pad_h,pad_w,dil,groups",
                         "A100,conv2d,fwd,fp32,2,3,20,30,8,3,5,1,1,1,2,1,1");
  ASSERT_TRUE(row.ok()) << row.error().text();
  const graph::Conv2d conv = std::get<graph::Conv2d>(row->ops[0]);
  EXPECT_EQ(conv.out_h(), 20);
  EXPECT_EQ(conv.out_w(), 30);
  EXPECT_FALSE(
      parse("gpu,op,dtype,n,c,h,w,k,r,s,stride_h,stride_w,pad_h,pad_w", "A100,conv2d,fp32,2,3,20,30,8,3,5,1,2,1,2")
          .ok())
      << "unequal strides";
}

TEST_F(Fixture, EmbeddingRowsCarryTheirOptimizer) {
  const auto row = parse("gpu,op,pass,dtype,tables,batch,nnz,rows_total,dim",
                         "A100,fbgemm_tbe_weighted,bwd+rowwise_adagrad,fp32,5,2048,163840,5000,96.0");
  ASSERT_TRUE(row.ok()) << row.error().text();
  const graph::EmbeddingBag bag = std::get<graph::EmbeddingBag>(row->ops[0]);
  ASSERT_EQ(bag.tables.size(), 5u);
  EXPECT_EQ(bag.tables[0].rows, 1000);
  EXPECT_DOUBLE_EQ(bag.tables[0].pooling_factor, 16);
  EXPECT_EQ(bag.optimizer, graph::EmbeddingOptimizer::rowwise_adagrad);
  EXPECT_EQ(bag.update, graph::SparseUpdate::fused);
}

TEST_F(Fixture, EmbeddingRowsTakePoolingRowsSkewAndUpdate) {
  const std::string header = "gpu,op,pass,dtype,tables,batch,pooling,rows,dim,alpha,update";
  const auto row = parse(header, "A100,embedding_bag,bwd+sgd,fp16,4,1024,2.5,1000,64,1.05,atomic");
  ASSERT_TRUE(row.ok()) << row.error().text();
  const graph::EmbeddingBag bag = std::get<graph::EmbeddingBag>(row->ops[0]);
  ASSERT_EQ(bag.tables.size(), 4u);
  EXPECT_EQ(bag.tables[3].rows, 1000);
  EXPECT_DOUBLE_EQ(bag.tables[3].pooling_factor, 2.5);
  EXPECT_DOUBLE_EQ(bag.tables[3].alpha, 1.05);
  EXPECT_EQ(bag.update, graph::SparseUpdate::atomic);
  EXPECT_FALSE(parse(header, "A100,embedding_bag,bwd+sgd,fp16,4,1024,2.5,1000,64,1.05,magic").ok());
}

TEST_F(Fixture, AWeightedBackwardGathersOnceMoreAndSortsItsWeights) {
  const auto row = parse("gpu,op,pass,dtype,tables,batch,nnz,rows_total,dim",
                         "A100,fbgemm_tbe_weighted,bwd+rowwise_adagrad,fp32,1,8192,61072,1000,96");
  ASSERT_TRUE(row.ok()) << row.error().text();
  ASSERT_EQ(row->ops.size(), 5u) << "backward, gather, histogram and two passes for ten bits";
  EXPECT_EQ(std::get<graph::EmbeddingBag>(row->ops[1]).pass, graph::Pass::forward);
  EXPECT_EQ(std::get<graph::Elementwise>(row->ops[4]).elements, 61072);
}

/// One row of every op that the file format knows, with its sizes as KEY=VALUE.
const std::map<std::string, std::string> kSizes{
    {"linear", "m=64;n=64;k=64"},
    {"optimizer", "parameters=4096"},
    {"gemm", "m=64;n=64;k=64"},
    {"mm", "m=64;n=64;k=64"},
    {"addmm", "m=64;n=64;k=64"},
    {"bmm", "b=2;m=64;n=64;k=64"},
    {"matmul", "m=64;n=64;k=64"},
    {"conv2d", "n=2;c=64;h=14;w=14;k=64;r=3;s=3;pad_h=1"},
    {"depthwise_conv2d", "n=2;c=64;h=14;w=14;k=64;r=3;s=3;pad_h=1"},
    {"embedding", "batch=64;nnz=64;rows_total=1000;dim=64"},
    {"embedding_bag", "tables=2;batch=64;pooling=3;rows=1000;dim=64"},
    {"fbgemm_tbe_weighted", "batch=64;nnz=64;rows_total=1000;dim=64"},
    {"fbgemm_tbe_unweighted", "batch=64;nnz=64;rows_total=1000;dim=64"},
    {"elementwise", "elements=4096"},
    {"fused_elementwise", "rows=64;cols=64;reads=3;writes=2;flops=8"},
    {"concat", "bytes=4096;pieces=3"},
    {"split", "rows=64;cols=64"},
    {"transpose", "rows=64;cols=64;b=4"},
    {"copy_h2d", "bytes=4096"},
    {"copy_d2h", "bytes=4096"},
    {"copy_d2d", "elements=4096"},
    {"copy_p2p", "bytes=4096"},
    {"interaction", "batch=64;features=27;dim=128"},
    {"fused_interaction", "batch=64;features=27;dim=128"},
    {"cross_layer", "batch=64;width=256;rank=32"},
    {"attention", "batch=2;heads=4;q_len=128;head_dim=64"},
    {"flash_attention", "batch=2;heads=4;q_len=128;kv_len=256;head_dim=64;causal=1"},
    {"recurrent", "cell=gru;batch=16;length=20;input=128;hidden=256"},
    {"lstm", "batch=16;length=20;input=128;hidden=256;directions=2"},
    {"gru", "batch=16;length=20;input=128;hidden=256;kernels=persistent"},
    {"state_space_scan", "batch=2;length=1024;heads=16;head_dim=64;state=128;groups=2"},
    {"sgd", "parameters=4096"},
    {"momentum", "parameters=4096"},
    {"adagrad", "parameters=4096"},
    {"adam", "parameters=4096;tensors=3;master_weights=1"},
    {"lamb", "parameters=4096"},
    {"lars", "parameters=4096"}};

/// The header and row that hold an op and its sizes.
std::pair<std::string, std::string> line_of(const std::string& op, std::string sizes) {
  std::string header = "gpu,op,dtype", row = "A100-SXM4-80GB," + op + ",fp16";
  for (std::size_t at = 0; at < sizes.size();) {
    const std::size_t end = std::min(sizes.find(';', at), sizes.size()), equals = sizes.find('=', at);
    header += "," + sizes.substr(at, equals - at);
    row += "," + sizes.substr(equals + 1, end - equals - 1);
    at = end + 1;
  }
  return {header, row};
}

TEST_F(Fixture, EveryOpOfTheFormatIsPriced) {
  for (const std::string& op : row_op_names()) {
    const auto known = kSizes.find(op);
    const auto [header, row] = line_of(op, known == kSizes.end() ? "rows=64;cols=64" : known->second);
    const auto count = run(header + "\n" + row + "\n");
    ASSERT_TRUE(count.ok()) << op << ": " << count.error().text();
    EXPECT_EQ(count->unpriced, 0u) << op << ": " << out_.str();
  }
}

TEST_F(Fixture, EverySizeMayStandInExtra) {
  for (const std::string& op : row_op_names()) {
    const auto known = kSizes.find(op);
    const std::string sizes = known == kSizes.end() ? "rows=64;cols=64" : known->second;
    const auto [header, row] = line_of(op, sizes);
    ASSERT_TRUE(run(header + "\n" + row + "\n").ok()) << op;
    const auto by_columns = table()[0];
    const auto count = run("gpu,op,dtype,extra\nA100-SXM4-80GB," + op + ",fp16," + sizes + "\n");
    ASSERT_TRUE(count.ok()) << op << ": " << count.error().text();
    const auto by_extra = table()[0];
    EXPECT_FALSE(by_extra[4].empty()) << op << ": " << by_extra[7];
    EXPECT_EQ(by_extra[4], by_columns[by_columns.size() - 5]) << op;
  }
}

TEST_F(Fixture, TrainingRowsSplitAMeasurementByShares) {
  // Backward, a linear layer is two products; what was measured is both.
  std::istringstream in("gpu,op,pass,dtype,m,n,k,latency_us\nA100-SXM4-80GB,linear,bwd,bf16,8192,4096,1024,1200\n");
  out_.str("");
  const auto count = training_rows(in, "x.csv", out_, LearnedKernel::product16, [this](auto gpu) { return find(gpu); });
  ASSERT_TRUE(count.ok()) << count.error().text();
  EXPECT_EQ(count->kept, 1u);
  double measured = 0, analytic = 0;
  for (const auto& line : table()) measured += std::stod(line[9]), analytic += std::stod(line[13]);
  EXPECT_NEAR(measured, 1200, 1e-3);
  for (const auto& line : table()) EXPECT_NEAR(std::stod(line[9]) / 1200, std::stod(line[13]) / analytic, 1e-6);
  EXPECT_EQ(table().size(), 2u);
}

TEST_F(Fixture, TrainingRowsNameTimesFarAboveTheModels) {
  const std::string row = "A100-SXM4-80GB,linear,bf16,4096,4096,4096,";
  const auto rows = [&](const std::string& latencies) {
    std::istringstream in("gpu,op,dtype,m,n,k,latency_us\n" + latencies);
    out_.str("");
    return training_rows(in, "x.csv", out_, LearnedKernel::product16, [this](auto gpu) { return find(gpu); });
  };
  const auto one = rows(row + "600\n" + row + "4294967296\n" + row + "640\n");
  ASSERT_TRUE(one.ok()) << one.error().text();
  EXPECT_EQ(one->kept, 3u);
  EXPECT_EQ(one->too_long, 1u);
  EXPECT_EQ(one->first_too_long.find("x.csv:3: latency_us: found 4295 s, where the models say "), 0u)
      << one->first_too_long;
  const auto nanoseconds = rows(row + "600000\n" + row + "620000\n");
  ASSERT_FALSE(nanoseconds.ok());
  EXPECT_NE(nanoseconds.error().what.find("in 2 of 2 rows; expected microseconds"), std::string::npos)
      << nanoseconds.error().text();
}

TEST_F(Fixture, TrainingRowsLeaveOutWhatNoGpuDoes) {
  std::istringstream in(
      "gpu,op,dtype,m,n,k,latency_us\n"
      "A100-SXM4-80GB,linear,bf16,4096,4096,4096,600\n"
      "A100-SXM4-80GB,linear,bf16,4096,4096,4096,6\n"
      "A100-SXM4-80GB,linear,fp32,4096,4096,4096,6000\n"
      "A100-SXM4-80GB,linear,bf16,4096,4096,4096,-6\n");
  out_.str("");
  const auto count = training_rows(in, "x.csv", out_, LearnedKernel::product16, [this](auto gpu) { return find(gpu); });
  ASSERT_TRUE(count.ok()) << count.error().text();
  EXPECT_EQ(count->kept, 1u);
  EXPECT_EQ(count->impossible, 1u);
  EXPECT_EQ(count->other_kernel, 1u);
  EXPECT_EQ(count->unpriced, 1u);
  EXPECT_EQ(count->first_problem.find("x.csv:3: latency_us: found"), 0u) << count->first_problem;
  EXPECT_EQ(table().size(), 1u);
}

/// As calibrate ops does.
TEST_F(Fixture, TrainingRowsLeaveOutWhatContradictsItself) {
  const std::string shape = "A100-SXM4-80GB,linear,bf16,4096,4096,4096,";
  const std::pair<const char*, const char*> rows[] = {
      {"600,590,610,5,0.1,1400\n", ""},
      {"600,700,710,5,0.1,1400\n", "low_us: found 700, "},
      {"600,1,2,5,0.1,1400\n", "high_us: found 2, "},
      {"600,590,610,0,0.1,1400\n", "repetitions: found 0, "},
      {"600,590,610,5,5,1400\n", "relative_error: found 5, "},
      {"600,590,610,5,0.1,99999\n", "sm_clock_mhz: found 99999, "},
      {"600,590,610,5,0.1,5000\n", "sm_clock_mhz: found 5000, expected at most 1410, "},
      {"1e13,,,,,\n", "latency_us: found '1e13', "},
  };
  for (const auto& [row, problem] : rows) {
    std::istringstream in("gpu,op,dtype,m,n,k,latency_us,low_us,high_us,repetitions,relative_error,sm_clock_mhz\n" +
                          shape + "600,590,610,5,0.1,1400\n" + shape + row);
    out_.str("");
    const auto count =
        training_rows(in, "x.csv", out_, LearnedKernel::product16, [this](auto gpu) { return find(gpu); });
    ASSERT_TRUE(count.ok()) << count.error().text();
    EXPECT_EQ(count->kept, *problem == '\0' ? 2u : 1u) << row;
    EXPECT_EQ(count->first_problem.find(*problem == '\0' ? "" : std::string("x.csv:3: ") + problem), 0u)
        << row << count->first_problem;
    EXPECT_EQ(count->impossible, 0u) << row << "contradicts itself";
  }
}

/// A row at a locked clock is one of a device that is locked to it: the analytic time in it is longer, too.
TEST_F(Fixture, TrainingRowsAtALowClockAreOfALockedDevice) {
  const std::string row = "A100-SXM4-80GB,linear,bf16,8192,4096,3584,kernel,2089.18,";
  const auto seconds_at = [&](const std::string& clock, std::size_t low) {
    std::istringstream in("gpu,op,dtype,m,n,k,timing,latency_us,sm_clock_mhz\n" + row + clock + "\n");
    out_.str("");
    const auto count =
        training_rows(in, "x.csv", out_, LearnedKernel::product16, [this](auto gpu) { return find(gpu); });
    EXPECT_TRUE(count.ok()) << count.error().text();
    EXPECT_EQ(count->at_low_clock, low) << clock;
    if (low > 0) {
      EXPECT_EQ(count->first_low_clock,
                "x.csv:2: sm_clock_mhz: found " + clock + " MHz, where A100-SXM4-80GB holds 1330 MHz at free clocks");
    }
    const std::string text = out_.str(), header = text.substr(0, text.find('\n')),
                      line = text.substr(header.size() + 1);
    const auto column =
        std::count(header.begin(), header.begin() + static_cast<long>(header.find(",seconds,")) + 1, ',');
    std::size_t at = 0;
    for (long i = 0; i < column; ++i) at = line.find(',', at) + 1;
    return std::stod(line.substr(at));
  };
  const double usual = seconds_at("", 0);
  EXPECT_EQ(seconds_at("1410", 0), usual);
  EXPECT_NEAR(seconds_at("665", 1) / usual, 2, 0.05);
}

TEST_F(Fixture, TrainingRowsLeaveOutWhatIsNoLongerThanItsLaunch) {
  const std::string row = "A100-SXM4-80GB,linear,bf16,4096,4096,4096,";
  std::istringstream in("gpu,op,dtype,m,n,k,latency_us,timing\n" + row + "600,wall_sync\n" + row + "0.001,wall_sync\n" +
                        row + "0.5,evt_min5of25\n");
  out_.str("");
  const auto count = training_rows(in, "x.csv", out_, LearnedKernel::product16, [this](auto gpu) { return find(gpu); });
  ASSERT_TRUE(count.ok()) << count.error().text();
  EXPECT_EQ(count->kept, 1u);
  EXPECT_EQ(count->hidden, 2u);
  EXPECT_EQ(count->first_problem.find("x.csv:3: latency_us: found 1 ns, expected more than the"), 0u)
      << count->first_problem;
}

TEST_F(Fixture, PointwiseRowsReadAndWriteWhatTheirOpsDo) {
  const std::string header = "gpu,op,pass,dtype,rows,cols";
  for (const auto& [op, reads, writes] : {std::tuple("add", 2.0, 1.0),
                                          {"relu", 1.0, 1.0},
                                          {"sum", 1.0, 0.0},
                                          {"mean", 1.0, 0.0},
                                          {"cat", 1.0, 1.0},
                                          {"copy_", 1.0, 1.0},
                                          {"zero_", 0.0, 1.0},
                                          {"sigmoid_backward", 2.0, 1.0},
                                          {"gelu_backward", 2.0, 1.0},
                                          {"addu", 1.0, 1.0},
                                          {"index", 1.0, 1.0},
                                          {"silu", 1.0, 1.0}}) {
    const auto row = parse(header, "A100," + std::string(op) + ",fwd,fp16,128,256");
    ASSERT_TRUE(row.ok()) << row.error().text();
    const auto& kernel = std::get<graph::Elementwise>(row->ops[0]);
    EXPECT_EQ(std::tie(kernel.reads, kernel.writes), std::tie(reads, writes)) << op;
  }
}

TEST_F(Fixture, ReadsTheRowsOfOpBench) {
  const std::string header = "gpu,op,pass,dtype,rows,cols,extra";
  const auto attention = parse(header, "A100,attention,fwd,fp16,2048,128,heads=16;length=128;dim=64;flash=0");
  ASSERT_TRUE(attention.ok()) << attention.error().text();
  const graph::Attention a = std::get<graph::Attention>(attention->ops[0]);
  EXPECT_EQ(std::tie(a.batch, a.heads, a.q_len, a.kv_len, a.head_dim), std::make_tuple(1, 16, 128, 128, 64));
  const auto interaction = parse(header, "A100,interaction,fwd,fp16,8192,3456,features=27;dim=128");
  ASSERT_TRUE(interaction.ok()) << interaction.error().text();
  const graph::Interaction i = std::get<graph::Interaction>(interaction->ops[0]);
  EXPECT_EQ(std::tie(i.batch, i.features, i.dim, i.fused), std::make_tuple(8192, 27, 128, true));
  const std::string sizes = "gpu,op,pass,dtype,batch,features,dim";
  const auto is_fused = [&](const char* op) {
    return std::get<graph::Interaction>(parse(sizes, std::string("A100,") + op + ",fwd,fp16,64,27,128")->ops[0]).fused;
  };
  EXPECT_FALSE(is_fused("interaction"));
  EXPECT_TRUE(is_fused("fused_interaction"));
  EXPECT_TRUE(parse("gpu,op,pass,dtype,rows,cols", "A100,relu,fwd,fp16,1,1").ok());
  const auto adam = parse(header, "A100,optimizer_adam,update,fp32,16,1000,tensors=16");
  ASSERT_TRUE(adam.ok()) << adam.error().text();
  EXPECT_EQ(std::get<graph::Optimizer>(adam->ops[0]).parameters, 16000);
  const auto copy = parse(header, "A100,copy_h2d,fwd,int8,1,4096,");
  ASSERT_TRUE(copy.ok()) << copy.error().text();
  EXPECT_EQ(std::get<graph::Copy>(copy->ops[0]).bytes, 4096);
  const auto bag = parse("gpu,op,pass,dtype,tables,batch,nnz,rows_total,dim,extra",
                         "A100,embedding_bag,fwd,fp16,1,2048,2048,1000,64,pooling=1;alpha=1.05");
  ASSERT_TRUE(bag.ok()) << bag.error().text();
  EXPECT_DOUBLE_EQ(std::get<graph::EmbeddingBag>(bag->ops[0]).tables[0].alpha, 1.05);
}

TEST_F(Fixture, OtherSpellingsMeanTheSameOp) {
  for (const auto& [other, op] : std::map<std::string, std::string>{
           {"layer_norm", "layernorm"}, {"batch_norm", "batchnorm"}, {"copy", "copy_d2d"}}) {
    const std::string header = "gpu,op,dtype,rows,cols", sizes = ",fp32,512,512";
    ASSERT_TRUE(run(header + "\nA100-SXM4-80GB," + op + sizes + "\nA100-SXM4-80GB," + other + sizes + "\n").ok());
    const auto rows = table();
    EXPECT_FALSE(rows[0][5].empty()) << op;
    EXPECT_EQ(rows[0][5], rows[1][5]) << other;
  }
}

TEST_F(Fixture, AnUnknownOpNamesTheNearest) {
  for (const auto& [wrong, near] : std::map<std::string, std::string>{
           {"interacton", "interaction"}, {"fash_attention", "flash_attention"}, {"layernrm", "layernorm"}}) {
    const auto row = parse("gpu,op,dtype,rows,cols", "A100," + wrong + ",fp16,8,8");
    ASSERT_FALSE(row.ok()) << wrong;
    EXPECT_NE(row.error().text().find(near), std::string::npos) << row.error().text();
  }
}

TEST_F(Fixture, FusedKernelsMustSayTheirTensorsAndFlagsMustBeFlags) {
  EXPECT_FALSE(parse("gpu,op,dtype,elements,reads", "A100,fused_elementwise,fp16,4096,2").ok())
      << "no writes, no flops";
  EXPECT_FALSE(parse("gpu,op,dtype,batch,heads,q_len,head_dim,causal", "A100,attention,fp16,1,1,64,64,maybe").ok());
  EXPECT_FALSE(parse("gpu,op,dtype,elements", "A100,copy_h2d,fp16,1e15000").ok());
}

/// What would be passed over in silence.
TEST_F(Fixture, RefusesWhatAnOpDoesNotHaveAndWhatIsSaidTwice) {
  const auto refused = [&](const std::string& header, const std::string& row, const std::string& says) {
    const auto parsed = parse(header, row);
    ASSERT_FALSE(parsed.ok()) << row;
    EXPECT_NE(parsed.error().text().find(says), std::string::npos) << parsed.error().text();
  };
  refused("gpu,op,pass,dtype,m,n,k", "A100,linear,bwd+adam,fp16,8,8,8", "pass: found 'bwd+adam' for linear");
  refused("gpu,op,pass,dtype,parameters", "A100,adam,bwd,fp16,4096", "pass: found 'bwd' for adam");
  refused("gpu,op,pass,dtype,bytes", "A100,copy_h2d,bwd_data,fp16,4096", "pass: found 'bwd_data' for copy_h2d");
  const std::string bag = "gpu,op,pass,dtype,batch,dim,nnz,pooling,rows_total,rows";
  refused(bag, "A100,embedding_bag,bwd+adma,fp16,64,64,64,,1000,", "pass: found 'bwd+adma'");
  refused(bag, "A100,embedding_bag,fwd,fp16,64,64,10,10,1000,", "nnz, pooling: found both");
  refused(bag, "A100,embedding_bag,fwd,fp16,64,64,64,,1000,1000", "rows_total, rows: found both");
  refused("gpu,op,dtype,extra", "A100,embedding_bag,fp16,batch=64;dim=64;nnz=10;pooling=10;rows=1000",
          "nnz, pooling: found both");
  refused("gpu,op,dtype,m,n,k,timing", "A100,linear,fp16,8,8,8,bogus", "timing: found 'bogus'");
  refused("gpu,op,dtype,parameters,tensors", "A100,adam,fp32,100,1000",
          "tensors: found 1000, expected at most parameters");
  const auto alone = parse("gpu,op,dtype,m,n,k,imbalance", "A100,gemm,fp16,8,8,8,0.5");
  ASSERT_TRUE(alone.ok()) << alone.error().text();
  EXPECT_EQ(std::get<graph::Gemm>(alone->ops[0]).imbalance, 0) << "one product has nothing to be unlike";
  EXPECT_TRUE(parse("gpu,op,pass,dtype,rows,cols", "A100,copy_,bwd,fp16,64,64").ok())
      << "a copy within the graph has a gradient";
}

TEST(Timing, ConventionsByTheirText) {
  EXPECT_EQ(*parse_timing("evt_min5of25"), Timing::event);
  EXPECT_EQ(*parse_timing("wall_sync_avg"), Timing::wall);
  for (const char* kernel :
       {"cudagraph_multiweight", "kernel_sum_median", "trace_kernel_sum_median", "deepbench_wall_avg", ""}) {
    EXPECT_EQ(*parse_timing(kernel), Timing::kernel) << kernel;
  }
  EXPECT_FALSE(parse_timing("stopwatch").ok());
}

TEST(Timing, TheLaunchGapIsAddedOnceAndHidesShortKernels) {
  EXPECT_DOUBLE_EQ(as_measured(Timing::kernel, HostCall::linear, "x", 5e-6, 1), 5e-6);
  // linear: 44 us until the kernel starts, the end event no earlier than 10 us later.
  EXPECT_NEAR(as_measured(Timing::event, HostCall::linear, "x", 5e-6, 1), 54e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::event, HostCall::linear, "x", 100e-6, 1), 144e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::wall, HostCall::linear, "x", 100e-6, 1), 154e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::event, HostCall::linear, "P100-PCIE-16GB", 1e-3, 1), 1e-3 + 1.65 * 44e-6, 1e-12)
      << "its slower host";
  // A number that becomes a tensor, or a module, takes the host longer; on AMD's machines products do, others not.
  EXPECT_NEAR(as_measured(Timing::event, HostCall::pointwise_wrapped, "x", 5e-6, 1), 31e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::event, HostCall::pointwise, "MI100", 4e-6, 1), 0.62 * 27e-6, 1e-12);
  EXPECT_NEAR(as_measured(Timing::event, HostCall::linear, "MI100", 100e-6, 1), 144e-6, 1e-12);
}

/// A misspelt size is carried along, and its default priced in its place. Published tables have columns of such names.
TEST_F(Fixture, AColumnThatIsNearlyOneOfOursIsNamed) {
  const std::string head = "gpu,op,dtype,m,n,k,", row = "\nA100-SXM4-80GB,linear,bf16,64,64,64,9\n";
  for (const auto& [wrong, right] : std::map<std::string, std::string>{{"layuot", "layout"},
                                                                       {"timming", "timing"},
                                                                       {"bacth", "batch"},
                                                                       {"scalin", "scaling"},
                                                                       {"is_causal", "causal"},
                                                                       {"num_heads", "heads"}}) {
    const auto count = run(head + wrong + row);
    ASSERT_TRUE(count.ok()) << wrong;
    ASSERT_EQ(count->remarks.size(), 1u) << wrong;
    EXPECT_EQ(count->remarks[0], "column '" + wrong + "' is carried along unread; did you mean '" + right + "'?");
  }
  for (const std::string beside : {"latency_us", "date", "origin", "framework", "sm_clock_mhz"})
    EXPECT_TRUE(run(head + beside + row)->remarks.empty()) << beside;
  for (const std::string foreign :
       {"id", "layer", "model", "measured", "note", "description", "comment", "run", "case_id"})
    EXPECT_EQ(run(head + foreign + row)->remarks,
              std::vector<std::string>{"carried along, not used: " + foreign});  // no spelling is suggested
}

/// Blanks behind a semicolon are no part of a name; what is said twice is said alike.
TEST_F(Fixture, ExtraIsReadWithBlanksAndHeldToItself) {
  const std::string head = "gpu,op,dtype,m,n,k,rows,cols,elements,batch,heads,q_len,kv_len,head_dim,extra\n",
                    gpu = "A100-SXM4-80GB,";
  const auto priced = [&](const std::string& row) {
    EXPECT_TRUE(run(head + gpu + row + "\n" + gpu + "linear,bf16,64,64,64,,,,,,,,,\n").ok());
    return table().at(0);
  };
  const auto us = [&](const std::string& row) { return priced(row).at(15); };
  const std::string attention = "flash_attention,bf16,,,,,,,8,16,2048,2048,64,";
  EXPECT_EQ(us(attention + "library=flash2; causal=1"), us(attention + "library=flash2;causal=1"));
  EXPECT_NE(us(attention + "library=flash2; causal=1"), us(attention + "library=flash2"));
  EXPECT_EQ(us("linear,bf16,64,64,64,,,,,,,,,k=64.0"), us("linear,bf16,64,64,64,,,,,,,,,"));
  EXPECT_EQ(us("elementwise,fp32,,,,64,64,4096,,,,,,"), us("elementwise,fp32,,,,64,64,,,,,,,"));
  for (const auto& [row, why] : std::map<std::string, std::string>{
           {"linear,bf16,64,64,64,,,,,,,,,k=128", "k: found '64' and '128' in one row"},
           {"linear,bf16,64,64,,,,,,,,,,k=64;k=128", "k: found '64' and '128' in one row"},
           {"elementwise,fp32,,,,64,64,9999,,,,,,", "elements: found 9999 beside rows and cols that make 4096"}}) {
    const auto fields = priced(row);
    EXPECT_EQ(fields.at(15), "") << row;
    EXPECT_NE(fields.at(18).find(why), std::string::npos) << fields.at(18);
  }
}

TEST_F(Fixture, SizesThatAnOpDoesNotHaveAreNamed) {
  const std::string head = "gpu,op,dtype,m,n,k,batch,heads,q_len,head_dim,causal\nA100-SXM4-80GB,";
  const auto count = run(head + "linear,bf16,64,64,64,,8,,,1\nA100-SXM4-80GB,linear,bf16,64,64,128,,8,,,1\n");
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->remarks, std::vector<std::string>{"heads, causal: no effect on rows of linear"});
  const auto heeded = run(head + "linear,bf16,64,64,64,,0,,,false\nA100-SXM4-80GB,attention,bf16,,,,2,8,128,64,1\n");
  ASSERT_TRUE(heeded.ok());
  EXPECT_EQ(heeded->remarks, std::vector<std::string>{}) << "nothing is said of zeros";
}

TEST_F(Fixture, ANameInExtraThatIsNearlyOneOfOursIsNamedOnce) {
  const auto count =
      run("gpu,op,dtype,m,n,k,extra\nA100-SXM4-80GB,linear,bf16,64,64,64,scalin=none\n"
          "A100-SXM4-80GB,linear,bf16,64,64,64,scalin=none\nA100-SXM4-80GB,linear,bf16,64,64,64,gated=True\n");
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(count->remarks.size(), 1u);
  EXPECT_EQ(count->remarks[0], "extra: 'scalin' is carried along unread; did you mean 'scaling'?");
}

}  // namespace
}  // namespace distsim::opmodels
