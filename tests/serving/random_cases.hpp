// Random scenarios: every kind of GPU, link, model and placement. Times are small numbers, so that many things happen at one
// moment.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "oracle_machines.hpp"
#include "scenarios.hpp"
#include "sim/serving/emulator/gpus/stream_plan.hpp"

namespace distsim::serving::test {

struct RandomCase {
  Scenario scenario;
  OracleSetup setup;
  PolicyOptions options;
  Load load;
};

inline std::uint32_t pick(Random& random, std::uint64_t from, std::uint64_t to) {
  return static_cast<std::uint32_t>(from + random.below(to - from + 1));
}

inline void add_random_gpus(Random& random, Scenario& s, std::vector<std::uint32_t>& streams) {
  const std::uint32_t kinds = pick(random, 1, 2), count = pick(random, 1, 4);
  for (std::uint32_t k = 0; k < kinds; ++k) {
    s.kinds.push_back("kind" + std::to_string(k));
    streams.push_back(random.below(2) == 0 ? 1 : pick(random, 2, 4));
  }
  const bool shares_links = random.below(3) == 0;
  const auto link = [&](const char* name) {
    s.links.push_back({name, 1e12 / static_cast<double>(pick(random, 1, 3)), pick(random, 0, 2)});
    return static_cast<std::uint32_t>(s.links.size() - 1);
  };
  const std::uint32_t box_in = link("box in"), box_out = link("box out");
  for (std::uint32_t g = 0; g < count; ++g) {
    Gpu gpu;
    gpu.kind = g % kinds;
    gpu.slots = pick(random, 1, 3);
    gpu.execution = random.below(3) == 0 ? Execution::shared : Execution::serial;
    if (streams[gpu.kind] == 1 && random.below(4) == 0) {
      gpu.execution = Execution::pipeline;
      gpu.stages = pick(random, 1, 3);
    }
    gpu.host_in = g > 0 && shares_links ? s.gpus[0].host_in : link("in");
    gpu.host_out = g > 0 && shares_links ? s.gpus[0].host_out : link("out");
    gpu.peers = random.below(2) == 0;
    gpu.peer_in = link("peer in");
    gpu.peer_out = link("peer out");
    gpu.box = random.below(3) == 0 ? 1 : 0;
    gpu.box_in = box_in;
    gpu.box_out = box_out;
    gpu.memory_bytes = pick(random, 6, 12);
    s.gpus.push_back(gpu);
  }
}

inline Demand random_demand(Random& random) {
  const auto quarter = [&] { return static_cast<double>(random.below(5)) / 4; };
  return {quarter(), quarter(), quarter()};
}

/// Each layer needs up to two before it, mostly near ones.
inline Needs random_needs(Random& random, std::uint32_t layers) {
  Needs needs(layers);
  for (std::uint32_t l = 1; l < layers; ++l) {
    for (std::uint64_t n = random.below(8) == 0 ? 0 : 1 + random.below(2); n > 0; --n) {
      const std::uint32_t layer = l - 1 - static_cast<std::uint32_t>(random.below(std::min(l, 4u)));
      if (needs[l].empty() || needs[l][0].layer != layer) needs[l].push_back({layer, pick(random, 0, 3)});
    }
  }
  return needs;
}

inline void add_random_models(Random& random, Scenario& s, OracleSetup& setup) {
  const std::uint32_t count = pick(random, 1, 3);
  const bool own_demands = random.below(3) == 0;
  for (std::uint32_t m = 0; m < count; ++m) {
    Model model;
    model.name = "model" + std::to_string(m);
    const bool branches = random.below(2) == 0;
    model.layers = branches ? pick(random, 3, 8) : pick(random, 1, 4);
    model.max_batch = pick(random, 1, 4);
    model.weight_bytes = pick(random, 0, 6);
    model.input_bytes = pick(random, 0, 3);
    model.output_bytes = pick(random, 0, 3);
    model.state_bytes = pick(random, 0, 3);
    model.deadline_ps = random.below(2) == 0 ? kNever : pick(random, 1, 60);
    model.priority = static_cast<std::int32_t>(random.below(3));
    model.size_ps = pick(random, 1, 10);
    model.demand = random_demand(random);
    if (random.below(2) == 0) {
      for (std::uint32_t l = 0; l < model.layers; ++l) model.state_after.push_back(pick(random, 0, 3));
    }
    setup.needs.push_back(branches ? random_needs(random, model.layers) : Needs());
    if (branches) model.graph = LayerGraph(setup.needs.back());
    s.models.push_back(model);
  }
  for (std::uint32_t k = 0; k < s.kinds.size(); ++k) {
    for (std::uint32_t m = 0; m < count; ++m) {
      std::vector<std::int64_t> layers;
      for (std::uint32_t l = 0; l < s.models[m].layers; ++l) layers.push_back(pick(random, 1, 9));
      s.set_times(k, m, sums_of(layers, s.models[m].max_batch, 0.5));
      std::vector<Demand> demands;
      for (std::size_t i = 0; own_demands && i < layers.size() * s.models[m].max_batch; ++i)
        demands.push_back(random_demand(random));
      if (own_demands) s.set_uses(k, m, demands, {});
      plan_streams(s, k, m, setup.streams[k]);
    }
  }
}

/// Some models on some of the GPUs only.
inline void add_random_placement(Random& random, RandomCase& c) {
  const auto gpus = static_cast<std::uint32_t>(c.scenario.gpus.size());
  c.options.placement.resize(c.scenario.models.size());
  for (std::vector<std::uint32_t>& places : c.options.placement) {
    const std::uint32_t first = pick(random, 0, gpus - 1);
    if (random.below(2) == 0) continue;
    for (std::uint32_t g = 0; g < gpus; ++g) {
      if (g == first || random.below(3) == 0) places.push_back(g);
    }
  }
}

inline RandomCase random_case(std::uint64_t seed) {
  Random random(seed);
  RandomCase c;
  add_random_gpus(random, c.scenario, c.setup.streams);
  add_random_models(random, c.scenario, c.setup);
  c.scenario.residency = static_cast<Residency>(random.below(3));
  c.options.batch = pick(random, 1, 4);
  c.options.delay_ps = pick(random, 1, 20);
  c.load.kind = LoadKind::trace;
  std::int64_t time = 0;
  const std::uint32_t requests = pick(random, 1, 40), gap = pick(random, 1, 30);
  for (std::uint32_t i = 0; i < requests; ++i) {
    time += static_cast<std::int64_t>(random.below(gap));
    c.load.trace.push_back({time, static_cast<std::uint32_t>(random.below(c.scenario.models.size()))});
  }
  if (random.below(2) == 0) add_random_placement(random, c);
  return c;
}

}  // namespace distsim::serving::test
