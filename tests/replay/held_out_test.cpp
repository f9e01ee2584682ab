#include "sim/replay/results/held_out.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "trace_builder.hpp"

namespace distsim::replay {
namespace {

/// Steps: a launch, a kernel of the given length, which the host waits for, and host work until the next step.
traces::TraceJob steps_with_kernels(const std::vector<double>& lengths, double host_tail = 100) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  double now = 0;
  for (const double length : lengths) {
    const double begin = now;
    b.launch(host, begin + 20, stream, "gemm", begin + 30, length);
    b.call(host, traces::RuntimeCall::stream_synchronize, begin + 40, length);  // until 10 us after the kernel
    now = begin + 40 + length + host_tail;
    b.step(begin, now);
  }
  b.finish();
  return job;
}

/// The kernel of a step is predicted from the others: steps of 500, 500, 500, 500 but one of 520. Each of the first is
/// predicted with a mean of 506.67, 6.67 too much; the odd one with 500, 20 too little. Everything else is the same in
/// all steps.
TEST(HeldOut, CostsComeFromTheOtherSteps) {
  const Replay r(steps_with_kernels({500, 500, 520, 500}));
  const auto held = predict_held_out_steps(r.graph);
  ASSERT_TRUE(held.ok());
  ASSERT_EQ(held->size(), 4u);
  EXPECT_NEAR((*held)[0].replayed - (*held)[0].measured, 6'666'667, 2);
  EXPECT_NEAR((*held)[1].replayed - (*held)[1].measured, 6'666'667, 2);
  EXPECT_NEAR((*held)[2].replayed - (*held)[2].measured, -20'000'000, 2);
}

/// Steps that begin with the trace: the work before their marks, none before the first, is not what ends the others.
TEST(HeldOut, EqualStepsTeachEachOther) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  for (int i = 0; i < 3; ++i) {
    b.launch(host, 5000 * i + 15, stream, "gemm", 5000 * i + 100, 600);
    b.step(5000 * i, 5000 * i + 4999);
  }
  b.finish();
  const Replay r(std::move(job));
  const auto held = predict_held_out_steps(r.graph);
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->size(), 3u);
  for (const StepResult& s : *held) EXPECT_EQ(s.replayed, s.measured) << s.step_index;
}

/// A step of three times the length teaches the others nothing.
TEST(HeldOut, UnlikeStepsDoNotTeach) {
  const Replay r(steps_with_kernels({500, 500, 2500, 500, 500}));
  const auto held = predict_held_out_steps(r.graph);
  ASSERT_TRUE(held.ok());
  for (const StepResult& s : *held) {
    if (s.step_index == 2)
      EXPECT_LT(s.replayed, s.measured / 2);
    else
      EXPECT_EQ(s.replayed, s.measured);
  }
}

/// Every other step stalls, as with a data loader that cannot keep up. The typical step is one without a stall,
/// whichever is left out; the median of the others would be a stalled one for each that is not, and the other way
/// round.
TEST(HeldOut, StallsAreNotTypical) {
  const Replay r(steps_with_kernels({500, 1400, 501, 2600, 500, 1900, 499, 900, 500, 3000, 500}));
  const auto held = predict_held_out_steps(r.graph);
  ASSERT_TRUE(held.ok());
  ASSERT_EQ(held->size(), 11u);
  for (const StepResult& s : *held) {
    if (s.step_index % 2 == 0)
      EXPECT_NEAR(s.error(), 0, 0.005) << s.step_index;
    else
      EXPECT_LT(s.error(), -0.2) << s.step_index;
  }
}

/// Steps grow slowly: those around a step foretell it better than all of them, which would miss the first by 20 %.
TEST(HeldOut, TheNearestStepsTeach) {
  std::vector<double> lengths;
  for (int i = 0; i < 21; ++i) lengths.push_back(500 + 20 * i);
  const Replay r(steps_with_kernels(lengths));
  const auto held = predict_held_out_steps(r.graph);
  ASSERT_TRUE(held.ok());
  for (const StepResult& s : *held) EXPECT_LT(std::abs(s.error()), 0.12) << s.step_index;
  EXPECT_NEAR((*held)[10].error(), 0, 0.002);
}

TEST(HeldOut, NeedsThreeSteps) {
  const Replay r(steps_with_kernels({500, 500}));
  EXPECT_TRUE(predict_held_out_steps(r.graph)->empty());
}

/// Nothing of a step's own times is used: whatever they are, its prediction stays.
TEST(HeldOut, IsBlindToTheStepItself) {
  std::vector<std::int64_t> predictions;
  for (const double length : {400.0, 500.0, 600.0}) {
    const Replay r(steps_with_kernels({500, 500, length, 500}));
    predictions.push_back(predict_held_out_steps(r.graph)->at(2).replayed);
  }
  EXPECT_EQ(predictions[0], predictions[1]);
  EXPECT_EQ(predictions[1], predictions[2]);
}

}  // namespace
}  // namespace distsim::replay
