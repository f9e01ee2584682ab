// nvprof's CSV and its SQLite file; notes on what a report lacks.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>

#include "base/file.hpp"
#include "kineto_text.hpp"
#include "test_data.hpp"
#include "traces/nvprof/nvprof_reader.hpp"
#include "traces/trace_reader.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

void run_sql(const std::string& path, const std::string& statements) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_close(db);
}

class Nvprof : public testing::Test {
 protected:
  TraceJob read(const std::string& path) {
    auto job = read_traces({path});
    EXPECT_TRUE(job.ok()) << job.error().text();
    return job.ok() ? std::move(job).value() : TraceJob{};
  }
  std::string refusal(const std::string& path) {
    const auto job = read_traces({path});
    return job.ok() ? "accepted" : job.error().text();
  }
  /// A copy of a sample with further statements run on it.
  std::string changed(const std::string& sample, const std::string& statements) {
    const std::string path = test::write(folder_, "changed_" + sample, read_file(formats_ + sample, 1 << 20).value());
    run_sql(path, statements);
    return path;
  }
  const std::string formats_ = test::root() + "/tests/traces/data/formats/";
  const std::string folder_ = test::scratch_dir("nvprof");
};

bool has_note(const TraceRank& rank, const std::string& words) {
  return std::ranges::any_of(rank.notes.assumptions,
                             [&](const std::string& n) { return n.find(words) != std::string::npos; });
}

/// Start in ms, durations in us, sizes in MB of 1024 x 1024 bytes: units are a line below the titles.
TEST_F(Nvprof, CsvTakesUnitsFromTheLineBelow) {
  const TraceJob job = read(formats_ + "nvprof.csv");
  const TraceRank& r = job.ranks.at(0);
  ASSERT_EQ(r.device_records.size(), 3u);
  EXPECT_EQ(r.device_records[0].duration_ns, 1216);
  EXPECT_EQ(r.device_records[0].bytes, 4 << 20);
  EXPECT_EQ(r.device_records[0].direction, CopyDirection::host_to_device);
  EXPECT_EQ(r.device_records[1].start_ns - r.device_records[0].start_ns, 11'000);
  EXPECT_EQ(job.name(r.device_records[1].name), "volta_sgemm_128x64_nn");  // without its correlation id
  EXPECT_EQ(job.geometries.at(r.device_records[1].geometry).grid[0], 64u);
  EXPECT_TRUE(r.device_records[2].communication);
  EXPECT_EQ(r.devices.at(0).name, "Tesla V100-SXM2-16GB");
}

/// 4 MiB in 400 us are 10.5 GB/s.
TEST_F(Nvprof, AThroughputIsSizeOverDuration) {
  const auto job_of = [&](const char* throughput, const char* gpu) {
    return read(test::write(folder_, "throughput.csv",
                            std::string("\"Start\",\"Duration\",\"Size\",\"Throughput\",\"Device\",\"Name\"\n"
                                        "ms,us,MB,GB/s,,\n"
                                        "1.0,400.0,4.0,") +
                                throughput + ",\"Tesla P100 (0)\",\"[CUDA memcpy HtoD]\"\n2.0,5.0,,,\"" + gpu +
                                " (0)\",\"gemm\"\n"));
  };
  const TraceJob right = job_of("10.0", "Tesla P100"), wrong = job_of("3000", "Tesla P100");
  EXPECT_FALSE(has_note(right.ranks.at(0), "throughput"));
  EXPECT_TRUE(has_note(wrong.ranks.at(0), "the throughput of 1 of 1 copy is not size over duration"));
  EXPECT_TRUE(has_note(job_of("10.0", "Tesla V100").ranks.at(0), "GPU 0 is called Tesla P100 and Tesla V100"));
}

/// Both programs write it; without it all GPUs would be one.
TEST_F(Nvprof, AListHasAColumnOfTheGpu) {
  for (const char* title : {"GPU", "Card", "Name of device"}) {
    for (const std::string& csv :
         {"Start (ns),Duration (ns)," + std::string(title) + ",Strm,Name\n1000,500,A (0),7,k\n",
          "\"Start\",\"Duration\",\"" + std::string(title) +
              "\",\"Stream\",\"Name\"\nms,us,,,\n1.0,5.0,\"A (0)\",7,\"gemm\"\n"})
      EXPECT_NE(refusal(test::write(folder_, "gpu.csv", csv))
                    .find("gpu.csv: found no column 'Device', expected one with the GPU of each row"),
                std::string::npos)
          << refusal(test::write(folder_, "gpu.csv", csv));
  }
  EXPECT_NE(refusal(test::write(folder_, "gpu.csv", "Start (ns),Duration (ns),Devcie,Strm,Name\n1000,500,A (0),7,k\n"))
                .find("column 'Devcie': found no such column, expected 'Device'"),
            std::string::npos);
}

/// nsys writes MBps as well as MB/s, sizes to three decimals, and an empty column where nothing was copied.
TEST_F(Nvprof, AThroughputHasItsUnitInEachSpelling) {
  const auto read_copy = [&](const std::string& unit, const std::string& size, const std::string& throughput) {
    return read_traces(
        {test::write(folder_, "gputrace.csv",
                     "Start (ns),Duration (ns),Bytes (MB),Throughput (" + unit + "),Device,Strm,Name\n1000,400000," +
                         size + "," + throughput + ",Tesla P100 (0),7,[CUDA memcpy Host-to-Device]\n")});
  };
  const auto is_wrong = [&](const std::string& unit, const std::string& size, const std::string& throughput) {
    const auto job = read_copy(unit, size, throughput);
    EXPECT_TRUE(job.ok()) << unit;
    return job.ok() && has_note(job->ranks.at(0), "the throughput of 1 of 1 copy is not size over duration");
  };
  for (const auto& [unit, rate] : {std::pair<std::string, std::string>{"MB/s", "10000.0"},
                                   {"MBps", "10000.0"},
                                   {"GBps", "10.0"},
                                   {"KBps", "10000000.0"},
                                   {"Bps", "10000000000"}}) {
    EXPECT_FALSE(is_wrong(unit, "4.000", rate)) << unit;
    EXPECT_TRUE(is_wrong(unit, "0.004", rate)) << unit;
  }
  EXPECT_FALSE(is_wrong("MBps", "0.001", "3.7")) << "1480 bytes";
  const auto unknown = read_copy("furlongs", "4.000", "10.0");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("column 'Throughput (furlongs)': found no such unit"), std::string::npos)
      << unknown.error().text();
  EXPECT_TRUE(read_copy("furlongs", "4.000", "").ok());
}

TEST_F(Nvprof, OutputWithoutATraceSaysWhatIsMissing) {
  const std::string banner = "==4242== NVPROF is profiling process 4242, command: ./train\n";
  const std::string never = refusal(test::write(folder_, "never.csv", banner + "==4242== No kernels were profiled.\n"));
  EXPECT_NE(never.find("no kernel was profiled"), std::string::npos) << never;
  EXPECT_NE(never.find("must call cudaProfilerStart"), std::string::npos) << never;
  const std::string summary = refusal(test::write(
      folder_, "summary.csv", banner + "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"));
  EXPECT_NE(summary.find("expected output of `nvprof --print-gpu-trace --csv`"), std::string::npos) << summary;
}

TEST_F(Nvprof, CallsOfTheHostInTheCsvAreCounted) {
  std::string text = read_file(formats_ + "nvprof.csv", 1 << 20).value();
  text += "221.200,4.0,,,,,,,,,,,,,,,,,\"cudaLaunchKernel [106]\"\n";
  const TraceJob job = read(test::write(folder_, "both.csv", text));
  EXPECT_EQ(job.ranks.at(0).device_records.size(), 3u);
  ASSERT_EQ(job.ranks[0].notes.dropped.size(), 1u);
  EXPECT_EQ(job.ranks[0].notes.dropped[0].what, "rows without a GPU (calls of the host)");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// Without its unit a time would be taken for nanoseconds.
TEST_F(Nvprof, TimesInAnUnknownUnitAreRefused) {
  const std::string text = read_file(formats_ + "nvprof.csv", 1 << 20).value();
  const auto says = [&](const std::string& changed) { return refusal(test::write(folder_, "unit.csv", changed)); };
  EXPECT_NE(says(replaced(text, "ms,us,", "ms,uss,")).find("column 'Duration (uss)': found no such unit"),
            std::string::npos);
  EXPECT_NE(says(replaced(text, "ms,us,", "ms,,")).find("column 'Duration': found no unit below it"),
            std::string::npos);
  EXPECT_NE(says(replaced(text, "\"Grid X\"", "\"Duration\"")).find("found twice, expected once"), std::string::npos);
}

TEST_F(Nvprof, WhatNvprofWarnsOfMakesTheTracePartial) {
  const std::string text = read_file(formats_ + "nvprof.csv", 1 << 20).value();
  const TraceJob job = read(test::write(
      folder_, "lost.csv",
      text + "==4242== Warning: 12 records have invalid timestamps due to insufficient device buffer space.\n"));
  ASSERT_EQ(job.ranks.at(0).notes.missing.size(), 1u);
  EXPECT_NE(job.ranks[0].notes.missing[0].find("12 records have invalid timestamps"), std::string::npos);
}

TEST_F(Nvprof, LinesThatNvprofSaysAreNoRows) {
  const std::string text = read_file(formats_ + "nvprof.csv", 1 << 20).value();
  const TraceJob job = read(test::write(folder_, "said.csv",
                                        text + "==4242== Warning: 12 records have invalid timestamps, due to buffers\n"
                                               "==4243== NVPROF is profiling process 4243, command: ./train\n"));
  EXPECT_TRUE(job.ranks.at(0).notes.dropped.empty());
  EXPECT_EQ(job.ranks[0].notes.missing.size(), 1u) << "the warning itself";
}

/// One log of two processes: each has a header, below what nvprof says of it.
TEST_F(Nvprof, ProcessesOfOneLogAreRanks) {
  const std::string text = read_file(formats_ + "nvprof.csv", 1 << 20).value();
  const std::string rows = text.substr(text.find("\"Start\""));
  const auto of = [&](const char* id) {
    return "==" + std::string(id) + "== NVPROF is profiling process " + id + ", command: ./train\n" + rows;
  };
  const TraceJob two = read(test::write(folder_, "two.csv", of("4242") + of("4243")));
  ASSERT_EQ(two.ranks.size(), 2u);
  for (const TraceRank& r : two.ranks) {
    EXPECT_EQ(r.device_records.size(), 3u);
    EXPECT_TRUE(has_note(r, "2 processes name a GPU 0, each taken for a rank"));
  }
  EXPECT_TRUE(two.ranks[1].path.ends_with(":GPU 0 of process 4243")) << two.ranks[1].path;
  EXPECT_EQ(read(test::write(folder_, "alike.csv", of("4242") + of("4242"))).ranks.size(), 2u) << "of two machines";
  const std::string begun = "==4242== NVPROF is profiling process 4242, command: ./train\n",
                    result = "==4242== Profiling result:\n";
  std::string later = rows;
  for (int row = 0; row < 3; ++row) later = replaced(later, "\n221.", "\n921.");
  const TraceJob mixed = read(test::write(folder_, "mixed.csv", begun + begun + result + rows + result + later));
  ASSERT_EQ(mixed.ranks.size(), 2u) << "both begin before the first result";
  EXPECT_EQ(mixed.ranks[1].device_records.size(), 3u);
  EXPECT_EQ(read(test::write(folder_, "one.csv", of("4242") + "==4242== Profiling result:\n")).ranks.size(), 1u);
}

/// A recording does not go back in time.
TEST_F(Nvprof, OutputsWithoutTheirProcessesAreToldApartByTime) {
  const std::string text = read_file(formats_ + "nvprof.csv", 1 << 20).value();
  const std::string output = text.substr(text.find("\"Start\"")), rows = output.substr(output.find("221.264"));
  const TraceJob two = read(test::write(folder_, "two.csv", output + output));
  ASSERT_EQ(two.ranks.size(), 2u);
  for (const TraceRank& r : two.ranks) EXPECT_EQ(r.device_records.size(), 3u);
  EXPECT_TRUE(has_note(two.ranks[0], "2 processes name a GPU 0, each taken for a rank"));
  EXPECT_FALSE(has_note(two.ranks[0], "repeated header"));
  EXPECT_TRUE(two.ranks[0].path.ends_with(":GPU 0 of output 1")) << two.ranks[0].path;
  EXPECT_TRUE(two.ranks[1].path.ends_with(":GPU 0 of output 2")) << two.ranks[1].path;
  const std::string below_one_header = refusal(test::write(folder_, "rows.csv", output + rows));
  EXPECT_NE(below_one_header.find("line 6: found a start before that of the row above it, and the id 106 of a launch "
                                  "again, expected the rows of one recording"),
            std::string::npos)
      << below_one_header;
  const std::string first = rows.substr(0, rows.find('\n') + 1), others = rows.substr(first.size());
  const TraceJob sorted = read(test::write(folder_, "sorted.csv", replaced(output, rows, others + first)));
  EXPECT_EQ(sorted.ranks.at(0).device_records.size(), 3u);
  EXPECT_TRUE(has_note(sorted.ranks[0], "1 row begins before the one above it: are all of one recording?"));
  const std::string by_duration =
      "\"Start\",\"Duration\",\"Device\",\"Stream\",\"Name\"\nms,us,,,\n10.0,900.0,\"A (0)\",7,\"gemm [106]\"\n"
      "30.0,800.0,\"A (0)\",7,\"gemm2 [107]\"\n10.9,700.0,\"A (0)\",7,\"relu [106]\"\n";
  EXPECT_EQ(read(test::write(folder_, "by_duration.csv", by_duration)).ranks.at(0).device_records.size(), 3u)
      << "kernels of one graph share its id";
  const std::string by_name =
      "\"Start\",\"Duration\",\"Device\",\"Stream\",\"Name\"\nms,us,,,\n10.0,9.0,\"A (0)\",7,\"gemm [106]\"\n"
      "10.5,9.0,\"A (0)\",7,\"gemm [106]\"\n30.0,9.0,\"A (0)\",7,\"gemm [107]\"\n"
      "10.2,9.0,\"A (0)\",7,\"relu [106]\"\n30.2,9.0,\"A (0)\",7,\"relu [107]\"\n";
  EXPECT_EQ(read(test::write(folder_, "by_name.csv", by_name)).ranks.at(0).device_records.size(), 5u)
      << "a graph that has one kernel twice";
  const std::string nsys = "Start (ns),Duration (ns),Device,Strm,Name\n1000,500,A (0),7,k\n2000,500,A (0),7,k\n";
  EXPECT_EQ(read(test::write(folder_, "nsys.csv", nsys + nsys)).ranks.size(), 2u);
}

TEST_F(Nvprof, UnifiedMemoryIsCopiedOrWaitedFor) {
  const std::string nvprof =
      "\"Start\",\"Duration\",\"Device\",\"Stream\",\"Unified Memory\",\"Name\"\nms,us,,,,\n"
      "1.0,10.0,\"V100 (0)\",\"7\",,\"gemm\"\n1.2,50.0,\"V100 (0)\",,\"128KB\",\"[Unified Memory Memcpy HtoD]\"\n"
      "1.3,9.0,\"V100 (0)\",,\"8\",\"[Unified Memory GPU page faults]\"\n1.4,,,,\"1\",\"[Unified Memory CPU page faults]\"\n";
  const std::string nsys =
      "Start (ns),Duration (ns),Device,Strm,Name\n1000,500,A (0),7,gemm\n"
      "2000,500,A (0),,[CUDA Unified Memory memcpy HtoD]\n3000,500,A (0),,[CUDA Unified Memory memset]\n";
  const TraceJob a = read(test::write(folder_, "a.csv", nvprof)), b = read(test::write(folder_, "b.csv", nsys));
  const auto kinds = [](const TraceJob& job) {
    std::map<DeviceRecordKind, int> counts;
    for (const DeviceRecord& d : job.ranks.at(0).device_records) ++counts[d.kind];
    return counts;
  };
  using Kind = DeviceRecordKind;
  EXPECT_EQ(kinds(a), (std::map<Kind, int>{{Kind::kernel, 1}, {Kind::memcpy, 1}}));
  EXPECT_EQ(kinds(b), (std::map<Kind, int>{{Kind::kernel, 1}, {Kind::memcpy, 1}, {Kind::memset, 1}}));
  EXPECT_TRUE(a.ranks[0].notes.missing.empty());
  EXPECT_TRUE(b.ranks[0].notes.missing.empty());
  ASSERT_EQ(a.ranks[0].notes.dropped.size(), 1u);
  EXPECT_EQ(a.ranks[0].notes.dropped[0].what, "page faults and other events of unified memory");
  EXPECT_EQ(a.ranks[0].notes.dropped[0].count, 2u);
}

TEST_F(Nvprof, NegativeDurationsAndACutLastRowAreNamed) {
  const std::string text = read_file(formats_ + "nvprof.csv", 1 << 20).value();
  const TraceJob negative = read(test::write(folder_, "negative.csv", replaced(text, "10.500000", "-10.5")));
  EXPECT_TRUE(has_note(negative.ranks.at(0), "1 negative duration counted as 0"));
  const TraceJob cut = read(test::write(folder_, "cut.csv", text.substr(0, text.rfind("[107]"))));
  EXPECT_EQ(cut.ranks.at(0).device_records.size(), 2u);
  EXPECT_EQ(cut.ranks[0].notes.missing, std::vector<std::string>{"the rest of a file that is cut off"});
}

/// The kernel was launched by call 211 of thread 3, inside the range `layer 1`, whose two markers name that thread.
TEST_F(Nvprof, SqliteJoinsKernelsCallsAndRanges) {
  const TraceJob job = read(formats_ + "nvprof.nvvp");
  const TraceRank& r = job.ranks.at(0);
  EXPECT_EQ(r.format, "nvprof SQLite");
  ASSERT_EQ(r.device_records.size(), 3u);
  const DeviceRecord& kernel = r.device_records[0];
  EXPECT_EQ(job.name(kernel.name), "gemm");
  EXPECT_EQ(kernel.duration_ns, 3000);
  ASSERT_NE(kernel.launch, kNone);
  EXPECT_EQ(job.name(r.host_records[kernel.launch].name), "CUDA runtime call 211");
  EXPECT_EQ(r.host_records[kernel.launch].call, RuntimeCall::launch_kernel);
  ASSERT_NE(kernel.op, kNone);
  EXPECT_EQ(job.name(r.host_records[kernel.op].name), "layer 1");
  EXPECT_EQ(r.host_records[kernel.op].duration_ns, 1300);
  EXPECT_EQ(r.device_records[1].launch, kNone);
  EXPECT_EQ(r.device_records[2].bytes, 4096);
  EXPECT_EQ(r.devices.at(0).name, "Tesla V100");
  EXPECT_EQ(r.devices[0].multiprocessors, 80u);
  EXPECT_FALSE(has_note(r, "no NVTX range"));
}

/// 60 calls of the function that launched the kernel of the sample, of which 30 have a kernel, those of odd numbers `returned` and
/// are on GPU `device`; calls of another function have none.
std::string sixty_calls(int returned, int device = -1) {
  std::string calls = "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN returnValue INT;", kernels;
  for (int i = 0; i < 60; ++i) {
    const std::string start = std::to_string(100'000 + 10'000 * i), end = std::to_string(101'000 + 10'000 * i),
                      late = std::to_string(104'000 + 10'000 * i), id = std::to_string(1000 + i);
    calls +=
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start,end,cbid,processId,threadId,correlationId,returnValue) VALUES(" +
        start + "," + end + ",211,5,10," + id + "," + std::to_string(i % 2 == 0 ? 0 : returned) + "),(" + start + "," +
        end + ",3,5,11,0,0);";
    if (i % 2 == 0)
      kernels +=
          "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start,end,deviceId,contextId,streamId,correlationId,"
          "name) SELECT " +
          end + "," + late + "," + (device < 0 || i < 30 ? "deviceId" : std::to_string(device)) +
          ",contextId,streamId," + id + ",name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL LIMIT 1;";
  }
  return calls + kernels;
}

TEST_F(Nvprof, CallsOfAFunctionThatLaunchesKernelsLackThem) {
  const TraceJob job = read(changed("nvprof.nvvp", sixty_calls(0)));
  const auto launches = std::ranges::count(job.ranks.at(0).host_records, RuntimeCall::launch_kernel, &HostRecord::call);
  EXPECT_EQ(launches, 61);
  EXPECT_NE(verdict_of(job).find("without the GPU work of 30 of 61 kernel launches"), std::string::npos)
      << verdict_of(job);
}

/// They failed, are of an unknown one of two GPUs, or are captured for a graph (begun by call 315 or before the recording).
TEST_F(Nvprof, CallsThatLaunchNothingLackNoKernels) {
  const auto call = [](const char* function, const char* start) {
    return std::string(
               "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start,end,cbid,processId,threadId,correlationId) "
               "VALUES(") +
           start + "," + start + "," + function + ",5,10,0);";
  };
  for (const std::string& sql :
       {sixty_calls(9), sixty_calls(0, 1), sixty_calls(0) + call("315", "99000"),
        sixty_calls(0) + call("316", "99000") + call("320", "900000"), sixty_calls(0) + call("319", "900000")}) {
    const std::string verdict = verdict_of(read(changed("nvprof.nvvp", sql)));
    EXPECT_EQ(verdict.find("kernel launches"), std::string::npos) << verdict << sql.substr(sql.size() - 200);
  }
}

TEST_F(Nvprof, WhatWasNotRecordedIsSaid) {
  const TraceJob job = read(changed("nvprof.nvvp", "DELETE FROM CUPTI_ACTIVITY_KIND_MARKER;"));
  EXPECT_TRUE(has_note(job.ranks.at(0), "no NVTX range was recorded"));
  const std::string empty = refusal(changed(
      "nvprof.nvvp", "DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY;"));
  EXPECT_NE(empty.find("must call cudaProfilerStart"), std::string::npos) << empty;
}

/// Process 8 on the GPU of process 9.
TEST_F(Nvprof, NsysSaysWhenProcessesShareAGpu) {
  EXPECT_FALSE(has_note(read(formats_ + "nsys.sqlite").ranks.at(0), "used GPU 0"));
  const TraceJob job = read(changed("nsys.sqlite",
                                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(2000,5000,0,1,7,42,134217728,1); "
                                    "DELETE FROM NVTX_EVENTS;"));
  ASSERT_EQ(job.ranks.size(), 2u);
  EXPECT_TRUE(has_note(job.ranks[0], "2 processes used GPU 0, each taken for a rank"));
  EXPECT_TRUE(has_note(job.ranks[0], "no NVTX range was recorded"));
}

TEST_F(Nvprof, DlprofsDatabaseNamesTheFileBesideIt) {
  const std::string path = folder_ + "/dlprof_dldb.sqlite";
  run_sql(path, "CREATE TABLE a(b);");
  const std::string text = refusal(path);
  EXPECT_NE(text.find("nsys_profile.sqlite beside its own database"), std::string::npos) << text;
}

/// How streams were created, by process, context and stream: 7 of context 1 is the NULL stream.
TEST_F(Nvprof, NsysAndNvprofSayHowStreamsWereCreated) {
  const std::string flags = "(1,7,3),(1,8,1),(2,7,2)";
  const TraceJob nvprof = read(changed("nvprof.nvvp",
                                       "CREATE TABLE CUPTI_ACTIVITY_KIND_STREAM(contextId,streamId,flag);"
                                       "INSERT INTO CUPTI_ACTIVITY_KIND_STREAM VALUES" +
                                           flags +
                                           ";"
                                           "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET streamId = 8;"));
  ASSERT_EQ(nvprof.ranks.at(0).streams.size(), 2u);
  EXPECT_EQ(nvprof.ranks[0].streams[0].kind, StreamKind::null_stream);
  EXPECT_EQ(nvprof.ranks[0].streams[1].kind, StreamKind::blocking);
  const TraceJob nsys = read(changed(
      "nsys.sqlite",
      "CREATE TABLE TARGET_INFO_CUDA_STREAM(streamId,hwId,vmId,processId,contextId,priority,flag);"
      "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES(7,0,1,9,1,0,3),(7,0,1,8,1,0,2),(8,0,1,9,1,4294967291,1);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(8000,8500,0,1,8,44,150994944,1),(9000,9500,0,1,9,45,150994944,1);"));
  ASSERT_EQ(nsys.ranks.at(0).streams.size(), 3u);
  EXPECT_EQ(nsys.ranks[0].streams[0].kind, StreamKind::null_stream);
  EXPECT_EQ(nsys.ranks[0].streams[1].kind, StreamKind::blocking);
  EXPECT_EQ(nsys.ranks[0].streams[2].kind, StreamKind::unknown);
}

/// The report that DLProf leaves: a module, its op and the kernel that this launched; call stacks are counted.
TEST_F(Nvprof, DlprofsRangesAreLayersAndOps) {
  const TraceJob job = read(changed(
      "nsys.sqlite",
      "DELETE FROM NVTX_EVENTS;"
      "INSERT INTO NVTX_EVENTS VALUES(500,1800,59,'{''mod'': ''Linear'', ''strRepr'': ''in_features=8''}',NULL,150994947),"
      "(600,1700,59,'{''traceMarker'': [''train.py:12'']}',NULL,150994947),"
      "(700,1600,59,'{''mod'': ''torch'', ''op'': ''mm'', ''args'': [{''shape'': (8, 3), ''dtype'': ''float16''}]}',NULL,150994947);"));
  const TraceRank& r = job.ranks.at(0);
  ASSERT_NE(r.device_records.at(0).op, kNone);
  const HostRecord& op = r.host_records[r.device_records[0].op];
  EXPECT_EQ(job.name(op.name), "torch.mm");
  EXPECT_EQ(op.kind, HostKind::op);
  ASSERT_NE(op.inputs, kNone);
  EXPECT_EQ(job.inputs[op.inputs].tensors.at(0).dims, (std::vector<std::int64_t>{8, 3}));
  ASSERT_NE(op.parent, kNone);
  EXPECT_EQ(job.name(r.host_records[op.parent].name), "Linear(in_features=8)");
  ASSERT_EQ(r.notes.dropped.size(), 1u);
  EXPECT_EQ(r.notes.dropped[0].what, "call stacks of PyProf or DLProf");
}

TEST(KernelName, KeepsScopesAndTheArgumentsOfTemplates) {
  EXPECT_EQ(kernel_name("_Z4gemmPf"), "gemm");
  EXPECT_EQ(kernel_name("_ZN2at6native3addIfEEvPT_i"), "at::native::add<IfEEvPT_i>");
  EXPECT_EQ(kernel_name("_Z30ncclAllReduceRingLLKernel_sum_8ncclColl"), "ncclAllReduceRingLLKernel_sum_");
  EXPECT_EQ(kernel_name("volta_sgemm_128x64_nn"), "volta_sgemm_128x64_nn");
  for (const char* broken : {"_Z", "_Z9", "_Z99999999999999999999999x", "_ZN", "_ZNK1aE", "_Z3ab"})
    EXPECT_EQ(kernel_name(broken), broken);
}

}  // namespace
}  // namespace distsim::traces
