// What-ifs on random experiments: better hardware is never slower, no small change makes a jump, more work is never
// faster, overlap never hurts.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/random.hpp"
#include "sanitizers.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/sensitivity/resources.hpp"
#include "sim/study/workers.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

constexpr double kNoise = 1.001;  ///< rounding and choices between nearly equal algorithms
constexpr double kJump = 0.20;    ///< for a change of 1 %

/// Systems, each with GPUs newer than the last and NICs that are equal or better.
constexpr std::array<const char*, 6> kGenerations{"dgx1_v100_32gb", "dgx_a100_80gb", "dgx_h100",
                                                  "dgx_h200",       "dgx_b200",      "dgx_b300"};

/// An experiment that a user could write, by its system, model, framework and overrides.
struct Drawn {
  std::vector<std::string> sets;
  std::string text() const { return fmt::format("{}", fmt::join(sets, " ")); }
};

template <class T>
const T& pick(Random& random, const std::vector<T>& from) {
  return from[random.below(from.size())];
}

Drawn draw(Random& random) {
  static const std::vector<std::string> systems = config::names_in("systems"),
                                        frameworks = config::names_in("frameworks");
  static const std::vector<std::string> models{"dlrm_mlperf",         "dlrm_skewed",
                                               "dlrm_dcnv2_mlperf",   "dle_dlrm_small",
                                               "torchrec_dlrm_dot",   "tfde_synthetic_small",
                                               "bert_base_seq128",    "bert_large_seq512",
                                               "gpt2_small",          "resnet50_v1_5",
                                               "ssd300_resnet50",     "ncf_ml20m",
                                               "transformer_xl_base", "mlp",
                                               "megatron_gpt_7_5b",   "llama3_8b",
                                               "mixtral_8x7b",        "qwen3_30b_a3b"};
  Drawn out;
  out.sets = {"cluster.system=" + pick(random, systems),
              "model.name=" + pick(random, models),
              "framework.name=" + pick(random, frameworks),
              fmt::format("cluster.nodes={}", pick(random, std::vector<int>{1, 2, 3, 4, 8, 12, 16})),
              "model.global_batch=0",
              fmt::format("model.per_gpu_batch={}", pick(random, std::vector<int>{4, 16, 32, 64, 256, 2048}))};
  if (random.below(4) == 0) out.sets.push_back("collectives.use_curves=false");
  if (random.below(4) == 0)
    out.sets.push_back(fmt::format("cluster.fabric.oversubscription={}", pick(random, std::vector<int>{2, 3, 4})));
  if (random.below(4) == 0)
    out.sets.push_back(fmt::format("cluster.fabric.nodes_per_leaf={}", pick(random, std::vector<int>{1, 2, 4, 8})));
  return out;
}

class WhatIfLaws : public testing::Test {
 protected:
  Result<config::Experiment> experiment(const Drawn& drawn) {
    TRY_ASSIGN(const ConfigNode parsed, config::parse_experiment_text("title: drawn\n", "drawn", drawn.sets));
    return config::resolve(parsed);
  }

  std::optional<double> seconds(const config::Experiment& e) {
    pipeline::Passes passes;
    const auto p = pipeline::predict(e, passes, cache_);
    if (!p || p->report.iteration.ps() <= 0) return std::nullopt;
    return p->report.iteration.seconds();
  }

  void violated(const Drawn& drawn, std::string_view law, double before, double after) {
    if (++violations_ <= 25)
      ADD_FAILURE() << law << ": " << before * 1e3 << " -> " << after * 1e3 << " ms\n  " << drawn.text();
  }

  /// A resource that is `start` times as good as the system's, and better than that.
  void check_resource_from(const Drawn& drawn, const config::Experiment& e, double start, const Resource& resource) {
    config::Experiment from = e;
    if (start != 1) resource.improve(from, start);
    const auto base = seconds(from);
    if (!base) return violated(drawn, fmt::format("{} x{}: no prediction", resource.name, start), 0, 0);
    for (const double factor : {1.01, 2.0}) {
      config::Experiment better = from;
      resource.improve(better, factor);
      const auto after = seconds(better);
      const std::string law = fmt::format("{} x{:.4g} x{}", resource.name, start, factor);
      if (!after) {
        violated(drawn, law + ": no prediction", *base, 0);
        continue;
      }
      if (*after > *base * kNoise) violated(drawn, law + " is slower", *base, *after);
      if (factor < 1.1 && *after < *base * (1 - kJump)) violated(drawn, law + " jumps", *base, *after);
    }
  }

  void check_sms(const Drawn& drawn, const config::Experiment& e, double base) {
    config::Experiment better = e;
    better.device.sm_count = e.device.sm_count * 5 / 4;
    const double factor = double(better.device.sm_count) / double(e.device.sm_count);
    for (auto& [type, rate] : better.device.peak) rate = FlopsPerSecond(rate.value() * factor);
    const auto after = seconds(better);
    if (!after || *after > base * kNoise) violated(drawn, "a quarter more SMs are slower", base, after.value_or(0));
  }

  /// Products that memory holds up less may not be said to draw more power for it.
  void check_l2(const Drawn& drawn, const config::Experiment& e, double base) {
    for (const double factor : {1.5, 4.0}) {
      config::Experiment better = e;
      better.device.l2.capacity = Bytes(std::llround(static_cast<double>(e.device.l2.capacity.value()) * factor));
      const auto after = seconds(better);
      if (!after || *after > base * kNoise)
        violated(drawn, fmt::format("an L2 {} times as large is slower", factor), base, after.value_or(0));
      base = after.value_or(base);
    }
  }

  void check_clock(const Drawn& drawn, const config::Experiment& e, double base) {
    config::Experiment better = e;
    better.device.clock.boost = Hertz(e.device.clock.boost.value() * 1.1);
    better.device.clock.sustained = Hertz(e.device.clock.sustained.value() * 1.1);
    for (auto& [type, rate] : better.device.peak) rate = FlopsPerSecond(rate.value() * 1.1);
    const auto after = seconds(better);
    if (!after || *after > base * kNoise) violated(drawn, "a faster clock is slower", base, after.value_or(0));
  }

  void check_burst(const Drawn& drawn, const config::Experiment& e, double base) {
    if (e.device.clock.burst.value() == 0) return;
    for (const double factor : {0.9, 1.1}) {
      config::Experiment other = e;
      other.device.clock.burst = std::min(e.device.clock.boost, Hertz(e.device.clock.burst.value() * factor));
      const auto after = seconds(other);
      const bool wrong = !after || (factor > 1 ? *after > base * kNoise : base > *after * kNoise);
      if (wrong) violated(drawn, "a higher burst clock is slower", base, after.value_or(0));
    }
  }

  void check_nics(const Drawn& drawn, const config::Experiment& e, double base) {
    config::Experiment better = e;
    better.cluster.nic.count *= 2;
    const auto after = seconds(better);
    if (!after || *after > base * kNoise) violated(drawn, "twice the NICs are slower", base, after.value_or(0));
  }

  void check_batch(const Drawn& drawn, const config::Experiment& e, double base) {
    config::Experiment larger = e;
    larger.model.per_gpu_batch *= 2;
    const auto after = seconds(larger);
    if (after && *after < base / kNoise) violated(drawn, "twice the batch is faster", base, *after);
  }

  void check_overlap(const Drawn& drawn, const config::Experiment& e, double base) {
    config::Experiment serial = e;
    serial.framework.gradients.overlap = serial.framework.embedding.overlap_exchange = serial.framework.input.overlap =
        false;
    const auto after = seconds(serial);
    if (after && *after < base / kNoise) violated(drawn, "without overlap it is faster", base, *after);
  }

  /// A resource at its own figure, and every third time at one from a quarter to four times as good; or one of the other
  /// laws.
  void check(Random& random, const Drawn& drawn, const config::Experiment& e, double base) {
    const auto all = resources();
    const std::size_t law = random.below(all.size() + kOtherLaws);
    if (law < all.size()) {
      if (!all[law].figures || !all[law].present(e)) return;
      check_resource_from(drawn, e, 1, all[law]);
      if (random.below(3) == 0) check_resource_from(drawn, e, std::exp2(4 * random.uniform() - 2), all[law]);
      return;
    }
    switch (law - all.size()) {
      case 0:
        check_l2(drawn, e, base);
        return check_sms(drawn, e, base);
      case 1:
        check_burst(drawn, e, base);
        return check_clock(drawn, e, base);
      case 2:
        return check_nics(drawn, e, base);
      case 3:
        return check_batch(drawn, e, base);
      default:
        return check_overlap(drawn, e, base);
    }
  }

  /// One experiment on systems, each newer than the last. Those on which it does not run are passed over.
  void check_generations(const std::string& config, const std::vector<std::string>& sets) {
    double last = 0;
    for (const char* system : kGenerations) {
      Drawn drawn{{std::string("cluster.system=") + system, "model.memory_check=false"}};
      drawn.sets.insert(drawn.sets.end(), sets.begin(), sets.end());
      const auto e = config::load_experiment(test::root() + "/configs/" + config, drawn.sets);
      const auto now = e.ok() ? seconds(*e) : std::nullopt;
      if (!now) continue;
      if (last > 0 && *now > last * kNoise) violated(drawn, config + ": a newer system is slower", last, *now);
      last = *now;
    }
  }

  static constexpr std::size_t kOtherLaws = 5;
  pipeline::CostModelCache cache_;
  std::atomic<std::size_t> violations_ = 0;
};

TEST_F(WhatIfLaws, HoldForRandomExperiments) {
  const std::size_t experiments = test::has_address_sanitizer() ? 40 : 2000;
  std::atomic<std::size_t> predicted = 0;
  const auto check_one = [&](std::size_t i) {
    Random random(i);
    const Drawn drawn = draw(random);
    const auto e = experiment(drawn);
    ASSERT_TRUE(e.ok()) << e.error().text() << "\n" << drawn.text();
    const auto base = seconds(*e);
    if (!base) return;  // out of memory, or a data type that the device has not
    ++predicted;
    check(random, drawn, *e, *base);
  };
  EXPECT_TRUE(for_each_index(experiments, std::thread::hardware_concurrency(), check_one, [] {}).empty());
  EXPECT_GT(predicted, experiments / 2);
  EXPECT_EQ(violations_, 0u) << "of " << predicted << " experiments";
}

/// Also where the power limit sets the clock.
TEST_F(WhatIfLaws, ALargerL2IsNotSlowerUnderAPowerLimit) {
  for (const char* model : {"gpt2_xl", "llama3_8b", "bert_large_seq512"}) {
    for (const char* system : {"azure_nd_h100_v5", "dgx_a100_80gb", "dgx_b200"}) {
      Drawn drawn{{std::string("cluster.system=") + system, std::string("model.name=") + model,
                   "framework.name=mlperf_deepspeed", "cluster.nodes=1", "model.global_batch=512",
                   "model.per_gpu_batch=0", "model.memory_check=false"}};
      for (const char* capacity : {"5 MB", "20 MB", "50 MB", "80 MB", "200 MB"}) {
        Drawn smaller = drawn;
        smaller.sets.push_back(std::string("device.l2.capacity=") + capacity);
        const auto e = experiment(smaller);
        ASSERT_TRUE(e.ok()) << e.error().text();
        const auto base = seconds(*e);
        ASSERT_TRUE(base.has_value()) << smaller.text();
        check_l2(smaller, *e, *base);
      }
    }
  }
  EXPECT_EQ(violations_, 0u);
}

TEST_F(WhatIfLaws, UnitsThatAreFasterThanAnyAreNotSlowerBesideCollectives) {
  for (const char* model : {"gnmt_v2", "bert_large_seq512", "dlrm_dcnv2_mlperf"}) {
    double last = 0;
    for (const char* peak : {"312 TFLOP/s", "800 TFLOP/s", "1600 TFLOP/s", "4000 TFLOP/s", "16000 TFLOP/s"}) {
      const Drawn drawn{{"cluster.system=dgx_a100_40gb", std::string("model.name=") + model,
                         "framework.name=pytorch_apex", "cluster.nodes=4", "model.global_batch=0",
                         "model.per_gpu_batch=128", "model.memory_check=false",
                         std::string("device.peak.fp16=") + peak}};
      const auto e = experiment(drawn);
      ASSERT_TRUE(e.ok()) << e.error().text();
      const auto now = seconds(*e);
      ASSERT_TRUE(now.has_value()) << drawn.text();
      if (last > 0 && *now > last * kNoise) violated(drawn, "faster matrix units are slower", last, *now);
      last = *now;
    }
  }
  EXPECT_EQ(violations_, 0u);
}

/// Also of jobs that wait for the host, which launches buckets among the kernels of the backward pass: in one case, one more
/// launch is all that overlap changes, 8 of 30,032 us.
TEST_F(WhatIfLaws, OverlapOfGradientsHelpsSmallBatches) {
  const std::vector<std::string> frameworks = config::names_in("frameworks");
  const auto check_one = [&](std::size_t i) {
    for (const char* batch : {"1", "4"}) {
      for (const char* nodes : {"1", "4"}) {
        const Drawn drawn{{"cluster.system=hgx_h20", "model.name=bert_large_seq128", "framework.name=" + frameworks[i],
                           std::string("cluster.nodes=") + nodes, "model.global_batch=0",
                           std::string("model.per_gpu_batch=") + batch, "framework.gradients.overlap=true"}};
        const auto e = experiment(drawn);
        ASSERT_TRUE(e.ok()) << e.error().text();
        const auto base = seconds(*e);
        ASSERT_TRUE(base.has_value()) << drawn.text();
        check_overlap(drawn, *e, *base);
      }
    }
  };
  EXPECT_TRUE(for_each_index(frameworks.size(), std::thread::hardware_concurrency(), check_one, [] {}).empty());
  EXPECT_EQ(violations_, 0u);
}

/// The same model on the next generation of GPUs, each in its own system, one node: never slower.
TEST_F(WhatIfLaws, EachGenerationIsFasterThanTheLast) {
  const std::array<const char*, 6> devices{"v100_sxm2_32gb", "a100_sxm4_80gb", "h100_sxm5_80gb",
                                           "h200_sxm",       "b200",           "b300"};
  for (const char* model : {"dlrm_mlperf", "bert_large_seq512", "resnet50_v1_5", "gpt2_small", "dlrm_dcnv2_mlperf"}) {
    double last = 0;
    for (const char* device : devices) {
      const Drawn drawn{{"cluster.system=dgx_a100_80gb", std::string("device.name=") + device,
                         std::string("model.name=") + model, "framework.name=pytorch", "cluster.nodes=1",
                         "model.global_batch=0", "model.per_gpu_batch=32"}};
      const auto e = experiment(drawn);
      ASSERT_TRUE(e.ok()) << e.error().text();
      const auto now = seconds(*e);
      if (!now) continue;
      if (last > 0 && *now > last * kNoise) violated(drawn, "a newer GPU is slower", last, *now);
      last = *now;
    }
  }
  EXPECT_EQ(violations_, 0u);
}

/// The flagship from one node to 64, as large on each. One curve of 4 x B200 made 16 of them slower than 16 x H100.
TEST_F(WhatIfLaws, EachGenerationOfDgxIsFasterThanTheLast) {
  for (const int nodes : {1, 2, 4, 8, 16, 32, 64}) {
    check_generations("dgx_a100_4node.yaml",
                      {fmt::format("cluster.nodes={}", nodes), fmt::format("model.global_batch={}", 16384 * nodes)});
  }
  EXPECT_EQ(violations_, 0u);
}

/// All experiments that are shipped, and models whose dense gradients are most of what they send.
TEST_F(WhatIfLaws, EachGenerationOfDgxRunsTheShippedExperimentsFasterThanTheLast) {
  for (const int nodes : {1, 4, 16}) {
    const std::string n = fmt::format("cluster.nodes={}", nodes);
    for (const char* config : {"dgx_a100_4node.yaml", "bert_large_dgx_a100.yaml", "megatron_gpt_7_5b.yaml",
                               "megatron_gpt_145b.yaml", "resnet50_dgx_a100.yaml", "dlrm_skewed_2node.yaml"})
      check_generations(config, {n});
    for (const char* model : {"mlp", "tfde_synthetic_medium", "ncf_ml20m", "dlrm_dcnv2_mlperf"}) {
      check_generations("dgx_a100_4node.yaml", {n, std::string("model.name=") + model});
      check_generations("dgx_a100_4node.yaml",
                        {n, std::string("model.name=") + model, "model.global_batch=0", "model.per_gpu_batch=256"});
    }
  }
  EXPECT_EQ(violations_, 0u);
}

}  // namespace
}  // namespace distsim::study
