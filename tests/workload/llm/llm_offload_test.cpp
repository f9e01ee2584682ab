// parallel.offload: what moves between GPU and host, and what the host's cores update, by hand.
#include <cmath>

#include "llm_fixtures.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

/// Of rank `rank`: bytes of copies by the name of their task, and time of work on the host.
struct HostSide {
  std::map<std::string, std::int64_t> bytes;
  Duration work;
};
HostSide host_side(const Workload& w, std::uint32_t rank = 0) {
  HostSide out;
  const graph::TaskGraph& g = w.graph;
  for (TaskId t(0); t < g.tasks.end_id(); t = TaskId(t.value() + 1)) {
    const graph::Op& op = g.ops[OpId(g.tasks[t].first_op.value() + g.variant_of(t, rank))];
    if (const auto* copy = std::get_if<graph::Copy>(&op)) out.bytes[g.names[g.tasks[t].name]] += copy->bytes;
    if (const auto* work = std::get_if<graph::HostWork>(&op)) out.work += work->duration;
  }
  return out;
}

ModelSpec offloaded(Offload what, std::int64_t batch = 128) {
  ModelSpec m = small_llm(2, batch);
  m.parallel.offload = what;
  m.parallel.shard = StateSplit::none;
  return m;
}

/// A parameter: a 16-bit gradient goes, a 16-bit weight comes; 28 bytes on the host, at 14 GB/s of a core.
TEST(LlmOffload, TheHostUpdatesWhatTheGpuWouldHave) {
  const Workload w = built_llm(offloaded(Offload::optimizer));
  const HostSide host = host_side(w);
  const auto parameters = static_cast<double>(w.dense_parameters);
  EXPECT_NEAR(static_cast<double>(host.bytes.at("offload.gradients")), 2 * parameters, 4);
  EXPECT_NEAR(static_cast<double>(host.bytes.at("offload.weights")), 2 * parameters, 4);
  EXPECT_NEAR(host.work.seconds(), parameters * 28 / 14e9, 1e-9);
  EXPECT_EQ(host.bytes.count("offload.to_host"), 0u);
  for (OpId op(0); op < w.graph.ops.end_id(); op = OpId(op.value() + 1))
    EXPECT_FALSE(std::holds_alternative<graph::Optimizer>(w.graph.ops[op]));
}

TEST(LlmOffload, AShareOfTheStateIsAShareOfTheWork) {
  ModelSpec m = offloaded(Offload::optimizer);
  const HostSide whole = host_side(built_llm(m));
  m.parallel.shard = StateSplit::optimizer;
  const HostSide sixteenth = host_side(built_llm(m));
  EXPECT_NEAR(sixteenth.work.seconds(), whole.work.seconds() / 16, 1e-9);
  EXPECT_NEAR(static_cast<double>(sixteenth.bytes.at("offload.gradients")),
              static_cast<double>(whole.bytes.at("offload.gradients")) / 16, 2);
}

TEST(LlmOffload, SlowHostMemoryIsSharedByTheGpusOfANode) {
  const ModelSpec m = offloaded(Offload::optimizer);
  const auto work_with = [&](double bandwidth) {
    ClusterShape cluster{2, 8, Bytes(80'000'000'000)};
    cluster.host_memory = BytesPerSecond(bandwidth);
    auto w = build_workload(m, {}, cluster);
    EXPECT_TRUE(w.ok());
    return host_side(*w).work.seconds();
  };
  EXPECT_EQ(work_with(1e12), work_with(200e9)) << "a core is slower than its share";
  EXPECT_NEAR(work_with(56e9), 2 * work_with(200e9), 1e-9) << "7 of 14 GB/s";
}

/// 16 replicas of a batch of 128: 2 micro-steps of 4 samples.
TEST(LlmOffload, ActivationsLeaveAndComeBack) {
  const ModelSpec m = offloaded(Offload::activations);
  const HostSide host = host_side(built_llm(m));
  const std::int64_t away = host.bytes.at("offload.to_host");
  EXPECT_EQ(away, host.bytes.at("offload.to_gpu"));
  EXPECT_GT(away, 2 * 2 * kActivations) << "more than what each block is given, of each micro-step";
  EXPECT_EQ(host.work, Duration{});
  EXPECT_EQ(2 * away, host_side(built_llm(offloaded(Offload::activations, 256))).bytes.at("offload.to_host"));
}

/// Of blocks that are computed again their inputs: neither logits nor what a loss of many words keeps moves.
TEST(LlmOffload, BothEndsOfTheModelStay) {
  ModelSpec m = offloaded(Offload::activations);
  m.parallel.recompute.kind = RecomputeKind::full;
  for (const std::int64_t layers : {1, 2, 12}) {
    for (const std::int64_t words : {64, 100'000}) {
      m.as<LlmSpec>().layers = layers;
      m.as<LlmSpec>().vocabulary = words;
      EXPECT_NEAR(static_cast<double>(host_side(built_llm(m)).bytes.at("offload.to_host")),
                  static_cast<double>(2 * layers * kActivations), 2)
          << layers << " blocks, of each of two micro-steps";
    }
  }
}

/// However few blocks there are beside the logits.
TEST(LlmOffload, MoreBlocksNeverHoldLess) {
  for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::full, RecomputeKind::every_second}) {
    for (const std::int64_t pipeline : {1, 2}) {
      std::int64_t before = 0;
      for (const std::int64_t layers : {2, 4, 8, 16, 32}) {
        ModelSpec m = offloaded(Offload::activations);
        m.as<LlmSpec>().layers = layers;
        m.as<LlmSpec>().vocabulary = 100'000;
        m.parallel.recompute.kind = recompute;
        m.parallel.pipeline = pipeline;
        const std::int64_t now = built_llm(m).memory.at(0).activations;
        EXPECT_GE(now, before) << layers << " blocks, " << pipeline << " stages";
        before = now;
      }
    }
  }
}

/// Two blocks of it stay: one that computes, and one on its way.
TEST(LlmOffload, WhatMovesNeverNeedsMoreOfTheGpu) {
  for (const RecomputeKind recompute : {RecomputeKind::none, RecomputeKind::full, RecomputeKind::core_attention}) {
    for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::weights}) {
      for (const std::int64_t layers : {1, 2, 3, 24}) {
        for (const std::int64_t pipeline : {1, 2}) {
          if (layers < pipeline) continue;
          ModelSpec m = small_llm(layers, 128);
          m.parallel.recompute.kind = recompute;
          m.parallel.shard = shard;
          m.parallel.pipeline = pipeline;
          m.parallel.offload = Offload::none;
          const RankMemory before = built_llm(m).memory.at(0);
          for (const Offload what : {Offload::optimizer, Offload::activations, Offload::all}) {
            m.parallel.offload = what;
            const RankMemory now = built_llm(m).memory.at(0);
            EXPECT_LE(now.activations, before.activations) << name_of(what) << ", " << layers << " blocks";
            EXPECT_LE(now.total(), before.total()) << name_of(what) << ", " << layers << " blocks";
            if (what == Offload::activations && layers > 3) {
              EXPECT_LT(now.activations, before.activations);
            }
          }
        }
      }
    }
  }
}

TEST(LlmOffload, ABlockWhoseWeightsComeIsThereWithItsGradients) {
  ModelSpec m = offloaded(Offload::all);
  m.as<LlmSpec>().hidden = 4096;
  m.as<LlmSpec>().layers = 8;
  const auto buffers = [&](std::int64_t prefetch) {
    m.parallel.prefetch = prefetch;
    return static_cast<double>(built_llm(m).memory.at(0).buffers);
  };
  const double block = 12.0 * 4096 * 4096;
  EXPECT_NEAR(buffers(1) - buffers(0), 2 * block, 0.01 * block) << "16-bit weights of the next one";
  ModelSpec here = m;
  here.parallel.offload = Offload::none;
  here.parallel.prefetch = 0;
  EXPECT_GT(buffers(0) - static_cast<double>(built_llm(here).memory.at(0).buffers), 3.9 * block);
  m.parallel.prefetch = 100;
  EXPECT_LE(built_llm(m).memory.at(0).total(), built_llm(here).memory.at(0).total()) << "not more than there is";
}

/// A forward pass keeps nothing for later: nothing of it moves, and nothing is computed again.
TEST(LlmOffload, InferenceMovesNoActivations) {
  ModelSpec m = offloaded(Offload::none);
  m.as<StepSpec>().mode = StepMode::inference;
  const Workload plain = built_llm(m);
  for (const RecomputeKind recompute : {RecomputeKind::automatic, RecomputeKind::none, RecomputeKind::full}) {
    m.parallel.recompute.kind = recompute;
    for (const Offload what : {Offload::activations, Offload::optimizer, Offload::all}) {
      m.parallel.offload = what;
      const Workload w = built_llm(m);
      const HostSide host = host_side(w);
      EXPECT_EQ(host.bytes.count("offload.to_host"), 0u) << name_of(what);
      EXPECT_EQ(host.bytes.count("offload.to_gpu"), what == Offload::all ? 1u : 0u) << name_of(what);
      EXPECT_EQ(w.memory.at(0).activations, plain.memory.at(0).activations) << name_of(what);
    }
  }
}

TEST(LlmOffload, StagesOfAPipelineMoveTheirOwn) {
  ModelSpec m = offloaded(Offload::activations);
  m.parallel.pipeline = 2;
  const Workload w = built_llm(m);
  std::int64_t sum = 0;
  for (const std::uint32_t rank : {0u, 8u}) {
    const HostSide host = host_side(w, rank);
    EXPECT_EQ(host.bytes.at("offload.to_host"), host.bytes.at("offload.to_gpu")) << "rank " << rank;
    sum += host.bytes.at("offload.to_host");
  }
  // As many samples pass a stage of 8 replicas as two micro-steps of 16 replicas have.
  m.parallel.pipeline = 1;
  EXPECT_EQ(sum, 2 * host_side(built_llm(m)).bytes.at("offload.to_host"));
}

TEST(LlmOffload, WeightsOnTheHostComeForEachPass) {
  const Workload w = built_llm(offloaded(Offload::all));
  const HostSide host = host_side(w);
  const HostSide activations = host_side(built_llm(offloaded(Offload::activations)));
  const auto parameters = static_cast<double>(w.dense_parameters);
  const auto more = [&](const char* name) {
    return static_cast<double>(host.bytes.at(name) - activations.bytes.at(name));
  };
  EXPECT_NEAR(more("offload.to_gpu"), 2 * 2 * 2 * parameters, 16) << "2 bytes, 2 passes, 2 micro-steps";
  EXPECT_NEAR(more("offload.to_host"), 2 * 2 * parameters, 16) << "gradients of 2 micro-steps";
  EXPECT_EQ(host.bytes.count("offload.weights"), 0u);
  EXPECT_EQ(w.memory.at(0).weights, 0);
}

/// More memory is no reason to copy what could be computed again.
TEST(LlmOffload, LeftOpenBlocksAreComputedAgainWhateverFits) {
  for (const Offload what : {Offload::activations, Offload::all}) {
    ModelSpec m = offloaded(what);
    m.parallel.recompute.kind = RecomputeKind::full;
    const Workload full = built_llm(m);
    m.parallel.recompute.kind = RecomputeKind::automatic;
    for (const std::int64_t memory : {std::int64_t{2'000'000'000}, std::int64_t{1'000'000'000'000}}) {
      const auto open = build_workload(m, {}, {2, 8, Bytes(memory)});
      ASSERT_TRUE(open.ok()) << open.error().text();
      EXPECT_EQ(host_side(*open).bytes, host_side(full).bytes);
      EXPECT_EQ(open->repeated_flops, full.repeated_flops);
    }
  }
}

/// A framework that moves activations takes no more of them than it has to.
TEST(LlmOffload, LeftOpenAsLittleMovesAsFits) {
  ModelSpec m = small_llm(64, 128);
  FrameworkSpec f;
  f.parallel.offloads = Offload::activations;
  const auto built_with = [&](std::int64_t memory) { return build_workload(m, f, {2, 8, Bytes(memory)}); };
  const std::int64_t whole = built_with(80'000'000'000)->memory.at(0).total();
  const auto moved = [&](std::int64_t memory) -> std::int64_t {
    const auto w = built_with(memory);
    EXPECT_TRUE(w.ok());
    EXPECT_LE(w->memory.at(0).total(), memory);
    const HostSide host = host_side(*w);
    return host.bytes.count("offload.to_host") > 0 ? host.bytes.at("offload.to_host") : 0;
  };
  EXPECT_EQ(moved(whole), 0);
  const std::int64_t activations = built_with(80'000'000'000)->memory.at(0).activations;
  const std::int64_t little = moved(whole - activations / 10), much = moved(whole - activations / 2);
  EXPECT_GT(little, 0);
  EXPECT_GT(much, little);
}

}  // namespace
}  // namespace distsim::workload
