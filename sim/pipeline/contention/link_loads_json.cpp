// Link loads as JSON.
#include <cmath>

#include "base/json/json_text.hpp"
#include "sim/pipeline/contention/link_loads.hpp"

namespace distsim::pipeline {
namespace {

using LoadJson = nlohmann::ordered_json;

std::string_view word_of(LinkLevel level) {
  switch (level) {
    case LinkLevel::gpu:
      return "gpu";
    case LinkLevel::nic:
      return "nic";
    case LinkLevel::leaf:
      return "leaf";
    case LinkLevel::pod:
      break;
  }
  return "pod";
}

std::int64_t whole(double value) { return std::isfinite(value) && value < 9e18 ? std::llround(value) : 0; }

/// Seconds as milliseconds with at most seven digits.
double short_ms(double seconds) {
  const double ms = seconds * 1e3;
  if (!std::isfinite(ms) || ms <= 0) return 0;
  const double scale = std::pow(10.0, 6 - std::floor(std::log10(ms)));
  return std::round(ms * scale) / scale;
}

LoadJson load_json(const LinkLoad& l) { return {whole(l.bytes), short_ms(l.busy_s)}; }

LoadJson list_json(const std::vector<LinkLoad>& loads) {
  LoadJson out = LoadJson::array();
  for (const LinkLoad& l : loads) out.push_back(load_json(l));
  return out;
}

LoadJson switches_json(const std::vector<SwitchClass>& classes) {
  LoadJson out = LoadJson::array();
  for (const SwitchClass& c : classes)
    out.push_back({{"first", c.first}, {"count", c.count}, {"merged", c.merged}, {"uplinks", load_json(c.uplinks)}});
  return out;
}

LoadJson levels_json(const LinkLoads& loads) {
  LoadJson out = LoadJson::array();
  for (const LevelLoad& l : loads.levels)
    out.push_back({{"level", word_of(l.level)},
                   {"name", l.name},
                   {"count", l.count},
                   {"bandwidth", whole(l.bandwidth)},
                   {"bytes", whole(l.bytes)},
                   {"busiest", load_json(l.busiest)},
                   {"busiest_name", l.busiest_name}});
  return out;
}

LoadJson limiting_json(const std::optional<LimitingLink>& link) {
  if (!link) return nullptr;
  return {{"level", word_of(link->level)},      {"node", link->place.node},
          {"index", link->place.index},         {"name", link->name},
          {"collectives", link->collectives},   {"needs_ms", short_ms(link->needs_s)},
          {"cycle_ms", short_ms(link->cycle_s)}};
}

}  // namespace

std::string link_loads_json(const LinkLoads& loads) {
  LoadJson nodes = LoadJson::array();
  for (const NodeClass& c : loads.node_classes)
    nodes.push_back({{"first", c.first},
                     {"count", c.count},
                     {"merged", c.merged},
                     {"gpus", list_json(c.gpus)},
                     {"nics", list_json(c.nics)}});
  const LoadJson out{{"nodes", loads.nodes},
                     {"gpus_per_node", loads.gpus_per_node},
                     {"nics_per_node", loads.nics_per_node},
                     {"domain_nodes", loads.domain_nodes},
                     {"leaves", loads.leaves},
                     {"pods", loads.pods},
                     {"gpu_links", loads.gpu_links},
                     {"fabric", loads.fabric},
                     {"rails", loads.rails},
                     {"levels", levels_json(loads)},
                     {"node_classes", std::move(nodes)},
                     {"leaf_classes", switches_json(loads.leaf_classes)},
                     {"pod_classes", switches_json(loads.pod_classes)},
                     {"limiting", limiting_json(loads.limiting)}};
  return json_text(out);
}

}  // namespace distsim::pipeline
