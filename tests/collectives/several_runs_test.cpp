// Several runs in one log: each has the launch, library and nodes that its own lines state.
#include <gtest/gtest.h>

#include "collectives/curves/curve_provenance.hpp"
#include "collectives/logs/curve_import.hpp"
#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

struct LoggedRun {
  int gpus_per_process = 1, graph = 0;
  std::vector<std::string> hosts{"n0", "n0"};  ///< by rank
  std::string gpu = "NVIDIA H100 80GB HBM3", library = "22703";
  std::string time = "104.86";
};

std::string text_of(const LoggedRun& run) {
  std::string out = "# nccl-tests version 2.17 nccl-headers=" + run.library + " nccl-library=" + run.library +
                    "\n# Collective test starting: all_reduce_perf\n# nThread 1 nGpus " +
                    std::to_string(run.gpus_per_process) +
                    " minBytes 8 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 graph: " +
                    std::to_string(run.graph) + "\n#\n# Using devices\n";
  for (std::size_t i = 0; i < run.hosts.size(); ++i) {
    const std::string rank = std::to_string(i),
                      pid = std::to_string(100 + i / static_cast<std::size_t>(run.gpus_per_process));
    out += "#  Rank  " + rank + " Group  0 Pid   " + pid + " on " + run.hosts[i] + " device  " + rank + " [0x0" + rank +
           "] " + run.gpu + "\n";
  }
  return out +
         "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
         "     1048576        262144     float     sum      -1   " +
         run.time + "   10.00   10.00      0\n" + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 10 \n";
}

TEST(SeveralRuns, EachHasItsOwnLaunchGraphAndLibrary) {
  const LoggedRun one{.gpus_per_process = 2, .graph = 0, .library = "21801"}, other{.graph = 1, .time = "104.85"};
  for (const bool turned : {false, true}) {
    const LoggedRun &first = turned ? other : one, &second = turned ? one : other;
    const auto set = read("runs.txt", text_of(first) + text_of(second));
    ASSERT_TRUE(set.ok()) << set.error().text();
    ASSERT_EQ(set->curves.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      const LoggedRun& run = i == 0 ? first : second;
      const Curve& c = set->curves[i];
      EXPECT_EQ(c.single_process, run.gpus_per_process == 2) << i;
      EXPECT_EQ(c.cuda_graph, run.graph == 1) << i;
      EXPECT_EQ(c.states_no_graph, run.graph == 0) << i;
      EXPECT_EQ(c.processes, run.gpus_per_process == 2 ? 1u : 2u) << i;
      EXPECT_EQ(c.library, "NCCL " + run.library) << i;
    }
  }
}

TEST(SeveralRuns, HostsAreThoseOfTheList) {
  const auto pairs =
      read("pairs.txt", text_of({.hosts = {"n0", "n1"}}) + text_of({.hosts = {"n2", "n3"}, .time = "104.85"}));
  ASSERT_TRUE(pairs.ok()) << pairs.error().text();
  for (const Curve& c : pairs->curves) EXPECT_EQ(c.nodes, 2u);
  const auto nodes = read("nodes.txt", text_of({}) + text_of({.hosts = {"n1", "n1"}, .time = "104.85"}));
  ASSERT_TRUE(nodes.ok()) << nodes.error().text();
  for (const Curve& c : nodes->curves) EXPECT_EQ(c.nodes, 1u);
  expect_error(read("shapes.txt", text_of({}) + text_of({.hosts = {"n0", "n1"}})),
               "hosts: found 2 below a run of 1, expected the same in all runs of a log");
}

TEST(SeveralRuns, WhatIsSaidBelowTheTablesIsOfAllThatSayNothing) {
  const std::string table =
      "# collective: all_reduce_perf\n# nodes: 1  gpus: 2\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1   104.86   10.00   10.00      0\n";
  const auto set = read("below.txt", table + "# launch: 1 process, CUDA graph\n# nccl: 2.27.3\n");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->curves[0].single_process);
  EXPECT_TRUE(set->curves[0].cuda_graph);
  EXPECT_EQ(set->curves[0].library, "NCCL 2.27.3");
}

/// A table of nccl-tests, whose time tells it from others.
std::string table_in(const std::string& time) {
  return "# collective: all_reduce_perf\n# nodes: 1  gpus: 2\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
         "     1048576        262144     float     sum      -1   " +
         time + "   10.00   10.00      0\n";
}

std::vector<Curve> curves_in(const std::string& name, const std::string& text) {
  const auto set = read(name, text);
  EXPECT_TRUE(set.ok()) << set.error().text();
  return set.ok() ? set->curves : std::vector<Curve>();
}

TEST(SeveralRuns, WhatTheLastRunLeavesOpenOthersKeep) {
  const auto curves = curves_in("kept.txt", "# nccl: 2.27.3\n# launch: 1 rank/GPU, CUDA graph, NCCL_ALGO=Ring\n" +
                                                table_in("104.86") + "# launch: 1 rank/GPU\n" + table_in("104.85"));
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].settings, "NCCL_ALGO=Ring");
  EXPECT_TRUE(curves[0].cuda_graph);
  EXPECT_EQ(curves[1].settings, "");
  EXPECT_FALSE(curves[1].cuda_graph);
}

/// What the lines above the last run say holds for it, and for none before it.
TEST(SeveralRuns, TheLastRunSaysNothingOfOthers) {
  const auto curves =
      curves_in("own.txt", table_in("104.86") + "# launch: 1 process, CUDA graph, NCCL_ALGO=Ring\n# nccl: 2.27.3\n" +
                               table_in("104.85"));
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_FALSE(curves[0].single_process);
  EXPECT_FALSE(curves[0].cuda_graph);
  EXPECT_EQ(curves[0].settings + curves[0].library, "");
  EXPECT_TRUE(curves[1].single_process);
}

TEST(SeveralRuns, ARunThatDiesAfterItsHeaderHidesNothingBelow) {
  const std::string died = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  const auto curves = curves_in(
      "died.txt", table_in("104.86") + "# launch: 1 process\n" + died + "# nccl: 2.27.3\n# source: a paper\n");
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_FALSE(curves[0].single_process) << "that is of the run that died";
  EXPECT_EQ(curves[0].library, "NCCL 2.27.3");
  EXPECT_EQ(curves[0].source, "a paper");
}

TEST(SeveralRuns, ASourceHoldsForTheRunsAboveThatHaveNone) {
  const auto curves = curves_in("source.txt", table_in("104.86") + "# source: first\n" + table_in("104.85") +
                                                  "# source: second\n" + table_in("104.84"));
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_EQ(curves[0].source, "first");
  EXPECT_EQ(curves[1].source, "first");
  EXPECT_EQ(curves[2].source, "second");
  const std::string osu =
      "# nodes: 2  ranks: 16\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n";
  const auto of_osu = curves_in("source_osu.txt", osu + "8 5.5\n16 5.6\n" + osu + "8 5.7\n# source: a paper\n");
  ASSERT_EQ(of_osu.size(), 2u);
  for (const Curve& c : of_osu) EXPECT_EQ(c.source, "a paper");
}

TEST(SeveralRuns, OneLogIsOfOneHardware) {
  const std::string a100 = "# hardware: 8x A100\n" + text_of({.gpu = "A100"}),
                    h100 = "# hardware: 8x H100\n" + text_of({.gpu = "A100"});
  for (const std::string& both : {a100 + h100, h100 + a100})
    expect_error(read("hardware.txt", both), "expected one system in a log");
  const std::string osu =
      "# nodes: 2  ranks: 16\n# hardware: 8x V100\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n8 5.5\n";
  std::string other = osu;
  other.replace(other.find("V100"), 4, "A100");
  expect_error(read("hardware_osu.txt", osu + other), "hardware: found '8x A100' after '8x V100'");
}

TEST(SeveralRuns, TheGpuOfTheListIsKnownBesideTheWordsOfTheAuthor) {
  const std::vector<std::string> log{
      file_with("listed.txt", "# hardware: 8x H100 SXM\n" + text_of({.gpu = "NVIDIA A100-SXM4-80GB"}))};
  const ImportRequest request{.logs = log,
                              .system = "dgx_h100",
                              .device = "h100_sxm5_80gb",
                              .date = "",
                              .devices = topology::KnownDevices({test::config("devices/h100_sxm5_80gb.yaml"),
                                                                 test::config("devices/a100_sxm4_80gb.yaml")})};
  const auto set = import_curves(request);
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().text().find("hardware: found 'NVIDIA A100-SXM4-80GB', expected h100_sxm5_80gb"),
            std::string::npos)
      << set.error().text();
  const auto read_alone = read_curve_file(log[0]);
  ASSERT_TRUE(read_alone.ok());
  topology::ClusterSpec spec;
  spec.device = "h100_sxm5_80gb";
  EXPECT_EQ(other_gpu_remark(*read_alone, spec, 90, request.devices),
            "using curves measured on 'NVIDIA A100-SXM4-80GB' for h100_sxm5_80gb");
}

}  // namespace
}  // namespace distsim::collectives
