// A job that is read with a bound on its records: one line beyond it, and the same answer within it. And one that nobody asks
// for any more.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "base/threads/stop.hpp"
#include "trace_samples.hpp"
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

/// The bound is that of all files of a job together.
TEST(RecordBudget, IsOfTheWholeJob) {
  RecordBudget budget{10, false};
  EXPECT_TRUE(budget.take(4));
  EXPECT_TRUE(budget.take(6));
  EXPECT_FALSE(budget.take());
  EXPECT_TRUE(budget.is_spent);
  EXPECT_FALSE(budget.take(0)) << "it stays spent";
}

TEST(ReadTraces, EndsWhereNobodyAsksAnyMore) {
  const std::string path = test::root() + "/tests/traces/data/formats/kineto.json";
  const std::atomic<bool> is_cancelled{true};
  const StopScope scope(is_cancelled);
  EXPECT_THROW((void)read_traces({path}), Stopped);
}

}  // namespace
}  // namespace distsim::traces
