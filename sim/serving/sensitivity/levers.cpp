#include "sim/serving/sensitivity/levers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

namespace distsim::serving {
namespace {

constexpr double kMostCount = 1e5;  ///< GPUs of a kind, slots, requests of a batch, clients

std::int64_t scaled_count(std::int64_t count, double factor) {
  return std::llround(std::clamp(static_cast<double>(count) * factor, 1.0, kMostCount));
}

/// Whether it became another.
template <class Value>
bool replace(Value& value, const Value& by) {
  return std::exchange(value, by) != by;
}

/// Links that GPUs use in one way.
std::set<std::uint32_t> links_of(const Scenario& s, std::uint32_t Gpu::*in, std::uint32_t Gpu::*out) {
  std::set<std::uint32_t> links;
  for (const Gpu& gpu : s.gpus) links.insert({gpu.*in, gpu.*out});
  return links;
}

void add_links(std::vector<Lever>& out, const std::string& name, const std::string& level,
               const std::set<std::uint32_t>& links, const Scenario& s) {
  out.push_back({name + "_bandwidth", name + " bandwidth", level, nullptr,
                 [links](Experiment& e, double factor) {
                   for (const std::uint32_t link : links) e.scenario.links[link].bytes_per_s *= factor;
                 },
                 false});
  if (std::ranges::none_of(links, [&](std::uint32_t link) { return s.links[link].latency_ps > 0; })) return;
  out.push_back({name + "_latency", name + " latency", level, nullptr,
                 [links](Experiment& e, double factor) {
                   for (const std::uint32_t link : links) {
                     std::int64_t& latency = e.scenario.links[link].latency_ps;
                     latency = times_factor(latency, 1 / factor);
                   }
                 },
                 false});
}

std::string name_of_gpu(const GpuSpec& g, std::int64_t index, std::int64_t count) {
  return count == 1 ? g.name : g.name + std::to_string(index);
}

/// As many GPUs of a kind. Further ones have the models of those that are there, one after the other; of those that are
/// taken away nothing stays placed. Error: a model is left without a GPU.
Result<void> set_count(ServingSpec& s, std::size_t kind, std::int64_t count) {
  GpuSpec& g = s.gpus[kind];
  const std::int64_t before = g.count;
  for (ModelTimesSpec& m : s.models) {
    if (m.placed_on.empty() || count == before) continue;
    std::vector<std::string> places = m.placed_on;
    for (std::int64_t i = 0; i < before; ++i) std::erase(places, name_of_gpu(g, i, before));
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::ranges::find(m.placed_on, name_of_gpu(g, i % before, before)) != m.placed_on.end())
        places.push_back(name_of_gpu(g, i, count));
    }
    if (places.empty()) return Error{"leaves no GPU that " + m.name + " is placed on", "", ""};
    m.placed_on = std::move(places);
  }
  g.count = count;
  return {};
}

void add_gpus(std::vector<Lever>& out, const ServingSpec& spec) {
  const auto speed = [](std::size_t only, std::size_t count) {
    return [only, count](ServingSpec& s, double factor) -> Result<bool> {
      for (std::size_t i = 0; i < s.gpus.size(); ++i) s.gpus[i].speed *= i == only || only == count ? factor : 1;
      return factor != 1;
    };
  };
  const auto number = [](std::size_t only, std::size_t count) {
    return [only, count](ServingSpec& s, double factor) -> Result<bool> {
      bool changed = false;
      for (std::size_t i = 0; i < s.gpus.size(); ++i) {
        if (i != only && only != count) continue;
        const std::int64_t before = s.gpus[i].count;
        TRY(set_count(s, i, scaled_count(before, factor)));
        changed = changed || s.gpus[i].count != before;
      }
      return changed;
    };
  };
  const std::size_t all = spec.gpus.size();
  out.push_back({"gpu_speed", "GPU speed", "gpu", speed(all, all), nullptr, false});
  out.push_back({"gpu_count", "number of GPUs", "gpu", number(all, all), nullptr, true});
  for (std::size_t i = 0; i < all && all > 1; ++i) {
    const std::string& name = spec.gpus[i].name;
    out.push_back({"gpu_speed:" + name, "speed of " + name, "gpu", speed(i, all), nullptr, false});
    out.push_back({"gpu_count:" + name, "number of " + name, "gpu", number(i, all), nullptr, true});
  }
  out.push_back({"slots", "slots of a GPU", "gpu",
                 [](ServingSpec& s, double factor) -> Result<bool> {
                   bool changed = false;
                   for (GpuSpec& g : s.gpus) changed |= replace(g.slots, scaled_count(g.slots, factor));
                   return changed;
                 },
                 nullptr, true});
}

/// Memory in which weights are kept.
void scale_memory(Experiment& e, double factor) {
  for (Gpu& gpu : e.scenario.gpus) {
    if (gpu.memory_bytes == kNever) continue;
    const double bytes = static_cast<double>(gpu.memory_bytes) * factor;
    gpu.memory_bytes = bytes < 1e17 ? std::llround(bytes) : kNever;
  }
}

/// How rarely requests come.
void scale_load(Experiment& e, double factor) {
  Load& load = e.load;
  if (load.is_closed()) {
    load.clients = static_cast<std::uint32_t>(scaled_count(load.clients, 1 / factor));
    return;
  }
  for (double& rate : e.rates_per_s) rate /= factor;
  load.rate_per_s /= factor;
  for (BurstState& b : load.bursts) b.rate_per_s /= factor;
  for (TraceRow& row : load.trace) row.time_ps = times_factor(row.time_ps, factor);
}

/// By its key, or by where its times end.
std::uint32_t largest_batch(const Scenario& s) {
  std::uint32_t largest = 1;
  for (const Model& m : s.models) largest = std::max(largest, m.max_batch);
  return largest;
}

}  // namespace

std::vector<Lever> levers_of(const ServingSpec& spec, const Experiment& e) {
  const Scenario& s = e.scenario;
  std::vector<Lever> out;
  add_gpus(out, spec);
  if (s.residency == Residency::cached &&
      std::ranges::any_of(s.gpus, [](const Gpu& g) { return g.memory_bytes != kNever; }))
    out.push_back({"gpu_memory", "GPU memory", "memory", nullptr, scale_memory, false});
  add_links(out, "host", "pcie", links_of(s, &Gpu::host_in, &Gpu::host_out), s);
  if (std::ranges::any_of(s.gpus, [](const Gpu& g) { return g.peers; }))
    add_links(out, "peer", "nvlink", links_of(s, &Gpu::peer_in, &Gpu::peer_out), s);
  if (std::ranges::any_of(s.gpus, [&](const Gpu& g) { return g.box != s.gpus[0].box; }))
    add_links(out, "box", "nic", links_of(s, &Gpu::box_in, &Gpu::box_out), s);
  const bool single = e.load.kind == LoadKind::offline || e.load.kind == LoadKind::single_stream ||
                      e.load.kind == LoadKind::multi_stream;
  if (!single) out.push_back({"load", "time between requests", "load", nullptr, scale_load, e.load.is_closed()});
  if (e.policies[0]->batches) {
    out.push_back({"batch_size", "batching.size", "batching",
                   [](ServingSpec& x, double factor) -> Result<bool> {
                     return replace(x.batching.size, scaled_count(x.batching.size, factor));
                   },
                   nullptr, true, "no model takes batches of more than " + std::to_string(largest_batch(s))});
  }
  if (e.policies[0]->delays) {
    out.push_back({"batch_delay", "batching.delay", "batching",
                   [](ServingSpec& x, double factor) -> Result<bool> {
                     return replace(x.batching.delay,
                                    Duration::picoseconds(times_factor(x.batching.delay.ps(), 1 / factor)));
                   },
                   nullptr, false});
  }
  return out;
}

}  // namespace distsim::serving
