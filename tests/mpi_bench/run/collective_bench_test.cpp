// mpirun collective_bench on this machine, with as many ranks as asked for however few cores there are.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "base/json/json.hpp"
#include "collectives/curve_file/curve.pb.h"
#include "command.hpp"
#include "mpi_bench/collective/cases/collective_case.hpp"

namespace distsim::bench {
namespace {

using test::Finished;

/// What Open MPI wants before it starts more ranks than cores, or starts them as root; other libraries do not look at
/// it.
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
    return test::run_command(std::string(kEnvironment) + "timeout 240 " + MPIEXEC + " -n " + std::to_string(ranks) +
                                 " " + BINARY + " " + flags,
                             dir_);
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
  for (const bench::CollectiveCase& c : bench::collective_cases())
    names += (names.empty() ? "" : ",") + std::string(c.name);
  return names;
}

TEST_F(CollectiveBench, EveryCollectiveIsRightOnTwoThreeAndFourRanks) {
  for (int ranks : {2, 3, 4}) {
    const Finished f = mpirun(ranks, "--backend mpi -b 64 -e 100K -f 11 -n 2 -r " + std::to_string(ranks - 1) +
                                         " --imbalance 2.5 --collectives " + all_collectives());
    ASSERT_EQ(f.code, 0) << f.err;
    const auto rows = rows_of(f.out);
    EXPECT_EQ(rows.size(), bench::collective_cases().size() * 4);  // 64, 704, 7744, 85184
    for (const TableRow& row : rows) {
      EXPECT_EQ(row.halves[3], "0") << row.bytes;
      EXPECT_TRUE(row.halves[7] == "0" || row.halves[7] == "N/A") << row.bytes;
    }
  }
}

// Threads as ranks of their own: the same run as with processes, over the same messages.
TEST_F(CollectiveBench, ThreadsOfAProcessAreRanks) {
  const std::string curve = dir_ + "/t.curve.txtpb";
  const Finished f = mpirun(
      2,
      "--backend tcp -t 2 -b 64 -e 4K -f 8 -n 2 --collectives alltoall,alltoallv,broadcast --groups all,pairs --imbalance 2 --out " +
          curve);
  ASSERT_EQ(f.code, 0) << f.err;
  for (const TableRow& row : rows_of(f.out)) EXPECT_EQ(row.halves[3], "0") << row.bytes;
  EXPECT_NE(f.out.find("# nThread 2 nGpus 1 "), std::string::npos) << f.out;
  EXPECT_NE(f.out.find("#  Rank  3 "), std::string::npos);
  const curves::CurveFile file = read_curves(curve);
  ASSERT_EQ(file.curves_size(), 6);
  EXPECT_EQ(file.curves(0).ranks(), 4u);
  EXPECT_EQ(file.curves(0).launch(), "single_process");
  const Finished stalled =
      mpirun(2, "--backend tcp -t 2 -b 64 -e 4K -f 8 -n 2 --collectives alltoall --stall-limit 3 --inject-stall 3:1");
  EXPECT_EQ(stalled.code, 3) << stalled.err;
  EXPECT_NE(stalled.err.find("the process of ranks 2 .. 3 on "), std::string::npos) << stalled.err;
  EXPECT_NE(refused("--backend mpi -t 2").find("-t: found 2, expected 1"), std::string::npos);
  EXPECT_NE(refused("--backend tcp --collectives alltoall -g 2").find("-g: found 2, expected 1"), std::string::npos);
}

// The README's command: every rank asks distsim for the plan, which else leaves the work of a job of mpirun to its first.
TEST_F(CollectiveBench, SimulatesItsPlanOnEveryRank) {
  const std::string config = dir_ + "/two.yaml", curve = dir_ + "/two.curve.txtpb";
  ASSERT_TRUE(write_file_atomically(config,
                                    "cluster: {system: dgx_a100_80gb, nodes: 1, gpus_per_node: 2}\n"
                                    "model: {name: resnet50_v1_5, per_gpu_batch: 8}\n")
                  .ok());
  const Finished f = mpirun(2, "--backend mpi -n 2 --plan simulate --config " + config + " --out " + curve);
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(f.err.find("does all the work"), std::string::npos) << f.err;
  EXPECT_GE(read_curves(curve).curves_size(), 1);
}

// On one node of two ranks all of these are the same two ranks.
TEST_F(CollectiveBench, OneCurveForTheSameRanksUnderSeveralNames) {
  const std::string curve = dir_ + "/s.curve.txtpb";
  const Finished f = mpirun(2, "--backend mpi -b 64 -e 64 -n 2 --groups 2x1,2x1.alone,all --out " + curve);
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(read_curves(curve).curves_size(), 1);
  EXPECT_NE(f.out.find("# 2x1.alone has the same ranks as 2x1 on this machine: measured once"), std::string::npos)
      << f.out;
}

TEST_F(CollectiveBench, EveryTypeAndReductionIsRight) {
  const Finished f =
      mpirun(3, "--backend mpi -b 4K -e 4K -n 2 -d all -o all --collectives all_reduce,reduce_scatter,alltoall");
  ASSERT_EQ(f.code, 0) << f.err;
  const auto rows = rows_of(f.out);
  EXPECT_EQ(rows.size(), 2u * 8 * 4 + 10);  // MPI reduces eight of the ten types, and moves all of them
  for (const TableRow& row : rows) EXPECT_EQ(row.halves[3] + row.halves[7], "00") << row.type << ' ' << row.redop;
  EXPECT_NE(f.out.find("# left out: -d: found half, which MPI cannot reduce"), std::string::npos);
}

TEST_F(CollectiveBench, TableAndFilesAgree) {
  const std::string curve = dir_ + "/x.curve.txtpb", json = dir_ + "/x.json";
  const Finished f =
      mpirun(4, "--backend mpi -b 1K -e 64K -f 4 -n 5 --collectives all_reduce,alltoall --system here --out " + curve +
                    " -J " + json);
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
    EXPECT_NEAR(half["algbw"].get<double>(), static_cast<double>(rows[i].bytes) / half["time_us"].get<double>() / 1e3,
                1e-9);
    EXPECT_NEAR(half["busbw"].get<double>(), half["algbw"].get<double>() * (i < 4 ? 1.5 : 0.75),
                1e-9);  // 2(n-1)/n and (n-1)/n of 4 ranks
    if (i < 4) busbw_sum += half["busbw"].get<double>() + j["tables"][0]["rows"][i]["in_place"]["busbw"].get<double>();
  }
  EXPECT_NEAR(j["tables"][0]["avg_busbw"].get<double>(), busbw_sum / 8, 1e-9);
  EXPECT_NE(f.out.find("# Collective test concluded: alltoall_perf"), std::string::npos);
}

TEST_F(CollectiveBench, AWrongElementEndsTheRunByName) {
  const std::string curve = dir_ + "/w.curve.txtpb";
  const Finished f = mpirun(4, "--backend mpi -b 64 -e 4K -f 4 -n 2 --out " + curve +
                                   " --inject-fault 2:100");  // 100 floats are in the sizes from 1024 on
  EXPECT_EQ(f.code, 1);
  EXPECT_NE(f.err.find(
                "all_reduce of 1024 bytes, out-of-place: rank 2, element 100 (byte 400 of the receive buffer): found "),
            std::string::npos)
      << f.err;
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

TEST_F(CollectiveBench, StandardOutputIsNoFileByAnyName) {
  for (const char* name : {"-", "/dev/stdout", "/proc/self/fd/1"}) {
    for (const char* flag : {"--out", "-J"}) {
      const std::string said = refused(std::string(flag) + " " + name);
      EXPECT_NE(said.find(std::string(flag) + ": found standard output, expected a file"), std::string::npos) << said;
      EXPECT_EQ(said.find("or -"), std::string::npos) << said;
    }
  }
}

/// distsim reads them for the plan: the experiment, and what that names.
TEST_F(CollectiveBench, NoFileThatTheExperimentNamesIsReplaced) {
  const std::string config = dir_ + "/two.yaml", system = dir_ + "/mine.yaml";
  const std::string described = *read_file(test::config("systems/dgx_a100_80gb.yaml"), 1 << 20);
  ASSERT_TRUE(write_file_atomically(system, described).ok());
  ASSERT_TRUE(write_file_atomically(config,
                                    "cluster: {system: ./mine.yaml, nodes: 1, gpus_per_node: 2}\n"
                                    "model: {name: resnet50_v1_5, per_gpu_batch: 8}\n")
                  .ok());
  std::filesystem::create_symlink(system, dir_ + "/link");
  for (const std::string& output : {"-J " + system, "--out " + system, "-J " + dir_ + "/link", "-J " + config}) {
    const std::string said = refused("--backend mpi -n 2 --plan simulate --config " + config + " " + output);
    EXPECT_NE(said.find("a file that this command reads"), std::string::npos) << said;
    EXPECT_EQ(*read_file(system, 1 << 20), described) << output;
  }
}

/// What distsim refuses for every rank is said once.
TEST_F(CollectiveBench, APlanThatIsRefusedIsOneLine) {
  const std::string said = refused("--backend mpi --plan simulate --config " + dir_ + "/none.yaml");
  const std::string why = "failed; distsim: " + dir_ + "/none.yaml: cannot open (No such file or directory)\n";
  const std::size_t at = said.find("none.yaml: cannot open");  // mpirun has lines of its own
  EXPECT_NE(said.find(why), std::string::npos) << said;
  EXPECT_EQ(said.find("none.yaml: cannot open", at + 1), std::string::npos) << said;
}

TEST_F(CollectiveBench, RanksWithOtherFlagsAreRefused) {
  const std::string one = std::string(" -n 1 ") + BINARY;
  const Finished f = test::run_command(
      std::string(kEnvironment) + "timeout 60 " + MPIEXEC + one + " -b 8 -e 8 :" + one + " -b 8 -e 16", dir_);
  EXPECT_EQ(f.code, 2);
  EXPECT_NE(f.err.find("rank 1 was started with different flags than rank 0: found '-e 16', expected '-e 8'"),
            std::string::npos)
      << f.err;
}

// The run would take hours; it is stopped once three sizes are on disk.
TEST_F(CollectiveBench, AnInterruptLeavesThePartialFile) {
  const std::string curve = dir_ + "/p.curve.txtpb";
  test::Background job("env " + std::string(kEnvironment) + MPIEXEC + " -n 2 " + BINARY +
                       " --backend mpi -b 1K -e 64M -i 1K -n 20 --out " + curve + " >" + dir_ + "/out 2>&1 </dev/null");
  int points = 0;
  for (int waited = 0; waited < 600 && points < 3; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (std::filesystem::exists(curve)) points = read_curves(curve).curves(0).points_size();
  }
  EXPECT_GE(points, 3);
  job.interrupt();
  EXPECT_TRUE(job.end_within(300)) << "still running";
  const curves::CurveFile file = read_curves(curve);
  EXPECT_TRUE(file.partial());
  EXPECT_GE(file.curves(0).points_size(), 3);
}

// The only rank stops in the middle of a row, with the lock of its standard output held.
TEST_F(CollectiveBench, AnInterruptEndsARunWhoseOutputNobodyReads) {
  const std::string pipe = dir_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader =
      ::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);  // reads nothing; open both ways, it waits for no writer
  ASSERT_GE(reader, 0);
  ASSERT_GT(::fcntl(reader, F_SETPIPE_SZ, 4096), 0);
  test::Background job(std::string(BINARY) +
                       " --backend tcp --hosts 127.0.0.1 --rank 0 -b 1K -e 64M -i 1K -n 2 --collectives alltoall >" +
                       pipe + " 2>/dev/null </dev/null");
  for (int held = 0, before = 0, same = 0, waited = 0; waited < 600 && (held == 0 || same < 10);
       ++waited) {  // until no more comes
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ASSERT_EQ(::ioctl(reader, FIONREAD, &held), 0);
    same = held == before ? same + 1 : 0;
    before = held;
  }
  job.interrupt();
  EXPECT_EQ(job.end_within(300), 130);
  ::close(reader);
}

// MPI carries what the ranks tell each other, TCP the data.
TEST_F(CollectiveBench, TcpMovesEverythingAndReducesNothing) {
  const Finished f = mpirun(
      3,
      "--backend tcp --streams 2 -b 64 -e 300K -f 70 -n 2 -r 1 --imbalance 2.5 --collectives alltoall,alltoallv,all_gather,broadcast,gather,scatter,sendrecv");
  ASSERT_EQ(f.code, 0) << f.err;
  const auto rows = rows_of(f.out);
  EXPECT_EQ(rows.size(), 7u * 2);
  for (const TableRow& row : rows) EXPECT_EQ(row.halves[3], "0") << row.bytes;
  EXPECT_NE(refused("--backend tcp --collectives alltoall --load 64M")
                .find("--load: the tcp backend has no second communicator"),
            std::string::npos);
  EXPECT_NE(refused("--backend tcp").find("it moves data but does not reduce"), std::string::npos);
}

// Two processes that nobody but the shell started.
TEST_F(CollectiveBench, RanksMeetWithoutMpirun) {
  const std::string common = std::string(BINARY) + " --backend tcp --hosts 127.0.0.1,127.0.0.1 --port " +
                             std::to_string(test::free_port()) +
                             " -b 1K -e 64K -f 8 -n 3 --pair-tests latency,bandwidth,matrix";
  const Finished f = test::run_command(
      "timeout 60 " + common + " --rank 1 >" + dir_ + "/other 2>&1 & timeout 60 " + common + " --rank 0", dir_);
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_NE(f.out.find("# latency: half a round trip"), std::string::npos);
  EXPECT_NE(f.out.find("# fit: alpha "), std::string::npos);
  EXPECT_NE(f.out.find("# matrix: GB/s"), std::string::npos);
}

// Other programs look at open ports: some send nothing, or a byte, and stay.
TEST_F(CollectiveBench, AStrangerOnThePortDoesNotHoldTheRanks) {
  const int port = test::free_port();
  const std::string common = std::string(BINARY) + " --backend tcp --hosts 127.0.0.1,127.0.0.1 --port " +
                             std::to_string(port) + " -b 1K -e 1K -n 2 --collectives alltoall";
  test::Background root("timeout 60 " + common + " --rank 0 >" + dir_ + "/root 2>&1");
  const int stranger = test::call_port(port);
  ASSERT_GE(stranger, 0);
  ASSERT_EQ(::write(stranger, "d", 1), 1);
  const Finished f = test::run_command("timeout 60 " + common + " --rank 1", dir_);
  EXPECT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(root.end_within(600), 0);
  ::close(stranger);
}

TEST_F(CollectiveBench, RankZeroNamesIdleFlags) {
  const Finished f = mpirun(2, "--backend mpi -b 8 -e 8 -n 1 --imbalance 2 --streams 4");
  EXPECT_EQ(f.code, 0) << f.err;
  const std::size_t own = f.err.find("collective_bench:");  // behind what MPI says of a machine without /sys
  EXPECT_EQ(f.err.substr(std::min(own, f.err.size())),
            "collective_bench: --imbalance: no effect, no measured collective has uneven sizes\n"
            "collective_bench: --streams: no effect, only the tcp backend opens connections of its own\n");
}

TEST_F(CollectiveBench, AFullStandardOutputIsSaid) {
  for (const std::string flags : {"--help", "--backend tcp --collectives alltoall -b 8 -e 8 -n 1"}) {
    const Finished f = test::run_command("{ " + std::string(BINARY) + " " + flags + " >/dev/full; }", dir_);
    EXPECT_EQ(f.code, 2) << flags;
    EXPECT_NE(f.err.find("collective_bench: cannot write to standard output: "), std::string::npos) << f.err;
  }
}

TEST_F(CollectiveBench, TwoOutputsAreTwoFiles) {
  const std::string flags = " --backend tcp -b 8 -e 8 -n 1 ";
  const std::string x = dir_ + "/x", plan = dir_ + "/plan.csv";
  const Finished both = test::run_command(std::string(BINARY) + flags + "--out " + x + " -J " + dir_ + "/./x", dir_);
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("writes to it too"), std::string::npos) << both.err;
  ASSERT_TRUE(
      write_file_atomically(plan, "collective,dtype,ranks,nodes,at_once,bytes\nall_to_all,fp32,2,1,0,8\n").ok());
  const Finished over = test::run_command(std::string(BINARY) + flags + "--plan " + plan + " --out " + plan, dir_);
  EXPECT_EQ(over.code, 2);
  EXPECT_NE(over.err.find("reads"), std::string::npos) << over.err;
}

TEST_F(CollectiveBench, ShapesOfGroupsAreMeasuredAndNamed) {
  const std::string curve = dir_ + "/g.curve.txtpb";
  const Finished f = mpirun(4, "--backend mpi --groups all,pairs,2x1.alone -b 1K -e 4K -f 4 -n 3 --out " + curve);
  ASSERT_EQ(f.code, 0) << f.err;
  EXPECT_EQ(rows_of(f.out).size(), 6u);
  const curves::CurveFile file = read_curves(curve);
  ASSERT_EQ(file.curves_size(), 3);
  EXPECT_EQ(file.curves(0).ranks(), 4u);
  EXPECT_EQ(file.curves(1).group(), "pairs");
  EXPECT_EQ(file.curves(1).ranks(), 2u);
  EXPECT_EQ(file.curves(1).groups_at_once(), 2u);
  EXPECT_EQ(file.curves(2).groups_at_once(), 1u);
  EXPECT_EQ(file.curve_count(), 3u);
  EXPECT_EQ(file.checksum().size(), 16u);
}

TEST_F(CollectiveBench, APlanIsMeasuredExactly) {
  const std::string plan = dir_ + "/plan.csv", curve = dir_ + "/p.curve.txtpb";
  ASSERT_TRUE(
      write_file_atomically(
          plan,
          "collective,dtype,ranks,nodes,at_once,bytes\nall_reduce,fp32,4,1,0,1040\nall_to_all,fp32,2,1,1,64\nall_reduce,fp32,4,1,0,8\n")
          .ok());
  const Finished f = mpirun(4, "--backend mpi -n 3 --plan " + plan + " --out " + curve);
  ASSERT_EQ(f.code, 0) << f.err;
  const curves::CurveFile file = read_curves(curve);
  ASSERT_EQ(file.curves_size(), 2);
  ASSERT_EQ(file.curves(0).points_size(), 2);
  EXPECT_EQ(file.curves(0).points(0).bytes(), 8u);
  EXPECT_EQ(file.curves(0).points(1).bytes(), 1040u);
  EXPECT_EQ(file.curves(1).kind(), "all_to_all");
  EXPECT_EQ(file.curves(1).ranks(), 2u);
}

TEST_F(CollectiveBench, ARankThatDoesNothingIsNamed) {
  const Finished f = mpirun(3, "--backend mpi -b 64 -e 4K -f 4 -n 2 --stall-limit 3 --inject-stall 1:2");
  EXPECT_EQ(f.code, 3) << f.err;
  EXPECT_NE(f.err.find("rank 1 on "), std::string::npos) << f.err;
  EXPECT_NE(f.err.find("is stuck at: "), std::string::npos) << f.err;
  EXPECT_EQ(f.err.find("in the files"), std::string::npos) << "there is none: " << f.err;
  EXPECT_EQ(rows_of(f.out).size(), 2u);
}

TEST_F(CollectiveBench, AStalledRunSaysWhatIsInItsFiles) {
  const std::string curve = dir_ + "/stalled.curve.txtpb";
  const std::string flags = "--backend mpi -b 64 -e 4K -f 4 -n 2 --stall-limit 3 --out " + curve + " --inject-stall ";
  const Finished at_once = mpirun(2, flags + "1:0");
  EXPECT_EQ(at_once.code, 3) << at_once.err;
  EXPECT_EQ(at_once.err.find("in the files"), std::string::npos) << at_once.err;
  EXPECT_FALSE(std::filesystem::exists(curve));
  const Finished later = mpirun(2, flags + "1:2");
  EXPECT_EQ(later.code, 3) << later.err;
  EXPECT_NE(later.err.find("; job aborted, finished results are in the files, marked partial"), std::string::npos)
      << later.err;
  EXPECT_TRUE(read_curves(curve).partial());
}

TEST_F(CollectiveBench, MoreSamplesUntilTheMedianIsKnown) {
  const std::string json = dir_ + "/e.json";
  const Finished f = mpirun(2, "--backend mpi -b 1K -e 1K -n 5 --relative-error 0.000001 --max-seconds 2 -J " + json);
  ASSERT_EQ(f.code, 0) << f.err;
  const auto j = nlohmann::json::parse(*read_file(json, 1 << 20));
  const auto& half = j["tables"][0]["rows"][0]["out_of_place"];
  EXPECT_GT(half["iterations"]["count"].get<int>(), 5);
  EXPECT_EQ(half["ranks"]["count"], 2);
  EXPECT_GE(half["ranks"]["arrival_skew_us"].get<double>(), 0);
}

// A computation and a second communicator run concurrently; such curves must not price anything.
TEST_F(CollectiveBench, ContendedCurvesAreMarked) {
  for (const char* load : {"compute", "256K"}) {
    const std::string curve = dir_ + "/b.curve.txtpb";
    const Finished f = mpirun(2, "--backend mpi -b 64K -e 64K -n 5 --load " + std::string(load) + " --out " + curve);
    ASSERT_EQ(f.code, 0) << load << f.err;
    EXPECT_NE(f.out.find("# groups concurrent with "), std::string::npos);
    EXPECT_NE(read_curves(curve).curves(0).not_used(), "");
  }
}

TEST_F(CollectiveBench, HostNamesCanBeHashed) {
  const std::string curve = dir_ + "/h.curve.txtpb";
  ASSERT_EQ(mpirun(2, "--backend mpi -b 1K -e 1K -n 2 --hash-hosts --out " + curve).code, 0);
  ASSERT_EQ(read_curves(curve).hosts_size(), 1);
  EXPECT_EQ(read_curves(curve).hosts(0).rfind("node-", 0), 0u);
}

TEST_F(CollectiveBench, RanksOfAnotherProgramAreRefused) {
  const std::string other = dir_ + "/other_bench";  // the same program with a byte more is another one
  ASSERT_EQ(std::system(("cp " + std::string(BINARY) + " " + other + " && printf x >> " + other).c_str()), 0);
  const Finished f = test::run_command(std::string(kEnvironment) + "timeout 60 " + MPIEXEC + " -n 1 " + BINARY +
                                           " -b 8 -e 8 : -n 1 " + other + " -b 8 -e 8",
                                       dir_);
  EXPECT_EQ(f.code, 2);
  EXPECT_NE(f.err.find("rank 1 was started with different flags than rank 0: found 'program "), std::string::npos)
      << f.err;
}

TEST_F(CollectiveBench, HelpNeedsNoMpirun) {
  const Finished f = test::run_command(std::string(BINARY) + " --help", dir_);
  EXPECT_EQ(f.code, 0);
  EXPECT_NE(f.out.find("--minbytes"), std::string::npos);
}

}  // namespace
}  // namespace distsim::bench
