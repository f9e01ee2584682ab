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
    if (json["categories"].at(name.at(1).get<std::size_t>()) == "host") continue;
    ++described;
    const Json& args = json["arg_sets"].at(name.at(2).get<std::size_t>());
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

/// Ranks 0 and 1 take as long as each other, and so do 2 and 3: one of each comes first, the others say whose times they have.
TEST(TimelineWindow, OneRankOfEachClassComesFirst) {
  JobBuilder b(4);
  b.compute_per_rank("work", {1000, 1000, 2000, 2000});
  const Job job = b.play(1);
  const TimelineIndex index(job.played(), job.report());
  std::vector<std::uint32_t> order;
  for (const TimelineTrack& track : index.tracks()) {
    if (order.empty() || order.back() != track.rank) order.push_back(track.rank);
    EXPECT_EQ(track.alike, 2u) << track.rank;
    EXPECT_EQ(track.like, track.rank % 2 == 0 ? std::nullopt : std::optional(track.rank - 1)) << track.rank;
    if (track.thread != "compute") continue;
    ASSERT_EQ(track.slices.size(), 1u);
    EXPECT_EQ(track.slices[0].length, track.rank < 2 ? 1000 : 2000) << track.rank;
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 2, 1, 3}));
  const Json json = Json::parse(timeline_json(index, TimelineWindow{}));
  EXPECT_EQ(json["tracks"].back()["like"], 2);
  EXPECT_FALSE(json["tracks"].front().contains("like"));
}

/// A page with little room has fewer slices, only the names that these have, and still all of the time.
TEST(TimelineWindow, APageHasWhatItHasRoomFor) {
  JobBuilder b(1);
  for (int i = 0; i < 4000; ++i) b.compute("step " + std::to_string(i), i % 100 == 0 ? 4000 : 10);
  const Job job = b.play(1);
  const TimelineIndex index(job.played(), job.report());
  const std::string whole = timeline_json(index, {.slices = 100'000, .bytes = 10'000'000});
  EXPECT_GT(whole.size(), 60'000u);
  EXPECT_EQ(Json::parse(whole)["names"].size(), index.names().size());
  for (const std::size_t bytes : {40'000u, 20'000u}) {
    const std::string text = timeline_json(index, {.slices = 100'000, .bytes = bytes});
    EXPECT_LE(text.size(), bytes);
    const Json json = Json::parse(text);
    EXPECT_EQ(json["total"], index.slices());
    EXPECT_LT(json["names"].size(), index.names().size());
    std::set<std::int64_t> used;
    for (std::size_t t = 0; t < index.tracks().size(); ++t) {
      const TimelineTrack& track = index.tracks()[t];
      const auto expected = index.window(track, 0, index.period(), json["columns"].get<int>());
      const auto found = json["tracks"][t]["slices"].get<std::vector<std::int64_t>>();
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 2; i < found.size(); i += 3) {
        if (expected[i] < 0) {
          EXPECT_EQ(found[i], expected[i]);
          continue;
        }
        used.insert(found[i]);
        EXPECT_EQ(json["names"].at(static_cast<std::size_t>(found[i])).at(0),
                  index.names()[static_cast<std::size_t>(expected[i])].name);
      }
    }
    EXPECT_EQ(used.size(), json["names"].size()) << "names that no slice has";
    EXPECT_FALSE(used.empty());
  }
}

}  // namespace
}  // namespace distsim::report
