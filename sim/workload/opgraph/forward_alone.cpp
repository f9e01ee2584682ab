#include "sim/workload/opgraph/forward_alone.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/opgraph/kernels.hpp"

namespace distsim::workload {
namespace {

bool is_dropout(const opgraph::Node& node) {
  const std::string_view name = opgraph::base_name(node.op);
  return (name == "native_dropout" || name == "_fused_dropout") && !node.inputs.empty() &&
         !node.inputs.front().tensors.empty() && !node.outputs.empty();
}

bool names_loss(const opgraph::Node& node) {
  const std::string_view name = opgraph::base_name(node.op);
  return name.find("_loss") != name.npos || name.starts_with("binary_cross_entropy");
}

class ForwardAlone {
 public:
  explicit ForwardAlone(const opgraph::OpGraph& graph)
      : graph_(graph),
        starts_(graph.tensors.size(), false),
        given_(graph.tensors.size(), false),
        readers_(graph.tensors.size(), Readers::none),
        same_as_(graph.tensors.size()) {
    std::iota(same_as_.begin(), same_as_.end(), 0u);
    for (const std::uint32_t t : graph.results) given_[t] = true;
  }

  opgraph::OpGraph run() {
    find_start();
    std::vector<bool> kept(graph_.nodes.size(), false);
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const opgraph::Node& node = graph_.nodes[i];
      if (node.phase != graph::Phase::forward) continue;
      const bool loss = is_of_loss(node);
      kept[i] = !loss;
      for (const opgraph::Argument& a : node.inputs) {
        const Readers reader = !loss ? Readers::model : names_loss(node) ? Readers::named_loss : Readers::sum;
        for (const std::uint32_t t : a.tensors) readers_[t] = std::max(readers_[t], reader);
      }
    }
    opgraph::OpGraph out = graph_;
    out.nodes.clear();
    out.gradients.clear();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) add(graph_.nodes[i], out);
    }
    leave_out_targets(out);
    return out;
  }

 private:
  /// Of a tensor: nothing, the loss alone (sums, or a call that is a loss by its name), or more of the model.
  enum class Readers : std::uint8_t { none, sum, named_loss, model };

  /// A backward pass starts with the gradient of a single number.
  void find_start() {
    const auto first = std::ranges::find(graph_.nodes, graph::Phase::backward, &opgraph::Node::phase);
    if (first == graph_.nodes.end()) return;
    for (const opgraph::Argument& a : first->inputs) {
      for (const std::uint32_t t : a.tensors) starts_[t] = graph_.tensors[t].dims.empty();
    }
  }

  /// Of a forward node, once all that read its results are known.
  bool is_of_loss(const opgraph::Node& node) const {
    const auto model_reads = [&](std::uint32_t t) { return readers_[t] == Readers::model; };
    const auto loss_reads = [&](std::uint32_t t) { return readers_[t] != Readers::none; };
    const auto named_loss_reads = [&](std::uint32_t t) { return readers_[t] == Readers::named_loss; };
    if (node.outputs.empty() || std::ranges::any_of(node.outputs, model_reads)) return false;
    if (names_loss(node)) return true;
    if (opgraph::base_name(node.op) == "_log_softmax")
      return std::ranges::any_of(node.outputs, named_loss_reads) &&
             std::ranges::none_of(node.outputs, [&](std::uint32_t t) { return given_[t]; });
    const bool read = std::ranges::any_of(node.outputs, loss_reads);
    const auto is_number = [&](std::uint32_t t) { return graph_.tensors[t].dims.empty(); };
    return std::ranges::all_of(node.outputs, is_number) &&
           (read || std::ranges::any_of(node.outputs, [&](std::uint32_t t) { return starts_[t]; }));
  }

  /// Inputs that nothing but the loss reads, or looks at, are not brought to the GPU.
  void leave_out_targets(opgraph::OpGraph& out) const {
    std::unordered_map<std::uint64_t, Readers> of_storage;
    const auto storage_of = [&](std::size_t t) {  // of tensors whose storage is not known each its own
      const std::uint64_t known = graph_.tensors[t].storage;
      return known != 0 ? known : ~static_cast<std::uint64_t>(t);
    };
    for (std::size_t t = 0; t < readers_.size(); ++t) {
      Readers& readers = of_storage[storage_of(t)];
      readers = std::max({readers, readers_[t], given_[t] ? Readers::model : Readers::none});
    }
    for (std::size_t t = 0; t < readers_.size(); ++t) {
      const Readers readers = of_storage[storage_of(t)];
      const bool target = readers == Readers::sum || readers == Readers::named_loss;
      if (target && out.tensors[t].role == opgraph::TensorRole::input)
        out.tensors[t].role = opgraph::TensorRole::activation;
    }
  }

  void add(opgraph::Node node, opgraph::OpGraph& out) {
    for (opgraph::Argument& a : node.inputs) {
      for (std::uint32_t& t : a.tensors) t = same_as_[t];
    }
    if (is_dropout(node)) {
      same_as_[node.outputs.front()] = node.inputs.front().tensors.front();
      return;
    }
    opgraph::leave_out_dropout(node);
    out.nodes.push_back(std::move(node));
  }

  const opgraph::OpGraph& graph_;
  std::vector<bool> starts_, given_;    ///< by tensor
  std::vector<Readers> readers_;        ///< by tensor
  std::vector<std::uint32_t> same_as_;  ///< by tensor
};

}  // namespace

opgraph::OpGraph forward_alone(const opgraph::OpGraph& graph) { return ForwardAlone(graph).run(); }

}  // namespace distsim::workload
