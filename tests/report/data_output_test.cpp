// The report as JSON and CSV.
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
#include "test_paths.hpp"

namespace distsim::report {
namespace {

using Json = nlohmann::json;

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
  std::ifstream in(test::root() + "/docs/report_schema.md");
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

}  // namespace
}  // namespace distsim::report
