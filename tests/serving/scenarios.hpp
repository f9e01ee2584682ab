// Small scenarios for the tests of the emulator.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/serving/emulator/emulator.hpp"
#include "sim/serving/policies/registry.hpp"

namespace distsim::serving::test {

inline constexpr std::int64_t kMs = 1'000'000'000;  ///< picoseconds

/// `layer_ps` for every batch: time x (1 + (batch - 1) x growth).
inline std::vector<std::int64_t> sums_of(const std::vector<std::int64_t>& layer_ps, std::uint32_t max_batch,
                                         double growth) {
  std::vector<std::int64_t> sums;
  for (std::uint32_t b = 1; b <= max_batch; ++b) {
    std::int64_t sum = 0;
    sums.push_back(0);
    for (const std::int64_t t : layer_ps) {
      sum += t + static_cast<std::int64_t>(static_cast<double>(t) * (b - 1) * growth);
      sums.push_back(sum);
    }
  }
  return sums;
}

/// Identical GPUs with a link each to and from the host, and between them through it.
inline Scenario gpus_of_one_kind(std::uint32_t count) {
  Scenario s;
  s.kinds = {"gpu"};
  for (std::uint32_t g = 0; g < count; ++g) {
    Gpu gpu;
    gpu.name = "gpu" + std::to_string(g);
    gpu.host_in = gpu.peer_in = static_cast<std::uint32_t>(s.links.size());
    s.links.push_back({gpu.name + " in", 10e9, 0});
    gpu.host_out = gpu.peer_out = static_cast<std::uint32_t>(s.links.size());
    s.links.push_back({gpu.name + " out", 10e9, 0});
    gpu.box_in = gpu.host_in;
    gpu.box_out = gpu.host_out;
    s.gpus.push_back(gpu);
  }
  return s;
}

/// A model whose times are the same on every kind of GPU.
struct ModelTimes {
  std::string name;
  std::vector<std::int64_t> layer_ps;
  std::uint32_t max_batch = 1;
  double growth = 0;
};

inline void set_models(Scenario& s, const std::vector<ModelTimes>& models) {
  for (const ModelTimes& t : models) {
    Model m;
    m.name = t.name;
    m.layers = static_cast<std::uint32_t>(t.layer_ps.size());
    m.max_batch = t.max_batch;
    for (const std::int64_t time : t.layer_ps) m.size_ps += time;
    s.models.push_back(m);
  }
  for (std::uint32_t k = 0; k < s.kinds.size(); ++k) {
    for (std::uint32_t m = 0; m < models.size(); ++m)
      s.set_times(k, m, sums_of(models[m].layer_ps, models[m].max_batch, models[m].growth));
  }
}

inline const PolicyEntry& policy(const std::string& name) { return **find_policy(name); }

inline RunResult run(const Scenario& s, const std::string& policy_name, const Load& load, RunOptions options = {},
                     const PolicyOptions& policy_options = {}) {
  auto result = emulate(s, policy(policy_name), policy_options, load, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
  return result.ok() ? std::move(*result) : RunResult{};
}

}  // namespace distsim::serving::test
