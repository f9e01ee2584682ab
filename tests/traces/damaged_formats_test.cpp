// Every reader on input that was cut, flipped or filled with absurd numbers: an answer or one line, and no arithmetic
// beyond its range (the build with sanitizers sees that).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/file.hpp"
#include "trace_samples.hpp"
#include "traces/trace_reader.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

class DamagedFormats : public testing::Test {
 protected:
  bool reads(const std::string& name, const std::string& bytes) {
    TraceOptions options;
    options.window = 1 << 12;  // thousands of reads: most of the time would go into clearing large buffers
    const auto job = read_traces({test::write(folder_, name, bytes)}, options);
    if (!job.ok()) {
      EXPECT_FALSE(job.error().text().empty());
      EXPECT_EQ(job.error().text().find('\n'), std::string::npos) << job.error().text();
      return false;
    }
    for (const TraceRank& rank : job->ranks) check_sums(rank);
    return true;
  }

  /// What reports add up stays within 64 bits.
  static void check_sums(const TraceRank& rank) {
    std::int64_t time = 0, bytes = 0;
    for (const HostRecord& h : rank.host_records) EXPECT_FALSE(__builtin_add_overflow(time, h.duration_ns, &time));
    for (const DeviceRecord& d : rank.device_records) {
      EXPECT_FALSE(__builtin_add_overflow(time, d.duration_ns, &time));
      EXPECT_FALSE(__builtin_add_overflow(bytes, d.bytes, &bytes));
    }
  }

  /// Reads all beginnings of `bytes`; returns how many could be used.
  std::size_t cut_anywhere(const std::string& name, const std::string& bytes, std::size_t stride = 1) {
    EXPECT_TRUE(reads(name, bytes));
    std::size_t usable = 0;
    for (std::size_t n = 0; n < bytes.size(); n += stride) usable += reads(name, bytes.substr(0, n)) ? 1 : 0;
    return usable;
  }

  void flip_everywhere(const std::string& name, const std::string& bytes, std::size_t stride = 1) {
    for (std::size_t i = 0; i < bytes.size(); i += stride) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
      reads(name, flipped);
    }
  }

  std::string folder_ = test::scratch_dir("damaged_formats");
};

TEST_F(DamagedFormats, GputraceCutAnywhere) {
  const std::string text = test::gputrace_text();
  const std::size_t usable = cut_anywhere("t.csv", text);
  const std::size_t header_end = text.find("Name\n") + 5, first_row_end = text.find('\n', header_end);
  // From the first whole row on.
  EXPECT_GE(usable, text.size() - first_row_end - 1);
  EXPECT_LE(usable, text.size() - header_end);
  flip_everywhere("t.csv", text);
}

TEST_F(DamagedFormats, ProfJsonCutAnywhere) {
  for (const int generation : {1, 2}) {
    const std::string text = test::prof_json_text(generation);
    const std::size_t usable = cut_anywhere("h.prof.json", text), first_event_end = text.find("},{") + 1;
    EXPECT_EQ(usable, text.size() - first_event_end) << generation;  // from the first whole event on
    flip_everywhere("h.prof.json", text, 3);
  }
}

TEST_F(DamagedFormats, ZipCutAnywhere) {
  const std::string path = folder_ + "/run.zip";
  test::write_zip(path,
                  {{"rank0.json", test::trace(test::two_steps())}, {"rank1.json", test::trace(test::two_steps())}});
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_LT(cut_anywhere("cut.zip", bytes),
            22u);  // the list of members is at the end, behind it 22 bytes that say where
  flip_everywhere("flipped.zip", bytes, 3);
}

/// What zip leaves where it has packed nothing is whole.
TEST_F(DamagedFormats, AnEmptyZipIsNotDamaged) {
  const std::string end("PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
  for (const auto& [bytes, what] : {std::pair(end, "found no file in the zip archive, expected a trace"),
                                    {end.substr(0, 21), "found a damaged zip archive"}}) {
    const std::string path = test::write(folder_, "empty.zip", bytes);
    const auto read = read_traces({path});
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().text(), path + ": " + what);
  }
}

TEST_F(DamagedFormats, NsysCutAndFlipped) {
  const std::string bytes = test::sqlite_bytes(test::nsys_sql());
  EXPECT_GT(bytes.size(), 4096u);
  EXPECT_EQ(cut_anywhere("t.sqlite", bytes, 211), 0u);  // also within the last page
  flip_everywhere("t.sqlite", bytes, 101);
}

TEST_F(DamagedFormats, NvprofFlippedAndAbsurd) {
  const std::string formats = test::root() + "/tests/traces/data/formats/";
  const std::string csv = read_file(formats + "nvprof.csv", 1 << 20).value(),
                    database = read_file(formats + "nvprof.nvvp", 1 << 20).value();
  flip_everywhere("n.csv", csv);
  flip_everywhere("n.nvvp", database, 7);
  test::for_each_absurd_number(csv, csv.find("221.264"), [&](const std::string& spoiled) { reads("n.csv", spoiled); });
}

TEST_F(DamagedFormats, AbsurdNumbers) {
  std::vector<std::string> events = test::two_steps();
  events.resize(events.size() / 2);
  events.push_back(test::event(
      "kernel", "nccl_k", "0", "9", 1060, 3,
      "\"stream\":9,\"bytes\":7,\"Collective name\":\"allgather\",\"In msg nelems\":8,\"Out msg nelems\":16,"
      "\"Group size\":40,\"dtype\":\"Float\",\"Process Group Ranks\":\"[0, 1, ...]\",\"Global rank start\":2,"
      "\"Global rank stride\":3,\"Seq\":4,\"Src Rank\":5"));
  const std::string kineto =
      test::trace(events,
                  "\"baseTimeNanoseconds\":1700000000000000000,\"deviceProperties\":[{\"id\":0,"
                  "\"name\":\"G\",\"totalGlobalMem\":5,\"numSms\":6}],",
                  ",\"distributedInfo\":{\"rank\":0,\"world_size\":1,\"pg_config\":[{\"pg_name\":\"0\","
                  "\"pg_size\":2,\"ranks\":[0,1]}]}");
  const auto all = [&](const std::string& name, const std::string& text, std::size_t from = 0) {
    test::for_each_absurd_number(text, from, [&](const std::string& spoiled) { reads(name, spoiled); });
  };
  all("k.json", kineto);
  all("t.csv", test::gputrace_text());
  all("h.prof.json", test::prof_json_text(2));
  all("et.json", test::execution_trace_text());
  const std::string sql = test::nsys_sql();
  test::for_each_absurd_number(sql, sql.find("VALUES(1700000000)"), [&](const std::string& spoiled) {
    if (spoiled.find("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL") != std::string::npos)
      reads("t.sqlite", test::sqlite_bytes(spoiled));
  });
}

/// Many records, each as long as may be, on streams of their own: their sum must not leave the range.
TEST_F(DamagedFormats, SumsOfLongDurations) {
  std::vector<std::string> events;
  for (int i = 0; i < 4000; ++i)
    events.push_back("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":" + std::to_string(i) +
                     ",\"ts\":5,\"dur\":999999999999,\"args\":{\"bytes\":9223372036854775807}}");
  EXPECT_TRUE(reads("long.json", test::trace(events)));
}

/// One record with a broken clock is left out; the others keep their place.
TEST_F(DamagedFormats, ARecordFarFromTheOthersIsLeftOut) {
  std::vector<std::string> events = test::two_steps();
  events.push_back(
      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1700000000000000,\"dur\":1}");
  const auto job = read_traces({test::write(folder_, "far.json", test::trace(events))});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->ranks[0].device_records.size(), 4u);
  EXPECT_EQ(job->ranks[0].steps.size(), 2u);
  const auto& dropped = job->ranks[0].notes.dropped;
  EXPECT_TRUE(std::ranges::any_of(
      dropped, [](const auto& d) { return d.what.find("11 days") != std::string::npos && d.count == 1; }));
  EXPECT_EQ(verdict_of(*job), "partial, without records more than 11 days from the others (1)");
}

/// Steps whose kernels are on another clock are no recording of the steps that are left.
TEST_F(DamagedFormats, ARecordingOnTwoClocksIsRefused) {
  std::vector<std::string> events;
  for (int i = 0; i < 60; ++i) {
    const double t = 1000 + 10 * i;
    const std::string id = "\"correlation\":" + std::to_string(i + 1);
    events.push_back(test::event("cuda_runtime", "cudaLaunchKernel", "5", "10", t, 2, id));
    events.push_back(
        test::event("kernel", "k", "0", "7", t + 4 + (i < 40 ? 0 : 1e15), 3, "\"device\":0,\"stream\":7," + id));
  }
  const auto job = read_traces({test::write(folder_, "clocks.json", test::trace(events))});
  ASSERT_FALSE(job.ok());
  EXPECT_NE(
      job.error().text().find("found 20 of 120 records more than 11 days from the others, expected one recording"),
      std::string::npos)
      << job.error().text();
}

/// Times too late for a clock of nanoseconds are the reason, not their threads.
TEST_F(DamagedFormats, TimesThatAreTooLateAreNamed) {
  const auto job = read_traces({test::write(
      folder_, "late.json", test::trace({test::event("kernel", "k", "0", "7", 3.4e15, 3, "\"device\":0")}))});
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().text().find("found 1 event, 1 without a usable time (microseconds, before the year 2043)"),
            std::string::npos)
      << job.error().text();
}

/// A key whose last byte is an escaped backslash: the quote after it ends the key.
TEST_F(DamagedFormats, KeysThatEndInABackslash) {
  const std::string odd =
      "{\"a\\\\\":1,\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,\"b\\\\\":2}";
  const auto job = read_traces({test::write(folder_, "keys.json", test::trace({odd, odd}))});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->ranks[0].device_records.size(), 2u);
  EXPECT_TRUE(reads("bare.json", "[" + odd + "]"));
}

/// Whoever waits for all streams looks at each, so a rank has so many at most.
TEST_F(DamagedFormats, StreamsWithoutEnd) {
  std::string csv = "Start (ns),Duration (ns),Device,Strm,Name\n";
  for (int i = 0; i < 6000; ++i) csv += std::to_string(1000 * i) + ",500,G (0)," + std::to_string(i) + ",k\n";
  const auto job = read_traces({test::write(folder_, "streams.csv", csv)});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->ranks[0].streams.size(), 4096u);
  EXPECT_EQ(job->ranks[0].device_records.size(), 4096u);
  const auto& dropped = job->ranks[0].notes.dropped;
  EXPECT_TRUE(std::ranges::any_of(
      dropped, [](const auto& d) { return d.what.find("4096 streams") != std::string::npos && d.count == 1904; }));
}

/// One process that drives thousands of GPUs: its ranges are given to some of them, not copied for each.
TEST_F(DamagedFormats, GpusWithoutEnd) {
  std::string sql =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,streamId,correlationId,globalPid);"
      "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES(1,'k');"
      "CREATE TABLE NVTX_EVENTS(start,end,eventType,text,textId,globalTid);";
  for (int i = 0; i < 2000; ++i)
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + std::to_string(i) + "," + std::to_string(i + 5) + "," +
           std::to_string(i) + ",7,0,150994944);";
  for (int i = 0; i < 50; ++i) sql += "INSERT INTO NVTX_EVENTS VALUES(1,2,59,'range',NULL,150994947);";
  const auto job = read_traces({test::write(folder_, "gpus.sqlite", test::sqlite_bytes(sql))});
  ASSERT_TRUE(job.ok()) << job.error().text();
  ASSERT_EQ(job->ranks.size(), 2000u);
  std::size_t ranges = 0;
  for (const TraceRank& r : job->ranks) ranges += r.host_records.size();
  EXPECT_EQ(ranges, 64u * 50);
}

}  // namespace
}  // namespace distsim::traces
