// What is written from a report: text, JSON, CSV, HTML.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/text/csv.hpp"
#include "job.hpp"
#include "sim/report/html/html.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"
#include "sim/report/text/path_table.hpp"

namespace distsim::report {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMs = 1'000'000'000;

ReportContext context() {
  ReportContext c;
  c.title = "A test";
  c.system = "dgx_test";
  c.device = "A100";
  c.model = "mlp";
  c.framework = "eager";
  c.nodes = 2;
  c.gpus_per_node = 2;
  c.samples = 65536;
  c.model_flops = 1e12;
  c.peak_flops = 3.12e14;
  c.memory_per_rank = {10'000'000'000, 24'100'000'000, 1, 1};
  c.memory_capacity = 40'000'000'000;
  c.assumptions = {{graph::AssumptionKind::workload, "weights are fp32"},
                   {graph::AssumptionKind::batch, "the input pipeline keeps up"}};
  return c;
}

/// forward 4-7 ms by rank, 12 buckets of 1 ms under a backward of 6 ms, update 1 ms.
Job small_job(const std::string& name = "forward") {
  JobBuilder b(4);
  b.launch(kMs / 100).cost(0.1, 0.2, graph::Basis::interpolated, "a curve");
  const TaskId forward = b.compute_per_rank(name, {4 * kMs, 5 * kMs, 6 * kMs, 7 * kMs});
  TaskId last = forward;
  for (int i = 0; i < 12; ++i) {
    const TaskId piece =
        b.compute("layer " + std::to_string(11 - i), kMs / 2, {}, graph::Gemm{1, 64, 64, 64}, graph::Phase::backward);
    last = b.collective("grad bucket " + std::to_string(i), kMs, 25 << 20, {piece});
  }
  b.compute("update", kMs, {last}, graph::Optimizer{}, graph::Phase::optimizer);
  return b.play(3, kMs / 10);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

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
  EXPECT_NE(to_html(r, job.played()).find("waiting for other ranks <b>1.500 ms</b> <em>16.7 %</em>"),
            std::string::npos);
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

/// Every number of a JSON tree.
void each_number(const Json& j, const std::function<void(double)>& visit) {
  if (j.is_number()) visit(j.get<double>());
  if (j.is_structured()) {
    for (const Json& child : j) each_number(child, visit);
  }
}

TEST(JsonReport, HoldsTheReport) {
  const Report r = small_job().report(context());
  const Json j = Json::parse(to_json(r));
  EXPECT_EQ(j["schema"], "distsim-report");
  EXPECT_EQ(j["schema_version"], 3);
  EXPECT_DOUBLE_EQ(j["iteration_ms"], 20.5);
  const Json& b = j["breakdown"];
  const auto sum = [&](std::initializer_list<const char*> keys) {
    double ms = 0;
    for (const char* key : keys) ms += b[key].get<double>();
    return ms;
  };
  EXPECT_NEAR(sum({"compute_ms", "exposed_comm_ms", "waiting_ms", "host_bound_ms", "idle_ms"}), 20.5, 1e-9);
  EXPECT_NEAR(b["exposed_comm_ms"].get<double>(), 6.5, 1e-9);
  EXPECT_NEAR(b["hidden_comm_ms"].get<double>(), 4, 1e-9);
  EXPECT_EQ(j["limited_by"], "network");
  EXPECT_EQ(j["runner_up"], "compute");
  EXPECT_DOUBLE_EQ(j["slack_ms"], 6.5);
  EXPECT_EQ(j["cycle_closed"], true);
  double resources = 0;
  for (const Json& r : j["cycle"]) resources += r["time_ms"].get<double>();
  EXPECT_NEAR(resources, 20.5, 1e-9);
  EXPECT_NEAR(b["comm_ms"].get<double>(), 12, 1e-9);
  EXPECT_EQ(j["ranks"]["times"].size(), 4u);
  EXPECT_EQ(j["ranks"]["slowest"], 3);
  EXPECT_EQ(j["collectives"][0]["name"], "grad bucket");
  EXPECT_EQ(j["collectives"][0]["calls"], 12);
  EXPECT_EQ(j["collectives"][0]["bytes"], 12LL * (25 << 20));
  EXPECT_EQ(j["collectives"][0]["basis"], "interpolated");
  EXPECT_EQ(j["memory"]["used_bytes_per_rank"].size(), 4u);
  EXPECT_EQ(j["assumptions"], (Json{"weights are fp32", "the input pipeline keeps up"}));
  EXPECT_EQ(j["assumption_kinds"], (Json{"workload", "batch"}));
  EXPECT_EQ(j["critical_path"][0]["stream"], "compute");
  EXPECT_EQ(j["critical_path"][0]["phase"], "forward");
  double path = 0, shares = 0;
  for (const Json& s : j["critical_path"]) path += s["time_ms"].get<double>();
  for (const Json& s : j["basis_share"]) shares += s.get<double>();
  EXPECT_NEAR(path, 20.5, 1e-9);
  EXPECT_NEAR(shares, 1, 1e-12);
}

TEST(JsonReport, NumbersAreFiniteWhateverTheReportHolds) {
  Report r = small_job("\"\xff<script>\n").report(context());
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  r.samples_per_second = r.mfu = nan;
  r.achieved_flops_per_gpu = inf;
  r.context.samples = r.context.peak_flops = -inf;
  r.ops.front().tflops = nan;
  r.collectives.front().busbw = inf;
  const Json j = Json::parse(to_json(r));
  std::size_t numbers = 0;
  each_number(j, [&](double v) {
    EXPECT_TRUE(std::isfinite(v));
    ++numbers;
  });
  EXPECT_GT(numbers, 50u);
  EXPECT_EQ(j["mfu"], 0);  // null would not be a number
}

/// Every key of the documented tables is there, and every top-level key is documented.
TEST(JsonReport, SchemaPageNamesEveryKey) {
  std::ifstream in(std::string(DISTSIM_ROOT) + "/docs/report_schema.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  ASSERT_FALSE(text.empty());
  const Json j = Json::parse(to_json(small_job().report(context())));
  const auto documented = [&](const Json& object) {
    for (const auto& [key, value] : object.items()) EXPECT_NE(text.find("`" + key + "`"), std::string::npos) << key;
  };
  documented(j);
  for (const char* key : {"context", "breakdown", "ranks", "memory"}) documented(j[key]);
  for (const char* key : {"ops", "collectives", "critical_path", "cycle"}) documented(j[key][0]);
}

TEST(CsvReport, ARowFitsItsHeader) {
  const auto columns = csv_columns();
  ReportContext c = context();
  c.title = "a, \"quoted\"\ntitle";
  const auto values = csv_values(small_job().report(c));
  ASSERT_EQ(columns.size(), values.size());
  std::istringstream in(csv_line(columns) + csv_line(values));
  auto reader = CsvReader::open(in, "report");
  ASSERT_TRUE(reader.ok());
  auto row = reader->next();
  ASSERT_TRUE(row.ok() && row->has_value());
  const auto value = [&](std::string_view name) { return (**row)[*reader->column(name)]; };
  EXPECT_EQ(value("title"), c.title);
  EXPECT_EQ(value("iteration_ms"), "20.500000");
  EXPECT_EQ(value("gpus"), "4");
  EXPECT_EQ(value("memory_max_gb"), "24.100");
  EXPECT_EQ(value("slowest_rank"), "3");
  EXPECT_EQ(value("limited_by"), "network");
  EXPECT_EQ(value("runner_up"), "compute");
  EXPECT_EQ(value("slack_ms"), "6.500000");
}

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

TEST(Format, NumbersReadWell) {
  EXPECT_EQ(time_text(Duration::microseconds(1234)), "1.234 ms");
  EXPECT_EQ(time_text(Duration::microseconds(12345)), "12.35 ms");
  EXPECT_EQ(time_text(Duration::milliseconds(1234)), "1234 ms");
  EXPECT_EQ(time_text(Duration::milliseconds(4'080'064)), "4080 s");
  EXPECT_EQ(time_text(Duration::milliseconds(40'680'000)), "11.30 h");
  EXPECT_EQ(time_text(Duration::nanoseconds(4'000)), "4.000 us");
  EXPECT_EQ(time_text(Duration()), "0.000 ms");
  EXPECT_EQ(count_text(5'312'000), "5.31 M");
  EXPECT_EQ(count_text(12), "12");
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

TEST(PathTable, TextAndPageNameTheCauses) {
  JobBuilder b(2);
  TaskId last;
  for (int i = 0; i < 80; ++i) {
    last = b.compute("product", kMs, last.valid() ? std::vector<TaskId>{last} : std::vector<TaskId>{});
    last = b.collective("sum", kMs, 4096, {last});
  }
  const Job job = b.play(2);
  const Report report = job.report(context());
  const std::string text = to_text(report), page = to_html(report, job.played(), {});
  EXPECT_NE(text.find("critical cycle, by cause"), std::string::npos) << text;
  EXPECT_NE(text.find("gradient sync: all_reduce"), std::string::npos) << text;
  EXPECT_NE(page.find(">cause<"), std::string::npos);
}

}  // namespace
}  // namespace distsim::report
