// A job that is read with a bound on its records: one line beyond it, and the same answer within it. And one that nobody asks
// for any more.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "base/file.hpp"
#include "base/threads/stop.hpp"
#include "trace_samples.hpp"
#include "traces/files/byte_source.hpp"
#include "traces/registry.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {
namespace {

namespace fs = std::filesystem;

std::uint64_t records_of(const TraceJob& job) {
  std::uint64_t sum = 0;
  for (const TraceRank& rank : job.ranks) sum += rank.host_records.size() + rank.device_records.size();
  return sum;
}

/// Every sample of a format with times.
TEST(RecordBudget, HoldsForEveryFormat) {
  const fs::path folder = fs::path(test::root()) / "tests/traces/data/formats";
  std::size_t tried = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const auto whole = read_traces({path});
    if (!whole.ok() || records_of(*whole) < 2) continue;
    ++tried;
    TraceOptions options;
    options.max_records = records_of(*whole) / 2;
    const auto cut = read_traces({path}, options);
    ASSERT_FALSE(cut.ok()) << path;
    EXPECT_EQ(cut.error().what,
              "found more than " + std::to_string(options.max_records) + " records, expected at most that")
        << path;
    EXPECT_EQ(cut.error().where, path);
    options.max_records = 1'000'000;
    const auto same = read_traces({path}, options);
    ASSERT_TRUE(same.ok()) << path;
    EXPECT_EQ(records_of(*same), records_of(*whole)) << path;
  }
  EXPECT_GE(tried, 4u);
}

/// A file says how large it is: one that is too large is refused before a byte of it is read.
TEST(ReadAll, KnowsHowMuchIsLeftOfAFile) {
  const std::string dir = test::scratch_dir("read_all"), path = dir + "/x";
  ASSERT_TRUE(write_file_atomically(path, "head").ok());
  fs::resize_file(path, std::uintmax_t{16} << 30);
  auto source = open_plain(path).value();
  char head[4];
  ASSERT_EQ(read_fully(*source, head, sizeof head).value(), 4u);
  EXPECT_EQ(source->known_left(), (std::uint64_t{16} << 30) - 4);
  EXPECT_EQ(read_all(*source, path, std::uint64_t{8} << 30).error().text(),
            path + ": found more than 8 GiB, expected at most that");
  fs::resize_file(path, 10);
  EXPECT_EQ(read_all(*source, path, 100).value().size(), 6u);
  fs::remove_all(dir);
}

/// The bound is that of all files of a job together.
TEST(RecordBudget, IsOfTheWholeJob) {
  RecordBudget budget{10, false};
  EXPECT_TRUE(budget.take(4));
  EXPECT_TRUE(budget.take(6));
  EXPECT_FALSE(budget.take());
  EXPECT_TRUE(budget.is_spent);
  EXPECT_FALSE(budget.take(0)) << "it stays spent";
}

/// What is held whole is bounded, whatever the window: an event, a value of metadata. What is skipped may be longer.
TEST(ReadTraces, RefusesAPieceThatIsTooLong) {
  const std::string dir = test::scratch_dir("long_piece"), path = dir + "/x.json";
  const std::string event =
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7,"x":")";
  for (const std::size_t window : {std::size_t{1}, std::size_t{1} << 14, std::size_t{1} << 20}) {
    TraceOptions options;
    options.window = window;
    options.max_piece = std::size_t{1} << 20;
    const auto read = [&](const std::string& text) {
      EXPECT_TRUE(write_file_atomically(path, text).ok());
      return read_traces({path}, options);
    };
    const std::string fits(options.max_piece - event.size() - 8, 'y'), more(options.max_piece + 4096, 'y');
    EXPECT_TRUE(read("{\"traceEvents\":[" + event + fits + "\"}}]}").ok()) << window;
    EXPECT_TRUE(read("{\"schemaVersion\":1,\"other\":\"" + more + "\",\"traceEvents\":[" + event + "\"}}]}").ok())
        << window;
    for (const std::string& text :
         {"{\"traceEvents\":[" + event + more + "\"}}]}",
          "{\"schemaVersion\":1,\"host_name\":\"" + more + "\",\"traceEvents\":[" + event + "\"}}]}"}) {
      const auto refused = read(text);
      ASSERT_FALSE(refused.ok()) << window;
      EXPECT_NE(refused.error().what.find("found a value longer than 1048576 bytes"), std::string::npos)
          << refused.error().what;
    }
  }
  fs::remove_all(dir);
}

TEST(ReadTraces, EndsWhereNobodyAsksAnyMore) {
  const std::string path = test::root() + "/tests/traces/data/formats/kineto.json";
  const std::atomic<bool> is_cancelled{true};
  const StopScope scope(is_cancelled);
  EXPECT_THROW((void)read_traces({path}), Stopped);
}

}  // namespace
}  // namespace distsim::traces
