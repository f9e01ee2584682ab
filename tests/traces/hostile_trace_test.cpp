// Traces that are damaged, absurd or meant to harm: bounded time and memory, one line, no crash.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/file.hpp"
#include "base/system/descriptor.hpp"
#include "kineto_text.hpp"
#include "peak_memory.hpp"
#include "test_data.hpp"
#include "traces/trace_reader.hpp"
#include "traces/verdict.hpp"

namespace distsim::traces {
namespace {

using test::event;
using test::trace;

std::string gzipped(const std::string& text, int level = 9) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

class HostileTrace : public testing::Test {
 protected:
  /// Reads; whatever comes out, an error is one line without control characters.
  bool reads(const std::string& name, const std::string& bytes, const TraceOptions& options = {}) {
    const auto job = read_traces({test::write(folder_, name, bytes)}, options);
    if (job.ok()) return true;
    error_ = job.error().text();
    EXPECT_FALSE(error_.empty());
    EXPECT_LT(error_.size(), 1000u);
    for (const char c : error_) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << error_;
    return false;
  }
  /// For thousands of small traces: most of the time would go into clearing large buffers.
  static TraceOptions small_window() {
    TraceOptions options;
    options.window = 1 << 12;
    return options;
  }
  std::string folder_ = test::scratch_dir("hostile_traces"), error_;
};

TEST_F(HostileTrace, KinetoCutAnywhere) {
  const std::string text = trace(test::two_steps(), "\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],",
                                 ",\"distributedInfo\":{\"rank\":1,\"world_size\":2}");
  std::size_t read = 0;
  for (std::size_t n = 0; n <= text.size(); ++n) read += reads("cut.json", text.substr(0, n), small_window()) ? 1 : 0;
  EXPECT_GT(read, text.size() / 2);  // from the first whole event on
}

TEST_F(HostileTrace, GzipCutAnywhere) {
  const std::string packed = gzipped(trace(test::two_steps()));
  for (std::size_t n = 0; n <= packed.size(); ++n) reads("cut.json.gz", packed.substr(0, n), small_window());
  EXPECT_TRUE(reads("whole.json.gz", packed));
  EXPECT_TRUE(reads("padded.json.gz", packed + std::string(100, '\0')));
}

/// All is there, but a byte of it is not as it was written; none is cut off.
TEST_F(HostileTrace, AWrongChecksumIsNoCut) {
  const std::string altered = "partial, without the contents as they were written: the checksum of its packed data is";
  const std::string text = trace(test::two_steps());
  const auto verdict = [&](const std::string& name, const std::string& bytes) {
    const auto job = read_traces({test::write(folder_, name, bytes)});
    EXPECT_TRUE(job.ok()) << job.error().text();
    if (!job.ok()) return std::string();
    for (const std::string& note : job->ranks[0].notes.assumptions)
      EXPECT_EQ(note.find("truncated"), std::string::npos) << note;
    EXPECT_EQ(job->ranks[0].device_records.size(), 4u);
    return verdict_of(*job);
  };
  const std::string packed = gzipped(text, 0);
  EXPECT_EQ(verdict("good.json.gz", packed), "complete");
  for (const std::size_t from_end : {8u, 5u, 4u, 1u}) {  // the checksum, the length
    std::string wrong = packed;
    wrong[wrong.size() - from_end] = static_cast<char>(wrong[wrong.size() - from_end] ^ 1);
    EXPECT_EQ(verdict("wrong.json.gz", wrong).find(altered), 0u) << from_end;
  }
  std::string digit = packed;
  digit[digit.find("\"dur\":") + 6] ^= 1;
  EXPECT_EQ(verdict("digit.json.gz", digit).find(altered), 0u);
  // The members of a file are read to the last, wherever a window ends.
  const std::string front = gzipped(text.substr(0, 100), 0), back = gzipped(text.substr(100), 0);
  std::string wrong = front;
  wrong[wrong.size() - 8] = static_cast<char>(wrong[wrong.size() - 8] ^ 1);
  EXPECT_EQ(verdict("members.json.gz", front + back), "complete");
  EXPECT_EQ(verdict("members.json.gz", wrong + back).find(altered), 0u);
  // Damage that ends the unpacking is a cut, too, and says what it is.
  std::string damaged = gzipped("]}", 0);
  damaged[10] = '\xff';  // a block of no known kind, behind the header
  damaged.insert(0, gzipped(text.substr(0, text.size() - 2), 0));
  const auto job = read_traces({test::write(folder_, "damaged.json.gz", damaged)});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_NE(verdict_of(*job).find("the rest of a file that is cut off"), std::string::npos);
  EXPECT_EQ(job->ranks[0].notes.assumptions.back().find("its packed data are damaged"), 0u);
}

TEST_F(HostileTrace, AWrongChecksumOfAZipMemberIsSaid) {
  const std::string path = folder_ + "/run.zip", text = trace(test::two_steps());
  zipFile zip = zipOpen64(path.c_str(), 0);
  ASSERT_EQ(zipOpenNewFileInZip(zip, "a.json", nullptr, nullptr, 0, nullptr, 0, nullptr, 0, 0), ZIP_OK);
  zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size()));
  zipCloseFileInZip(zip);
  zipClose(zip, nullptr);
  EXPECT_EQ(verdict_of(*read_traces({path})), "complete");
  std::string bytes = *read_file(path, 1 << 20);
  bytes[bytes.find("\"dur\":") + 6] ^= 1;
  const auto job = read_traces({test::write(folder_, "wrong.zip", bytes)});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(verdict_of(*job).find("partial, without the contents as they were written"), 0u) << verdict_of(*job);
}

/// The first file is another one when the second is read.
TEST_F(HostileTrace, AFileThatIsReplacedMeanwhileIsRefused) {
  const auto rank = [](int n) {
    return trace(test::two_steps(), "\"distributedInfo\":{\"rank\":" + std::to_string(n) + ",\"world_size\":2},");
  };
  const std::string first = test::write(folder_, "first.json", rank(0)), pipe = folder_ + "/pipe.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::ofstream out(pipe);  // opens when the reader does
    std::filesystem::rename(test::write(folder_, "other.json", rank(0)), first);
    out << rank(1);
  });
  const auto job = read_traces({first, pipe});
  const Descriptor reader(
      ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));  // should nobody have opened it, the writer ends
  writer.join();
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().text().find("first.json: found another file than at first"), std::string::npos)
      << job.error().text();
}

/// SQLite leaves files beside a database in WAL mode that it reads, and reads none in memory.
TEST_F(HostileTrace, DatabasesInWalMode) {
  const std::string sample = *read_file(test::root() + "/tests/traces/data/formats/nvprof.nvvp", 1 << 24);
  const std::string dir = folder_ + "/wal #1?%41";
  std::filesystem::create_directory(dir);
  const std::string path = test::write(dir, "w.nvvp", sample);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(a)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const std::string wal = *read_file(path, 1 << 24);
  ASSERT_EQ(wal[18], 2);
  const auto records = [](const std::string& file) {
    const auto job = read_traces({file});
    return job.ok() ? std::to_string(job->ranks.at(0).device_records.size()) : job.error().text();
  };
  const std::string expected = records(test::write(folder_, "plain.nvvp", sample));
  EXPECT_EQ(records(path), expected);
  std::filesystem::create_symlink("w.nvvp", dir + "/link.nvvp");
  EXPECT_EQ(records(dir + "/link.nvvp"), expected);
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
  EXPECT_EQ(records(test::write(folder_, "w.nvvp.gz", gzipped(wal))), expected);
  // What a log holds belongs to the database.
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_TRUE(std::filesystem::exists(path + "-wal"));
  EXPECT_NE(records(path), expected);
  EXPECT_EQ(records(dir + "/link.nvvp"), records(path));
  const std::string from_log = records(path), kept = folder_ + "/kept";
  std::filesystem::create_directory(kept);
  for (const char* end : {"", "-wal"}) std::filesystem::copy_file(path + end, kept + "/w.nvvp" + end);
  sqlite3_close(db);
  // A database that was copied with its log, of a writer that is gone: it stays as it is, and so does what is beside it.
  const auto files = [&] {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(kept))
      out[entry.path().filename()] = *read_file(entry.path(), 1 << 24);
    return out;
  };
  const auto before = files();
  EXPECT_EQ(records(kept + "/w.nvvp"), from_log);
  EXPECT_EQ(files(), before);
  test::write(kept, "w.nvvp-shm", std::string(32768, 'x'));  // of another state of the log: left alone as well
  const auto with_index = files();
  EXPECT_EQ(records(kept + "/w.nvvp"), from_log);
  EXPECT_EQ(files(), with_index);
}

TEST_F(HostileTrace, ExecutionTraceCutAndFlipped) {
  const std::string text =
      R"x({"schema":"1.1.1-chakra.0.0.4","nodes":[{"id":2,"name":"aten::mm","ctrl_deps":1,"inputs":{"values":[[1,2,0,)x"
      R"x(4,4,"cpu"]],"shapes":[[2,2]],"types":["Tensor(float)"]},"outputs":{"values":[],"shapes":[[2,2]],)x"
      R"x("types":["Tensor(float)"]},"attrs":[{"name":"rf_id","type":"uint64","value":7},{"name":"scope",)x"
      R"x("type":"uint64","value":0}]},{"id":3,"name":"record_param_comms","ctrl_deps":2,"inputs":{"values":[[],1,)x"
      R"x(["0","pg"],0,"allreduce",[],[],4],"shapes":[[[8]],[],[[],[]]],"types":["GenericList[Tensor(float)]","Int",)x"
      R"x("Tuple[String,String]"]},"outputs":{},"attrs":[]}],"finish_ts":1})x";
  EXPECT_TRUE(reads("et.json", text));
  for (std::size_t n = 0; n <= text.size(); ++n) reads("et.json", text.substr(0, n), small_window());
  for (std::size_t n = 0; n < text.size(); ++n) {
    std::string flipped = text;
    flipped[n] = static_cast<char>(flipped[n] ^ (1 << (n % 8)));
    reads("et.json", flipped, small_window());
  }
}

TEST_F(HostileTrace, GzipBombIsCapped) {
  std::string text = "{\"traceEvents\":[" + test::joined(test::two_steps());
  text += std::string(std::size_t{64} << 20, ' ') + "]}";
  EXPECT_FALSE(reads("bomb.json.gz", gzipped(text)));
  EXPECT_NE(error_.find("100 times"), std::string::npos) << error_;
}

TEST_F(HostileTrace, ArchivesInArchives) {
  EXPECT_FALSE(reads("twice.json.gz", gzipped(gzipped(trace(test::two_steps())))));
  EXPECT_NE(error_.find("archive inside an archive"), std::string::npos) << error_;
  EXPECT_FALSE(reads("zip.json.gz", gzipped("PK\x03\x04" + std::string(100, 'x'))));
  EXPECT_NE(error_.find("archive inside an archive"), std::string::npos) << error_;
  EXPECT_FALSE(reads("not.zip", "PK\x03\x04" + std::string(100, 'x')));
  std::string tar(1024, '\0');
  tar.replace(257, 5, "ustar");
  EXPECT_FALSE(reads("t.tar.gz", gzipped(tar)));
  EXPECT_NE(error_.find("tar archive"), std::string::npos) << error_;
}

TEST_F(HostileTrace, AMillionDeep) {
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  const std::string good = event("kernel", "k", "0", "7", 1, 1, "\"stream\":7");
  EXPECT_FALSE(reads("deep.json", open + close));
  EXPECT_FALSE(reads("deep.json", open));
  EXPECT_TRUE(reads("deep.json", trace({good}, "\"distributedInfo\":" + open + close + ",")));
  EXPECT_TRUE(reads("deep.json", trace({good, open + close, "{\"ph\":\"X\",\"args\":" + open + close + "}", good})));
  EXPECT_TRUE(
      reads("deep.json", trace({event("cpu_op", "o", "1", "1", 0, 1, "\"Input Dims\":" + open + close), good})));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(reads("deep.json", objects));
}

TEST_F(HostileTrace, AbsurdNumbers) {
  const std::string huge = "999999999999999999999999999999";
  for (const std::string& number :
       {huge, std::string("-") + huge, std::string("1e308"), std::string("18446744073709551615"),
        std::string("-9223372036854775808"), std::string("1e-400"), std::string("NaN")}) {
    for (const std::string key : {"ts", "dur", "pid", "tid"}) {
      std::string text =
          "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"stream\":7}}";
      const std::size_t at = text.find("\"" + key + "\":") + key.size() + 3;
      text.replace(at, 1, number);
      reads("n.json", trace({text}));
    }
    for (const std::string key :
         {"stream", "device", "context", "correlation", "bytes", "External id", "In msg nelems", "Group size", "Seq"}) {
      reads("n.json",
            trace({event("kernel", "nccl_k", "0", "7", 1, 1,
                         "\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"" + key + "\":" + number)}));
    }
    reads("n.json", trace({event("kernel", "k", "0", "7", 1, 1)}, "\"baseTimeNanoseconds\":" + number +
                                                                      ",\"distributedInfo\":{\"rank\":" + number +
                                                                      ",\"world_size\":" + number + "},"));
    reads("n.json", trace({event("cpu_op", "aten::mm", "0", "7", 1, 1,
                                 "\"Input Dims\":[[" + number + "," + number + "]],\"Input type\":[\"float\"]")}));
  }
}

TEST_F(HostileTrace, DuplicateIdsAndCycles) {
  std::vector<std::string> events;
  for (int i = 0; i < 2000; ++i)
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", "5", std::to_string(i % 3), i, 1,
                           "\"correlation\":1,\"External id\":1"));
  for (int i = 0; i < 2000; ++i)
    events.push_back(event("kernel", "k", "0", "7", i, 1, "\"stream\":7,\"correlation\":1"));
  EXPECT_TRUE(reads("dup.json", trace(events)));
  // An execution trace whose nodes call each other, and repeat ids.
  EXPECT_TRUE(reads(
      "cycle.json",
      R"x({"schema":"1.0.1","nodes":[{"id":2,"name":"a","parent":3},{"id":3,"name":"b","parent":2},{"id":3,"name":"c",)x"
      R"x("parent":3},{"id":4,"name":"d","parent":99}]})x"));
}

TEST_F(HostileTrace, NamesStayPrintable) {
  EXPECT_TRUE(reads("names.json", trace({event("kernel", "<script>alert(1)</script>\\u0000\\u001b[31m\\ud800", "0", "7",
                                               1, 1, "\"stream\":7")})));
  EXPECT_FALSE(reads("a\nb\x1b.json", "{\"traceEvents\":[]}"));
}

TEST_F(HostileTrace, SqliteThatIsNotNsys) {
  const std::string path = folder_ + "/other.sqlite";
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  // A view in place of a table would run a query of the file's own, here one without end.
  const char* sql =
      "CREATE TABLE cats(name TEXT); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT "
      "i+1 FROM n) SELECT i AS start, i AS end FROM n;";
  ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const auto job = read_traces({path});
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().text().find("without the tables of Nsight Systems"), std::string::npos) << job.error().text();
  EXPECT_FALSE(reads("x.sqlite", "SQLite format 3\0 and then nothing of the kind"));
  EXPECT_FALSE(reads("y.sqlite", std::string("SQLite format 3\0", 16) + std::string(4096, '\xff')));
}

TEST_F(HostileTrace, RanksThatDoNotBelongTogether) {
  const auto rank = [](int n, int world, std::int64_t start) {
    return trace(
        {event("kernel", "k", "0", "7", static_cast<double>(start), 1, "\"stream\":7")},
        "\"distributedInfo\":{\"rank\":" + std::to_string(n) + ",\"world_size\":" + std::to_string(world) + "},");
  };
  const auto both = [&](const std::string& a, const std::string& b) {
    const auto job = read_traces({test::write(folder_, "a.json", a), test::write(folder_, "b.json", b)});
    return job.ok() ? "" : job.error().text();
  };
  EXPECT_EQ(both(rank(0, 2, 0), rank(1, 2, 5)), "");
  EXPECT_NE(both(rank(0, 2, 0), rank(0, 2, 5)).find("second trace of rank 0"), std::string::npos);
  EXPECT_NE(both(rank(0, 2, 0), rank(1, 4, 5)).find("they belong to different jobs"), std::string::npos);
  EXPECT_NE(both(rank(0, 2, 0), rank(1, 2, 3'600'000'000)).find("they belong to different runs"), std::string::npos);
  EXPECT_NE(both(rank(0, 2, 0), rank(7, 2, 5)).find("below"), std::string::npos);
  // A time of day beside one that counts from the start of something says nothing of the runs.
  for (const bool first : {true, false}) {
    const std::string day = rank(first ? 0 : 1, 2, 1'779'782'329'000'000), bare = rank(first ? 1 : 0, 2, 2'000'000);
    const std::string refused = first ? both(day, bare) : both(bare, day);
    EXPECT_EQ(refused.find(folder_ + (first ? "/b.json" : "/a.json") + ": found times that begin 2 s after a moment"),
              0u)
        << refused;
    EXPECT_EQ(refused.find("different runs"), std::string::npos) << refused;
  }
}

TEST_F(HostileTrace, FlippedBytesOfEverything) {
  std::vector<std::string> events = test::two_steps();
  events.resize(events.size() / 2);
  const std::string text = trace(events, "\"distributedInfo\":{\"rank\":0,\"world_size\":1},");
  const std::string packed = gzipped(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    reads("f.json", flipped, small_window());
  }
  for (std::size_t i = 0; i < packed.size(); ++i) {
    std::string flipped = packed;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    reads("f.json.gz", flipped, small_window());
  }
}

TEST_F(HostileTrace, MemoryStaysWithTheWindow) {
  // 100 MB of events that are counted and left out: memory must not follow.
  std::ostringstream text;
  text << "{\"traceEvents\":[" << event("kernel", "k", "0", "7", 1, 1, "\"stream\":7");
  const std::string filler = ",\n" + event("python_function", std::string(900, 'x'), "5", "10", 1, 1);
  for (int i = 0; i < 100'000; ++i) text << filler;
  text << "]}";
  const std::string path = test::write(folder_, "big.json", text.str());
  text.str("");
  // Only what the reading adds counts, so a process of its own.
  const pid_t child = ::fork();
  if (child == 0) {
    const long before = test::peak_kib();
    const bool ok = read_traces({path}).ok();
    ::_exit(ok && test::peak_kib() - before < 60 * 1024 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace distsim::traces
