// mpirun collective_bench on this machine, with as many ranks as asked for however few cores there are.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "collectives/curve.pb.h"
#include "command.hpp"
#include "mpi_bench/collective/collective_case.hpp"

namespace distsim::bench {
namespace {

using test::Finished;

/// What Open MPI wants before it starts more ranks than cores, or starts them as root; other libraries do not look at it.
constexpr const char* kEnvironment =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none ";

struct TableRow {
  std::uint64_t bytes = 0, count = 0;
  std::string type, redop;
  int root = 0;
  std::vector<std::string> halves;  // time algbw busbw #wrong, twice
};

std::vector<TableRow> rows_of(const std::string& table) {
  std::vector<TableRow> rows;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    TableRow row;
    fields >> row.bytes >> row.count >> row.type >> row.redop >> row.root;
    for (std::string field; fields >> field;) row.halves.push_back(field);
    EXPECT_EQ(row.halves.size(), 8u) << line;
    rows.push_back(std::move(row));
  }
  return rows;
}

curves::CurveFile read_curves(const std::string& path) {
  curves::CurveFile file;
  const auto text = read_file(path, 1 << 20);
  EXPECT_TRUE(text.ok()) << path;
  EXPECT_TRUE(text.ok() && google::protobuf::TextFormat::ParseFromString(*text, &file));
  return file;
}

class CollectiveBench : public ::testing::Test {
 protected:
  ~CollectiveBench() override { std::filesystem::remove_all(dir_); }
  Finished mpirun(int ranks, const std::string& flags) {
    return test::run_command(std::string(kEnvironment) + "timeout 120 " + MPIEXEC + " -n " + std::to_string(ranks) + " " + BINARY + " " + flags, dir_);
  }
  std::string refused(const std::string& flags) {
    const Finished f = mpirun(2, flags);
    EXPECT_EQ(f.code, 2) << flags << '\n' << f.err;
    EXPECT_EQ(f.out, "") << flags;
    return f.err;
  }
  const std::string dir_ = test::scratch_dir("collective_bench");
};

std::string all_collectives() {
  std::string names;
  for (const CollectiveCase& c : collective_cases()) names += (names.empty() ? "" : ",") + std::string(c.name);
  return names;
}

TEST_F(CollectiveBench, EveryCollectiveIsRightOnTwoThreeAndFourRanks) {
  for (int ranks : {2, 3, 4}) {
    const Finished f = mpirun(ranks, "--backend mpi -b 64 -e 100K -f 11 -n 2 -r " + std::to_string(ranks - 1) + " --imbalance 2.5 --collectives " + all_collectives());
    ASSERT_EQ(f.code, 0) << f.err;
    const auto rows = rows_of(f.out);
    EXPECT_EQ(rows.size(), collective_cases().size() * 4);  // 64, 704, 7744, 85184
    for (const TableRow& row : rows) {
      EXPECT_EQ(row.halves[3], "0") << row.bytes;
      EXPECT_TRUE(row.halves[7] == "0" || row.halves[7] == "N/A") << row.bytes;
    }
  }
}

TEST_F(CollectiveBench, EveryTypeAndReductionIsRight) {
  const Finished f = mpirun(3, "--backend mpi -b 4K -e 4K -n 2 -d all -o all --collectives all_reduce,reduce_scatter,alltoall");
  ASSERT_EQ(f.code, 0) << f.err;
  const auto rows = rows_of(f.out);
  EXPECT_EQ(rows.size(), 2u * 8 * 4 + 10);  // MPI reduces eight of the ten types, and moves all of them
  for (const TableRow& row : rows) EXPECT_EQ(row.halves[3] + row.halves[7], "00") << row.type << ' ' << row.redop;
  EXPECT_NE(f.out.find("# left out: -d: found half, which MPI cannot reduce"), std::string::npos);
}

TEST_F(CollectiveBench, TableAndFilesAgree) {
  const std::string curve = dir_ + "/x.curve.txtpb", json = dir_ + "/x.json";
  const Finished f = mpirun(4, "--backend mpi -b 1K -e 64K -f 4 -n 5 --collectives all_reduce,alltoall --system here --out " + curve + " -J " + json);
  ASSERT_EQ(f.code, 0) << f.err;
  const auto rows = rows_of(f.out);
  ASSERT_EQ(rows.size(), 8u);
  double busbw_sum = 0;
  const auto j = nlohmann::json::parse(*read_file(json, 1 << 20));
  const curves::CurveFile file = read_curves(curve);
  EXPECT_FALSE(file.partial());
  EXPECT_EQ(j["partial"], false);
  EXPECT_EQ(file.system(), "here");
  ASSERT_EQ(file.curves_size(), 2);
  EXPECT_EQ(file.curves(0).kind(), "all_reduce");
  EXPECT_EQ(file.curves(1).kind(), "all_to_all");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& half = j["tables"][i / 4]["rows"][i % 4]["out_of_place"];
    const auto& point = file.curves(static_cast<int>(i / 4)).points(static_cast<int>(i % 4));
    EXPECT_EQ(rows[i].bytes, std::uint64_t{1024} << (2 * (i % 4)));
    EXPECT_EQ(point.bytes(), rows[i].bytes);
    EXPECT_GT(point.time_us(), 0);
    EXPECT_LE(point.low_us(), point.time_us());
    EXPECT_GE(point.high_us(), point.time_us());
    EXPECT_EQ(half["iterations"]["count"], 5);
    EXPECT_EQ(half["iterations"]["median_us"].get<double>(), point.time_us());
    EXPECT_NEAR(half["algbw"].get<double>(), static_cast<double>(rows[i].bytes) / half["time_us"].get<double>() / 1e3, 1e-9);
    EXPECT_NEAR(half["busbw"].get<double>(), half["algbw"].get<double>() * (i < 4 ? 1.5 : 0.75), 1e-9);  // 2(n-1)/n and (n-1)/n of 4 ranks
    if (i < 4) busbw_sum += half["busbw"].get<double>() + j["tables"][0]["rows"][i]["in_place"]["busbw"].get<double>();
  }
  EXPECT_NEAR(j["tables"][0]["avg_busbw"].get<double>(), busbw_sum / 8, 1e-9);
  EXPECT_NE(f.out.find("# Collective test concluded: alltoall_perf"), std::string::npos);
}

TEST_F(CollectiveBench, AWrongElementEndsTheRunByName) {
  const std::string curve = dir_ + "/w.curve.txtpb";
  const Finished f = mpirun(4, "--backend mpi -b 64 -e 4K -f 4 -n 2 --out " + curve + " --inject-fault 2:100");  // 100 floats are in the sizes from 1024 on
  EXPECT_EQ(f.code, 1);
  EXPECT_NE(f.err.find("all_reduce of 1024 bytes, out-of-place: rank 2, element 100 (byte 400 of the receive buffer): found "), std::string::npos) << f.err;
  const auto rows = rows_of(f.out);
  ASSERT_EQ(rows.size(), 3u);  // 64, 256, and the wrong one
  EXPECT_EQ(rows[1].halves[3], "0");
  EXPECT_EQ(rows[2].halves[3], "1");
  EXPECT_NE(f.out.find("# Out of bounds values : 2 FAILED"), std::string::npos);
  const curves::CurveFile file = read_curves(curve);
  EXPECT_TRUE(file.partial());
  EXPECT_EQ(file.curves(0).points_size(), 2) << "a wrong collective has no time";
}

TEST_F(CollectiveBench, WithoutCheckNothingIsClaimed) {
  const auto rows = rows_of(mpirun(2, "--backend mpi -b 1K -e 1K -n 2 -c 0").out);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].halves[3], "N/A");
}

TEST_F(CollectiveBench, RefusesWithOneLineAndCodeTwo) {
  EXPECT_NE(refused("-b 1X").find("-b: found '1X'"), std::string::npos);
  EXPECT_NE(refused("--collectives all_reduse").find("did you mean 'all_reduce'"), std::string::npos);
  EXPECT_NE(refused("-r 2 --collectives reduce").find("-r: found 2, expected a rank below 2"), std::string::npos);
  EXPECT_NE(refused("--out /nowhere/x.curve.txtpb").find("/nowhere"), std::string::npos);
  EXPECT_NE(refused("--backend mpi -G 3").find("-G: found 3"), std::string::npos);
}

TEST_F(CollectiveBench, RanksWithOtherFlagsAreRefused) {
  const std::string one = std::string(" -n 1 ") + BINARY;
  const Finished f = test::run_command(std::string(kEnvironment) + "timeout 60 " + MPIEXEC + one + " -b 8 -e 8 :" + one + " -b 8 -e 16", dir_);
  EXPECT_EQ(f.code, 2);
  EXPECT_NE(f.err.find("rank 1 was started otherwise than rank 0: found '-e 16', expected '-e 8'"), std::string::npos) << f.err;
}

// The run would take hours; it is stopped once three sizes are on disk.
TEST_F(CollectiveBench, AnInterruptLeavesThePartialFile) {
  const std::string curve = dir_ + "/p.curve.txtpb";
  const std::string command = std::string(kEnvironment) + MPIEXEC + " -n 2 " + BINARY + " --backend mpi -b 1K -e 64M -i 1K -n 20 --out " + curve +
                              " >" + dir_ + "/out 2>&1 & echo $!";
  FILE* shell = popen(command.c_str(), "r");
  int pid = 0;
  ASSERT_EQ(std::fscanf(shell, "%d", &pid), 1);
  pclose(shell);
  int points = 0;
  for (int waited = 0; waited < 600 && points < 3; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (std::filesystem::exists(curve)) points = read_curves(curve).curves(0).points_size();
  }
  EXPECT_GE(points, 3);
  ASSERT_EQ(kill(pid, SIGINT), 0);
  for (int waited = 0; waited < 300 && kill(pid, 0) == 0; ++waited) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NE(kill(pid, 0), 0) << "still running";
  const curves::CurveFile file = read_curves(curve);
  EXPECT_TRUE(file.partial());
  EXPECT_GE(file.curves(0).points_size(), 3);
}

TEST_F(CollectiveBench, HelpNeedsNoMpirun) {
  const Finished f = test::run_command(std::string(BINARY) + " --help", dir_);
  EXPECT_EQ(f.code, 0);
  EXPECT_NE(f.out.find("--minbytes"), std::string::npos);
}

}  // namespace
}  // namespace distsim::bench
