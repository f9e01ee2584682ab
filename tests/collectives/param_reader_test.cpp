// PARAM's logs: rows, units, ranks and nodes.
#include <gtest/gtest.h>

#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

std::string param_row(const char* size, const char* p50, const char* algbw, const char* busbw) {
  return std::string("\tCOMMS-RES-all_reduce-float32  ") + size + "  262144  " + p50 + "  51.0  52.0  48.0  53.0  " +
         algbw + "  " + busbw + "  0\n";
}

TEST(Param, RowsBecomeACurve) {
  // 8 ranks: busbw = 1.75 algbw. 1 MiB in 50 us is 20.972 GB/s.
  const std::string head =
      "\tMPI environment: {'global_rank': 0, 'world_size': 8}\n\tCOMMS-RES  total-size (B)  nElementsPerRank  Time(us):p50  p75  "
      "p95  Min  Max\n";
  const auto set = read("param.log", head + param_row("1048576", "50.0", "20.972", "36.700"));
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].ranks, 8u);
  EXPECT_DOUBLE_EQ(set->curves[0].points[0].time_us, 50);
  EXPECT_DOUBLE_EQ(set->curves[0].points[0].low_us, 48);
  EXPECT_DOUBLE_EQ(set->curves[0].points[0].high_us, 52);
  expect_error(read("param_bad.log", head + param_row("1048576", "50.0", "20.972", "20.972")),
               "busbw: found 20.972, expected 36.701");
  expect_error(read("param_quant.log", head + "\tCOMMS-RES-QUANT-all_reduce-float32 1 2 3 4 5 6 7 8 9\n"),
               "expected a plain collective");
  expect_error(read("param_cut.log", head + "\tCOMMS-RES-all_reduce-float32 1048576 262144 50.0\n"),
               "expected 9 or 10");
}

TEST(Param, ARunThatBrokeOffIsPartial) {
  const std::string log = "world_size: 8\n" + param_row("1048576", "50.0", "20.972", "36.700");
  EXPECT_FALSE(read("param_whole.log", log)->partial);
  for (const char* line : {"Traceback (most recent call last):", "torch.distributed.DistBackendError: NCCL error in: x",
                           "srun: error: n2: task 5: Killed", "mpirun noticed that process rank 5 exited on signal 9",
                           "mpirun: killing job...", "PRTE has lost communication with a remote daemon.", "Killed"})
    EXPECT_TRUE(read("param_killed.log", log + line + "\n")->partial) << line;
}

TEST(Param, DamagedRowsAndOtherUnitsAreRefused) {
  const std::string head = "world_size: 8\n", row = param_row("1048576", "50.0", "20.972", "36.700");
  ASSERT_TRUE(read("param_front.log", head + row).ok());
  for (const char* changed : {"OMMS-RES", "COMMS", ""}) {
    std::string damaged = row;
    damaged.replace(damaged.find("COMMS-RES"), 9, changed);
    expect_error(read("param_front.log", head + row + damaged), "param_front.log:3: found the row");
  }
  const std::string header =
      "\tCOMMS-RES\ttotal-size (B)\tnElementsPerRank\tLatency(us):p50\tp75\tp95\tMin\tMax\tAlgBW(GB/s)\tBusBW(GB/s)\n";
  EXPECT_TRUE(read("param_unit.log", head + header + row).ok());
  for (const auto& [from, to] : {std::pair("(B)", "(KB)"), {"y(us)", "y(ms)"}, {"AlgBW(GB/s)", "AlgBW(MB/s)"}}) {
    std::string other = header;
    other.replace(other.find(from), std::string_view(from).size(), to);
    expect_error(read("param_unit.log", head + other + row), "found the unit");
  }
}

TEST(Param, PercentilesThatDoNotAscendAreRefused) {
  const auto row = [](const char* p50, const char* p95, const char* least) {
    return "world_size: 8\n\tCOMMS-RES-all_reduce-float32 1048576 262144 " + std::string(p50) + " 50.5 " + p95 + " " +
           least + " 53.0 20.972 36.700\n";
  };
  EXPECT_TRUE(read("param_asc.log", row("50.0", "52.0", "48.0")).ok());
  expect_error(read("param_p95.log", row("50.0", "49.0", "48.0")),
               "param_p95.log:2: time: found a minimum of 48.0, p50");
  expect_error(read("param_min.log", row("50.0", "52.0", "51.0")), "expected ascending times");
  expect_error(read("param_inf.log", row("50.0", "inf", "48.0")), "expected ascending times");
}

/// A log as comms.py prints it: 1 MiB in 50 us is 20.972 GB/s.
std::string comms_log(const std::string& world, const std::string& name, const char* busbw = "36.700",
                      const char* elements = "262144") {
  return "\tMPI environment: {" + world + ", 'global_rank': 0, 'local_rank': 0}\n\tCOMMS-RES-" + name + "\t1048576\t" +
         elements + "\t50.0\t51.0\t52.0\t48.0\t53.0\t20.972\t" + busbw + "\n";
}

TEST(Param, LocalSizeTellsTheNodes) {
  const auto nodes = [](const std::string& world, const LogHints& hints = {}) {
    const auto set = read("local.log", comms_log(world, "broadcast-float32", "20.972"), hints);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].nodes : 0;
  };
  EXPECT_EQ(nodes("'world_size': 16, 'local_size': 4"), 4u);
  EXPECT_EQ(nodes("'world_size': 8, 'local_size': 8"), 1u);
  EXPECT_EQ(nodes("'world_size': 8, 'local_size': 1"), 8u);
  EXPECT_EQ(nodes("'world_size': 8, 'local_size': -1"), 0u);  // without MPI it is not known
  EXPECT_EQ(nodes("'world_size': 16, 'local_size': 4", {16, 4}), 4u);
  const std::string two = comms_log("'world_size': 8, 'local_size': 4", "broadcast-float32", "20.972");
  expect_error(read("local.log", two, {8, 4}), "--nodes: found 4, but the log states 2");
  expect_error(read("local.log", comms_log("'world_size': 8, 'local_size': 16", "broadcast-float32", "20.972")),
               "local.log:1: local_size: found 16, expected at most the world_size, 8");
  expect_error(read("local.log", two + comms_log("'world_size': 8, 'local_size': 8", "broadcast-float32", "20.972")),
               "local.log:3: local_size: found 8 below a run of 4");
  const auto rest = read("local.log", comms_log("'world_size': 12, 'local_size': 8", "broadcast-float32", "20.972"));
  ASSERT_TRUE(rest.ok()) << rest.error().text();
  EXPECT_EQ(rest->curves[0].nodes, 0u);
  ASSERT_EQ(rest->remarks.size(), 1u);
  EXPECT_NE(rest->remarks[0].find("local_size: found 8 of 12 ranks"), std::string::npos) << rest->remarks[0];
}

TEST(Param, ANameThatContradictsTheLogIsNamed) {
  const std::string text = comms_log("'world_size': 16, 'local_size': 4", "broadcast-float32", "20.972");
  const auto set = read("x_2n16r.log", text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].nodes, 4u);
  ASSERT_EQ(set->remarks.size(), 1u);
  EXPECT_NE(set->remarks[0].find("nodes: the log states 4, its name 2"), std::string::npos) << set->remarks[0];
  EXPECT_TRUE(read("x_4n16r.log", text)->remarks.empty());
}

TEST(Param, ElementsAreThoseOfTheSize) {
  const std::string world = "'world_size': 8";
  EXPECT_TRUE(read("el.log", comms_log(world, "all_reduce-float16", "36.700", "524288")).ok());
  EXPECT_TRUE(read("el.log", comms_log(world, "all_reduce-bfloat16-tag", "36.700", "524288")).ok());
  EXPECT_TRUE(read("el.log", comms_log(world, "all_to_all-float32", "18.350", "32768")).ok());  // of a rank
  expect_error(read("el.log", comms_log(world, "all_reduce-float16", "36.700", "262144")),
               "size: found 1.04858e+06, expected count x type (262144 x half)");
  expect_error(read("el.log", comms_log(world, "all_reduce-float32", "36.700", "524288")), "expected count x type");
}

TEST(Param, EachTimeOfTheHeaderIsInMicroseconds) {
  const std::string header =
      "\tCOMMS-RES\ttotal-size (B)\tnElementsPerRank\tLatency:p50(us)\tp75\tp95\tMin\tMax\tAlgBW(GB/s)\tBusBW(GB/s)\n";
  const std::string rows = comms_log("'world_size': 8", "all_reduce-float32");
  EXPECT_TRUE(read("unit.log", header + rows).ok());
  for (const auto& [from, to] :
       {std::pair("p50(us)", "p50(ms)"), {"p95", "p95 (ms)"}, {"Min", "Min(s)"}, {"Max", "Max(ns)"}}) {
    std::string other = header;
    other.replace(other.find(from), std::string_view(from).size(), to);
    expect_error(read("unit.log", other + rows), "unit.log:1: " + std::string(to).substr(0, 3) + ": found the unit '");
  }
}

TEST(Param, FormsOfACollectiveAreThatCollectiveAndOtherTestsAreLeftOut) {
  const std::string world = "'world_size': 8";
  for (const auto& [name, kind] : {std::pair("reduce_scatter_base", graph::CollectiveKind::reduce_scatter),
                                   {"all_gather_base", graph::CollectiveKind::all_gather},
                                   {"all_to_all_single", graph::CollectiveKind::all_to_all}}) {
    const auto set = read("forms.log", comms_log(world, name + std::string("-float32"), "18.350"));
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->curves[0].kind, kind);
  }
  const std::string other = comms_log(world, "incast-float32", "20.972");
  const auto set = read("other.log", comms_log(world, "all_reduce-float32") + other);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves.size(), 1u);
  ASSERT_EQ(set->remarks.size(), 1u);
  EXPECT_NE(set->remarks[0].find("other.log:4: left out: the table of the test 'incast'"), std::string::npos);
  expect_error(read("other.log", other), "found the test 'incast', expected one of a collective");
}

/// What PyTorch calls the device and the backend of a run says which GPUs, if any, took part.
TEST(Param, OtherAcceleratorsAreNamedAndHostsAreNotUsed) {
  const auto of = [](const std::string& device, const std::string& backend) {
    return read("param.log", "\t backend: " + backend + " nw-stack: pytorch-dist mode: comms args.b: 8\n" +
                                 "[Rank   0] host node0, device: " + device +
                                 ", local_rank: 0 world_size: 8, master_ip: 127.0.0.1\n" +
                                 param_row("1048576", "50.0", "20.972", "36.700"));
  };
  for (const auto& [device, backend] :
       {std::pair("cuda:0", "nccl"), {"gpu", "ucc"}, {"cuda:3", "mpi"}, {"0", "my_own"}, {"CUDA:1", "NCCL"}}) {
    const auto set = of(device, backend);
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->listed_gpu, "") << device;
    EXPECT_EQ(set->curves[0].not_used, "") << device;
    EXPECT_EQ(set->curves[0].library, "PARAM comms") << device;
  }
  for (const auto& [device, backend, named] : {std::tuple("xpu:0", "ccl", "xpu:0"),
                                               {"hpu", "mpi", "hpu"},
                                               {"tpu:0", "nccl", "tpu:0"},
                                               {"cuda:0", "hccl", "hccl"}}) {
    const auto set = of(device, backend);
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->listed_gpu, named);
  }
  for (const auto& [device, backend] : {std::pair("rocm:0", "nccl"), {"cuda:0", "rccl"}}) {
    const auto set = of(device, backend);
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->curves[0].library, "PARAM comms, ROCm");
  }
  for (const auto& [device, backend] : {std::pair("cpu:0", "nccl"), {"cpu", "gloo"}, {"cuda:0", "gloo"}}) {
    const auto set = of(device, backend);
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->curves[0].not_used, "host buffers, not GPU memory");
  }
}

/// Devices of other kinds are no accelerators, and lines of libraries between the rows say nothing of the run.
TEST(Param, OtherDevicesBesideTheRunAreNotItsOwn) {
  for (const std::string line : {"node0: network device: bond:0 up", "UCX INFO device: memory:1 ok",
                                 "node0:12:12 [0] NCCL INFO backend: XLA", "device: newchip:7"}) {
    const auto set = read("param.log", "\t backend: nccl nw-stack: pytorch-dist mode: comms args.b: 8\n" + line +
                                           "\n[Rank   0] host node0, device: cuda:0, local_rank: 0 world_size: 8\n" +
                                           param_row("1048576", "50.0", "20.972", "36.700") + line + "\n");
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->listed_gpu, "") << line;
  }
}

TEST(Param, ACommsTraceIsNamed) {
  const std::string trace = R"([{"comms": "all_reduce", "in_msg_size": 1048576, "dtype": "float32"}])";
  expect_error(read("trace.json", trace),
               "found a PARAM comms trace, which lists calls of collectives, expected measured");
  expect_error(read("list.json", "[\n{}]"), "found a list as the whole of the JSON");
}

}  // namespace
}  // namespace distsim::collectives
