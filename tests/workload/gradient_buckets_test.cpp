#include "sim/workload/graph/gradient_buckets.hpp"

#include <gtest/gtest.h>

#include <ranges>

#include "sim/workload/llm/layer_by_layer/llm_layers.hpp"
#include "sim/workload/models/resnet.hpp"

namespace distsim::workload {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

std::vector<ReadyGradient> of_sizes(const std::vector<std::int64_t>& bytes) {
  std::vector<ReadyGradient> out;
  for (const std::int64_t b : bytes) out.push_back({b, 0});
  return out;
}

std::vector<std::int64_t> sizes_of(const std::vector<GradientBucket>& buckets) {
  std::vector<std::int64_t> out;
  for (const auto& b : buckets) out.push_back(b.bytes);
  return out;
}

/// fp32 gradients of a network, last layer first.
std::vector<ReadyGradient> reverse_gradients(const std::vector<Layer>& layers) {
  std::vector<ReadyGradient> out;
  for (const Layer& layer : std::views::reverse(layers)) {
    for (const Parameter& p : std::views::reverse(layer.parameters)) out.push_back({4 * p.elements, 0});
  }
  return out;
}

TEST(DdpBuckets, ATensorJoinsBeforeTheBucketCloses) {
  // Limits 10 then 20: 4+7=11 closes; 15+15=30 closes; 20 closes at once; 3 is left.
  EXPECT_EQ(sizes_of(ddp_buckets(of_sizes({4, 7, 15, 15, 20, 3}), 10, 20)), (std::vector<std::int64_t>{11, 30, 20, 3}));
  EXPECT_EQ(sizes_of(ddp_buckets(of_sizes({10, 1}), 10, 20)),
            (std::vector<std::int64_t>{10, 1}));  // exactly the limit closes
  EXPECT_TRUE(ddp_buckets({}, 10, 20).empty());
}

TEST(DdpBuckets, Resnet50HasFiveBuckets) {
  // 25,557,032 parameters, 102,228,128 bytes of fp32, from the classifier backwards. c x r denotes 4 bytes an element.
  //  0: fc 4,000 + 8,192,000 = 8,196,000: over 1 MiB.
  //  1: layer4.2 = 1x1 up 4,194,304, 3x3 9,437,184, 1x1 down 4,194,304, norms 2x(2048+512+512)x4 = 24,576: 17,850,368.
  //     layer4.1 backwards: bn3 16,384, conv3 4,194,304, bn2 4,096: 22,065,152 < 26,214,400; conv2 9,437,184:
  //     31,502,336 closes.
  //  2: layer4.1 bn1 4,096, conv1 4,194,304. layer4.0: downsample norm 16,384, downsample 1024x2048x4 = 8,388,608:
  //  12,603,392;
  //     bn3 16,384, conv3 4,194,304, bn2 4,096: 16,818,176; conv2 9,437,184: 26,255,360 closes.
  //  3: layer4.0 bn1 4,096, conv1 1024x512x4 = 2,097,152: 2,101,248. layer3.5 = 1,048,576 + 2,359,296 + 1,048,576 +
  //  norms 12,288 = 4,468,736,
  //     five of them (3.5 .. 3.1) 22,343,680: 24,444,928. layer3.0: downsample norm 8,192, downsample 512x1024x4 =
  //     2,097,152: 26,550,272 closes.
  //  4: what is left: 102,228,128 - 8,196,000 - 31,502,336 - 26,255,360 - 26,550,272 = 9,724,160.
  FrameworkSpec framework;
  const LayerContext context{{}, &framework};
  const auto buckets = ddp_buckets(reverse_gradients(resnet_layers({}, 1, context)), kMiB, 25 * kMiB);
  EXPECT_EQ(sizes_of(buckets), (std::vector<std::int64_t>{8'196'000, 31'502'336, 26'255'360, 26'550'272, 9'724'160}));
}

TEST(DdpBuckets, CoverEveryGradientOnce) {
  FrameworkSpec framework;
  const LayerContext context{{}, &framework};
  LlmSpec bert;
  bert.encoder = true;
  const auto gradients = reverse_gradients(llm_layers(bert, 1, context));
  for (const GradientSync rule :
       {GradientSync::ddp_buckets, GradientSync::fusion_buffer, GradientSync::one_shot, GradientSync::per_tensor}) {
    framework.gradients.sync = rule;
    std::uint32_t next = 0;
    std::int64_t bytes = 0, expected = 0;
    for (const GradientBucket& b : gradient_buckets(gradients, framework)) {
      EXPECT_EQ(b.first, next);
      EXPECT_GT(b.last, b.first);
      next = b.last;
      bytes += b.bytes;
    }
    for (const auto& g : gradients) expected += g.bytes;
    EXPECT_EQ(next, gradients.size());
    EXPECT_EQ(bytes, expected);
  }
}

TEST(FusionBuckets, FuseWhatIsReadyInACycleUpToTheBuffer) {
  // The first cycle ends half a cycle after the first gradient, at 0.6, and takes what is ready at 0.9 along; the next
  // ends at 1.6. The buffer of 10 takes 4+5, then 6, then 2.
  const std::vector<ReadyGradient> ready{{4, 0.1}, {5, 0.2}, {6, 0.9}, {2, 1.5}};
  EXPECT_EQ(sizes_of(fusion_buckets(ready, 10, 1)), (std::vector<std::int64_t>{9, 6, 2}));
  EXPECT_EQ(sizes_of(fusion_buckets(ready, 100, 1)), (std::vector<std::int64_t>{15, 2}));
  EXPECT_EQ(sizes_of(fusion_buckets(ready, 3, 1)),
            (std::vector<std::int64_t>{4, 5, 6, 2}));  // larger than the buffer: by itself
}

/// A longer backward pass sends no gradient earlier, but for what lies between one gradient and the next.
TEST(FusionBuckets, ALongerPassSendsNoGradientEarlier) {
  constexpr int kGradients = 60;
  constexpr double kGap = 0.05;  // of a cycle, between gradients
  std::vector<double> before(kGradients, 0);
  for (double longer = 0.2; longer < 5; longer *= 1.01) {
    std::vector<ReadyGradient> ready;
    for (int i = 0; i < kGradients; ++i) ready.push_back({1, longer * kGap * (i + 1)});
    for (const GradientBucket& bucket : fusion_buckets(ready, 1000, 1)) {
      for (std::uint32_t g = bucket.first; g < bucket.last; ++g) {
        const double sent = ready[bucket.last - 1].ready_seconds;
        EXPECT_GE(sent, before[g] - 1.02 * longer * kGap) << longer << " " << g;
        before[g] = sent;
      }
    }
  }
}

TEST(GradientBuckets, OneShotAndPerTensor) {
  FrameworkSpec framework;
  framework.gradients.sync = GradientSync::one_shot;
  EXPECT_EQ(sizes_of(gradient_buckets(of_sizes({1, 2, 3}), framework)), (std::vector<std::int64_t>{6}));
  framework.gradients.sync = GradientSync::per_tensor;
  EXPECT_EQ(sizes_of(gradient_buckets(of_sizes({1, 2, 3}), framework)), (std::vector<std::int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace distsim::workload
