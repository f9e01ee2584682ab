// Numbers, columns and the table of the critical cycle, as text and page show them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <sstream>

#include "base/json/json.hpp"
#include "base/text/csv.hpp"
#include "sample_report.hpp"
#include "sim/report/html/html.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"
#include "sim/report/text/path_table.hpp"

namespace distsim::report {
namespace {

TEST(Format, NumbersReadWell) {
  EXPECT_EQ(time_text(Duration::microseconds(1234)), "1.234 ms");
  EXPECT_EQ(time_text(Duration::microseconds(12345)), "12.35 ms");
  EXPECT_EQ(time_text(Duration::microseconds(999'900)), "999.9 ms");
  EXPECT_EQ(time_text(Duration::milliseconds(1234)), "1.234 s");
  EXPECT_EQ(time_text(Duration::milliseconds(4'080'064)), "4080 s");
  EXPECT_EQ(time_text(Duration::milliseconds(40'680'000)), "11.30 h");
  EXPECT_EQ(time_text(Duration::nanoseconds(4'000)), "4.000 us");
  EXPECT_EQ(time_text(Duration()), "0.000 ms");
  EXPECT_EQ(count_text(5'312'000), "5.31 M");
  EXPECT_EQ(count_text(12), "12");
  EXPECT_EQ(count_text(0.15075), "0.151");
  EXPECT_EQ(count_text(0.0098), "0.00980");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(binary_bytes(25 << 20), "25.0 MiB");
  EXPECT_EQ(binary_bytes(512), "512 B");
  EXPECT_EQ(decimal_bytes(24.1e9), "24.1 GB");
  EXPECT_EQ(percent_text(1, 0), "0.0");
  EXPECT_EQ(whole_percent(0.001), "<1");
  EXPECT_EQ(whole_percent(0.999), ">99");
  EXPECT_EQ(whole_percent(0.006), "1");
  EXPECT_EQ(whole_percent(1), "100");
  EXPECT_EQ(whole_percent(0), "0");
  EXPECT_EQ(fixed(std::nan(""), 2), "0.00");
}

TEST(Format, WrapsAtBlanks) {
  EXPECT_EQ(wrapped("- one two three", 9), (std::vector<std::string>{"- one two", "  three"}));
  EXPECT_EQ(wrapped("unbreakable", 4), std::vector<std::string>{"unbreakable"});
  EXPECT_TRUE(wrapped("", 4).empty());
}

TEST(Format, ColumnsCountCharacters) {
  EXPECT_EQ(columns_of("\xc3\xa9t\xc3\xa9"), 3u);
  EXPECT_EQ(shortened("\xc3\xa9t\xc3\xa9 long", 5), "\xc3\xa9t\xc3\xa9..");
  EXPECT_EQ(shortened_inside("embedding.exchange.dgrad", 21), "embedding.exch..dgrad");
  EXPECT_EQ(shortened_inside("embedding.exchange.dgrad", 17), "embedding..dgrad");
  EXPECT_NE(shortened_inside("block*.attention.all_reduce", 24), shortened_inside("block*.mlp.down.all_reduce", 24));
  EXPECT_EQ(shortened_inside("optimizer.unscale .. optimizer.overflow_check", 36), "optimizer.unscale..overflow_check");
  EXPECT_EQ(shortened_inside("averyveryverylongword", 12), "averyv..word");
  EXPECT_EQ(shortened_inside("name.averyveryverylongword", 12), "name..word");
  EXPECT_EQ(shortened_inside("fits", 4), "fits");
  EXPECT_EQ(padded("ab", 4), "ab  ");
  EXPECT_EQ(padded_left("ab", 4), "  ab");
  EXPECT_EQ(one_line("a\nb\xff"
                     "c\xc2\x85"),
            "a?b?c?");
}

/// `count` runs of a gemm, on ranks in turn, with a message of 1 ps after each; the first gemm takes `first`, the
/// others 3 ps.
std::vector<CriticalStep> turns(std::uint32_t count, std::int64_t first) {
  std::vector<CriticalStep> path;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Duration start = path.empty() ? Duration() : path.back().start + path.back().time;
    const Duration gemm = Duration::picoseconds(i == 0 ? first : 3);
    path.push_back({"product", graph::Stream::compute, i % 8, start, gemm, "gemm", graph::Phase::forward});
    path.push_back({"pipeline.forward", graph::Stream::p2p, i % 8, start + gemm, Duration::picoseconds(1), "send_recv",
                    graph::Phase::forward});
  }
  return path;
}

TEST(PathTable, VeryManyTurnsAreSummedByCause) {
  const PathTable t = path_table(turns(100, 3), 9);
  ASSERT_TRUE(t.by_cause);
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_EQ(t.left_out, 0u);
  EXPECT_EQ(t.rows[0].name, "gemm");
  EXPECT_EQ(t.rows[0].time.ps(), 300);
  EXPECT_EQ(t.rows[0].steps, 100u);
  EXPECT_EQ(t.rows[1].name, "send_recv");
  EXPECT_EQ(t.rows[1].stream, graph::Stream::p2p);
  EXPECT_EQ(t.rows[1].time.ps(), 100);
  EXPECT_EQ(t.shown.ps(), 400);
  EXPECT_EQ(path_table(turns(100, 3), 1).left_out_text(), "1 smaller cause");
}

TEST(PathTable, FewTurnsAndLongOnesAreListed) {
  for (const auto& [count, first] : {std::pair{50u, 3}, {100u, 400}}) {
    const PathTable t = path_table(turns(count, first), 9);
    EXPECT_FALSE(t.by_cause) << count;
    ASSERT_EQ(t.rows.size(), 9u);
    EXPECT_EQ(t.rows[0].name, "product");
    EXPECT_EQ(t.left_out, 2 * count - 9);
    EXPECT_EQ(t.left_out_text(), std::to_string(2 * count - 9) + " shorter segments in between");
  }
}

TEST(PathTable, TextNamesTheCauses) {
  JobBuilder b(2);
  TaskId last;
  for (int i = 0; i < 80; ++i) {
    last = b.compute("product", kMs, last.valid() ? std::vector<TaskId>{last} : std::vector<TaskId>{});
    last = b.collective("sum", kMs, 4096, {last});
  }
  const Job job = b.play(2);
  const Report report = job.report(context());
  const std::string text = to_text(report);
  EXPECT_NE(text.find("critical cycle, by cause"), std::string::npos) << text;
  EXPECT_NE(text.find("gradient sync: all_reduce"), std::string::npos) << text;
}

}  // namespace
}  // namespace distsim::report
