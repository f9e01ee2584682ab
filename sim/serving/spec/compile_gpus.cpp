#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/config/config.hpp"
#include "sim/serving/spec/compile.hpp"
#include "topology/topology.hpp"

namespace distsim::serving {
namespace {

constexpr std::size_t kMostGpus = 1'000'000;
constexpr double kPcie3Bytes = 12e9;    ///< 16 lanes of PCIe 3.0, usable: as pcie_bandwidth of configs/devices
constexpr double kDefaultBox = 12.5e9;  ///< a port of 100 Gb/s

/// Speeds of links that GPUs without figures of their own have.
struct LinkDefaults {
  double host = kPcie3Bytes, peer = 0, box = kDefaultBox;
  std::int64_t peer_latency_ps = 0, box_latency_ps = 0;
};

void read_route(const std::vector<topology::Hop>& route, double& bytes_per_s, std::int64_t& latency_ps) {
  if (route.empty()) return;
  bytes_per_s = route.front().bandwidth.value();
  latency_ps = 0;
  for (const topology::Hop& hop : route) {
    bytes_per_s = std::min(bytes_per_s, hop.bandwidth.value());
    latency_ps += hop.latency.ps();
  }
}

Result<LinkDefaults> link_defaults(const ServingSpec& spec, const Text& text) {
  LinkDefaults links;
  if (spec.cluster.system.empty()) return links;
  const auto wrong = [&](const Error& e) { return text.refuse("cluster.system", e.what, e.hint); };
  auto system = config::load_system(spec.cluster.system);
  if (!system.ok()) return wrong(system.error());
  const auto device = config::load_device(system->device);
  if (!device.ok()) return wrong(device.error());
  system->nodes = 2;
  const auto built = topology::Topology::build(*system, device->compute_capability);
  if (!built.ok()) return wrong(built.error());
  links.host = device->pcie_bandwidth.value();
  if (built->gpus_per_node() > 1) read_route(built->route(0, 1), links.peer, links.peer_latency_ps);
  read_route(built->route(0, built->gpus_per_node()), links.box, links.box_latency_ps);
  return links;
}

/// The adapter of a box, as any of its GPUs describes it; bandwidth 0, no latency: none does.
struct BoxAdapter {
  BytesPerSecond bandwidth{0};
  std::optional<Duration> latency;
  std::size_t says_bandwidth = 0, says_latency = 0;  ///< the entry of gpus
};
using BoxAdapters = std::map<std::int64_t, BoxAdapter>;

/// A box has one adapter, which GPUs of the box must not describe differently.
Result<BoxAdapters> adapters_of(const ServingSpec& spec, const Text& text) {
  BoxAdapters out;
  const auto differ = [&](std::size_t i, const char* key, const std::string& found, std::size_t other,
                          const std::string& expected) {
    return text.refuse("gpus[" + std::to_string(i) + "]." + key,
                       "found " + found + ", expected " + expected + " as of gpus[" + std::to_string(other) + "], " +
                           printable(spec.gpus[other].name, 80) + ": box " + std::to_string(spec.gpus[i].box) +
                           " has one adapter");
  };
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    const GpuSpec& g = spec.gpus[i];
    BoxAdapter& box = out[g.box];
    if (g.box_bandwidth.value() > 0) {
      if (box.bandwidth.value() > 0 && box.bandwidth.value() != g.box_bandwidth.value())
        return differ(i, "box_bandwidth", format_quantity(g.box_bandwidth.value(), Dimension::bytes_per_second),
                      box.says_bandwidth, format_quantity(box.bandwidth.value(), Dimension::bytes_per_second));
      if (box.bandwidth.value() == 0) box.says_bandwidth = i;
      box.bandwidth = g.box_bandwidth;
    }
    if (g.box_latency) {
      if (box.latency && *box.latency != *g.box_latency)
        return differ(i, "box_latency", format_quantity(g.box_latency->seconds(), Dimension::seconds), box.says_latency,
                      format_quantity(box.latency->seconds(), Dimension::seconds));
      if (!box.latency) box.says_latency = i;
      box.latency = g.box_latency;
    }
  }
  return out;
}

/// Builds the GPUs one after the other.
class GpuBuilder {
 public:
  GpuBuilder(const LinkDefaults& defaults, const DeviceTable& devices, const BoxAdapters& adapters, Scenario& out)
      : defaults_(defaults), devices_(devices), adapters_(adapters), out_(out) {}

  void add(const GpuSpec& spec, const std::string& name, std::int64_t index) {
    Gpu gpu;
    gpu.name = name;
    gpu.kind = kind_of(spec);
    gpu.memory_bytes = memory_of(spec);
    gpu.slots = static_cast<std::uint32_t>(spec.slots);
    gpu.execution = spec.execution;
    gpu.stages = static_cast<std::uint32_t>(spec.stages);
    gpu.idle_watts = devices_.idle_watts(spec);
    gpu.busy_watts = devices_.busy_watts(spec);
    gpu.box = static_cast<std::uint32_t>(spec.box);
    if (index % spec.host_link_shared_by == 0) {
      const double host = or_default(spec.host_bandwidth, host_default(spec));
      host_in_ = add_link(name + " from host", host, spec.host_latency.ps());
      host_out_ = add_link(name + " to host", host, spec.host_latency.ps());
    }
    gpu.host_in = host_in_;
    gpu.host_out = host_out_;
    const double peer = or_default(spec.peer_bandwidth, defaults_.peer);
    gpu.peers = peer > 0;
    gpu.peer_in = gpu.peers ? add_link(name + " from peers", peer, 0) : host_in_;
    gpu.peer_out = gpu.peers ? add_link(name + " to peers", peer, latency(spec.peer_latency, defaults_.peer_latency_ps))
                             : host_out_;
    add_box(spec, gpu);
    out_.gpus.push_back(gpu);
  }

 private:
  /// Of a group of GPUs, all of them together.
  std::int64_t memory_of(const GpuSpec& spec) const {
    if (spec.memory) return spec.memory->value();
    const topology::DeviceSpec* device = devices_.device(spec);
    return device == nullptr ? kNever : spec.stages * (device->hbm.capacity.value() - device->reserved_memory.value());
  }
  double host_default(const GpuSpec& spec) const {
    const topology::DeviceSpec* device = devices_.device(spec);
    return device != nullptr ? device->pcie_bandwidth.value() : defaults_.host;
  }
  static double or_default(BytesPerSecond given, double fallback) {
    return given.value() > 0 ? given.value() : fallback;
  }
  static std::int64_t latency(std::optional<Duration> given, std::int64_t fallback) {
    return given ? given->ps() : fallback;
  }

  std::uint32_t add_link(const std::string& name, double bytes_per_s, std::int64_t latency_ps) {
    out_.links.push_back({name, bytes_per_s, latency_ps});
    return static_cast<std::uint32_t>(out_.links.size() - 1);
  }
  /// Kinds differ in what they are called and in what is laid on their times.
  std::uint32_t kind_of(const GpuSpec& spec) {
    const auto [at, is_new] = kinds_.try_emplace(spec.name, static_cast<std::uint32_t>(out_.kinds.size()));
    if (is_new) out_.kinds.push_back(spec.name);
    return at->second;
  }
  void add_box(const GpuSpec& spec, Gpu& gpu) {
    const auto [at, is_new] = boxes_.try_emplace(spec.box);
    if (is_new) {
      const BoxAdapter& adapter = adapters_.at(spec.box);
      const double rate = or_default(adapter.bandwidth, defaults_.box);
      at->second.first = add_link("box " + std::to_string(spec.box) + " in", rate, 0);
      at->second.second = add_link("box " + std::to_string(spec.box) + " out", rate,
                                   latency(adapter.latency, defaults_.box_latency_ps));
    }
    gpu.box_in = at->second.first;
    gpu.box_out = at->second.second;
  }

  const LinkDefaults& defaults_;
  const DeviceTable& devices_;
  const BoxAdapters& adapters_;
  Scenario& out_;
  std::map<std::string, std::uint32_t> kinds_;
  std::map<std::int64_t, std::pair<std::uint32_t, std::uint32_t>> boxes_;
  std::uint32_t host_in_ = 0, host_out_ = 0;
};

}  // namespace

Result<void> add_gpus(const ServingSpec& spec, const Text& text, const DeviceTable& devices, Scenario& out) {
  if (spec.gpus.empty()) return text.refuse("gpus", "found an empty list, expected at least one GPU");
  TRY_ASSIGN(const LinkDefaults defaults, link_defaults(spec, text));
  TRY_ASSIGN(const BoxAdapters adapters, adapters_of(spec, text));
  GpuBuilder builder(defaults, devices, adapters, out);
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    const GpuSpec& gpu = spec.gpus[i];
    const std::string key = "gpus[" + std::to_string(i) + "]";
    if (devices.busy_watts(gpu) > 0 && devices.busy_watts(gpu) < devices.idle_watts(gpu))
      return text.refuse(key + (gpu.busy_power.value() > 0 ? ".busy_power" : ".idle_power"),
                         "found " + format_quantity(devices.busy_watts(gpu), Dimension::watts) +
                             " while it executes and " + format_quantity(devices.idle_watts(gpu), Dimension::watts) +
                             " while it does not, expected at least as much");
    if (out.gpus.size() + static_cast<std::size_t>(gpu.count) > kMostGpus)
      return text.refuse(key + ".count", "found more than 1000000 GPUs in all, expected fewer");
    for (std::int64_t n = 0; n < gpu.count; ++n) {
      const std::string name = gpu.count == 1 ? gpu.name : gpu.name + std::to_string(n);
      if (!names.insert(name).second)
        return text.refuse(key + ".name", "found " + in_quotes(name) + " twice, expected each GPU's name once");
      builder.add(gpu, name, n);
    }
  }
  return {};
}

}  // namespace distsim::serving
