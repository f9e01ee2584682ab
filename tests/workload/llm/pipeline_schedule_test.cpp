// Schedules against their papers: orders written out by hand, every pass once and after what it needs, closed forms of
// the idle share and of what is held.
#include "sim/workload/llm/pipeline_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace distsim::workload {
namespace {

constexpr auto kGpipe = PipelineSchedule::gpipe;
constexpr auto k1f1b = PipelineSchedule::one_f_one_b;
constexpr auto kInterleaved = PipelineSchedule::interleaved;

const std::vector<PipelineShape>& shapes() {
  static const std::vector<PipelineShape> all = [] {
    std::vector<PipelineShape> out;
    for (const std::uint32_t p : {2u, 3u, 4u, 8u}) {
      for (const std::int64_t m : {p, 2 * p, 5 * p}) {
        for (const auto schedule : {kGpipe, k1f1b}) out.push_back({schedule, p, 1, m});
        for (const std::uint32_t v : {2u, 3u}) out.push_back({kInterleaved, p, v, m});
      }
    }
    for (const auto schedule : {kGpipe, k1f1b}) out.push_back({schedule, 4, 1, 2}), out.push_back({schedule, 1, 1, 3});
    return out;
  }();
  return all;
}

std::string name_of(const PipelineShape& s) {
  return std::to_string(static_cast<int>(s.schedule)) + " p" + std::to_string(s.stages) + " v" +
         std::to_string(s.virtual_stages) + " m" + std::to_string(s.micro_batches);
}

/// "F0 F1 B0 ..": direction and micro-batch, with a tick for each chunk after the first.
std::string text(const std::vector<StagePass>& passes) {
  std::string out;
  for (const StagePass& p : passes)
    out += (out.empty() ? "" : " ") + std::string(p.backward ? "B" : "F") + std::to_string(p.micro_batch) +
           std::string(p.chunk, '\'');
  return out;
}

TEST(PipelineSchedule, OrdersOfThePapers) {
  EXPECT_EQ(text(passes_of({kGpipe, 4, 1, 3}, 2)), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(text(passes_of({k1f1b, 4, 1, 5}, 0)), "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4");
  EXPECT_EQ(text(passes_of({k1f1b, 4, 1, 5}, 3)), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  // arXiv 2104.04473, section 2.2, on two devices: two micro-batches of a chunk at a time; four passes ahead on the
  // first, two on the last.
  EXPECT_EQ(text(passes_of({kInterleaved, 2, 2, 4}, 0)), "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
  EXPECT_EQ(text(passes_of({kInterleaved, 2, 2, 4}, 1)), "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
}

TEST(PipelineSchedule, EveryPassOnceAndAfterWhatItNeeds) {
  for (const PipelineShape& shape : shapes()) {
    std::set<std::tuple<bool, std::uint32_t, std::int64_t>> done;  // direction, chunk of the model, micro-batch
    for_each_wave(shape, [&](std::span<const StageTurn> wave) {
      auto after = done;
      for (std::uint32_t s = 0; s < shape.stages; ++s) {
        auto known = done;
        for (const StagePass& p : wave[s]) {
          const std::uint32_t chunk = p.chunk * shape.stages + s;
          const bool forward_ready = chunk == 0 || known.contains({false, chunk - 1, p.micro_batch});
          const bool gradient_there = chunk == shape.last_chunk() || known.contains({true, chunk + 1, p.micro_batch});
          EXPECT_TRUE(p.backward ? known.contains({false, chunk, p.micro_batch}) && gradient_there : forward_ready)
              << name_of(shape);
          known.insert({p.backward, chunk, p.micro_batch});
          EXPECT_TRUE(after.insert({p.backward, chunk, p.micro_batch}).second) << name_of(shape);
        }
      }
      done = after;
    });
    EXPECT_EQ(done.size(), 2u * (shape.last_chunk() + 1) * static_cast<std::size_t>(shape.micro_batches))
        << name_of(shape);
  }
}

/// Plays passes of f and b time units a chunk with messages that take no time; with `met`, neighbours that exchange
/// something wait for each other.
std::int64_t makespan(const PipelineShape& shape, std::int64_t f, std::int64_t b, bool met) {
  std::vector<std::int64_t> clock(shape.stages, 0);
  std::map<std::tuple<bool, std::uint32_t, std::int64_t>, std::int64_t> end;
  for_each_wave(shape, [&](std::span<const StageTurn> wave) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      for (const StagePass& p : wave[s]) {
        const std::uint32_t chunk = p.chunk * shape.stages + s;
        if (!met && !p.backward && chunk > 0) clock[s] = std::max(clock[s], end.at({false, chunk - 1, p.micro_batch}));
        if (!met && p.backward && chunk < shape.last_chunk())
          clock[s] = std::max(clock[s], end.at({true, chunk + 1, p.micro_batch}));
        clock[s] += p.backward ? b : f;
        end[{p.backward, chunk, p.micro_batch}] = clock[s];
        if (!p.backward && chunk < shape.last_chunk()) pairs.emplace_back(s, (s + 1) % shape.stages);
        if (p.backward && chunk > 0) pairs.emplace_back(s, (s + shape.stages - 1) % shape.stages);
      }
    }
    const std::vector<std::int64_t> ended = clock;
    for (const auto& [a, c] : pairs) {
      if (met) clock[a] = std::max(clock[a], ended[c]), clock[c] = std::max(clock[c], ended[a]);
    }
  });
  return *std::max_element(clock.begin(), clock.end());
}

TEST(PipelineSchedule, IdleShareOfTheClosedForms) {
  for (const PipelineShape& shape : shapes()) {
    for (const auto& [f, b] : {std::pair{6, 6}, std::pair{6, 12}, std::pair{6, 18}}) {
      const std::int64_t work = shape.micro_batches * shape.virtual_stages * (f + b),
                         all = work + (shape.stages - 1) * (f + b);
      EXPECT_EQ(makespan(shape, f, b, false), all) << name_of(shape);
      EXPECT_EQ(makespan(shape, f, b, true), all) << name_of(shape) << " with neighbours that meet";
      EXPECT_NEAR(ideal_bubble(shape), 1 - double(work) / double(all), 1e-12) << name_of(shape);
    }
  }
}

TEST(PipelineSchedule, HoldsAllMicroBatchesOrAtMostAsManyAsStagesFollow) {
  const std::int64_t one[] = {1}, two[] = {1, 1};
  for (std::uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(most_held({kGpipe, 4, 1, 12}, s, one), 12);
    EXPECT_EQ(most_held({k1f1b, 4, 1, 12}, s, one), 4 - s);
    EXPECT_EQ(most_held({k1f1b, 4, 1, 2}, s, one), std::min(2u, 4 - s));
    EXPECT_EQ(most_held({kInterleaved, 4, 2, 12}, s, two),
              2 * (3 - s) + 4 + 1);  // passes ahead, and the one that its backward pass follows
  }
}

}  // namespace
}  // namespace distsim::workload
