// Whatever a user combines: an answer whose parts add up, or one line.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/random.hpp"
#include "predicted_text.hpp"
#include "sanitizers.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

template <class List>
std::string one_of(Random& random, const List& list) {
  return std::string(list[random.below(std::size(list))]);
}

/// Names that are shipped, with numbers that rarely suit each other.
std::vector<std::string> drawn(Random& random) {
  static const std::vector<std::string> systems = config::names_in("systems"), models = config::names_in("models"),
                                        frameworks = config::names_in("frameworks");
  static constexpr const char* kFew[] = {"1", "2", "3", "4", "5", "8", "16"};
  static constexpr const char* kBatches[] = {"1", "2", "3", "4", "6", "7", "8", "12", "31", "64", "250", "1024"};
  static constexpr const char* kSchedules[] = {"1f1b", "gpipe", "interleaved", "zero_bubble", "dualpipe"};
  static constexpr const char* kShards[] = {"none", "optimizer", "gradients", "weights"};
  static constexpr const char* kRecompute[] = {"automatic", "none", "selective", "full", "2"};
  static constexpr const char* kPrecisions[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
  std::vector<std::string> out{"cluster.system=" + one_of(random, systems), "model.name=" + one_of(random, models),
                               "framework.name=" + one_of(random, frameworks), "cluster.nodes=" + one_of(random, kFew),
                               "model.memory_check=false"};
  const bool global = random.below(2) == 0;
  out.push_back("model.global_batch=" + (global ? one_of(random, kBatches) : "0"));
  out.push_back("model.per_gpu_batch=" + (global ? "0" : one_of(random, kBatches)));
  const auto add = [&](const char* key, const auto& values) {
    if (random.below(3) == 0) out.push_back(std::string(key) + "=" + one_of(random, values));
  };
  add("model.accumulation", kFew);
  add("model.precision", kPrecisions);
  add("cluster.gpus_per_node", kFew);
  for (const char* key : {"parallel.tensor", "parallel.pipeline", "parallel.context", "parallel.expert",
                          "parallel.virtual_stages", "parallel.micro_batch", "parallel.shard_group"})
    add(key, kFew);
  add("parallel.schedule", kSchedules);
  add("parallel.shard", kShards);
  add("parallel.recompute", kRecompute);
  return out;
}

/// DISTSIM_MORE_LAYOUTS=40000 draws so many.
TEST(OddExperiments, EndInAnAnswerOrInOneLine) {
  const char* const more = std::getenv("DISTSIM_MORE_LAYOUTS");
  const int draws = more != nullptr ? std::atoi(more) : test::has_address_sanitizer() ? 150 : 1500;
  int answered = 0;
  CostModelCache cache;
  for (int i = 0; i < draws; ++i) {
    Random random(20'261'127 + static_cast<std::uint64_t>(i));
    const std::vector<std::string> sets = drawn(random);
    std::string text;
    for (const std::string& set : sets) text += " --set " + set;
    const auto experiment = experiment_of("title: odd\n", sets);
    Passes passes;
    const auto predicted =
        experiment.ok() ? predict(*experiment, passes, cache) : Result<Prediction>(experiment.error());
    if (!predicted.ok()) {
      const std::string line = predicted.error().text();
      EXPECT_TRUE(!line.empty() && line.find('\n') == std::string::npos) << line << text;
      continue;
    }
    ++answered;
    const report::Report& r = predicted->report;
    const double ms = r.iteration.ms();
    EXPECT_GT(ms, 0) << text;
    EXPECT_TRUE(r.low <= r.iteration && r.iteration <= r.high) << text;
    EXPECT_NEAR(r.compute.ms() + r.exposed_comm.ms() + r.waiting.ms() + r.host_bound.ms() + r.idle.ms(), ms,
                1e-6 * ms + 1e-6)
        << text;
    EXPECT_TRUE(r.mfu >= 0 && r.mfu <= 1) << text;
    EXPECT_TRUE(std::isfinite(r.samples_per_second) && r.samples_per_second > 0) << text;
  }
  EXPECT_GT(10 * answered, draws);
}

/// Micro-steps of one sample copy no heads, those of two do: ranks that have both were a contradiction.
TEST(OddExperiments, MicroStepsOfOneAndTwoSamplesLieBetweenThoseOfEach) {
  double last = 0;
  for (const char* batch : {"48", "64", "80", "96"}) {
    const auto predicted = predicted_text(
        "cluster: {system: dgx_a100_80gb, nodes: 3}\nframework: {name: tf1_horovod}\n"
        "model: {name: gpt3_27, accumulation: 2, per_gpu_batch: 0, memory_check: false}\n",
        {std::string("model.global_batch=") + batch});
    ASSERT_TRUE(predicted.ok()) << predicted.error().text();
    EXPECT_GE(predicted->report.iteration.ms(), last) << batch;
    last = predicted->report.iteration.ms();
  }
}

}  // namespace
}  // namespace distsim::pipeline
