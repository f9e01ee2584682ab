#include "sim/workload/opgraph/checkpoints.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sim/workload/opgraph/module_names.hpp"

namespace distsim::workload {
Checkpoints::Checkpoints(const opgraph::OpGraph& graph, const std::vector<std::string>& modules)
    : graph_(graph), module_of_(graph.nodes.size(), kNone) {
  ModuleNames names(modules);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) module_of_[i] = names.of(graph.nodes[i].label);
  unknown_ = names.unused();
  count_ = names.names().size();
  forward_.resize(count_);
  begin_backward_.assign(count_, kNone);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const std::uint32_t m = module_of_[i];
    if (m == kNone) continue;
    if (graph.nodes[i].phase == graph::Phase::forward) {
      forward_[m].push_back(i);
    } else if (begin_backward_[m] == kNone) {
      begin_backward_[m] = i;
      first_[i] = m;
    }
  }
}

const std::vector<std::uint32_t>* Checkpoints::before(std::uint32_t node) const {
  const auto at = first_.find(node);
  return at == first_.end() ? nullptr : &forward_[at->second];
}

std::int64_t Checkpoints::live_bytes(const opgraph::Sizes& sizes) const {
  struct Life {
    std::uint32_t begin = kNone, end = 0, last_forward = 0, module = kNone;
    bool outside = false;  ///< a forward node of another module reads it
    double bytes = 0;
  };
  std::unordered_map<std::uint64_t, Life> lives;
  std::unordered_set<std::uint64_t> apart;
  for (const opgraph::Tensor& t : graph_.tensors) {
    if (t.role == opgraph::TensorRole::parameter || t.role == opgraph::TensorRole::buffer || t.on_host)
      apart.insert(t.storage);
  }
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    const bool forward = graph_.nodes[i].phase == graph::Phase::forward;
    const auto touch = [&](std::uint32_t tensor, bool makes) {
      const opgraph::Tensor& t = graph_.tensors[tensor];
      if (t.storage == 0 || apart.contains(t.storage)) return;
      Life& life = lives[t.storage];
      if (life.begin == kNone) life.begin = i, life.module = makes && forward ? module_of_[i] : kNone;
      if (forward) life.last_forward = i, life.outside = life.outside || module_of_[i] != life.module;
      life.end = i;
      life.bytes = std::max(life.bytes, sizes.bytes(tensor));
    };
    for (const opgraph::Argument& a : graph_.nodes[i].inputs) {
      for (const std::uint32_t t : a.tensors) touch(t, false);
    }
    for (const std::uint32_t t : graph_.nodes[i].outputs) touch(t, true);
  }
  std::vector<double> change(graph_.nodes.size() + 1, 0);
  const auto add = [&](std::uint32_t begin, std::uint32_t end, double bytes) {
    change[begin] += bytes, change[end + 1] -= bytes;
  };
  for (const auto& [storage, life] : lives) {
    const bool again = life.module != kNone && !life.outside && life.end > life.last_forward &&
                       begin_backward_[life.module] != kNone && begin_backward_[life.module] <= life.end;
    if (!again) {
      add(life.begin, life.end, life.bytes);
      continue;
    }
    add(life.begin, life.last_forward, life.bytes);
    add(begin_backward_[life.module], life.end, life.bytes);
  }
  double now = 0, most = 0;
  for (const double c : change) most = std::max(most, now += c);
  return static_cast<std::int64_t>(std::min(most, 1e17));
}

}  // namespace distsim::workload
