#include "sim/workload/opgraph/split/shard_units.hpp"

#include <algorithm>
#include <unordered_map>

#include "sim/workload/opgraph/module_names.hpp"

namespace distsim::workload {
namespace {

constexpr std::uint32_t kNoUnit = ModuleNames::kNone;

class UnitFinder {
 public:
  UnitFinder(const opgraph::OpGraph& graph, const std::vector<std::string>& patterns, const Checkpoints& checkpoints)
      : graph_(graph), checkpoints_(checkpoints), names_(patterns), unit_of_node_(graph.nodes.size()) {}

  std::vector<ShardUnit> find() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) unit_of_node_[i] = names_.of(graph_.nodes[i].label);
    root_ = static_cast<std::uint32_t>(names_.names().size());
    for (std::uint32_t& unit : unit_of_node_) unit = unit == kNoUnit ? root_ : unit;
    for (const opgraph::Gradient& g : graph_.gradients) parameter_of_[graph_.tensors[g.parameter].storage] = kNoUnit;
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t) {
      const opgraph::Tensor& tensor = graph_.tensors[t];
      if (tensor.role != opgraph::TensorRole::parameter || tensor.on_host) continue;
      if (parameter_of_.try_emplace(tensor.storage, kNoUnit).second) frozen_.push_back(t);
    }
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_forward(i)) claim(i);
    }
    units_.resize(root_ + 1);
    for (std::uint32_t u = 0; u <= root_; ++u) units_[u].name = u == root_ ? "root" : names_.names()[u];
    add_parameters();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) note_needs(i);
    std::erase_if(units_, [](const ShardUnit& u) { return u.gathered() == 0; });
    return std::move(units_);
  }

 private:
  bool is_forward(std::uint32_t i) const { return graph_.nodes[i].phase == graph::Phase::forward; }

  template <class Visit>
  void for_each_parameter(std::uint32_t node, Visit visit) {
    for (const opgraph::Argument& a : graph_.nodes[node].inputs) {
      for (const std::uint32_t t : a.tensors) {
        const auto at = parameter_of_.find(graph_.tensors[t].storage);
        if (at != parameter_of_.end()) visit(at->second);
      }
    }
  }

  void claim(std::uint32_t node) {
    for_each_parameter(node, [&](std::uint32_t& owner) {
      const std::uint32_t unit = unit_of_node_[node];
      owner = owner == kNoUnit || owner == unit ? unit : root_;
    });
  }

  void add_parameters() {
    const opgraph::Sizes sizes(graph_, std::max<std::int64_t>(1, graph_.samples));
    const auto unit_of = [&](std::uint32_t tensor) -> ShardUnit& {
      std::uint32_t& owner = parameter_of_[graph_.tensors[tensor].storage];
      if (owner == kNoUnit) owner = root_;
      return units_[owner];
    };
    for (const std::uint32_t t : frozen_) unit_of(t).frozen += opgraph::count(sizes.elements(t));
    for (const opgraph::Gradient& g : graph_.gradients) {
      ShardUnit& unit = unit_of(g.parameter);
      unit.parameters += opgraph::count(sizes.elements(g.parameter));
      unit.tensors += 1;
      unit.complete = unit.complete == ShardUnit::kNever ? g.after : std::max(unit.complete, g.after);
    }
  }

  /// In the backward pass a unit is needed by the first call of one of its modules, also where that reads no weight: its
  /// hooks gather them.
  void note_needs(std::uint32_t node) {
    const auto need = [&](std::uint32_t unit, std::uint32_t ShardUnit::*when) {
      units_[unit].*when = std::min(units_[unit].*when, node);
    };
    if (is_forward(node)) {
      for_each_parameter(node, [&](std::uint32_t owner) { need(owner, &ShardUnit::forward); });
      return;
    }
    need(unit_of_node_[node], &ShardUnit::backward);
    const auto backward = [&](std::uint32_t owner) { need(owner, &ShardUnit::backward); };
    for_each_parameter(node, backward);
    if (const auto* again = checkpoints_.before(node); again != nullptr) {
      for (const std::uint32_t f : *again) for_each_parameter(f, backward);
    }
  }

  const opgraph::OpGraph& graph_;
  const Checkpoints& checkpoints_;
  ModuleNames names_;
  std::vector<std::uint32_t> unit_of_node_;
  std::uint32_t root_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> parameter_of_;  ///< storage of a weight to its unit
  std::vector<std::uint32_t> frozen_;
  std::vector<ShardUnit> units_;
};

}  // namespace

std::vector<ShardUnit> shard_units(const opgraph::OpGraph& graph, const std::vector<std::string>& patterns,
                                   const Checkpoints& checkpoints) {
  return UnitFinder(graph, patterns, checkpoints).find();
}

}  // namespace distsim::workload
