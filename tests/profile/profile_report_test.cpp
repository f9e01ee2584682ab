// The profile's outputs, read back.
#include <gtest/gtest.h>

#include <sstream>

#include "base/json/json.hpp"
#include "base/text/csv.hpp"
#include "kineto_text.hpp"
#include "sim/profile/profile.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::profile {
namespace {

class ProfileReportTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> events = test::two_steps();
    events.push_back(test::event("kernel", "<script>\\u001b[31m,\\\"x\\\"\\n", "0", "7", 1090, 1, "\"stream\":7"));
    auto job = traces::read_traces({test::write(test::scratch_dir("profile_report"), "t.json", test::trace(events))});
    ASSERT_TRUE(job.ok()) << job.error().text();
    job_ = std::move(job).value();
    profile_ = *make_profile(job_);
  }
  traces::TraceJob job_;
  Profile profile_;
};

/// A trace may call anything anything.
TEST_F(ProfileReportTest, NoLineIsWiderForALongName) {
  const std::string name(100'000, 'x');
  const std::string trace =
      test::trace(test::two_steps(), "\"deviceProperties\":[{\"id\":0,\"name\":\"" + name + "\"}],");
  const auto job = traces::read_traces({test::write(test::scratch_dir("profile_report"), "wide.json", trace)});
  ASSERT_TRUE(job.ok()) << job.error().text();
  const std::string text = report::profile_text(*job, *make_profile(*job), {.width = 100, .top = 10, .rank = 0});
  EXPECT_NE(text.find("devices  1 x xxx"), std::string::npos) << text.substr(0, 1000);
  const std::size_t line = text.find("devices  ");
  EXPECT_LE(text.find('\n', line) - line, 100u);
}

TEST_F(ProfileReportTest, EveryTableIsCsv) {
  for (const std::string& name : report::profile_table_names()) {
    std::istringstream in(report::profile_csv(job_, profile_, *report::parse_profile_table(name)));
    auto csv = CsvReader::open(in, name);
    ASSERT_TRUE(csv.ok()) << csv.error().text();
    std::size_t rows = 0;
    for (auto row = csv->next(); row.ok() && row->has_value(); row = csv->next()) ++rows;
    // One rank has nobody to be compared with, and no stacks of the host were given.
    EXPECT_EQ(rows == 0, name == "ranks" || name == "host") << name;
  }
  EXPECT_FALSE(report::parse_profile_table("step").ok());
}

// The step of two_steps(): busy 45 us, compute 40, comm 10, exposed 5, of 100; the extra kernel at 90 makes busy 46,
// compute 41.
TEST_F(ProfileReportTest, StepsHaveTheirFigures) {
  std::istringstream in(report::profile_csv(job_, profile_, report::ProfileTable::steps));
  auto csv = CsvReader::open(in, "steps");
  const auto first = csv->next();
  const auto value = [&](const char* column) { return (**first)[*csv->column(column)]; };
  EXPECT_EQ(value("step"), "ProfilerStep#1");
  EXPECT_EQ(value("measured_ms"), "0.100000");
  EXPECT_EQ(value("busy_ms"), "0.046000");
  EXPECT_EQ(value("compute_ms"), "0.041000");
  EXPECT_EQ(value("exposed_comm_ms"), "0.005000");
  EXPECT_EQ(value("idle_ms"), "0.054000");
}

/// Where no record says when GPU work was launched, nothing is known of what waits for it.
TEST_F(ProfileReportTest, UnknownLaunchesAreEmpty) {
  const std::string bare = test::trace({test::event("kernel", "a", "0", "7", 10, 5, "\"stream\":7"),
                                        test::event("kernel", "b", "0", "7", 40, 5, "\"stream\":7")});
  const auto job = traces::read_traces({test::write(test::scratch_dir("profile_report"), "bare.json", bare)});
  ASSERT_TRUE(job.ok()) << job.error().text();
  const Profile unknown = *make_profile(*job);
  for (const bool known : {true, false}) {
    const traces::TraceJob& of = known ? job_ : *job;
    const Profile& p = known ? profile_ : unknown;
    std::istringstream in(report::profile_csv(of, p, report::ProfileTable::steps));
    auto csv = CsvReader::open(in, "steps");
    const auto first = csv->next();
    for (const char* column : {"host_gap_ms", "launches"})
      EXPECT_EQ((**first)[*csv->column(column)].empty(), !known) << column;
    const auto whole = nlohmann::json::parse(report::profile_json(of, p)).at("ranks").at(0).at("whole_trace");
    EXPECT_EQ(whole.at("host_gap_ms").is_null(), !known);
    EXPECT_EQ(whole.at("launches").is_null(), !known);
  }
}

TEST_F(ProfileReportTest, JsonParsesAndAgrees) {
  const auto json = nlohmann::json::parse(report::profile_json(job_, profile_));
  EXPECT_EQ(json.at("schema"), "distsim-profile");
  const auto& rank = json.at("ranks").at(0);
  EXPECT_EQ(rank.at("steps").size(), 2u);
  EXPECT_NEAR(rank.at("steps").at(0).at("busy_ms").get<double>(), 0.046, 1e-9);
  EXPECT_EQ(rank.at("host_overheads").at("T2").at("count"), 2);
  EXPECT_EQ(json.at("collectives").at(0).at("bytes"), 1024);
}

TEST_F(ProfileReportTest, HostileNamesStayOnTheirLine) {
  const std::string text = report::profile_text(job_, profile_, {1, 10, 0});
  EXPECT_NE(text.find("<script>?[31m"), std::string::npos);
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
}

}  // namespace
}  // namespace distsim::profile
