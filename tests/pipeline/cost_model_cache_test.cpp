#include "sim/pipeline/cost_model_cache.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <type_traits>

#include "sim/pipeline/device_models.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

CostModelInputs flagship_inputs() {
  const config::Experiment e = config::load_experiment(test::config("dgx_a100_4node.yaml"), {}).value();
  return {e.cluster, e.device, e.collectives};
}

TEST(CostModelCache, EqualMachinesShareTheirModels) {
  CostModelCache cache;
  const auto first = cache.models(flagship_inputs()).value();
  EXPECT_EQ(cache.models(flagship_inputs()).value(), first);
}

/// Every part of the inputs counts.
TEST(CostModelCache, OtherMachinesHaveTheirOwn) {
  CostModelCache cache;
  const auto first = cache.models(flagship_inputs()).value();
  CostModelInputs nodes = flagship_inputs(), nic = flagship_inputs(), clock = flagship_inputs(),
                  curves = flagship_inputs();
  nodes.cluster.nodes = 5;
  nic.cluster.nic.bandwidth = BytesPerSecond(1e9);
  clock.device.clock.sustained = Hertz(clock.device.clock.sustained.value() / 2);
  curves.collectives.use_curves = false;
  for (const CostModelInputs& other : {nodes, nic, clock, curves}) EXPECT_NE(cache.models(other).value(), first);
  EXPECT_EQ(cache.models(flagship_inputs()).value(), first);
}

TEST(CostModelCache, ForgetsTheLeastLatelyUsed) {
  CostModelCache cache;
  const auto first = cache.models(flagship_inputs()).value();
  CostModelInputs other = flagship_inputs();
  for (std::int64_t nodes = 5; nodes < 5 + 40; ++nodes) {
    other.cluster.nodes = nodes;
    ASSERT_TRUE(cache.models(other).ok());
  }
  EXPECT_NE(cache.models(flagship_inputs()).value(), first);
}

/// Ops that differ in one field each: what is kept of one is not taken for another.
std::vector<graph::Op> neighbours() {
  return {graph::Gemm{1, 2048, 1024, 512, graph::DType::fp16},
          graph::Gemm{1, 2048, 1024, 512, graph::DType::bf16},
          graph::Gemm{1, 2048, 1024, 512, graph::DType::fp32},
          graph::Gemm{2, 2048, 1024, 512, graph::DType::fp32},
          graph::Gemm{1, 1024, 2048, 512, graph::DType::fp32},
          graph::Elementwise{1'000'000},
          graph::Elementwise{1'000'000, 2},
          graph::Elementwise{1'000'000, 1, 2},
          graph::Elementwise{1'000'000, 1, 1, 300},
          graph::Elementwise{1'000'000, 1, 1, 1, graph::DType::fp16},
          graph::Normalization{graph::NormKind::layer, 8192, 1024, graph::DType::fp16},
          graph::Normalization{graph::NormKind::rms, 8192, 1024, graph::DType::fp16},
          graph::Normalization{graph::NormKind::layer, 8192, 1024, graph::DType::fp32},
          graph::Normalization{graph::NormKind::layer, 8192, 1024, graph::DType::fp16, graph::Pass::backward},
          graph::Normalization{graph::NormKind::batch, 8192, 1024, graph::DType::fp16},
          graph::Softmax{8192, 1024, graph::DType::fp16},
          graph::Softmax{8192, 1024, graph::DType::fp32},
          graph::Softmax{8192, 1024, graph::DType::fp16, graph::Pass::backward},
          graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 1},
          graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 2, 1},
          graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 0},
          graph::Conv2d{32, 64, 56, 56, 64, 1, 3, 1, 1},
          graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 2},
          graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1, graph::DType::fp32, true, graph::Pass::backward},
          graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1, graph::DType::fp32, true, graph::Pass::backward_data},
          graph::Copy{graph::CopyKind::h2d, 1'000'000}};
}

/// What models of other figures share of what they have worked out changes no price.
TEST(CostModelCache, PricesDoNotDependOnModelsMadeBefore) {
  CostModelInputs hbm = flagship_inputs(), l2 = flagship_inputs(), memory = flagship_inputs(),
                  other = flagship_inputs();
  hbm.device.hbm.bandwidth = BytesPerSecond(hbm.device.hbm.bandwidth.value() / 2);
  l2.device.l2.bandwidth = BytesPerSecond(l2.device.l2.bandwidth.value() * 2);
  memory.device.hbm.capacity = Bytes(memory.device.hbm.capacity.value() * 2);
  other.device = config::load_device("h100_sxm5_80gb").value();
  CostModelCache cache;
  for (const CostModelInputs& inputs : {flagship_inputs(), hbm, l2, memory, other, hbm}) {
    const auto kept = cache.models(inputs).value();
    for (const graph::Op& op : neighbours()) {
      const graph::Cost a = kept->op_prices->of(op, kept->ops).value(),
                        b = op_models_of(inputs.device).value().price(op).value();
      EXPECT_EQ(a.mean, b.mean) << graph::describe(op);
      EXPECT_EQ(a.low, b.low) << graph::describe(op);
      EXPECT_EQ(a.high, b.high) << graph::describe(op);
      EXPECT_EQ(a.source, b.source) << graph::describe(op);
    }
  }
}

/// Prices are kept where nothing that they depend on has changed, and only there.
TEST(CostModelCache, KeepsPricesWhereRatesAreEqual) {
  CostModelInputs memory = flagship_inputs(), nic = flagship_inputs();
  memory.device.hbm.capacity = Bytes(memory.device.hbm.capacity.value() * 2);
  nic.cluster.nic.bandwidth = BytesPerSecond(1e9);
  CostModelCache cache;
  const auto prices = cache.models(flagship_inputs()).value()->op_prices;
  EXPECT_EQ(cache.models(memory).value()->op_prices, prices);
  EXPECT_EQ(cache.models(nic).value()->op_prices, prices);
  const auto faster = [](auto& rate) { rate = std::remove_reference_t<decltype(rate)>(rate.value() * 1.1); };
  using Device = topology::DeviceSpec;
  const std::vector<std::function<void(Device&)>> changes{
      [&](Device& d) { faster(d.hbm.bandwidth); },
      [&](Device& d) { faster(d.l2.bandwidth); },
      [&](Device& d) { d.l2.capacity = Bytes(d.l2.capacity.value() / 2); },
      [&](Device& d) { faster(d.pcie_bandwidth); },
      [&](Device& d) { faster(d.peak.at("fp16")); },
      [&](Device& d) { faster(d.peak.at("vector_fp32")); },
      [&](Device& d) { d.sm_count += 2; },
      [&](Device& d) { faster(d.clock.boost); },
      [&](Device& d) { d.launch.kernel_floor = Duration(); },
      [&](Device& d) { d.launch.kernel_gap = Duration(); },
      [&](Device& d) { d.name = "another"; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CostModelInputs changed = flagship_inputs();
    changes[i](changed.device);
    EXPECT_NE(cache.models(changed).value()->op_prices, prices) << "change " << i;
  }
}

/// A kept model gives the same prediction as a new one.
TEST(CostModelCache, PredictionsDoNotDependOnIt) {
  const config::Experiment e = config::load_experiment(test::config("dgx_a100_4node.yaml"), {}).value();
  CostModelCache cache;
  Passes a, b, c;
  const auto fresh = predict(e, a).value(), first = predict(e, b, cache).value(), again = predict(e, c, cache).value();
  EXPECT_EQ(fresh.timeline->digest, first.timeline->digest);
  EXPECT_EQ(fresh.timeline->digest, again.timeline->digest);
}

/// Of groups that look alike one is kept: none may be missing where the NVLink domains of a job are not equal.
TEST(GroupPrices, EveryKindOfGroupIsThere) {
  topology::ClusterSpec spec = config::load_system("gb200_nvl72").value();
  spec.gpu_links.domain_nodes = 6;
  spec.fabric.nodes_per_leaf = 4;
  spec.fabric.oversubscription = 2;
  for (const std::int64_t nodes : {18, 20, 32, 33}) {
    spec.nodes = nodes;
    const topology::Topology topology = topology::Topology::build(spec, 100).value();
    const std::uint32_t ranks = topology.ranks();
    for (const auto& [size, stride] : {std::pair(8u, 1u), std::pair(4u, 2u), std::pair(2u, 8u), std::pair(12u, 1u)}) {
      if (ranks % (size * stride) != 0) continue;
      std::set<std::string> all, kept;
      graph::Partition listed;
      listed.listed_offsets = {0};
      for (std::uint32_t base = 0; base < ranks; base += size * stride) {
        for (std::uint32_t first = base; first < base + stride; ++first) {
          std::vector<std::uint32_t> members(size);
          for (std::uint32_t i = 0; i < size; ++i) members[i] = first + i * stride;
          all.insert(topology.facts(members, topology::Siblings::active).key());
          listed.listed_members.insert(listed.listed_members.end(), members.begin(), members.end());
          listed.listed_offsets.push_back(static_cast<std::uint32_t>(listed.listed_members.size()));
        }
      }
      for (const graph::Partition& p : {graph::Partition::strided(size, stride), listed}) {
        GroupPrices prices;
        kept.clear();
        for (const topology::GroupFacts& facts : prices.of(p, ranks, topology)->facts()) kept.insert(facts.key());
        EXPECT_EQ(kept, all) << nodes << " nodes, " << size << " by " << stride;
      }
    }
  }
}

}  // namespace
}  // namespace distsim::pipeline
