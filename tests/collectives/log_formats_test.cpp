// Logs other than nccl-tests' tables: OSU, JSON; what all readers refuse or leave out; logs of any size.
#include <gtest/gtest.h>

#include <istream>
#include <streambuf>
#include <tuple>

#include "collectives/logs/curve_import.hpp"
#include "collectives/logs/line_source.hpp"
#include "collectives/logs/log_readers.hpp"
#include "log_fixture.hpp"

namespace distsim::collectives {
namespace {

const char* const kOsu =
    "# nodes: 2  ranks: 16\n#\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n"
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    "4                      34.31             33.27             35.07        1000\n"
    "1048576               150.00            140.00            170.00         100\n";

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

TEST(Osu, WhatMovesTheDataIsItsLibrary) {
  const auto of_title = [](const std::string& words) {
    std::string text = kOsu;
    text.replace(text.find("MPI-CUDA"), 8, words);
    const auto set = read("osu_library.txt", text);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].library + "; " + set->curves[0].settings : "";
  };
  EXPECT_EQ(of_title("MPI-CUDA"), "OSU v5.7, MPI; MPI");
  EXPECT_EQ(of_title("NCCL"), "OSU v5.7, NCCL; ");
  EXPECT_EQ(of_title("RCCL"), "OSU v5.7, RCCL; ");
}

TEST(Osu, AnyBlanksMayStandInAComment) {
  const auto set = read("blanks.txt", "#\thardware:\t 2x V100  PCIe \n#   source:   a paper\n" + std::string(kOsu));
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->hardware, "2x V100  PCIe");
  EXPECT_EQ(set->curves[0].source, "a paper");
}

TEST(AllReaders, SizesAreWholeNumbersThatACurveFileHolds) {
  // What import writes must be read back: 2^60 bytes at most, no fractions, no infinities.
  const std::string osu =
      "# nodes: 2  ranks: 16\n# OSU MPI-CUDA Allgather Latency Test v5.7\n# Size  Avg Latency(us)\n8 4.0\n";
  expect_error(read("sizes_osu.txt", osu + "inf 7.0\n"), "sizes_osu.txt:5: size: found inf");
  expect_error(read("sizes_osu.txt", osu + "1152921504606846976 7.0\n"),
               "sizes_osu.txt:5: size: found 1.84467e+19");  // times 16
  const std::string param = "world_size: 8\n\tCOMMS-RES-all_reduce-float32 ";
  expect_error(read("sizes_param.txt", param + "inf 256 10.0 1 12 9 10 0.10 0.18\n"), "size: found inf");
  expect_error(read("sizes_param.txt", param + "nan 256 10.0 1 12 9 10 0.10 0.18\n"), "size: found nan");
  const auto json = [](const char* size, const char* time) {
    return std::string(R"({"test": "all_reduce_perf", "devices": [{"rank": 0}, {"rank": 1}], "results": [{"size": )") +
           size + R"(, "out_of_place": {"time": )" + time + "}}]}";
  };
  expect_error(read("sizes.json", json("1024.5", "10")), "size: found 1024.5");
  expect_error(read("sizes.json", json("1e300", "10")), "size: found 1e+300");
  expect_error(read("sizes.json", json("1024", "1e-300")), "time: found 0.000000");
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

const char* const kJson =
    R"({"args": ["./all_gather_perf", "-J", "x"], "config": {"nthreads": 1, "ngpus": 1, "graph": 1},
        "devices": [{"rank": 0, "group": 0, "hostname": "a", "device_info": "NVIDIA H100"}, {"rank": 1, "group": 0, "hostname": "b", "device_info": "NVIDIA H100"}],
        "results": [{"size": 1048576, "count": 131072, "out_of_place": {"time": 104.86, "alg_bw": 10.0, "bus_bw": 5.0, "nwrong": 0}, "in_place": null}]})";

TEST(JsonLog, WrongResultsInPlaceAreRefused) {
  const std::string in_place = R"("in_place": {"time": 104.86, "alg_bw": 10.0, "bus_bw": 5.0, "nwrong": )";
  const auto with = [&](const std::string& wrong) {
    std::string text = kJson;
    return text.replace(text.find(R"("in_place": null)"), 16, in_place + wrong + "}");
  };
  for (const char* good : {"0", "-1", "\"N/A\""}) EXPECT_TRUE(read("good.json", with(good)).ok()) << good;
  expect_error(read("wrong.json", with("17")), "#wrong: found 17, expected 0");
  expect_error(read("text.json", with("\"x\"")), "nwrong: found \"x\", expected a number of wrong results");
}

TEST(JsonLog, ATestOfNoCollectiveIsNotThatOfTheFileName) {
  const std::string rest =
      R"(, "devices": [{"rank": 0}, {"rank": 1}], "results": [{"size": 1024, "out_of_place": {"time": 10}}]})";
  expect_error(read("all_reduce_1.json", R"({"test": "hypercube_perf")" + rest), "found the test 'hypercube'");
  expect_error(read("all_reduce_2.json", R"({"args": ["/build/hypercube_perf"])" + rest), "found the test 'hypercube'");
  EXPECT_TRUE(read("all_reduce_3.json", R"({"args": ["/opt/bench"])" + rest).ok());
  EXPECT_TRUE(read("x.json", R"({"args": ["/opt/all_reduce"])" + rest).ok());
}

TEST(JsonLog, WhatNcclMayChooseIsReadFromTheEnvironment) {
  const std::string rest =
      R"(, "test": "all_reduce_perf", "devices": [{"rank": 0}, {"rank": 1}], "results": [{"size": 1024, "out_of_place": {"time": 10}}]})";
  const auto settings = [&](const std::string& env) {
    const auto set = read("env.json", "{\"env\": " + env + rest);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set.ok() ? set->curves[0].settings : "";
  };
  EXPECT_EQ(settings(R"({"NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO"})"), "NCCL_ALGO=Ring");
  EXPECT_EQ(settings(R"(["PATH=/bin", "NCCL_PROTO=LL"])"), "NCCL_PROTO=LL");
  EXPECT_EQ(settings("{}"), "");
}

TEST(JsonLog, NcclTests) {
  const auto set = read("results.json", kJson);
  ASSERT_TRUE(set.ok()) << set.error().text();
  const Curve& c = set->curves[0];
  EXPECT_EQ(c.kind, graph::CollectiveKind::all_gather);
  EXPECT_EQ(c.ranks, 2u);
  EXPECT_EQ(c.nodes, 2u);
  EXPECT_TRUE(c.cuda_graph);
  EXPECT_DOUBLE_EQ(c.points[0].time_us, 104.86);
  std::string text = kJson;
  text.replace(text.find("104.86"), 6, "\"x\"");
  expect_error(read("text_time.json", text), "results[0]: time: found \"x\"");
}

TEST(JsonLog, EachTypeOfATableIsACurve) {
  const auto row = [](const char* type, const char* count, const char* bytes) {
    return std::string(R"({"size": )") + bytes + R"(, "count": )" + count + R"(, "type": ")" + type +
           R"(", "redop": "sum", "root": -1, "out_of_place": {"time_us": 10}})";
  };
  const std::string rows = row("int8", "8", "8") + "," + row("int8", "1024", "1024") + "," + row("float", "2", "8") +
                           "," + row("float", "256", "1024");
  const auto set = read("types.json", R"({"ranks": 2, "nodes": 1, "tables": [{"collective": "all_reduce", "ranks": 2,
        "nodes": 1, "rows": [)" + rows + "]}]}");
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->curves.size(), 2u);
  EXPECT_EQ(set->curves[1].label, "types.json, float sum");
}

/// Processes that see one GPU each all say device 0; buses tell them apart.
TEST(JsonLog, RanksOfOneGpuAreRefused) {
  const auto with = [](const std::string& first, const std::string& second, const std::string& third) {
    const auto rank = [](int i, const std::string& device) {
      return R"({"rank": )" + std::to_string(i) + R"(, "hostname": "a", "pid": )" + std::to_string(i) + ", " + device +
             "}";
    };
    return R"({"test": "all_reduce_perf", "devices": [)" + rank(0, first) + "," + rank(1, second) + "," +
           rank(2, third) + R"(], "results": [{"size": 1024, "out_of_place": {"time": 10}}]})";
  };
  const std::string zero = R"("device": 0)", one = R"("device": 1)", two = R"("device": 2)";
  EXPECT_TRUE(read("three.json", with(zero, one, two)).ok());
  EXPECT_TRUE(read("each_sees_one.json", with(zero, zero, zero)).ok());
  expect_error(read("two_on_one.json", with(zero, one, one)), "found ranks 1 and 2 on one GPU, 'a device 1'");
  const std::string bus = R"("device": 0, "device_hex": "07:00")";
  expect_error(read("one_bus.json", with(bus, R"("device": 0, "device_hex": "08:00")", bus)), "found ranks 0 and 2");
}

TEST(JsonLog, CutAnywhereIsRefused) {
  const std::string text = kJson;
  for (std::size_t n = 1; n < text.size(); n += 7) EXPECT_FALSE(read("cut.json", text.substr(0, n)).ok()) << n;
  expect_error(read("other.json", "{\"a\": 1}"), "'results' (nccl-tests -J) or 'tables'");
}

Result<CurveSet> read_bench(const std::string& iterations) {
  return read(
      "bench.json",
      R"({"version": 1, "partial": true, "backend": "nccl 2.28", "tables": [{"collective": "all_reduce", "ranks": 8, "nodes": 1, "rows": [
      {"size": 1048576, "count": 262144, "out_of_place": {"time_us": 50.0, "algbw": 20.97, "busbw": 36.70, "wrong": 0, "iterations": {)" +
          iterations + "}}}]}]}");
}

TEST(JsonLog, CollectiveBench) {
  const auto set = read_bench(R"("p10_us": 45, "p90_us": 60)");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->partial);
  EXPECT_EQ(set->curves[0].ranks, 8u);
  EXPECT_DOUBLE_EQ(set->curves[0].points[0].high_us, 60);
}

TEST(JsonLog, PercentilesLieAroundTheirTime) {
  expect_error(read_bench(R"("p10_us": 55, "p90_us": 60)"), "rows[0]: low_us: found 55, expected at most time_us, 50");
  expect_error(read_bench(R"("p10_us": 45, "p90_us": 48)"),
               "rows[0]: high_us: found 48, expected at least time_us, 50");
  expect_error(read_bench(R"("p90_us": 48, "max_us": 49)"), "rows[0]: max_us: found 49, expected at least time, 50");
}

/// One sample of 20 may be so long that the mean lies above the 90th percentile.
TEST(JsonLog, AMeanMayLieOutsideThePercentiles) {
  const auto set = read_bench(R"("min_us": 40, "p10_us": 41, "p90_us": 45, "max_us": 200)");
  ASSERT_TRUE(set.ok()) << set.error().text();
  const CurvePoint& point = set->curves[0].points[0];
  EXPECT_EQ(point.low_us, 41);
  EXPECT_EQ(point.high_us, 50);
}

const std::string kHead =
    "# Collective test starting: all_gather_perf\n# nodes: 1  gpus: 3\n# size count type redop root time algbw busbw #wrong time "
    "algbw busbw #wrong\n";
std::string row(const char* size, const char* time, const char* algbw, const char* busbw) {
  return std::string(size) + " " + std::to_string(std::stoll(size) / 4) + " float none -1 " + time + " " + algbw + " " +
         busbw + " 0 " + time + " " + algbw + " " + busbw + " 0\n";
}

TEST(LogRows, EachThatIsLeftOutIsNamed) {
  // 3 ranks: busbw = 2/3 algbw. 3000 B in 100 us: 0.03 and 0.02; 3001 is no multiple of 3; the third says 0.90 where
  // size over time is 0.06.
  const auto set = read("named.log", kHead + row("3000", "100", "0.03", "0.02") + row("3001", "100", "0.03", "0.02") +
                                         row("6000", "100", "0.90", "0.60") + row("9000", "100", "0.09", "0.06"));
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->remarks.size(), 2u);
  EXPECT_NE(set->remarks[0].find("named.log:5: left out: size: found 3001, expected a multiple of 3 ranks"),
            std::string::npos)
      << set->remarks[0];
  EXPECT_NE(set->remarks[1].find("named.log:6: left out: algbw: found 0.9, expected 0.06 (size / time)"),
            std::string::npos)
      << set->remarks[1];
  EXPECT_EQ(set->curves[0].flagged, 2u);
  EXPECT_EQ(set->curves[0].points.size(), 2u);
}

TEST(LogRows, OneThatTakesFarLongerThanThoseAroundItIsLeftOut) {
  const auto with_times = [](const std::string& first, const std::string& second, const std::string& third) {
    const std::string head =
        "# nodes: 1  ranks: 2\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n";
    return read("spike.log", head + "1024 " + first + "\n2048 " + second + "\n4096 " + third + "\n");
  };
  const auto spike = with_times("20", "601", "20");
  ASSERT_TRUE(spike.ok()) << spike.error().text();
  ASSERT_EQ(spike->remarks.size(), 1u);
  EXPECT_NE(spike->remarks[0].find("spike.log:5: left out: time: found 601 us for 2048 B, expected about the 20 us and "
                                   "20 us of the next smaller and next larger sizes"),
            std::string::npos)
      << spike->remarks[0];
  EXPECT_EQ(spike->curves[0].flagged, 1u);
  ASSERT_EQ(spike->curves[0].points.size(), 2u);
  EXPECT_EQ(spike->curves[0].points[1].bytes, 4096);
  for (const auto& [first, second, third] :
       {std::tuple("20", "600", "20"), {"20", "601", "21"}, {"601", "20", "20"}, {"20", "20", "601"}}) {
    const auto kept = with_times(first, second, third);
    ASSERT_TRUE(kept.ok()) << kept.error().text();
    EXPECT_EQ(kept->curves[0].flagged, 0u) << second;
    EXPECT_EQ(kept->curves[0].points.size(), 3u) << second;
  }
}

TEST(LogRows, AFailedRunIsPartialOrNothing) {
  const auto some = read("some.log", kHead + row("3000", "100", "0.03", "0.02") +
                                         "node7: Test NCCL failure common.cu:1005 'remote process exited'\n");
  ASSERT_TRUE(some.ok()) << some.error().text();
  EXPECT_TRUE(some->partial);
  expect_error(read("none.log", kHead + "node7: Test NCCL failure common.cu:1005 'unhandled system error'\n"),
               "the run failed: node7: Test NCCL failure");
}

TEST(LogRows, GroupsOfASplitCountOnce) {
  std::string text = "# Collective test starting: all_reduce_perf\n";
  for (int r = 0; r < 4; ++r)
    text += "#  Rank  " + std::to_string(r) + " Group  " + std::to_string(r / 2) + " Pid 1 on node" +
            std::to_string(r) + " device 0 [0x07] NVIDIA A100\n";
  text += "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n" +
          row("1000000", "100", "10.00", "10.00");  // 2 ranks: factor 1
  const auto set = read("split.log", text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].ranks, 2u);
  EXPECT_EQ(set->curves[0].nodes, 2u);
  const std::string one_more = "#  Rank  4 Group  1 Pid 1 on node4 device 0 [0x07] NVIDIA A100\n";
  expect_error(read("split.log", text.insert(text.find("# size"), one_more)),
               "found 2 ranks in group 0 and 3 in group 1, expected groups of one size");
}

/// Gives `head`, then a line of noise again and again, then `tail`, and never holds more than a line.
class LongLog : public std::streambuf {
 public:
  LongLog(std::string head, std::string line, std::size_t times, std::string tail)
      : parts_{std::move(head), std::move(line), std::move(tail)}, times_(times) {}

 protected:
  int_type underflow() override {
    if (done_ == times_ + 2) return traits_type::eof();
    std::string& part = parts_[done_ == 0 ? 0 : done_ <= times_ ? 1 : 2];
    ++done_;
    setg(part.data(), part.data(), part.data() + part.size());
    return part.empty() ? underflow() : traits_type::to_int_type(part[0]);
  }

 private:
  std::string parts_[3];
  std::size_t times_, done_ = 0;
};

TEST(LineSource, ALongLogIsStreamed) {
  LongLog buffer(kHead, std::string(100'000, 'x') + "\nnode1: NCCL INFO Channel 00/24\n", 500,
                 row("3000", "100", "0.03", "0.02"));  // 50 MB
  std::istream in(&buffer);
  LineSource lines(in, "long.log");
  const auto set = parse_nccl_tests(lines);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].points.size(), 1u);
  EXPECT_EQ(lines.number(), 3u + 1000u + 1u);
}

TEST(LineSource, LinesAsTheyAre) {
  std::istringstream in(
      "\xEF\xBB\xBF"
      "a\r\n\nlast");
  LineSource lines(in, "x");
  std::string_view line;
  std::vector<std::string> out;
  while (lines.next(line).value()) out.emplace_back(line);
  EXPECT_EQ(out, (std::vector<std::string>{"a", "", "last"}));
  EXPECT_TRUE(lines.unfinished());
  std::istringstream wide(std::string("a\0b\0", 4));
  LineSource binary(wide, "y");
  EXPECT_FALSE(binary.next(line).ok());
}

/// A log of two runs, of 16 and of 32 ranks: the second would name the ranks of both.
TEST(AllReaders, RunsOfOtherRanksBelowARunAreRefused) {
  const std::string osu =
      "# OSU MPI-CUDA Broadcast Latency Test v5.7\n# Size       Avg Latency(us)\n1048576  150\n2097152  300\n";
  EXPECT_TRUE(read("same_osu.txt", "# nodes: 2  ranks: 16\n" + osu + "# nodes: 2  ranks: 16\n" + osu).ok());
  expect_error(read("two_osu.txt", "# nodes: 2  ranks: 16\n" + osu + "# nodes: 4  ranks: 32\n" + osu),
               "two_osu.txt:6: nodes: found 4 below a run of 2, expected the same");
  const std::string param = "\tCOMMS-RES-broadcast-float32 1048576 262144 50.0 51.0 52.0 48.0 53.0 20.972 20.972\n";
  expect_error(read("two_param.log", "world_size: 8\n" + param + "world_size: 16\n" + param),
               "world_size: found 16 below a run of 8");
  const auto nccl = [](int ranks) {
    std::string text =
        "# Collective test starting: broadcast_perf\n# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 iters: 20\n";
    for (int i = 0; i < ranks; ++i)
      text += "#  Rank " + std::to_string(i) + " Group 0 Pid 1 on n0 device " + std::to_string(i) +
              " [0x0] NVIDIA A100-SXM4-80GB\n";
    return text +
           "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
           "     1048576        262144     float     sum      -1    50.00   20.97   20.97      0\n"
           "# Avg bus bandwidth    : 20.97\n";
  };
  EXPECT_TRUE(read("same_nccl.log", nccl(4) + nccl(4)).ok());
  expect_error(read("two_nccl.log", nccl(4) + nccl(8)), "ranks: found 8 below a run of 4");
}

TEST(Osu, UnitAndIterationsAreThoseOfATime) {
  std::string ms = kOsu;
  ms.replace(ms.find("Avg Latency(us)"), 15, "Avg Latency(ms)");
  expect_error(read("osu_ms.txt", ms), "Latency: found the unit 'ms', expected us");
  std::string none = kOsu;
  none.replace(none.rfind(" 100\n"), 5, "   0\n");
  expect_error(read("osu_none.txt", none), "Iterations: found 0, expected at least 1");
}

TEST(JsonLog, WhatTheRunSaysOfItselfIsChecked) {
  const auto with = [](const std::string& more) { return std::string(kJson).replace(1, 0, more); };
  expect_error(read("oob.json", with(R"("out_of_bounds": {"count": 5, "okay": false}, )")),
               "expected results without errors");
  EXPECT_TRUE(read("fine.json", with(R"("out_of_bounds": {"count": 0, "okay": true}, )")).ok());
  const auto other = read("mean.json", with(R"("average_bus_bandwidth": {"bandwidth": 77.0}, )"));
  ASSERT_TRUE(other.ok());
  ASSERT_EQ(other->remarks.size(), 1u);
  EXPECT_NE(other->remarks[0].find("Avg bus bandwidth: found 77, expected 5"), std::string::npos) << other->remarks[0];
  std::string typed = kJson;
  typed.replace(typed.find("\"count\": 131072"), 15, R"("type": "double", "count": 77)");
  expect_error(read("typed.json", typed), "expected count x type (77 x double)");
}

std::string json_with(const std::string& old, const std::string& now) {
  std::string text = kJson;
  return text.replace(text.find(old), old.size(), now);
}

std::string only_remark(const std::string& name, const std::string& text) {
  const auto set = read(name, text);
  EXPECT_TRUE(set.ok()) << set.error().text();
  if (!set.ok() || set->remarks.size() != 1) return "";
  return set->remarks[0];
}

TEST(JsonLog, FiguresInPlaceThatContradictThemselvesAreNamed) {
  const auto in_place = [](const std::string& time) {
    return json_with(R"("in_place": null)", R"("in_place": {"time": )" + time + R"(, "alg_bw": 10.0, "bus_bw": 5.0})");
  };
  EXPECT_TRUE(read("in_place.json", in_place("104.86"))->remarks.empty());
  EXPECT_NE(only_remark("in_place.json", in_place("999999")).find("1 row whose in-place algbw is not size / time"),
            std::string::npos);
  expect_error(read("in_place.json", in_place("\"x\"")), "results[0]: time: found \"x\", expected a number");
}

TEST(JsonLog, IterationsAreAtLeastOne) {
  for (const char* none : {"0", "-1", "\"0\""})
    expect_error(read("iters.json", json_with("\"graph\": 1", R"("graph": 1, "iters": )" + std::string(none))),
                 "expected at least 1");
  expect_error(read_bench(R"("count": 0)"), "rows[0]: iterations.count: found 0, expected at least 1");
}

TEST(JsonLog, AMeanThatIsNoNumberIsNotThatOfTheRows) {
  const auto mean = [](const std::string& said) {
    return json_with("{\"args\"", R"({"average_bus_bandwidth": )" + said + ", \"args\"");
  };
  for (const auto& [said, found] : {std::pair("\"x\"", "found 'x'"),
                                    {"\"1\"", "found 1"},
                                    {"-1", "found -1"},
                                    {"{\"bandwidth\": true}", "found 'true'"}})
    EXPECT_NE(only_remark("mean.json", mean(said)).find(std::string(found) + ", expected 5"), std::string::npos)
        << said;
  EXPECT_TRUE(read("mean.json", mean("\"5.0\""))->remarks.empty());
}

TEST(JsonLog, EachTableOfCollectiveBenchHasItsMean) {
  const auto bench = [](const std::string& mean) {
    return R"({"tables": [{"collective": "all_reduce", "ranks": 2, "nodes": 1, "avg_busbw": )" + mean +
           R"(, "rows": [{"size": 1048576, "out_of_place": {"time_us": 104.86, "algbw": 10, "busbw": 10}}]}]})";
  };
  EXPECT_TRUE(read("bench_mean.json", bench("10"))->remarks.empty());
  EXPECT_NE(only_remark("bench_mean.json", bench("77")).find("tables[0]: Avg bus bandwidth: found 77, expected 10"),
            std::string::npos);
}

TEST(JsonLog, ARunIsPartialInAnyForm) {
  const auto partial = [](const std::string& said) {
    return R"({"partial": )" + said +
           R"(, "tables": [{"collective": "all_reduce", "ranks": 2, "rows": [{"size": 8, "out_of_place": {"time_us": 10}}]}]})";
  };
  for (const char* yes : {"true", "\"true\"", "1"}) EXPECT_TRUE(read("partial.json", partial(yes))->partial) << yes;
  for (const char* no : {"false", "0", "null"}) EXPECT_FALSE(read("partial.json", partial(no))->partial) << no;
  expect_error(read("partial.json", partial("\"so\"")), "partial: found \"so\", expected true or false");
}

TEST(JsonLog, WhatIsOfAnotherTypeIsNotUnsaid) {
  const auto gpus = [](const std::string& n) { return json_with("\"ngpus\": 1", "\"ngpus\": " + n); };
  const auto text = read("gpus.json", gpus("\"2\""));
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_TRUE(text->curves[0].single_process);
  for (const auto& [said, found] : {std::pair("1e30", "1e+30"), {"-2", "-2"}, {"\"x\"", "\"x\""}, {"true", "true"}})
    expect_error(read("gpus.json", gpus(said)), "ngpus: found " + std::string(found) + ", expected a whole number");
  expect_error(read("count.json", json_with("\"count\": 131072", "\"count\": true")), "count: found true");
  expect_error(read("type.json", json_with("\"count\": 131072", "\"type\": []")), "type: found [], expected text");
  expect_error(read("config.json", json_with("\"config\": {", "\"config\": 1, \"c\": {")), "config: found 1");
  expect_error(read("device.json", json_with("{\"rank\": 1", "{\"rank\": 1.5")), "devices[1]: rank: found 1.5");
}

/// As of a text: the first group represents those of its size.
TEST(JsonLog, GroupsOfASplitAreOfOneSize) {
  const std::string first = json_with("{\"rank\": 1,", "{\"rank\": 2,");
  const auto with = [&](const std::string& others) {
    std::string text = first;
    return text.replace(text.find("}],\n"), 4, "}, " + others + "],\n");
  };
  const std::string one = R"({"rank": 1, "group": 1, "hostname": "a"})";
  const auto set = read("groups.json", with(one + R"(, {"rank": 3, "group": 1, "hostname": "b"})"));
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->curves[0].ranks, 2u);
  expect_error(read("groups.json", with(one)), "found 2 ranks in group 0 and 1 in group 1");
}

TEST(JsonLog, AKeyThatARowHasTwiceIsRefused) {
  std::string text = kJson;
  text.insert(text.find("\"alg_bw\""), "\"time\": 52.43, ");
  expect_error(read("twice.json", text), "twice.json: found the key 'time' twice, expected it once");
}

/// A flag does not replace what a log says itself.
TEST(AllReaders, FlagsThatContradictTheLogAreRefused) {
  expect_error(read("flag_osu.txt", kOsu, {16, 4}), "--nodes: found 4, but the log states 2");
  expect_error(read("flag_osu.txt", kOsu, {8, 0}), "--ranks: found 8, but the log states 16");
  EXPECT_TRUE(read("flag_osu.txt", kOsu, {16, 2}).ok());
  const std::string own =
      R"({"ranks": 16, "nodes": 4, "tables": [{"collective": "broadcast", "ranks": 16, "nodes": 4,
          "rows": [{"size": 1024, "out_of_place": {"time": 10}}]}]})";
  EXPECT_TRUE(read("flag_own.json", own).ok());
  expect_error(read("flag_own.json", own, {0, 2}), "--nodes: found 2, but the log states 4");
}

/// Prices never fall as sizes grow, so a curve that does is not priced as measured; that is said.
TEST(AllReaders, TimesThatFallAreNamed) {
  const std::string head =
      "# nodes: 2  ranks: 16\n# OSU MPI-CUDA Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n";
  const auto falls = read("falls.txt", head + "1048576 500\n2097152 60\n4194304 40\n");
  ASSERT_TRUE(falls.ok());
  ASSERT_EQ(falls->remarks.size(), 1u);
  EXPECT_NE(
      falls->remarks[0].find("falls.txt: all_reduce of 16 ranks: found 1048576 B in 500 us and 4194304 B in 40 us, "
                             "expected no larger size in less time"),
      std::string::npos)
      << falls->remarks[0];
  EXPECT_TRUE(read("noise.txt", head + "1048576 100\n2097152 90\n4194304 140\n")->remarks.empty());
}

}  // namespace
}  // namespace distsim::collectives
