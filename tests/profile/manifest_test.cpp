// The split of every real trace against figures computed apart from this program (manifest.json of the traces).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/json/json.hpp"
#include "sim/profile/profile.hpp"
#include "test_data.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::profile {
namespace {

using Json = nlohmann::json;

/// Largest difference of the five parts, as a share of the window.
double worst_of(const TimeSplit& s, const Json& j) {
  const double wall = std::max(1e-3, j.at("wall").get<double>());
  double worst = 0;
  for (const auto& [ns, key] : {std::pair(s.busy, "busy"), std::pair(s.compute, "compute"), std::pair(s.comm, "comm"),
                                std::pair(s.exposed, "comm_exposed"), std::pair(s.idle, "idle")}) {
    worst = std::max(worst, std::fabs(static_cast<double>(ns) * 1e-6 - j.at(key).get<double>()) / wall);
  }
  return worst;
}

const StepProfile* step_named(const RankProfile& rank, const std::string& name) {
  for (const StepProfile& s : rank.steps) {
    if (s.step.name == name) return &s;
  }
  return nullptr;
}

/// A step of which the manifest says that no kernel belongs to it, where others have some.
bool launches_nothing(const Json& stats, const Json& step) {
  const Json launched = stats.value("gpu_attrib", Json::array());
  return !launched.empty() &&
         std::none_of(launched.begin(), launched.end(), [&](const Json& s) { return s.at("step") == step.at("step"); });
}

/// The AMD toy trace marks a second step of 49 us in which nothing runs: one step, as in the manifest's table.
TEST(Manifest, ACutLastStepDoesNotCount) {
  const std::string folder = test::data("traces");
  const auto job = traces::read_traces({folder + "/hta/mi250_minitoy.json.gz"});
  ASSERT_TRUE(job.ok()) << job.error().text();
  ASSERT_EQ(job->ranks.at(0).steps.size(), 1u);
  EXPECT_EQ(job->ranks[0].steps[0].name, "ProfilerStep#1");
}

TEST(Manifest, SplitsAgreeWithinOnePercent) {
  const std::string folder = test::data("traces");
  std::ifstream in(folder + "/manifest.json");
  const Json manifest = Json::parse(in);
  std::printf("%-70s %5s %16s %16s\n", "trace", "steps", "worst split %", "worst GPU s2s us");
  int files = 0;
  for (const Json& entry : manifest) {
    if (entry.value("kind", "") != "kineto" || !entry.contains("stats")) continue;
    const std::string path = entry.at("path");
    const auto job = traces::read_traces({folder + "/" + path});
    ASSERT_TRUE(job.ok()) << job.error().text();
    const auto profile = make_profile(*job);
    ASSERT_TRUE(profile.ok()) << profile.error().text();
    const RankProfile& rank = profile->ranks.at(0);
    const Json& stats = entry.at("stats");
    double worst = 0, s2s = 0;
    for (const Json& step : stats.value("per_step_breakdown_ms", Json::array())) {
      const StepProfile* mine = step_named(rank, step.at("step"));
      if (mine == nullptr && launches_nothing(stats, step)) continue;  // cut by the end of the recording
      ASSERT_NE(mine, nullptr) << path << " " << step.at("step");
      worst = std::max(worst, worst_of(mine->split, step));
    }
    const Json window = stats.value("gpu_window_ms", Json());
    if (window.is_object()) worst = std::max(worst, worst_of(rank.whole.split, window));
    const Json starts = stats.value("gpu_start_to_start_ms", Json::array());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      ASSERT_LT(i, rank.steps.size());
      s2s = std::max(
          s2s, std::fabs(static_cast<double>(rank.steps[i].gpu_start_to_start) * 1e-3 - starts[i].get<double>() * 1e3));
    }
    std::printf("%-70s %5zu %16.4f %16.2f\n", path.c_str(), rank.steps.size(), 100 * worst, s2s);
    EXPECT_LT(worst, 0.01) << path;
    EXPECT_LT(s2s, 5) << path;
    ++files;
  }
  EXPECT_GE(files, test::is_sample("traces") ? 17 : 40);
}

TEST(Manifest, MegatronRanksTogether) {
  const std::string folder = test::data("traces/megatron_gpt_tp8_a100");
  std::ifstream in(test::data("traces/multirank_megatron.json"));
  const Json truth = Json::parse(in);
  const auto job = traces::read_traces({folder});
  ASSERT_TRUE(job.ok()) << job.error().text();
  const auto profile = make_profile(*job);
  ASSERT_EQ(profile->ranks.size(), 8u);
  EXPECT_EQ(job->matches.size(), truth.at("nccl_per_rank").get<std::size_t>());
  std::int64_t transfer = 0;
  for (const CollectiveSummary& c : profile->collectives) transfer += c.transfer;
  EXPECT_NEAR(static_cast<double>(transfer) * 1e-6, truth.at("sum_min_duration_over_ranks_ms").get<double>(), 0.5);
  EXPECT_NEAR(static_cast<double>(profile->collectives.at(0).skew_max) * 1e-3,
              truth.at("collective_start_skew_us").at("max").get<double>(), 1);
  // Ranks 0 and 6 spend half as long in collectives as the others: they come last, and the others wait.
  for (const RankStanding& s : profile->standing) EXPECT_EQ(s.straggler, s.rank == 0 || s.rank == 6) << s.rank;
}

TEST(Manifest, NsysWindows) {
  const std::string folder = test::data("traces");
  std::ifstream in(folder + "/manifest.json");
  for (const Json& entry : Json::parse(in)) {
    if (entry.value("kind", "") != "nsys sqlite") continue;
    const auto job = traces::read_traces({folder + "/" + entry.at("path").get<std::string>()});
    ASSERT_TRUE(job.ok()) << job.error().text();
    const auto profile = make_profile(*job);
    for (std::size_t gpu = 0; gpu < profile->ranks.size(); ++gpu) {
      const Json& truth = entry.at("stats").at("gpu" + std::to_string(gpu));
      const TimeSplit& s = profile->ranks[gpu].whole.split;
      EXPECT_NEAR(static_cast<double>(s.wall) * 1e-6, truth.at("window_ms").get<double>(), 0.002) << entry.at("path");
      EXPECT_NEAR(static_cast<double>(s.compute) * 1e-6, truth.at("compute_ms").get<double>(), 0.01 * s.wall * 1e-6);
      EXPECT_NEAR(static_cast<double>(s.busy) * 1e-6, truth.at("busy_ms").get<double>(), 0.01 * s.wall * 1e-6);
      EXPECT_NEAR(static_cast<double>(s.exposed) * 1e-6, truth.at("comm_exposed_ms").get<double>(),
                  0.01 * s.wall * 1e-6);
    }
  }
}

}  // namespace
}  // namespace distsim::profile
