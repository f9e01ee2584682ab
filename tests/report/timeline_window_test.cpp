// The timeline cut to a window: no time lost, runs named after what most of them is, and the JSON of pages.
#include "sim/report/timeline/timeline_window.hpp"

#include <gtest/gtest.h>
#include <set>

#include <map>

#include "base/json/json.hpp"
#include "job.hpp"

namespace distsim::report {
namespace {

using Json = nlohmann::json;

/// Ten forward steps for each backward one that is five times longer than a forward step, 3,000 in all.
Job job_of_short_steps() {
  JobBuilder b(1);
  for (int i = 0; i < 3000; ++i) {
    const bool back = i % 11 == 10;
    b.compute("step " + std::to_string(i % 7), back ? 50 : 10, {}, graph::Gemm{1, 10, 10, 10},
              back ? graph::Phase::backward : graph::Phase::forward);
  }
  return b.play(1);
}

const TimelineTrack& compute_of(const TimelineIndex& index) {
  for (const TimelineTrack& track : index.tracks())
    if (track.thread == "compute") return track;
  ADD_FAILURE() << "no compute stream";
  return index.tracks().front();
}

TEST(TimelineWindow, RunsAreOfTheCategoryOfMostOfTheirTime) {
  const Job job = job_of_short_steps();
  const TimelineIndex index(job.played(), job.report());
  const TimelineTrack& track = compute_of(index);
  ASSERT_EQ(track.slices.size(), 3000u);
  std::map<std::int64_t, int> runs;
  const auto whole = index.window(track, 0, index.period(), 64);
  std::int64_t time = 0;
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    ASSERT_LT(whole[i + 2], 0) << "a run of one step";
    ++runs[whole[i + 2]];
    time += whole[i + 1];
  }
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(index.categories().at(static_cast<std::size_t>(-1 - runs.begin()->first)), "forward");
  std::int64_t all = 0;
  for (const auto& slice : track.slices) all += slice.length;
  EXPECT_GE(time, all);
  EXPECT_LE(time, index.period());
}

TEST(TimelineWindow, CountsWhatThereIsAndSaysOfEachNameWhatItCosts) {
  const Job job = job_of_short_steps();
  const TimelineIndex index(job.played(), job.report());
  const Json json = Json::parse(timeline_json(index, {.columns = 64, .names = true}));
  std::size_t slices = 0, described = 0;
  for (const TimelineTrack& track : index.tracks()) slices += track.slices.size();
  EXPECT_EQ(json["total"], slices);
  EXPECT_GE(slices, 3000u);
  for (const Json& name : json["names"]) {
    if (name["category"] == "host") continue;
    ++described;
    const Json& args = json["arg_sets"].at(name["args"].get<std::size_t>());
    EXPECT_TRUE(args.contains("op")) << name;
    EXPECT_TRUE(args.contains("source")) << name;
  }
  const std::set<Json> sets(json["arg_sets"].begin(), json["arg_sets"].end());
  EXPECT_EQ(sets.size(), json["arg_sets"].size()) << "arguments that are written twice";
  EXPECT_EQ(described, 14u);  // seven names in each of two phases
}

/// Each slice begins so long after the end of the one before; the first after the beginning of the period.
TEST(TimelineWindow, JsonHoldsTheWindow) {
  const Job job = job_of_short_steps();
  const TimelineIndex index(job.played(), job.report());
  const TimelineWindow window{.from = index.period() / 4, .to = index.period() / 2, .columns = 300};
  const Json json = Json::parse(timeline_json(index, window));
  for (std::size_t t = 0; t < index.tracks().size(); ++t) {
    const auto expected = index.window(index.tracks()[t], window.from, window.to, window.columns);
    const auto found = json["tracks"][t]["slices"].get<std::vector<std::int64_t>>();
    ASSERT_EQ(found.size(), expected.size());
    std::int64_t end = 0;
    for (std::size_t i = 0; i < found.size(); i += 3) {
      EXPECT_GE(found[i], 0);
      EXPECT_EQ(end + found[i], expected[i]);
      EXPECT_EQ(found[i + 1], expected[i + 1]);
      EXPECT_EQ(found[i + 2], expected[i + 2]);
      end = expected[i] + expected[i + 1];
    }
  }
}

}  // namespace
}  // namespace distsim::report
