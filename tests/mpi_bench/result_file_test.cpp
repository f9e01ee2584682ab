#include "mpi_bench/op/result_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim::bench {
namespace {

const bench::OpCase kGemm{"linear", "fwd", "bf16", bench::GemmShape{1, 128, 256, 512, "NT"}};
const bench::OpCase kOtherGemm{"linear", "fwd", "bf16", bench::GemmShape{1, 128, 256, 512, "NN"}};
const bench::OpCase kBag{"embedding_bag", "bwd+sgd", "fp16", bench::EmbeddingShape{1, 16, 4, 1000, 64, 1.05}};
const bench::RunFacts kFacts{"NVIDIA X, 80GB", "cudagraph_median_warm_l2", "op_bench cuda13.0", "2026-01-02"};
const bench::OpResult kResult{12.345678, 12, 13, 20, 41, 0.0051, {"1980", "2619", "41", "300"}};

class ResultFileTest : public ::testing::Test {
 protected:
  ~ResultFileTest() override { std::filesystem::remove_all(dir_); }
  std::string text() const { return *read_file(path_, 1 << 20); }
  const std::string dir_ = test::scratch_dir("result_file"), path_ = dir_ + "/gemm.csv";
};

TEST_F(ResultFileTest, HeaderAndRow) {
  auto file = bench::ResultFile::open(path_, "gemm");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->append(kFacts, kGemm, kResult).ok());
  EXPECT_EQ(
      text(),
      "gpu,op,pass,dtype,b,m,n,k,layout,latency_us,timing,framework,low_us,high_us,repetitions,launches,relative_error,sm_clock_mhz,memory_clock_mhz,"
      "temperature_c,power_w,date\n"
      "\"NVIDIA X, 80GB\",linear,fwd,bf16,1,128,256,512,NT,12.35,cudagraph_median_warm_l2,op_bench cuda13.0,12,13,20,41,0.0051,1980,2619,41,300,2026-01-02\n");
}

TEST_F(ResultFileTest, GoesOnWhereItStopped) {
  {
    auto file = bench::ResultFile::open(path_, "gemm");
    EXPECT_FALSE(file->contains(kFacts, kGemm));
    ASSERT_TRUE(file->append(kFacts, kGemm, kResult).ok());
    EXPECT_TRUE(file->contains(kFacts, kGemm));
  }
  const auto file = bench::ResultFile::open(path_, "gemm");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->rows(), 1u);
  EXPECT_TRUE(file->contains(kFacts, kGemm));
  EXPECT_FALSE(file->contains(kFacts, kOtherGemm));
  bench::RunFacts cold = kFacts;
  cold.timing = "evt_median_cold_l2";
  EXPECT_FALSE(file->contains(cold, kGemm)) << "another timing is another measurement";
}

TEST_F(ResultFileTest, ALineCutOffAtAnyByteIsMeasuredAgain) {
  {
    auto file = bench::ResultFile::open(path_, "gemm");
    ASSERT_TRUE(file->append(kFacts, kGemm, kResult).ok());
    ASSERT_TRUE(file->append(kFacts, kOtherGemm, kResult).ok());
  }
  const std::string whole = text();
  const std::size_t two_lines = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << whole.substr(0, length);
    auto file = bench::ResultFile::open(path_, "gemm");
    if (length == 0) {
      ASSERT_FALSE(file.ok()) << "an empty file has no header";
      continue;
    }
    ASSERT_TRUE(file.ok()) << length << ": " << file.error().text();
    EXPECT_EQ(file->contains(kFacts, kGemm), length >= two_lines) << length;
    ASSERT_FALSE(file->contains(kFacts, kOtherGemm)) << length;
    ASSERT_TRUE(file->append(kFacts, kOtherGemm, kResult).ok());
    EXPECT_TRUE(bench::ResultFile::open(path_, "gemm")->contains(kFacts, kOtherGemm)) << length;
  }
}

TEST_F(ResultFileTest, OtherColumnsAreRefused) {
  std::ofstream(path_) << "gpu,op,latency_us\nA,linear,3\n";
  const auto file = bench::ResultFile::open(path_, "gemm");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().text().find("gemm.csv:1"), std::string::npos) << file.error().text();
}

TEST_F(ResultFileTest, EmbeddingSkewTellsRowsApart) {
  auto file = bench::ResultFile::open(dir_ + "/embedding.csv", "embedding");
  ASSERT_TRUE(file->append(kFacts, kBag, kResult).ok());
  bench::OpCase uniform = kBag;
  std::get<bench::EmbeddingShape>(uniform.shape).alpha = 0;
  EXPECT_TRUE(file->contains(kFacts, kBag));
  EXPECT_FALSE(file->contains(kFacts, uniform));
}

// Whoever reads the published op tables finds the same names here.
TEST(ResultFile, ColumnsIncludeThoseOfTheOpTables) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> expected = {
      {"gemm", {"gpu", "op", "pass", "dtype", "b", "m", "n", "k", "layout", "latency_us", "timing", "framework"}},
      {"elementwise_norm_softmax",
       {"gpu", "op", "pass", "dtype", "rows", "cols", "extra", "latency_us", "timing", "framework"}},
      {"embedding",
       {"gpu", "op", "pass", "dtype", "tables", "batch", "nnz", "rows_total", "dim", "latency_us", "extra", "timing",
        "framework"}}};
  for (const auto& [family, names] : expected) {
    const auto columns = bench::ResultFile::columns(family);
    for (const std::string& name : names)
      EXPECT_EQ(std::count(columns.begin(), columns.end(), name), 1) << family << ' ' << name;
  }
}

TEST_F(ResultFileTest, AForeignFileStaysAsItIs) {
  for (const std::string foreign :
       {"m,n,k,my measurements", "m,n,k\n1,2,3\n4,5,6", "gpu,op,pass,dtype,b,m,n,k,layoux"}) {
    ASSERT_TRUE(write_file_atomically(path_, foreign).ok());
    const auto file = bench::ResultFile::open(path_, "gemm");
    ASSERT_FALSE(file.ok()) << foreign;
    EXPECT_NE(file.error().text().find("found other columns"), std::string::npos) << file.error().text();
    EXPECT_EQ(text(), foreign);
  }
}

TEST_F(ResultFileTest, ALineThatCannotBeReadLeavesTheFileAsItIs) {
  ASSERT_TRUE(bench::ResultFile::open(path_, "gemm").ok());
  const std::string broken = text() + "X,linear\nX,lin";
  ASSERT_TRUE(write_file_atomically(path_, broken).ok());
  EXPECT_FALSE(bench::ResultFile::open(path_, "gemm").ok());
  EXPECT_EQ(text(), broken);
}

}  // namespace
}  // namespace distsim::bench
