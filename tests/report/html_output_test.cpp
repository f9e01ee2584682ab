// The report as an HTML page.
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

TEST(HtmlReport, LoadsNothingFromElsewhere) {
  const Job job = small_job();
  const std::string page = to_html(job.report(context()), job.played());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  for (const char* outside : {"http:", "https:", "src=", "<script", "<link", "@import", "url("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  for (const char* part :
       {"20.50 ms", "grad bucket", "12 x 25.0 MiB", "rank 3", "slowest", "prefers-color-scheme:dark"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

/// Tags open and close in order.
void expect_balanced(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag.starts_with('/') ? 1 : 0, tag.find_first_of(" /", 1) - (tag.starts_with('/') ? 1 : 0));
    if (tag.starts_with('!') || name == "meta" || tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << tag;
    ASSERT_EQ(open.back(), tag.substr(1)) << "at " << at;
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(HtmlReport, HostileNamesStayText) {
  const std::string hostile = "</title><img src=x onerror=alert(1)> & \" ' \xff";
  ReportContext c = context();
  for (std::string* text : {&c.title, &c.system, &c.device, &c.model, &c.framework, &c.placement}) *text = hostile;
  c.assumptions = {{graph::AssumptionKind::workload, hostile}};
  JobBuilder b(2);
  b.cost(0, 0, graph::Basis::measured, hostile);
  const TaskId a = b.compute_per_rank(hostile, {kMs, 2 * kMs});
  b.collective(hostile, kMs, 100, {a});
  const Job job = b.play(2);
  const std::string page = to_html(job.report(c), job.played());
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  expect_balanced(page);
}

TEST(HtmlReport, TagsAreBalancedInEveryShape) {
  const Job job = small_job();
  expect_balanced(to_html(job.report(context()), job.played()));
  JobBuilder alike(8);
  alike.compute("a", 10);
  const Job uniform = alike.play(2);
  expect_balanced(to_html(uniform.report(), uniform.played()));
  JobBuilder nothing(2);
  nothing.compute("a", 0);
  const Job empty = nothing.play(2);
  expect_balanced(to_html(empty.report(), empty.played()));
}

TEST(HtmlReport, PlacementKeepsItsLines) {
  ReportContext c = context();
  c.placement = "2 tables\n  t0 on <rank 0>\n  t1 on rank 1\n";
  const Job job = small_job();
  const std::string page = to_html(job.report(c), job.played());
  EXPECT_NE(page.find("<summary>2 tables</summary><pre>2 tables\n  t0 on &lt;rank 0&gt;\n  t1 on rank 1\n</pre>"),
            std::string::npos);
  expect_balanced(page);
}

TEST(HtmlReport, DrawsAtMostTheRanksAskedFor) {
  const Job job = small_job();
  const std::string page = to_html(job.report(context()), job.played(), {.max_ranks = 2});
  EXPECT_NE(page.find(">rank 0</text>"), std::string::npos);
  EXPECT_NE(page.find(">rank 3</text>"), std::string::npos);
  EXPECT_EQ(page.find(">rank 1</text>"), std::string::npos);
  EXPECT_NE(page.find("4 classes with identical times; 2 are shown"), std::string::npos);
}

/// Rank 0 is the fastest, rank 1 the slowest, then come 5 equal ranks, 3 equal ranks, and two on their own.
TEST(HtmlReport, DrawsTheLargestClassesFirst) {
  JobBuilder b(12);
  b.compute_per_rank("work", {10, 90, 60, 60, 60, 60, 60, 50, 50, 50, 30, 20});
  const Job job = b.play(1);
  const auto drawn = [&](std::uint32_t most) {
    const std::string page = to_html(job.report(), job.played(), {.max_ranks = most});
    std::string ranks;
    for (int rank = 0; rank < 12; ++rank) {
      if (page.find("class=\"rank\">rank " + std::to_string(rank) + "</text>") != std::string::npos)
        ranks += " " + std::to_string(rank);
    }
    return ranks;
  };
  EXPECT_EQ(drawn(3), " 0 1 2");
  EXPECT_EQ(drawn(4), " 0 1 2 7");
  EXPECT_EQ(drawn(8), " 0 1 2 7 10 11");
  EXPECT_EQ(HtmlOptions().max_ranks, 8u);
}

/// Bars from a sliver to the whole width under one long name: a label is whole, or cut to something that still can be
/// read, or absent.
TEST(HtmlReport, LabelsAreReadableOrAbsent) {
  JobBuilder b(1);
  for (std::int64_t length = 1; length < 600; length += 60) {
    b.compute("interaction.dgrad.rows", length, {}, graph::Gemm{1, 4, 4, 4},
              length % 120 == 1 ? graph::Phase::forward : graph::Phase::backward);
  }
  const Job job = b.play(1);
  const std::string page = to_html(job.report(), job.played());
  std::size_t labels = 0;
  const std::string start = "class=\"on\">";
  for (std::size_t at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
    const std::size_t from = at + start.size();
    EXPECT_GE(page.find('<', from) - from, 12u) << page.substr(from, 30);
    ++labels;
  }
  EXPECT_GT(labels, 0u);
}

}  // namespace
}  // namespace distsim::report
