#include "sim/pipeline/network_remarks.hpp"

#include <fmt/format.h>

#include <numeric>
#include <string>

#include "base/text/counted.hpp"
#include "topology/shapes/fabric.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::pipeline {
namespace {

using config::Experiment;

/// Settings of a section of the cluster, and where they come from.
class Settings {
 public:
  Settings(const Experiment& e, const char* section) : cluster_(*e.merged.find("cluster")), section_(section) {
    node_ = cluster_.find(section);
  }

  std::string path(const std::string& key) const { return "cluster." + std::string(section_) + "." + key; }
  const ConfigNode* find(const std::string& key) const { return node_ != nullptr ? node_->find(key) : nullptr; }
  /// Written by the user of a system, not in the file of the system.
  bool overridden(const ConfigNode& value) const {
    const ConfigNode* name = cluster_.find("name");
    return name == nullptr || file_of(value) != file_of(*name);
  }
  std::vector<std::string> overrides() const {
    std::vector<std::string> paths;
    for (std::size_t i = 0; node_ != nullptr && i < node_->entries.size(); ++i) {
      if (overridden(node_->entries[i].value)) paths.push_back(path(node_->entries[i].key));
    }
    return paths;
  }
  /// "cluster.fabric.nodes_per_leaf is 32 (from the system dgx_h100)".
  std::string origin(const std::string& key, std::int64_t value) const {
    const ConfigNode* node = find(key);
    const std::string text = fmt::format("{} is {}", path(key), value);
    if (node == nullptr) return text + " (default)";
    return overridden(*node) ? text : fmt::format("{} (from the system {})", text, cluster_.find("name")->scalar);
  }

  static std::string file_of(const ConfigNode& n) { return n.where.file ? *n.where.file : ""; }

 private:
  const ConfigNode& cluster_;
  const char* section_;
  const ConfigNode* node_ = nullptr;
};

class Remarks {
 public:
  Remarks(const Experiment& e, const graph::TaskGraph& graph, const CostModels& models)
      : e_(e), fabric_(e.cluster.fabric), graph_(graph), models_(models), settings_(e, "fabric") {}

  Result<std::vector<graph::Assumption>> run() && {
    if (one_domain()) {
      unused_network();
      return std::move(out_);
    }
    partly_filled_domains();
    capped_by_pcie();
    if (e_.engine.jobs == 1 && fabric_.shape->uplinks) TRY(inert_uplinks());
    return std::move(out_);
  }

 private:
  bool one_domain() const { return e_.cluster.nodes <= e_.cluster.gpu_links.domain_nodes; }
  void add(std::string text) { out_.push_back({graph::AssumptionKind::network, std::move(text)}); }
  void add_inert(const std::string& setting, const std::string& why) { add(setting + " has no effect: " + why); }

  void unused_network() {
    if (!e_.cluster.gpu_links.has_nvlink()) return;  // GPUs of a node may use its NICs
    std::vector<std::string> paths = Settings(e_, "nic").overrides();
    for (std::string& path : settings_.overrides()) paths.push_back(std::move(path));
    if (paths.empty()) return;
    const std::string where = e_.cluster.nodes == 1 ? "all GPUs are in one node" : "all GPUs are in one NVLink domain";
    add(fmt::format("{} {} no effect: {}", fmt::join(paths, ", "), agreeing(paths.size(), "has", "have"), where));
  }

  void partly_filled_domains() {
    const topology::NvlinkDomains& domains = models_.topology.domains();
    const std::int64_t whole = e_.cluster.gpu_links.domain_nodes;
    if (whole == 1 || e_.cluster.nodes % whole == 0) return;
    add(fmt::format("the {} are taken to be in {}, which can hold {} each (cluster.gpu_links.domain_nodes)",
                    counted(static_cast<std::uint64_t>(e_.cluster.nodes), "node"), domains.text(), whole));
  }

  void capped_by_pcie() {
    const topology::NicSpec& nic = e_.cluster.nic;
    std::vector<std::uint32_t> ranks(models_.topology.gpus_per_node());
    std::iota(ranks.begin(), ranks.end(), 0u);
    const topology::GroupFacts facts = models_.topology.facts(ranks);  // nodes are alike
    const double wanted = facts.nics_per_node * nic.bandwidth.value() * nic.efficiency;
    constexpr double kRounding = 1e-9;
    if (facts.node_bandwidth.value() >= wanted * (1 - kRounding)) return;
    add(fmt::format(
        "NICs are limited by PCIe: {} x {} can transfer {} per node, of {}, because cluster.pcie.bandwidth is {}",
        facts.nics_per_node, rate(nic.bandwidth.value()), rate(facts.node_bandwidth.value()), rate(wanted),
        rate(e_.cluster.pcie.bandwidth.value())));
  }

  /// Oversubscription and load of uplinks that this job does not notice.
  Result<void> inert_uplinks() {
    const std::int64_t per_leaf = fabric_.nodes_per_leaf;
    if (e_.cluster.nodes <= per_leaf) {
      const std::string why = under_one("leaf", settings_.origin("nodes_per_leaf", per_leaf));
      if (given("oversubscription", fabric_.oversubscription))
        add_inert(setting("oversubscription", fabric_.oversubscription), why);
      if (e_.engine.uplink_load > 0) add_inert(fmt::format("engine.uplink_load {:.4g}", e_.engine.uplink_load), why);
    }
    if (given("spine_oversubscription", fabric_.spine_oversubscription) &&
        e_.cluster.nodes <= per_leaf * fabric_.leaves_per_pod) {
      add_inert(setting("spine_oversubscription", fabric_.spine_oversubscription),
                under_one("pod", settings_.origin("leaves_per_pod", fabric_.leaves_per_pod)));
    }
    const bool across_leaves = e_.cluster.nodes > per_leaf && given("oversubscription", fabric_.oversubscription);
    if (!across_leaves || e_.engine.contended()) return {};
    TRY_ASSIGN(const bool slowed, slowed_by_uplinks(graph_, models_));
    if (!slowed)
      add_inert(setting("oversubscription", fabric_.oversubscription),
                "no collective of this job fills the uplinks before the NICs below them");
    return {};
  }

  /// A ratio above 1 that the experiment gives, rather than the file of the system.
  bool given(const std::string& key, double ratio) const {
    const ConfigNode* value = settings_.find(key);
    return ratio > 1 && value != nullptr && (settings_.overridden(*value) || Settings::file_of(*value) == e_.path);
  }
  std::string setting(const std::string& key, double value) const {
    return fmt::format("{} {:.4g}", settings_.path(key), value);
  }
  std::string under_one(const char* unit, const std::string& because) const {
    return fmt::format("all {} are under one {}, because {}",
                       counted(static_cast<std::uint64_t>(e_.cluster.nodes), "node"), unit, because);
  }
  static std::string rate(double value) { return format_quantity(value, Dimension::bytes_per_second); }

  const Experiment& e_;
  const topology::FabricSpec& fabric_;
  const graph::TaskGraph& graph_;
  const CostModels& models_;
  Settings settings_;
  std::vector<graph::Assumption> out_;
};

}  // namespace

Result<std::vector<graph::Assumption>> network_remarks(const Experiment& e, const graph::TaskGraph& graph,
                                                       const CostModels& models) {
  return Remarks(e, graph, models).run();
}

}  // namespace distsim::pipeline
