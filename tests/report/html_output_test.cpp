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
#include "sim/report/html/page.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"
#include "sim/report/text/path_table.hpp"

namespace distsim::report {
namespace {

using Json = nlohmann::json;

/// What the page is without its script and style sheet, which are the same in all.
std::string own_part(std::string page) {
  for (const std::string_view shared : {page_script(), page_style()}) {
    const std::size_t at = page.find(shared);
    EXPECT_NE(at, std::string::npos);
    if (at != std::string::npos) page.erase(at, shared.size());
  }
  return page;
}

/// What its components show.
Json data_of(const std::string& page) {
  const std::string begin = "id=\"page-data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::set<std::uint32_t> ranks_in(const Json& data) {
  std::set<std::uint32_t> out;
  for (const Json& track : data["timeline"]["tracks"]) out.insert(track["rank"].get<std::uint32_t>());
  return out;
}

TEST(HtmlReport, LoadsNothingFromElsewhere) {
  const Job job = small_job();
  const std::string page = to_html(job.report(context()), job.played()), own = own_part(page);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  for (const char* outside : {"http:", "https:", "src=", "href=", "<link", "@import", "url("})
    EXPECT_EQ(own.find(outside), std::string::npos) << outside;
  EXPECT_NE(own.find("default-src 'none'"), std::string::npos);
  for (const char* outside : {"@import", "url("}) EXPECT_EQ(page_style().find(outside), std::string::npos) << outside;
  EXPECT_NE(page_style().find("prefers-color-scheme"), std::string::npos);
}

TEST(HtmlReport, HoldsTheReportAndItsText) {
  const Job job = small_job();
  const Report report = job.report(context());
  const std::string page = to_html(report, job.played());
  const Json data = data_of(page);
  EXPECT_EQ(data["kind"], "report");
  EXPECT_EQ(data["report"], Json::parse(to_json(report)));
  EXPECT_FALSE(data["report"].contains("path_steps"));
  EXPECT_TRUE(data["schedule"].is_null());
  EXPECT_TRUE(data["links"].is_null());
  const std::size_t from = page.find("<noscript>");
  ASSERT_NE(from, std::string::npos);
  EXPECT_NE(page.find("20.50 ms per iteration", from), std::string::npos);
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
  const std::string page = to_html(job.report(c), job.played()), own = own_part(page);
  EXPECT_EQ(own.find("<img"), std::string::npos);
  EXPECT_EQ(own.find('\xff'), std::string::npos);
  EXPECT_TRUE(data_of(page)["report"]["context"]["model"].get<std::string>().starts_with("</title><img"));
  expect_balanced(own);
}

TEST(HtmlReport, TagsAreBalancedInEveryShape) {
  const Job job = small_job();
  expect_balanced(own_part(to_html(job.report(context()), job.played())));
  JobBuilder alike(8);
  alike.compute("a", 10);
  const Job uniform = alike.play(2);
  expect_balanced(own_part(to_html(uniform.report(), uniform.played())));
  JobBuilder nothing(2);
  nothing.compute("a", 0);
  const Job empty = nothing.play(2);
  expect_balanced(own_part(to_html(empty.report(), empty.played())));
}

TEST(HtmlReport, PlacementKeepsItsLines) {
  ReportContext c = context();
  c.placement = "2 tables\n  t0 on <rank 0>\n  t1 on rank 1\n";
  const Job job = small_job();
  const std::string page = to_html(job.report(c), job.played());
  EXPECT_EQ(data_of(page)["report"]["context"]["placement"], c.placement);
  EXPECT_EQ(own_part(page).find("<rank 0>"), std::string::npos);
}

TEST(HtmlReport, DrawsAtMostTheRanksAskedFor) {
  const Job job = small_job();
  const Json data = data_of(to_html(job.report(context()), job.played(), {.max_ranks = 2}));
  EXPECT_EQ(ranks_in(data), (std::set<std::uint32_t>{0, 3}));
  EXPECT_NE(data["timeline"]["left_out"], "");
}

/// Rank 0 is the fastest, rank 1 the slowest, then come 5 equal ranks, 3 equal ranks, and two on their own.
TEST(HtmlReport, DrawsTheLargestClassesFirst) {
  JobBuilder b(12);
  b.compute_per_rank("work", {10, 90, 60, 60, 60, 60, 60, 50, 50, 50, 30, 20});
  const Job job = b.play(1);
  const auto drawn = [&](std::uint32_t most) {
    return ranks_in(data_of(to_html(job.report(), job.played(), {.max_ranks = most})));
  };
  EXPECT_EQ(drawn(3), (std::set<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(drawn(4), (std::set<std::uint32_t>{0, 1, 2, 7}));
  EXPECT_EQ(drawn(8), (std::set<std::uint32_t>{0, 1, 2, 7, 10, 11}));
  EXPECT_EQ(HtmlOptions().max_ranks, 8u);
}

/// Where all ranks are alike one is drawn, and stands for the others.
TEST(HtmlReport, OneOfEqualRanksStandsForAll) {
  JobBuilder b(8);
  b.compute("a", 10);
  const Job job = b.play(2);
  const Json data = data_of(to_html(job.report(), job.played()));
  EXPECT_EQ(ranks_in(data).size(), 1u);
  EXPECT_EQ(data["timeline"]["left_out"], "");
  EXPECT_EQ(data["timeline"]["tracks"][0]["alike"], 8);
}

/// With fewer slices than there are, short neighbours are one; no time is lost or made up.
TEST(HtmlReport, TimelineIsBounded) {
  JobBuilder b(1);
  for (int i = 0; i < 3000; ++i) b.compute("step " + std::to_string(i % 7), i % 50 == 0 ? 900 : 3);
  const Job job = b.play(1);
  const auto slices = [&](std::size_t most) {
    const Json data = data_of(to_html(job.report(), job.played(), {.max_slices = most}));
    std::size_t count = 0;
    std::int64_t time = 0;
    for (const Json& track : data["timeline"]["tracks"]) {
      count += track["slices"].size() / 3;
      for (std::size_t i = 1; i < track["slices"].size(); i += 3) time += track["slices"][i].get<std::int64_t>();
    }
    return std::pair(count, time);
  };
  const auto [all, whole] = slices(100'000);
  const auto [few, same] = slices(500);
  EXPECT_GE(all, 3000u);
  EXPECT_LE(few, 500u);
  EXPECT_EQ(whole, same);
}

/// Of many steps the page tells the causes, as the text does.
TEST(HtmlReport, NamesTheCausesOnTheCycle) {
  JobBuilder b(2);
  TaskId last;
  for (int i = 0; i < 80; ++i) {
    last = b.compute("product", kMs, last.valid() ? std::vector<TaskId>{last} : std::vector<TaskId>{});
    last = b.collective("sum", kMs, 4096, {last});
  }
  const Job job = b.play(2);
  const Report report = job.report(context());
  const Json causes = data_of(to_html(report, job.played()))["causes"];
  EXPECT_EQ(causes["by_cause"], true);
  double sum = 0;
  for (const Json& row : causes["rows"]) sum += row["time_ms"].get<double>();
  EXPECT_NEAR(sum, report.iteration.ms(), 1e-6);
}

}  // namespace
}  // namespace distsim::report
