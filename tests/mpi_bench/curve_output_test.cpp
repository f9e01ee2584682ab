#include "mpi_bench/collective/output/curve_output.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "collectives/curve_file/curve.pb.h"
#include "collectives/curve_file/curve_checksum.hpp"
#include "test_paths.hpp"

namespace distsim::bench {
namespace {

bench::Row row(std::uint64_t bytes, std::vector<double> times) {
  bench::Row r{.bytes = bytes};
  r.out_of_place = bench::Measured{.iterations = bench::summarize(std::move(times))};
  return r;
}

curves::CurveFile read_text(const std::string& path) {
  curves::CurveFile file;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(*read_file(path, 1 << 20), &file));
  return file;
}

class CurveOutputTest : public ::testing::Test {
 protected:
  ~CurveOutputTest() override { std::filesystem::remove_all(dir_); }
  const std::string dir_ = test::scratch_dir("curve_output");
};

TEST_F(CurveOutputTest, HoldsMedianAndPercentilesAndGrowsWithTheRun) {
  const std::string path = dir_ + "/a.curve.txtpb";
  bench::CurveOutput out(path, {.system = "my_cluster", .device = "host memory", .hardware = "4 ranks"});
  out.begin({.kind = "all_reduce",
             .ranks = 4,
             .nodes = 2,
             .library = "MPI 1",
             .settings = "-d double",
             .date = "2026-01-02"});
  out.add(row(8, {1, 2, 3, 4, 100}));  // p10 1.4, p90 61.6: see stats_test.cpp
  ASSERT_TRUE(out.write(true).ok());
  EXPECT_TRUE(read_text(path).partial());

  out.add(row(16, {5}));
  ASSERT_TRUE(out.write(false).ok());
  const curves::CurveFile file = read_text(path);
  EXPECT_FALSE(file.partial());
  EXPECT_EQ(file.version(), 1u);
  EXPECT_EQ(file.system(), "my_cluster");
  ASSERT_EQ(file.curves_size(), 1);
  EXPECT_EQ(file.curves(0).kind(), "all_reduce");
  EXPECT_EQ(file.curves(0).ranks(), 4u);
  EXPECT_EQ(file.curves(0).nodes(), 2u);
  EXPECT_EQ(file.curves(0).launch(), "mpi");
  EXPECT_EQ(file.curves(0).settings(), "-d double");
  ASSERT_EQ(file.curves(0).points_size(), 2);
  EXPECT_EQ(file.curves(0).points(0).bytes(), 8u);
  EXPECT_DOUBLE_EQ(file.curves(0).points(0).time_us(), 3);
  EXPECT_DOUBLE_EQ(file.curves(0).points(0).low_us(), 1.4);
  EXPECT_DOUBLE_EQ(file.curves(0).points(0).high_us(), 61.6);
}

TEST_F(CurveOutputTest, TheTimeMayBeWhatTheMachineDoesUndisturbed) {
  const std::string path = dir_ + "/q.curve.txtpb";
  bench::CurveOutput out(path, {});
  out.begin({.kind = "all_reduce", .ranks = 4, .nodes = 2, .time = bench::CurveTime::p10});
  out.add(row(8, {1, 2, 3, 4, 100}));
  ASSERT_TRUE(out.write(false).ok());
  EXPECT_DOUBLE_EQ(read_text(path).curves(0).points(0).time_us(), 1.4);
  EXPECT_DOUBLE_EQ(read_text(path).curves(0).points(0).statistics().median_us(), 3);
}

TEST_F(CurveOutputTest, RecordsTheClocksOfTheRun) {
  const std::string path = dir_ + "/clocks.curve.txtpb";
  bench::CurveOutput out(path, {.clocks = {1095, 1215, 2400}});
  ASSERT_TRUE(out.write(false).ok());
  EXPECT_EQ(read_text(path).clocks().sm_mhz(), 1095u);
  EXPECT_EQ(read_text(path).clocks().memory_mhz(), 1215u);
  EXPECT_EQ(read_text(path).clocks().cpu_locked_mhz(), 2400u);
  bench::CurveOutput unknown(path, {});
  ASSERT_TRUE(unknown.write(false).ok());
  EXPECT_FALSE(read_text(path).has_clocks()) << "nothing could be read";
}

TEST(MachineClocks, OfTheGpuAsNvidiaSmiPrintsThem) {
  EXPECT_EQ(parse_gpu_clocks("1095, 1215"), (MachineClocks{1095, 1215, 0}));
  EXPECT_EQ(parse_gpu_clocks(""), MachineClocks{});
  EXPECT_EQ(parse_gpu_clocks("[N/A], 1215"), MachineClocks{});
}

TEST_F(CurveOutputTest, CoresAreLockedWhereAllAreHeldToOneClock) {
  const auto core = [&](int number, const char* least, const char* most) {
    const std::string folder = dir_ + "/cpu" + std::to_string(number) + "/cpufreq";
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file_atomically(folder + "/scaling_min_freq", least).ok());
    ASSERT_TRUE(write_file_atomically(folder + "/scaling_max_freq", most).ok());
  };
  EXPECT_EQ(locked_cpu_mhz(dir_), 0u) << "no such files, as in a container";
  core(0, "2400000\n", "2400000\n");
  core(1, "2400000\n", "2400000\n");
  EXPECT_EQ(locked_cpu_mhz(dir_), 2400u);
  core(2, "1500000\n", "3400000\n");
  EXPECT_EQ(locked_cpu_mhz(dir_), 0u) << "one of them may change its clock";
}

TEST_F(CurveOutputTest, SizesAscendStrictly) {
  const std::string path = dir_ + "/b.curve.txtpb";
  bench::CurveOutput out(path, {});
  out.begin({.kind = "all_gather", .ranks = 4, .nodes = 1});
  for (std::uint64_t bytes : {0, 0, 64, 64, 128}) out.add(row(bytes, {1}));
  ASSERT_TRUE(out.write(false).ok());
  const curves::CurveFile file = read_text(path);
  ASSERT_EQ(file.curves(0).points_size(), 2);
  EXPECT_EQ(file.curves(0).points(0).bytes(), 64u);
  EXPECT_EQ(file.curves(0).points(1).bytes(), 128u);
}

// Readers refuse a curve without points, and a first size may be rounded down to 0 bytes.
TEST_F(CurveOutputTest, ACurveWithoutPointsIsLeftOut) {
  const std::string path = dir_ + "/e.curve.txtpb";
  bench::CurveOutput out(path, {});
  out.begin({.kind = "all_gather", .ranks = 64, .nodes = 1});
  out.add(row(0, {1}));
  out.begin({.kind = "reduce", .ranks = 64, .nodes = 1});
  out.add(row(0, {1}));
  ASSERT_TRUE(out.write(true).ok());
  EXPECT_EQ(read_text(path).curves_size(), 0);
  out.add(row(8, {1}));
  ASSERT_TRUE(out.write(true).ok());
  ASSERT_EQ(read_text(path).curves_size(), 1);
  EXPECT_EQ(read_text(path).curves(0).kind(), "reduce");
}

TEST_F(CurveOutputTest, OtherNamesAreBinary) {
  const std::string path = dir_ + "/c.curve";
  bench::CurveOutput out(path, {.system = "s"});
  out.begin({.kind = "reduce", .ranks = 2, .nodes = 1});
  out.add(row(8, {2}));
  ASSERT_TRUE(out.write(false).ok());
  curves::CurveFile file;
  ASSERT_TRUE(file.ParseFromString(*read_file(path, 1 << 20)));
  EXPECT_EQ(file.system(), "s");
  EXPECT_DOUBLE_EQ(file.curves(0).points(0).time_us(), 2);
}

// A measurement is not lost because a command line, a host or a topology is not UTF-8.
TEST_F(CurveOutputTest, ForeignTextIsReadBack) {
  for (const std::string name : {"/u.curve", "/u.curve.txtpb"}) {
    const std::string bad = "\xC2\xB5\xff\xfe\n", shown = "\xC2\xB5\\xff\\xfe\n";
    bench::CurveOutput out(dir_ + name, {.system = bad,
                                         .device = bad,
                                         .hardware = bad,
                                         .hosts = {"node", bad},
                                         .driver = bad,
                                         .topology = bad,
                                         .flags = bad});
    out.begin({.kind = "reduce", .ranks = 2, .nodes = 1, .library = bad, .settings = bad});
    out.add(row(8, {2}));
    ASSERT_TRUE(out.write(false).ok());
    curves::CurveFile file;
    if (name.ends_with(".curve"))
      ASSERT_TRUE(file.ParseFromString(*read_file(dir_ + name, 1 << 20)));
    else
      file = read_text(dir_ + name);
    EXPECT_EQ(file.flags(), shown);
    EXPECT_EQ(file.topology(), shown);
    EXPECT_EQ(file.system(), shown);
    EXPECT_EQ(file.driver(), shown);
    ASSERT_EQ(file.hosts_size(), 2);
    EXPECT_EQ(file.hosts(0), "node");
    EXPECT_EQ(file.hosts(1), shown);
    EXPECT_EQ(file.curves(0).library(), shown);
    EXPECT_EQ(file.checksum(), curves::checksum_of(file)) << "of the text as it is in the file";
  }
}

TEST_F(CurveOutputTest, AnUnwritablePlaceIsAnError) {
  bench::CurveOutput out(dir_ + "/none/d.curve.txtpb", {});
  EXPECT_FALSE(out.write(true).ok());
}

}  // namespace
}  // namespace distsim::bench
