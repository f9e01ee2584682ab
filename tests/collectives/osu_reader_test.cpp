// Logs of OSU: which tests they are of, what of them is used, and what is refused.
#include <gtest/gtest.h>

#include "collectives/logs/curve_import.hpp"
#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

TEST(Osu, CollectiveWithItsRange) {
  const auto set = read("osu_full.txt", kOsu);
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 1u);
  const Curve& c = set->curves[0];
  EXPECT_EQ(c.kind, graph::CollectiveKind::all_reduce);
  EXPECT_EQ(c.ranks, 16u);
  EXPECT_EQ(c.nodes, 2u);
  EXPECT_EQ(c.settings, "MPI");
  EXPECT_TRUE(c.not_used.empty());
  ASSERT_EQ(c.points.size(), 2u);
  EXPECT_DOUBLE_EQ(c.points[1].time_us, 150);
  EXPECT_DOUBLE_EQ(c.points[1].low_us, 140);
  EXPECT_DOUBLE_EQ(c.points[1].high_us, 170);
}

TEST(Osu, ARunThatWasKilledIsPartial) {
  for (const char* line :
       {"mpirun noticed that process rank 5 with PID 31245 on node a002 exited on signal 9 (Killed).",
        "[a002:31245] *** Segmentation fault (core dumped)",
        "srun: error: a002: task 5: Killed",
        "slurmstepd: error: *** JOB 77 ON a001 CANCELLED AT 2026-11-20T10:00:00 ***",
        "mpirun has exited due to process rank 1 with PID 0 on",
        "mpirun: killing job...",
        "mpirun: job aborted: no space left on device",
        "[0] process killed",
        "0: application terminated unexpectedly",
        "process rank 3 exited unexpectedly; the job will be aborted",
        "mpirun noticed that the job aborted, but has no info as to the process",
        "mpirun detected that one or more processes exited with non-zero status, thus causing",
        "ORTE has lost communication with a remote daemon.",
        "PRTE has lost communication with a remote daemon.",
        "An ORTE daemon has unexpectedly failed after launch and before",
        "[n1:mpispawn_0][child_handler] MPI process (rank: 0, pid: 1) exited with status 1",
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Hangup (signal 1)",
        "APPLICATION TIMED OUT, TIMEOUT = 60s",
        "srun: forcing job termination",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "srun: Force Terminated JobId=77",
        "=>> PBS: job killed: walltime 60 exceeded limit 30",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
        "Killed",
        "Aborted",
        "User defined signal 2",
        "run.sh: line 12: 31245 Bus error               ./osu_allreduce",
        "[osu_util.c:108] CUDA call 'cudaMalloc(&buffer, size)' failed with 2: out of memory"}) {
    const auto set = read("killed.txt", kOsu + std::string(line) + "\n");
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_TRUE(set->partial) << line;
  }
  for (const char* line :
       {"real 12.53", "+ srun --kill-on-bad-exit=1 ./osu_allreduce -d cuda",
        "srun: job 77 has been allocated resources", "+ mpirun --mca orte_abort_on_non_zero_status 1 ./osu_allreduce",
        "Job 4711 exited, Exit_status=0", "TASK EPILOG: job 12 terminated, exit code 0:0",
        "prolog: killed 0 stale processes of the last job", "rank 3: 0 packets lost",
        "This job will be cancelled after its time limit of 01:00:00",
        "Jobs that use more memory than asked for: each process will be killed",
        "Info: rank 0 of 16 timed 20 iterations", "child process 12 exited with status 0",
        "all processes terminated normally", "n1:12:12 [0] NCCL INFO comm 0x55 rank 0 nranks 8 - Abort COMPLETE"}) {
    const auto set = read("killed.txt", kOsu + std::string(line) + "\n");
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_FALSE(set->partial) << line;
  }
}

TEST(Osu, WhatMovesTheDataIsItsLibrary) {
  const auto of_title = [](const std::string& words) {
    std::string text = kOsu;
    text.replace(text.find("MPI-CUDA"), 8, words);
    const auto set = read("osu_library.txt", text);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].library + "; " + set->curves[0].settings : "";
  };
  EXPECT_EQ(of_title("MPI"), "OSU v5.7, MPI; MPI");
  EXPECT_EQ(of_title("MPI-CUDA"), "OSU v5.7, MPI-CUDA; MPI");
  EXPECT_EQ(of_title("MPI-ROCM"), "OSU v5.7, MPI-ROCM; MPI");
  EXPECT_EQ(of_title("NCCL"), "OSU v5.7, NCCL; ");
  EXPECT_EQ(of_title("RCCL"), "OSU v5.7, RCCL; ");
}

TEST(Osu, AnyBlanksMayStandInAComment) {
  const auto set = read("blanks.txt", "#\thardware:\t 2x V100  PCIe \n#   source:   a paper\n" + std::string(kOsu));
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->hardware, "2x V100  PCIe");
  EXPECT_EQ(set->curves[0].source, "a paper");
}

TEST(Osu, BytesPerDestinationBecomeTheBuffer) {
  // 8 ranks: 1024 bytes to each are a buffer of 8 KiB. "2n8r" in the name gives ranks and nodes.
  const auto set =
      read("alps_2n8r_x.txt",
           "# OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v7.5\n# Datatype: MPI_CHAR.\n"
           "# Size       Avg Latency(us)        Validation\n1024                     22.26              Pass\n");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].kind, graph::CollectiveKind::all_to_all);
  EXPECT_EQ(set->curves[0].nodes, 2u);
  EXPECT_EQ(set->curves[0].points[0].bytes, 8192);
}

TEST(Osu, HostBuffersAreNotUsedAndBandwidthIsRefused) {
  const auto host =
      read("host_2n4r.txt", "# OSU MPI Broadcast Latency Test v5.7\n# Size       Avg Latency(us)\n8  5.5\n");
  ASSERT_TRUE(host.ok()) << host.error().text();
  EXPECT_EQ(host->curves[0].not_used, "host buffers, not GPU memory");
  expect_error(read("bw.txt", "# OSU MPI-CUDA Bandwidth Test v5.7\n# Size      Bandwidth (MB/s)\n8  5.5\n"),
               "expected a test that reports latency");
  expect_error(read("nobody.txt", "# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n8  5.5\n"),
               "--ranks");
  EXPECT_TRUE(
      read("somebody.txt", "# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n8  5.5\n", {16, 2})
          .ok());
}

TEST(Osu, BrokenRows) {
  std::string text = kOsu;
  expect_error(read("osu_cut.txt", text.substr(0, text.size() - 35)), "cut");
  text.replace(text.find("150.00"), 6, "  0.00");
  expect_error(read("osu_zero.txt", text), "outside its minimum and maximum");
  expect_error(
      read("osu_nan_2n4r.txt", "# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n8  nan\n"),
      "time: found nan");
  expect_error(
      read("osu_order_2n4r.txt", "# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n8  5\n4 5\n"),
      "ascending");
}

const char* const kOsuTitle = "# OSU MPI-CUDA Allreduce Latency Test v5.7\n";
const char* const kOsuHeader = "# Size       Avg Latency(us)\n";

/// Rows that were damaged at their front, which would leave the model to price the largest sizes.
TEST(Osu, ARowWithADamagedSizeIsRefused) {
  const std::string head = std::string(kOsuTitle) + kOsuHeader + "8  5.5\n";
  for (const char* row : {"WARN 33554432 44433.31", "worker-0: 33554432 44433.31", "32M 44433.31", "256K 500",
                          "3355x432 44433.31", "x33554432 44433.31", "WARN 33554432 44433.31 Pass"})
    expect_error(read("front_2n16r.txt", head + row + "\n"), "front_2n16r.txt:4: found the row '" + std::string(row));
  std::string full = kOsu;
  full.replace(full.find("1048576 "), 8, "WARN 1048576 ");
  expect_error(read("front_full.txt", full), "front_full.txt:6: found the row 'WARN 1048576");
  const std::string wide = std::string(kOsuTitle) + kOsuHeader + "4             34.31\n";
  expect_error(read("wide_2n16r.txt", wide + "x             34.10\n"), "wide_2n16r.txt:4: found the row 'x  ");
  full = kOsu;
  for (const char* size : {"x048576 ", "nullnull ", "#048576 "}) {
    std::string damaged = full;
    expect_error(read("front_full.txt", damaged.replace(damaged.find("1048576 "), 8, size)),
                 "front_full.txt:6: found the row '" + std::string(size));
  }
  for (const char* line :
       {"real 12.53", "real          0.5", "user 0.1", "node01 done", "Finished in 120 s", "srun: job 17 done"}) {
    const auto set = read("tail_2n16r.txt", head + line + "\n");
    EXPECT_TRUE(set.ok()) << set.error().text();
  }
  const auto with_memory = read("tail_full.txt", std::string(kOsu) + "Mem: 1031 200 300 400\n");
  EXPECT_TRUE(with_memory.ok()) << with_memory.error().text();
}

TEST(Osu, AFigureThatIsCutAtTheEndOfTheFileIsRefused) {
  const std::string whole = std::string(kOsuTitle) + kOsuHeader +
                            "4              34.31\n8              34.10\n16             99.80\n32           1034.56";
  EXPECT_TRUE(read("cut_2n16r.txt", whole).ok());
  for (const std::size_t lost : {1u, 2u, 3u, 4u}) {
    const auto set = read("cut_2n16r.txt", whole.substr(0, whole.size() - lost));
    ASSERT_FALSE(set.ok()) << lost;
    EXPECT_NE(set.error().text().find("before those above"), std::string::npos) << set.error().text();
  }
  const std::string free = std::string(kOsuTitle) + kOsuHeader + "4 34.31\n8 34.10\n16 99.80\n32 134.5";
  EXPECT_TRUE(read("free_2n16r.txt", free).ok());
}

/// osu_latency prints a blank before the unit.
TEST(Osu, UnitsOfBothColumnsAreChecked) {
  const auto with = [](const std::string& header) { return read("unit_2n16r.txt", kOsuTitle + header + "\n8  5.5\n"); };
  expect_error(with("# Size          Latency (ms)"), "unit_2n16r.txt:2: Latency: found the unit 'ms', expected us");
  expect_error(with("# Size (KB)     Avg Latency(us)"), "unit_2n16r.txt:2: Size: found the unit 'KB', expected B");
  expect_error(with("# Size  Avg Latency(us)   Min Latency (ms)   Max Latency(us)  Iterations"), "found the unit 'ms'");
  expect_error(with("# Size    P99 Tail Lat(us)   Avg Latency(us)"), "found 'P99 Tail Lat' as the first column");
  expect_error(with("# Size    Min Latency(us)   Avg Latency(us)"), "found 'Min Latency' as the first column");
  for (const char* header : {"# Size          Latency (us)", "# Size (B)  Avg Latency(us)", "# Size  Avg Latency(us) "})
    EXPECT_TRUE(with(header).ok()) << header;
}

/// osu_put_latency has its test where others have the library.
TEST(Osu, OneSidedTestsAreRefusedByTheirTitle) {
  for (const char* test : {"MPI_Put", "MPI_Get", "MPI_Get_accumulate", "MPI_Accumulate", "OpenSHMEM"})
    expect_error(read("put_2n2r.txt",
                      "# OSU " + std::string(test) + " Latency Test v5.6.2\n# Size          Latency (us)\n8  5.5\n"),
                 "put_2n2r.txt:1: found '# OSU " + std::string(test));
  for (const char* library : {"MPI", "MPI-CUDA", "MPI-ROCM", "NCCL", "NCCL-CUDA"})
    EXPECT_TRUE(read("pair_2n2r.txt",
                     "# OSU " + std::string(library) + " Latency Test v5.6.2\n# Size          Latency (us)\n8  5.5\n")
                    .ok())
        << library;
}

/// osu_latency runs on two processes and no others; osu_multi_lat on any number of pairs.
TEST(Osu, ALatencyTestIsBetweenTwoProcesses) {
  const auto of = [](const std::string& name, const std::string& test, std::uint32_t ranks) {
    return read(name, "# OSU MPI-CUDA " + test + "Latency Test v7.3\n# Size          Latency (us)\n8  5.5\n",
                {ranks, 2});
  };
  expect_error(of("pair.txt", "", 16),
               "pair.txt:1: ranks: found 16, expected 2: a Latency Test is between two processes");
  expect_error(of("pair_2n16r.txt", "", 0), "pair_2n16r.txt:1: ranks: found 16, expected 2");
  EXPECT_TRUE(of("pair.txt", "", 2).ok());
  EXPECT_TRUE(of("multi.txt", "Multi ", 16).ok());
}

/// Two ranks a pair, of as many pairs as are stated: none is guessed.
TEST(Osu, PairsOfAMultiLatencyTestAreStated) {
  const auto of = [](const std::string& name, const std::string& before, const std::string& test) {
    return read(name, before + "# OSU MPI-CUDA " + test + "Latency Test v5.7\n# Size          Latency (us)\n8  5.5\n");
  };
  expect_error(of("open.txt", "", "Multi "), "open.txt:3: found no rank count in the log");
  EXPECT_EQ(of("one.txt", "", "")->curves.at(0).ranks, 2u);
  const auto four = of("four.txt", "# [ pairs: 4 ]\n", "Multi ");
  ASSERT_TRUE(four.ok()) << four.error().text();
  EXPECT_EQ(four->curves[0].ranks, 8u);
  EXPECT_TRUE(of("same.txt", "# nodes: 2  ranks: 8\n# [ pairs: 4 ] [ window size: 64 ]\n", "Multi ").ok());
  expect_error(of("other.txt", "# nodes: 2  ranks: 4\n# [ pairs: 4 ]\n", "Multi "), "ranks: found 8 after 4");
  expect_error(of("pair.txt", "# [ pairs: 4 ]\n", ""), "ranks: found 8, expected 2: a Latency Test is between two");
}

/// The buffers of a table are those that it states, whatever the title or another table says.
TEST(Osu, BuffersAreThoseOfTheirTable) {
  const auto why = [](const std::string& buffers) {
    const auto set = read("buffers_2n2r.txt", "# OSU MPI-CUDA Latency Test v5.7\n# Send Buffer on " + buffers +
                                                  "\n# Size          Latency (us)\n8  5.5\n");
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].not_used : "";
  };
  EXPECT_EQ(why("DEVICE (D) and Receive Buffer on DEVICE (D)"), "");
  EXPECT_EQ(why("HOST (H) and Receive Buffer on HOST (H)"), "host buffers, not GPU memory");
  EXPECT_EQ(why("DEVICE (D) and Receive Buffer on HOST (H)"), "one buffer in host memory, not both in GPU memory");
  EXPECT_EQ(why("HOST (H) and Receive Buffer on DEVICE (D)"), "one buffer in host memory, not both in GPU memory");
  EXPECT_EQ(why("MANAGED (M) and Receive Buffer on MANAGED (M)"), "managed memory, not GPU memory");

  const std::string rows = std::string(kOsuHeader) + "8  5.5\n";
  const auto both = read("both_2n16r.txt", "# OSU MPI Allreduce Latency Test v5.7\n" + rows + kOsuTitle + rows);
  ASSERT_TRUE(both.ok()) << both.error().text();
  ASSERT_EQ(both->curves.size(), 2u);
  EXPECT_EQ(both->curves[0].not_used, "host buffers, not GPU memory");
  EXPECT_EQ(both->curves[1].not_used, "");
}

TEST(Osu, UnitAndIterationsAreThoseOfATime) {
  std::string ms = kOsu;
  ms.replace(ms.find("Avg Latency(us)"), 15, "Avg Latency(ms)");
  expect_error(read("osu_ms.txt", ms), "Latency: found the unit 'ms', expected us");
  std::string none = kOsu;
  none.replace(none.rfind(" 100\n"), 5, "   0\n");
  expect_error(read("osu_none.txt", none), "Iterations: found 0, expected at least 1");
}

/// A system's GPUs are of one maker, and so are the libraries that drive them.
TEST(Osu, TheLibraryOfAnotherMakersGpusIsRefused) {
  const auto refusal = [](const std::string& words, std::int64_t capability, const std::string& device) {
    std::string text = kOsu;
    text.replace(text.find("MPI-CUDA"), 8, words);
    const std::vector<std::string> log{file_with("osu_maker.txt", text)};
    const auto set = import_curves(
        {.logs = log, .system = "my_system", .device = device, .date = "", .compute_capability = capability});
    return set.ok() ? "" : set.error().what;
  };
  for (const char* of_amd : {"RCCL", "MPI-ROCM", "MPI-ROCm"}) {
    EXPECT_EQ(refusal(of_amd, 80, "a100_sxm4_80gb"),
              "library: found 'OSU v5.7, " + std::string(of_amd) +
                  "', which is for GPUs of AMD, expected one for a100_sxm4_80gb, the GPU of my_system");
    EXPECT_EQ(refusal(of_amd, 94, "mi300x"), "");
  }
  for (const char* of_nvidia : {"NCCL", "MPI-CUDA", "NCCL-CUDA"}) {
    EXPECT_EQ(refusal(of_nvidia, 80, "a100_sxm4_80gb"), "");
    EXPECT_NE(refusal(of_nvidia, 94, "mi300x").find("which is for GPUs of NVIDIA, expected one for mi300x"),
              std::string::npos);
  }
  EXPECT_NE(refusal("MPI-SYCL", 80, "a100_sxm4_80gb").find("which is for GPUs of Intel"), std::string::npos);
  for (const char* of_any : {"MPI-OPENACC", "XCCL"}) {
    EXPECT_EQ(refusal(of_any, 80, "a100_sxm4_80gb"), "");
    EXPECT_EQ(refusal(of_any, 94, "mi300x"), "");
  }
}

TEST(Osu, XcclIsNotedAsTheLibraryOfNobody) {
  std::string text = kOsu;
  text.replace(text.find("MPI-CUDA"), 8, "XCCL");
  const auto set = read("osu_xccl.txt", text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->remarks.size(), 1u);
  EXPECT_NE(set->remarks[0].find("osu_xccl.txt:3: XCCL stands for NCCL, RCCL and oneCCL alike"), std::string::npos);
}

}  // namespace
}  // namespace distsim::collectives
