// Forest, and the file of a learned model: sums by hand, and every way a file can be damaged.
#include "opmodels/learned/forest.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "opmodels/learned/forest_file.hpp"
#include "opmodels/learned/learned_models.hpp"

namespace distsim::opmodels {
namespace {

TEST(Forest, AddsTheLeavesThatTheFeaturesFallInto) {
  // Tree 1: x0 < 2 ? 10 : (x1 < 5 ? 20 : 30).  Tree 2: 0.5.  Base 1.
  Forest forest(1);
  forest.begin_tree();
  forest.add_split(0, 2);
  forest.add_leaf(10);
  forest.add_split(1, 5);
  forest.add_leaf(20);
  forest.add_leaf(30);
  EXPECT_TRUE(forest.tree_complete());
  forest.begin_tree();
  forest.add_leaf(0.5);
  EXPECT_EQ(forest.value(std::array<float, 2>{1, 9}), 11.5);  // 1 + 10 + 0.5
  EXPECT_EQ(forest.value(std::array<float, 2>{2, 4}), 21.5) << "a value on the threshold goes right";
  EXPECT_EQ(forest.value(std::array<float, 2>{3, 5}), 31.5);
  EXPECT_EQ(forest.trees(), 2u);
  EXPECT_EQ(forest.nodes(), 6u);
}

TEST(Forest, EightTreesSideBySideAndThoseLeftOverAddUpAlike) {
  // 19 trees x < t ? t : 100 t, of unequal depth: at x = 9.5 those with t = 1..9 give 100 t, those with 10..19 give t:
  // 100 * 45 + 145 = 4645.
  Forest forest(0);
  for (int t = 1; t <= 19; ++t) {
    forest.begin_tree();
    for (int deep = 0; deep < t % 4; ++deep) {
      forest.add_split(1, 0);  // x1 = 1 always goes right; the left side is never reached
      forest.add_leaf(-1e6F);
    }
    forest.add_split(0, static_cast<float>(t));
    forest.add_leaf(static_cast<float>(t));
    forest.add_leaf(100 * static_cast<float>(t));
  }
  EXPECT_EQ(forest.value(std::array<float, 2>{9.5F, 1}), 4645);
}

TEST(Forest, NotANumberGoesLeftAndInfinityRight) {
  Forest forest(0);
  forest.begin_tree();
  forest.add_split(0, 2);
  forest.add_leaf(1);
  forest.add_leaf(2);
  EXPECT_EQ(forest.value(std::array<float, 1>{std::numeric_limits<float>::quiet_NaN()}), 1);
  EXPECT_EQ(forest.value(std::array<float, 1>{std::numeric_limits<float>::infinity()}), 2);
}

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

struct FileParts {
  std::string magic = "dsforest";
  std::uint32_t version = 1;
  std::string text =
      "kernel streaming\ndata by hand\nfeature per_sm 0 10\nfeature flops free\ndevice 6.7 1 1 6 18 80\n";
  float threshold = 3;
  std::uint8_t split_feature = 0, split_bin = 0;
  std::uint32_t trees = 1;

  /// Median: per_sm < threshold ? -0.5 : 0.25 (units of 2^-10: -512, 256); low and high: constants -0.1 and 0.2 as
  /// bases.
  std::string bytes() const {
    std::string out = magic;
    put(out, version);
    put(out, static_cast<std::uint32_t>(text.size()));
    out += text;
    put(out, std::uint16_t{1});
    put(out, threshold);
    put(out, std::uint16_t{0});
    put(out, 0.0F);
    put(out, 1.0F / 1024);
    put(out, trees);
    put(out, split_feature);
    put(out, split_bin);
    for (const int leaf : {-512, 256}) {
      put(out, std::uint8_t{255});
      put(out, static_cast<std::int16_t>(leaf));
    }
    for (const float base : {-0.1F, 0.2F}) {
      put(out, base);
      put(out, 1.0F);
      put(out, std::uint32_t{0});
    }
    return sealed(out);
  }
  static std::string sealed(std::string out) {
    put(out, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size())));
    return out;
  }
};

/// The feature values of `streaming` with one of them set.
FeatureVector streaming_with(std::string_view name, float value) {
  const auto names = feature_names(LearnedKernel::streaming);
  FeatureVector x;
  x.count = static_cast<std::uint32_t>(names.size());
  const std::array<float, kDeviceFeatures> device{6.7F, 1, 1, 6, 18, 80};
  std::copy(device.begin(), device.end(), x.values.begin() + (x.count - kDeviceFeatures));
  x.values[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())] = value;
  return x;
}

TEST(ForestFile, AnswersWithinItsRangeAndFallsBackOutside) {
  const auto model = parse_forest_file(FileParts().bytes());
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->data, "by hand");
  EXPECT_DOUBLE_EQ(model->ask(streaming_with("per_sm", 2)).log_ratio, -0.5);
  EXPECT_DOUBLE_EQ(model->ask(streaming_with("per_sm", 4)).log_ratio, 0.25);
  EXPECT_DOUBLE_EQ(model->ask(streaming_with("per_sm", 10)).trust, 1);
  EXPECT_DOUBLE_EQ(model->ask(streaming_with("per_sm", 11)).trust, 0.5) << "an octave outside";
  EXPECT_DOUBLE_EQ(model->ask(streaming_with("per_sm", 12)).trust, 0);
  EXPECT_DOUBLE_EQ(model->ask(streaming_with("per_sm", -1)).trust, 0.5);
}

TEST(ForestFile, TrustsADeviceByItsDistanceFromThoseItWasTrainedOn) {
  const auto model = parse_forest_file(FileParts().bytes());
  FeatureVector x = streaming_with("per_sm", 4);
  x.values[x.count - kDeviceFeatures] += 0.3F;  // SMs: 0.3 octaves more
  EXPECT_NEAR(model->ask(x).trust, 0.7, 1e-6);
  x.values[x.count - kDeviceFeatures] += 3;
  EXPECT_NEAR(model->ask(x).trust, 0.5, 1e-6) << "never less than a half for a stranger";
}

/// The range is the model's as far as it is trusted, the analytic one for the rest; the time moves by as much.
TEST(LearnedTime, BlendsWithTheAnalyticRangeByTrust) {
  auto model = parse_forest_file(FileParts().bytes());
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto models = std::make_shared<LearnedModels>();
  models->add(std::move(*model));
  DeviceRates device;
  device.learned = models;
  const Spread analytic{0.8, 3};
  for (const float size : {10.F, 10.5F, 11.5F, 13.F}) {
    const KernelSample sample{LearnedKernel::streaming, streaming_with("per_sm", size), 2e-6};
    const LearnedModel::Answer answer = models->find(LearnedKernel::streaming)->ask(sample.features);
    const double trust = std::clamp(1 - (size - 10) / 2.0, 0.0, 1.0);
    ASSERT_NEAR(answer.trust, trust, 1e-6);
    const OpTime time = learned_time(device, sample, analytic);
    EXPECT_NEAR(time.seconds, 2e-6 * std::exp(trust * 0.25), 1e-12) << size;
    EXPECT_NEAR(time.spread.low, trust * (1 - std::exp(answer.log_low)) + (1 - trust) * 0.8, 1e-6) << size;
    EXPECT_NEAR(time.spread.high, trust * (std::exp(answer.log_high) - 1) + (1 - trust) * 3, 1e-6) << size;
    EXPECT_EQ(time.basis == graph::Basis::learned, trust >= 0.4) << size;
  }
}

/// 256 channels and 512 filters in 32 groups are 8 and 16 of each.
TEST(LearnedKernels, AGroupedConvolutionIsDescribedByOneGroup) {
  graph::Conv2d conv;
  conv.n = 2;
  conv.c = 256;
  conv.k = 512;
  conv.groups = 32;
  conv.h = conv.w = 14;
  conv.r = conv.s = 3;
  conv.pad = 1;
  const MatrixMachine machine{};
  const MatrixShape shape{};
  const MatrixTime time{};
  const FeatureVector x = features_of(DeviceRates{}, ConvFacts{{machine, shape, time}, conv});
  const auto names = feature_names(LearnedKernel::convolution);
  const auto value = [&](std::string_view name) {
    return x.values[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  EXPECT_FLOAT_EQ(value("groups"), 5);
  EXPECT_FLOAT_EQ(value("channels"), 3);
  EXPECT_FLOAT_EQ(value("filters"), 4);
}

TEST(ForestFile, RefusesTruncationAtEveryByteAndEveryFlippedByte) {
  const std::string whole = FileParts().bytes();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_forest_file(whole.substr(0, length)).ok()) << length;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x40);
    EXPECT_FALSE(parse_forest_file(broken).ok()) << at;
  }
}

TEST(ForestFile, RefusesTruncationUnderAChecksumThatMatches) {
  const std::string whole = FileParts().bytes();
  const std::string body = whole.substr(0, whole.size() - 4);
  for (std::size_t length = 0; length < body.size(); ++length)
    EXPECT_FALSE(parse_forest_file(FileParts::sealed(body.substr(0, length))).ok()) << length;
  EXPECT_FALSE(parse_forest_file(FileParts::sealed(body + "x")).ok());
}

TEST(ForestFile, SaysWhatIsWrong) {
  const auto error_of = [](const FileParts& parts) {
    const auto model = parse_forest_file(parts.bytes());
    return model.ok() ? std::string("accepted") : model.error().text();
  };
  FileParts p;
  p.magic = "forestds";
  EXPECT_NE(error_of(p).find("a different kind of file"), std::string::npos) << error_of(p);
  p = {};
  p.version = 2;
  EXPECT_NE(error_of(p).find("version 2"), std::string::npos) << error_of(p);
  p = {};
  p.text = "kernel nonsense\n";
  EXPECT_NE(error_of(p).find("nonsense"), std::string::npos) << error_of(p);
  p = {};
  p.text = "kernel streaming\nfeature not_a_feature free\nfeature flops free\n";
  EXPECT_NE(error_of(p).find("retrain it"), std::string::npos) << error_of(p);
  p = {};
  p.threshold = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(error_of(p).find("not finite"), std::string::npos) << error_of(p);
  p = {};
  p.split_bin = 1;
  EXPECT_NE(error_of(p).find("does not exist"), std::string::npos) << error_of(p);
  p = {};
  p.split_feature = 2;
  EXPECT_NE(error_of(p).find("does not exist"), std::string::npos) << error_of(p);
  p = {};
  p.trees = 4'000'000'000U;
  EXPECT_NE(error_of(p).find("4000000000 trees"), std::string::npos) << error_of(p);
}

}  // namespace
}  // namespace distsim::opmodels
