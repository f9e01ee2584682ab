// Schedules against their papers: orders written out by hand, every pass once and after what it needs, closed forms of
// the idle share and of what is held.
#include "sim/workload/llm/pipeline/pipeline_schedule.hpp"

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
constexpr auto kZeroBubble = PipelineSchedule::zero_bubble;
constexpr auto kDualPipe = PipelineSchedule::dualpipe;

const std::vector<PipelineShape>& shapes() {
  static const std::vector<PipelineShape> all = [] {
    std::vector<PipelineShape> out;
    for (const std::uint32_t p : {2u, 3u, 4u, 8u}) {
      for (const std::int64_t m : {p, 2 * p, 5 * p}) {
        for (const auto schedule : {kGpipe, k1f1b}) out.push_back({schedule, p, 1, m});
        for (const std::uint32_t v : {2u, 3u}) out.push_back({kInterleaved, p, v, m});
        out.push_back({kZeroBubble, p, 1, m});
        if (p % 2 == 0 && m % 2 == 0 && m >= 2 * p) out.push_back({kDualPipe, p, 1, m});
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

/// "F0 F1 B0 I1 W1 ..": what a pass finds and micro-batch, with a tick for each chunk after the first.
std::string text(const std::vector<StagePass>& passes) {
  std::string out;
  for (const StagePass& p : passes)
    out += (out.empty() ? "" : " ") + std::string(1, "FBIW"[static_cast<std::size_t>(p.way)]) +
           std::to_string(p.micro_batch) + std::string(p.chunk, '\'');
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
  // arXiv 2401.10241, figure 2 (ZB-H1), the first and the last of three stages.
  EXPECT_EQ(text(passes_of({kZeroBubble, 3, 1, 4}, 0)), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  EXPECT_EQ(text(passes_of({kZeroBubble, 3, 1, 4}, 2)), "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
  // arXiv 2412.19437, figure 5, on four devices: the first, and the second, which is one of the middle.
  EXPECT_EQ(text(passes_of({kDualPipe, 4, 1, 8}, 0)),
            "F0 F1 F2 F4' I4' W4' F5' F3 B5' F6' B0 B6' F7' B1 B7' I2 W2 I3 W3");
  EXPECT_EQ(text(passes_of({kDualPipe, 4, 1, 8}, 1)), "F0 F4' F1 F5' F2 B4' F6' B0 F3 B5' F7' B1 B6' B2 I7' I3 W7' W3");
}

TEST(PipelineSchedule, EveryPassOnceAndAfterWhatItNeeds) {
  enum Found : std::uint8_t { result, of_inputs, of_weights };
  for (const PipelineShape& shape : shapes()) {
    std::set<std::tuple<Found, std::uint32_t, std::int64_t>> done;  // what was found, position, micro-batch
    for_each_wave(shape, [&](std::span<const StageTurn> wave) {
      auto after = done;
      for (std::uint32_t s = 0; s < shape.stages; ++s) {
        auto known = done;
        for (const StagePass& p : wave[s]) {
          const std::uint32_t at = shape.position(s, p.chunk);
          const auto has = [&](Found found, std::uint32_t position) {
            return known.contains({found, position, p.micro_batch});
          };
          const auto finds = [&](Found found) {
            known.insert({found, at, p.micro_batch});
            EXPECT_TRUE(after.insert({found, at, p.micro_batch}).second) << name_of(shape);
          };
          const bool gradient_there = at == shape.last_position() || has(of_inputs, at + 1);
          const bool ready = p.way == Way::forward ? at == 0 || has(result, at - 1)
                             : hands_back(p.way)   ? has(result, at) && gradient_there
                                                   : has(of_inputs, at);
          EXPECT_TRUE(ready) << name_of(shape);
          if (p.way == Way::forward) finds(result);
          if (hands_back(p.way)) finds(of_inputs);
          if (p.way == Way::weights || p.way == Way::backward) finds(of_weights);
        }
      }
      done = after;
    });
    EXPECT_EQ(done.size(), 3u * (shape.last_position() + 1) * static_cast<std::size_t>(shape.micro_batches))
        << name_of(shape);
  }
}

/// Time units of a pass through a chunk.
struct Lengths {
  std::int64_t forward, inputs, weights;
  std::int64_t of(Way way) const {
    return way == Way::forward   ? forward
           : way == Way::inputs  ? inputs
           : way == Way::weights ? weights
                                 : inputs + weights;
  }
};

/// Plays passes with messages that take no time; with `met`, neighbours that exchange something wait for each other. What
/// a turn needs has to be there when it begins.
std::int64_t makespan(const PipelineShape& shape, const Lengths& lengths, bool met) {
  std::vector<std::int64_t> clock(shape.stages, 0);
  std::map<std::tuple<bool, std::uint32_t, std::int64_t>, std::int64_t> end;
  for_each_wave(shape, [&](std::span<const StageTurn> wave) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      for (const StagePass& p : wave[s]) {
        const std::uint32_t at = shape.position(s, p.chunk);
        if (!met && p.way == Way::forward && at > 0)
          clock[s] = std::max(clock[s], end.at({false, at - 1, p.micro_batch}));
        if (!met && hands_back(p.way) && at < shape.last_position())
          clock[s] = std::max(clock[s], end.at({true, at + 1, p.micro_batch}));
        clock[s] += lengths.of(p.way);
        if (p.way == Way::forward) end[{false, at, p.micro_batch}] = clock[s];
        if (hands_back(p.way)) end[{true, at, p.micro_batch}] = clock[s];
        if (p.way == Way::forward && at < shape.last_position()) pairs.emplace_back(s, shape.stage_at(at + 1, p.chunk));
        if (hands_back(p.way) && at > 0) pairs.emplace_back(s, shape.stage_at(at - 1, p.chunk));
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
    if (shape.splits_backward()) continue;
    for (const Lengths& l : {Lengths{6, 3, 3}, Lengths{6, 6, 6}, Lengths{6, 10, 8}}) {
      const std::int64_t both = l.forward + l.inputs + l.weights,
                         work = shape.micro_batches * shape.virtual_stages * both,
                         all = work + (shape.stages - 1) * both;
      EXPECT_EQ(makespan(shape, l, false), all) << name_of(shape);
      EXPECT_EQ(makespan(shape, l, true), all) << name_of(shape) << " with neighbours that meet";
      EXPECT_NEAR(ideal_bubble(shape), 1 - double(work) / double(all), 1e-12) << name_of(shape);
    }
  }
}

/// Qi et al., table 2; with B = inputs + weights. Of fewer micro-batches than stages there is less to fill with.
TEST(PipelineSchedule, ZeroBubbleWaitsAsLittleAsItsPaperSays) {
  for (const PipelineShape& shape : shapes()) {
    if (shape.schedule != kZeroBubble) continue;
    for (const Lengths& l : {Lengths{6, 6, 6}, Lengths{6, 7, 5}, Lengths{6, 9, 6}, Lengths{6, 12, 3}}) {
      const std::int64_t both = l.forward + l.inputs + l.weights, work = shape.micro_batches * both;
      EXPECT_EQ(makespan(shape, l, false) - work, (shape.stages - 1) * (both - 2 * l.weights)) << name_of(shape);
      const PipelineShape as_1f1b{k1f1b, shape.stages, 1, shape.micro_batches};
      EXPECT_EQ(makespan(as_1f1b, l, false) - work, (shape.stages - 1) * both);
    }
    EXPECT_NEAR(ideal_bubble(shape), 1 - 18.0 * double(shape.micro_batches) / double(makespan(shape, {6, 6, 6}, false)),
                1e-12);
  }
}

/// DeepSeek-V3, table 2: with passes of equal length exactly, with others at most. A turn of this test begins a pass as soon
/// as its own input is there, a little before both are.
TEST(PipelineSchedule, DualPipeWaitsAsLittleAsItsPaperSays) {
  int seen = 0;
  for (const PipelineShape& shape : shapes()) {
    if (shape.schedule != kDualPipe) continue;
    ++seen;
    for (const Lengths& l : {Lengths{6, 6, 6}, Lengths{6, 7, 5}, Lengths{6, 9, 6}}) {
      const std::int64_t backward = l.inputs + l.weights, both = l.forward + backward;
      const std::int64_t idle = makespan(shape, l, false) - shape.micro_batches * both;
      EXPECT_LE(idle, (shape.stages / 2 - 1) * (both + backward - 3 * l.weights)) << name_of(shape);
      EXPECT_GE(idle, (shape.stages / 2 - 1) * l.forward) << name_of(shape);
    }
  }
  EXPECT_GE(seen, 6);
}

TEST(PipelineSchedule, HoldsAllMicroBatchesOrAtMostAsManyAsStagesFollow) {
  const std::int64_t one[] = {1}, two[] = {1, 1};
  for (std::uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(most_held({kGpipe, 4, 1, 12}, s, one), 12);
    EXPECT_EQ(most_held({k1f1b, 4, 1, 12}, s, one), 4 - s);
    EXPECT_EQ(most_held({k1f1b, 4, 1, 2}, s, one), std::min(2u, 4 - s));
    EXPECT_EQ(most_held({kInterleaved, 4, 2, 12}, s, two),
              2 * (3 - s) + 4 + 1);  // passes ahead, and the one that its backward pass follows
    EXPECT_EQ(most_held({kZeroBubble, 4, 1, 12}, s, one), 4) << "as the first stage of 1f1b";
    EXPECT_LE(most_held({kDualPipe, 4, 1, 12}, s, two), 4 + 1);
  }
  EXPECT_EQ(most_held({kDualPipe, 4, 1, 12}, 0, two), 4 + 1);
  EXPECT_EQ(most_held({kDualPipe, 8, 1, 40}, 3, two), 8 + 1);
  for (const PipelineShape& shape : shapes()) {  // more rounds hold no more
    if (shape.schedule == kGpipe || shape.micro_batches < 5 * std::int64_t{shape.stages}) continue;
    const std::vector<std::int64_t> bytes(shape.chunks(), 3);
    std::int64_t held = 0, most = 0;
    for (const StagePass& p : passes_of(shape, shape.stages / 2)) {
      if (p.way != Way::inputs) held += p.way == Way::forward ? 3 : -3;
      most = std::max(most, held);
    }
    EXPECT_EQ(most_held(shape, shape.stages / 2, bytes), most) << name_of(shape);
  }
}

}  // namespace
}  // namespace distsim::workload
