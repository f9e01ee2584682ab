// Link loads: what the collectives of one iteration move over each shared link, and how long the link needs for it.
//
//   bytes(l)   sum over all collectives and messages of the iteration of what they send over l (SharedLinks), per direction
//   busy(l)    bytes(l) / bandwidth(l), in seconds: at full rate and without latency or protocol, so the link carries bytes for
//              at least so long. busy / iteration is its utilisation, 0 and up; above 1 is a contradiction that the engine does not
//              look for unless engine.contention is true
// Of a folded iteration (folds.hpp) what was not played is counted as the last micro-step that was.
//
// Nodes with equal loads are a class, and so are leaves and pods. Of more than `most` classes the busiest are kept apart and the
// others become one, with the means of their links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/contention/shared_links.hpp"
#include "sim/report/report.hpp"

namespace distsim::pipeline {

struct LinkLoad {
  double bytes = 0;
  double busy_s = 0;
};

/// All links of a level.
struct LevelLoad {
  LinkLevel level = LinkLevel::gpu;
  std::string name;  ///< "NVLink of a GPU"
  std::size_t count = 0;
  double bandwidth = 0;  ///< bytes/s of one, in working order
  double bytes = 0;      ///< of all together
  LinkLoad busiest;      ///< of one: the longest busy
  std::string busiest_name;
};

/// Nodes, leaves or pods with equal loads.
struct NodeClass {
  std::uint32_t first = 0, count = 1;
  bool merged = false;  ///< loads are means
  std::vector<LinkLoad> gpus, nics;
};
struct SwitchClass {
  std::uint32_t first = 0, count = 1;
  bool merged = false;
  LinkLoad uplinks;
};

/// The link that the collectives on the critical cycle need longest.
struct LimitingLink {
  LinkLevel level = LinkLevel::gpu;
  LinkPlace place;
  std::string name;
  std::vector<std::string> collectives;  ///< those on the cycle that use it, each once
  double needs_s = 0;                    ///< for their bytes, at full rate
  double cycle_s = 0;                    ///< what they take on the cycle
};

struct LinkLoads {
  std::uint32_t nodes = 1, gpus_per_node = 1, nics_per_node = 0, domain_nodes = 1, leaves = 0, pods = 0;
  std::string gpu_links, fabric;  ///< names of the shapes
  bool rails = false;             ///< ports with the same number share a leaf
  std::vector<LevelLoad> levels;
  std::vector<NodeClass> node_classes;  ///< busiest first
  std::vector<SwitchClass> leaf_classes, pod_classes;
  std::optional<LimitingLink> limiting;  ///< none where no collective is on the cycle
};

/// `report`: that of the experiment. Errors: those of the workload and of SharedLinks.
Result<LinkLoads> link_loads(const config::Experiment& experiment, const report::Report& report, std::size_t most = 8);

/// For pages: bytes as whole numbers, times in milliseconds.
std::string link_loads_json(const LinkLoads& loads);

}  // namespace distsim::pipeline
