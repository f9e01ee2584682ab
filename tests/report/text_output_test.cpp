// The report as text.
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
#include "sim/report/text/split_model.hpp"

namespace distsim::report {
namespace {

using Json = nlohmann::json;

/// Forward of rank 3 ends at 7, pieces at 7.5, 8, ...; buckets from 7.5 on, 12 ms, to 19.5; update to 20.5: a period
/// of 20.5 ms. Without communication the slowest rank's 14 ms of compute are left, of which the mean rank computes 12.5.
TEST(Text, SaysTheMainFiguresFirst) {
  const std::string text = to_text(small_job().report(context()));
  EXPECT_NE(text.find("20.50 ms per iteration ("), std::string::npos) << text;
  EXPECT_NE(text.find(", limited by: network; next: compute, 6.50 ms behind\n"), std::string::npos) << text;
  EXPECT_NE(text.find("3.20 M samples/s on 2 x 2 A100"), std::string::npos) << text;
  EXPECT_NE(
      text.find("communication 12.00 ms in total, 4.00 behind compute; without it the iteration would take 14.00"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("iteration 20.50 ms = compute 12.50 + exposed comm 6.50 + waiting 1.50 + host 0.00 + idle 0.00"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("12 x 25.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("24.1 GB of 40.0 GB (60.2 %) on the fullest GPU, rank 1"), std::string::npos) << text;
  EXPECT_NE(text.find("slowest rank 3"), std::string::npos) << text;
  EXPECT_NE(text.find("the input pipeline keeps up"), std::string::npos) << text;
}

TEST(Text, FitsTheTerminal) {
  const Report report = small_job().report(context());
  for (const int width : {60, 80, 100, 160}) {
    const auto lines = lines_of(to_text(report, width));
    EXPECT_LE(lines.size(), 45u);
    for (const std::string& line : lines) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
      EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7F; })) << line;
    }
  }
}

TEST(Text, BarIsAsLongAsTheLine) {
  const Report report = small_job().report(context());
  const auto lines = lines_of(to_text(report, 100));
  const auto bar = std::ranges::find_if(lines, [](const std::string& l) { return l.starts_with("["); });
  ASSERT_NE(bar, lines.end());
  EXPECT_EQ(bar->size(), 100u);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(*bar, '#')), 98 * 12.5 / 20.5, 1);
}

std::string text_of_lines(std::size_t more) {
  ReportContext c = context();
  c.placement = "tables";
  for (std::size_t i = 0; i < more; ++i) c.placement += "\nrank " + std::to_string(i);
  c.assumptions.clear();
  for (std::size_t i = 0; i < 4 + more; ++i) c.assumptions.push_back({graph::AssumptionKind::workload, "fact"});
  return to_text(small_job().report(c));
}

TEST(Text, CountsAgreeWithTheirNouns) {
  const std::string one = text_of_lines(1), two = text_of_lines(2);
  EXPECT_NE(one.find("layout   tables (+1 line, see --json)"), std::string::npos) << one;
  EXPECT_NE(two.find("layout   tables (+2 lines, see --json)"), std::string::npos) << two;
  EXPECT_NE(one.find("(1 more line, see --json)"), std::string::npos) << one;
  EXPECT_NE(two.find("(2 more lines, see --json)"), std::string::npos) << two;
}

TEST(Text, RanksWithIdenticalTimesAreCounted) {
  const auto text_of = [](std::uint32_t ranks) {
    JobBuilder b(ranks);
    b.compute("a", kMs);
    return to_text(b.play(2).report());
  };
  EXPECT_NE(text_of(8).find("ranks    all 8 ranks have identical times\n"), std::string::npos) << text_of(8);
  EXPECT_EQ(text_of(1).find("ranks    "), std::string::npos) << text_of(1);
}

TEST(Text, ColourOnlyWhenAsked) {
  const Report report = small_job().report(context());
  EXPECT_EQ(to_text(report).find('\033'), std::string::npos);
  EXPECT_NE(to_text(report, 100, true).find("\033[32m"), std::string::npos);
}

/// A long report (many kinds, collectives, path runs, assumptions) stays within the screen.
TEST(Text, LongReportsAreCut) {
  Report r = small_job().report(context());
  for (int i = 0; i < 40; ++i) {
    r.ops.push_back({"kind" + std::to_string(i), Duration::microseconds(1), 1, 0});
    CollectiveTime c = r.collectives.front();
    c.name = "collective with quite a long name number " + std::to_string(i);
    r.collectives.push_back(c);
    r.context.assumptions.push_back(
        {graph::AssumptionKind::workload, "assumption " + std::to_string(i) + std::string(300, 'x')});
  }
  const auto lines = lines_of(to_text(r));
  EXPECT_LE(lines.size(), 48u);
  for (const std::string& line : lines) EXPECT_LE(columns_of(line), 100u);
}

/// Forward takes 4 and 7 ms, then an all-reduce of 2: an iteration of 9, of which one of two ranks waits 3. All outputs
/// say so.
TEST(Outputs, WaitingIsAClassOfItsOwn) {
  JobBuilder b(2);
  b.collective("reduce", 2 * kMs, 1000, {b.compute_per_rank("forward", {4 * kMs, 7 * kMs})});
  const Job job = b.play(1);
  const Report r = job.report();
  const std::string text = to_text(r);
  EXPECT_NE(
      text.find("iteration 9.000 ms = compute 5.500 + exposed comm 2.000 + waiting 1.500 + host 0.000 + idle 0.000"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("------"), std::string::npos) << text;
  const Json j = Json::parse(to_json(r));
  EXPECT_NEAR(j["breakdown"]["waiting_ms"].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(j["collectives"][0]["waiting_ms"].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(j["ranks"]["times"][0]["waiting_ms"].get<double>(), 3, 1e-9);
  const auto columns = csv_columns();
  const auto at = std::ranges::find(columns, "waiting_ms") - columns.begin();
  EXPECT_EQ(csv_values(r).at(static_cast<std::size_t>(at)), "1.500000");
  EXPECT_NE(to_html(r, job.played()).find("\"waiting_ms\":1.5,"), std::string::npos);
}

CollectiveTime collective_row(const std::string& name) {
  CollectiveTime c;
  c.name = name;
  c.kind = "all_to_all_v";
  c.group_size = 16;
  c.bytes = 9'482'240;  // 9.04 MiB
  c.calls = 2;
  c.basis = graph::Basis::interpolated;
  return c;
}

TEST(Text, NamesOfCollectivesStayApart) {
  Report r = small_job().report(context());
  r.collectives = {collective_row("embedding.exchange"), collective_row("embedding.exchange.dgrad"),
                   collective_row("embedding.exchange.dgrad.rows")};
  for (const int width : {80, 100, 160}) {
    std::set<std::string> names;
    const auto lines = lines_of(to_text(r, width));
    for (const std::string& line : lines) {
      if (line.starts_with("  embe")) names.insert(line.substr(0, line.find(' ', 2)));
    }
    EXPECT_EQ(names.size(), 3u) << to_text(r, width);
  }
}

TEST(Text, CallsOfSeveralSizesAreSummedUp) {
  Report r = small_job().report(context());
  r.collectives = {collective_row("buckets")};
  EXPECT_NE(to_text(r).find("2 x 4.52 MiB"), std::string::npos) << to_text(r);
  r.collectives[0].equal_calls = false;
  EXPECT_NE(to_text(r).find("9.04 MiB in 2"), std::string::npos) << to_text(r);
}

TEST(Text, SaysWhyTheHostIsLongerOnThePath) {
  Report r = small_job().report(context());
  EXPECT_EQ(to_text(r).find("of the bar"), std::string::npos) << to_text(r);
  CriticalStep launch = r.critical_path.front();
  launch.phase.reset();
  launch.time = Duration::milliseconds(10);
  r.critical_path.push_back(launch);
  EXPECT_NE(to_text(r).find("of the critical cycle but 0.0 % of the bar: launches also run during compute)"),
            std::string::npos)
      << to_text(r);
}

TEST(Text, NamesCannotSteerTheTerminal) {
  ReportContext c = context();
  c.title = "evil \033[2J\r\n\x07";
  const std::string text = to_text(small_job("op \033]0;owned\x07 \xff").report(c));
  for (const char ch : text) EXPECT_TRUE(ch == '\n' || (ch >= 0x20 && ch != 0x7F)) << static_cast<int>(ch);
}

/// No more can be exposed than is sent; what is saved beyond that is waiting.
TEST(Text, ExposesNoMoreThanIsSent) {
  Report r;
  r.rank_count = 8;
  r.samples_per_second = 1;
  r.context.tokens_per_sample = 1024;
  const auto add = [&](const char* name, int total, int exposed) {
    CollectiveTime c;
    c.name = name;
    c.total = Duration::milliseconds(total);
    c.exposed = Duration::milliseconds(exposed);
    r.collectives.push_back(std::move(c));
  };
  r.exposed_comm = Duration::milliseconds(280);
  add("tensor.all_reduce", 200, 250);
  add("gradients", 100, 30);
  const std::vector<std::string> lines = split_model_lines(r);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(
      lines[1],
      "exposed communication: tensor 200.0 ms of 200.0 ms and 50.00 ms of delays that they cause, data 30.00 ms of 100.00 ms");
}

/// Two collectives that each expose the same stretch of time expose it once.
TEST(Text, ADimensionExposesNoMoreThanAllCommunication) {
  Report r;
  r.rank_count = 8;
  r.samples_per_second = 1;
  r.context.tokens_per_sample = 1024;
  r.exposed_comm = Duration::milliseconds(50);
  for (const char* name : {"gradients", "weights"}) {
    CollectiveTime c;
    c.name = name;
    c.total = c.exposed = Duration::milliseconds(40);
    r.collectives.push_back(std::move(c));
  }
  EXPECT_EQ(split_model_lines(r).at(1), "exposed communication: data 50.00 ms of 80.00 ms");
}

}  // namespace
}  // namespace distsim::report
