#include "collectives/curves/curve_provenance.hpp"

#include <algorithm>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::collectives {

namespace {

constexpr std::size_t kMostNamed = 8;  // shapes or reasons of a file

bool is_of_system(const CurveSet& set, const topology::ClusterSpec& spec) {
  if (set.system.empty() || spec.name.empty()) return true;
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return set.system == spec.name || has(spec.aliases, set.system) || has(set.also_for, spec.name);
}

bool is_used(const Curve& c) { return c.not_used.empty(); }

/// A line for each reason.
std::vector<std::string> unused(const CurveSet& set, const std::string& file) {
  std::vector<std::string> out;
  for (const Curve& c : set.curves) {
    if (is_used(c) || out.size() >= kMostNamed) continue;
    std::string line = file + ": not used: " + printable(c.not_used, 200);
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::string gpu_of(const CurveSet& set) {
  return set.device.empty() && topology::is_driver_name(set.hardware) ? set.hardware : set.device;
}

std::uint32_t nodes_of(const Curve& c, const topology::ClusterSpec& spec) {
  if (c.nodes != 0) return c.nodes;
  const auto per_node = static_cast<std::uint32_t>(spec.gpus_per_node);
  return (c.ranks + per_node - 1) / per_node;
}

std::vector<std::string> assumed_nodes(const CurveSet& set, const topology::ClusterSpec& spec,
                                       const std::string& file) {
  std::vector<std::string> out;
  std::set<std::uint32_t> named;
  for (const Curve& c : set.curves) {
    if (!is_used(c) || c.nodes != 0 || spec.gpus_per_node == 1 || out.size() >= kMostNamed) continue;
    if (!named.insert(c.ranks).second) continue;
    out.push_back(file + ": nodes: not stated for " + counted(c.ranks, "rank") + ", taken as " +
                  counted(nodes_of(c, spec), "node") + ", as few as hold them; state them with curves import --nodes");
  }
  return out;
}

std::vector<std::string> provenance_remarks(const CurveSet& set, const topology::ClusterSpec& spec,
                                            const std::string& file) {
  std::vector<std::string> out = unused(set, file);
  if (std::none_of(set.curves.begin(), set.curves.end(), is_used)) return out;
  const std::string gpu = gpu_of(set);
  if (!gpu.empty() && !spec.device.empty() && !topology::may_be_gpu(gpu, spec.device))
    out.push_back("using curves measured on " + in_quotes(gpu) + " for " + spec.device);
  else if (!is_of_system(set, spec))
    out.push_back("using curves of the system " + in_quotes(set.system) + " for " + spec.name);
  for (std::string& line : assumed_nodes(set, spec, file)) out.push_back(std::move(line));
  return out;
}

}  // namespace distsim::collectives
