#include "sim/workload/opgraph/split/found_tables.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/opgraph/kernels.hpp"

namespace distsim::workload {
namespace {

using Storages = std::unordered_set<std::uint64_t>;

bool is_lookup(const opgraph::Node& node) {
  const std::string_view name = opgraph::base_name(node.op);
  return node.phase == graph::Phase::forward &&
         (name == "embedding" || name == "_embedding_bag" || name == "_embedding_bag_forward_only");
}

bool is_lookup_gradient(const opgraph::Node& node) {
  const std::string_view name = opgraph::base_name(node.op);
  return name == "embedding_dense_backward" || name == "_embedding_bag_dense_backward";
}

template <class Visit>
void for_each_input(const opgraph::Node& node, Visit visit) {
  for (const opgraph::Argument& a : node.inputs) std::ranges::for_each(a.tensors, visit);
}

class TableFinder {
 public:
  explicit TableFinder(const opgraph::OpGraph& graph)
      : graph_(graph), sizes_(graph, std::max<std::int64_t>(1, graph.samples)) {}

  std::vector<FoundTable> find() {
    for (const opgraph::Gradient& g : graph_.gradients) {
      const opgraph::Tensor& t = graph_.tensors[g.parameter];
      if (t.dims.size() != 2 || t.storage == 0) continue;
      FoundTable table;
      table.parameter = g.parameter;
      table.rows = t.dims[0].constant, table.dim = t.dims[1].constant;
      if (table.rows < 1 || table.dim < 1 || sizes_.elements(g.parameter) > 1e17) continue;
      if (add_gradients(g, table)) tables_.emplace(t.storage, std::move(table));
    }
    note_readers_of_vectors();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) look_at(i);
    drop_those_with_computed_ids();
    std::vector<FoundTable> out;
    for (const opgraph::Gradient& g : graph_.gradients) {
      const auto at = tables_.find(graph_.tensors[g.parameter].storage);
      if (at != tables_.end() && !at->second.lookups.empty() && at->second.parameter == g.parameter)
        out.push_back(std::move(at->second));
    }
    std::ranges::sort(out, {}, [](const FoundTable& t) { return t.lookups.front(); });
    return out;
  }

 private:
  /// The gradient is that of a lookup, or a sum of such.
  bool add_gradients(const opgraph::Gradient& g, FoundTable& table) {
    const opgraph::Node& last = graph_.nodes[g.after];
    if (is_lookup_gradient(last)) {
      table.gradients.push_back(g.after);
      return true;
    }
    if (opgraph::base_name(last.op) != "add" && opgraph::base_name(last.op) != "add_") return false;
    Storages parts;
    for_each_input(last, [&](std::uint32_t t) { parts.insert(graph_.tensors[t].storage); });
    Storages found;
    for (std::uint32_t i = 0; i < g.after; ++i) {
      const opgraph::Node& node = graph_.nodes[i];
      if (!is_lookup_gradient(node) || node.outputs.empty()) continue;
      const std::uint64_t storage = graph_.tensors[node.outputs.front()].storage;
      if (parts.contains(storage)) table.gradients.push_back(i), found.insert(storage);
    }
    table.gradients.push_back(g.after);
    return found.size() == parts.size() && found.size() > 1;
  }

  void note_readers_of_vectors() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const opgraph::Node& node = graph_.nodes[i];
      for_each_input(node, [&](std::uint32_t t) {
        if (const auto at = readers_.find(graph_.tensors[t].storage); at != readers_.end()) at->second.push_back(i);
      });
      if (!is_lookup(node)) continue;
      for (const std::uint32_t t : node.outputs) readers_[graph_.tensors[t].storage];
    }
  }

  /// The node that alone reads the vectors of a lookup and adds them up over one dimension, and how many of them.
  std::pair<std::uint32_t, double> pool_of(const opgraph::Node& lookup) const {
    const std::pair<std::uint32_t, double> none{FoundTable::kUnpooled, 1};
    const std::uint32_t vectors = lookup.outputs.front();
    const auto at = readers_.find(graph_.tensors[vectors].storage);
    if (opgraph::base_name(lookup.op) != "embedding" || at == readers_.end() || at->second.size() != 1) return none;
    const opgraph::Call call(sizes_, graph_.nodes[at->second.front()]);
    const std::string_view name = opgraph::base_name(call.node().op);
    if ((name != "sum" && name != "mean") || call.node().phase != graph::Phase::forward || call.outputs().empty())
      return none;
    const opgraph::Dims from = call.in(0), to = call.out();
    const std::vector<std::int64_t> over = call.list_at(1);
    const auto dims = static_cast<std::int64_t>(from.size());
    if (over.size() != 1 || over[0] < -dims || over[0] >= dims || to.empty()) return none;
    const auto dim = static_cast<std::size_t>(over[0] < 0 ? over[0] + dims : over[0]);
    if (dim == 0 || dim + 1 == from.size() || from[dim] < 1 || to.back() != from.back()) return none;
    return {at->second.front(), static_cast<double>(from[dim])};
  }

  void look_at(std::uint32_t i) {
    const opgraph::Node& node = graph_.nodes[i];
    bool first = true;
    for_each_input(node, [&](std::uint32_t t) {
      const auto at = tables_.find(graph_.tensors[t].storage);
      const bool is_weight = std::exchange(first, false);
      if (at == tables_.end()) return;
      if (!is_weight || !is_lookup(node) || !add_lookup(i, at->second)) tables_.erase(at);
    });
  }

  /// Ids that follow from vectors are not known when the step begins.
  void drop_those_with_computed_ids() {
    Storages follows;
    for (const opgraph::Node& node : graph_.nodes) {
      if (node.phase != graph::Phase::forward) continue;
      bool reads = false;
      for_each_input(node, [&](std::uint32_t t) { reads = reads || follows.contains(graph_.tensors[t].storage); });
      if (reads && is_lookup(node) && !node.inputs.front().tensors.empty())
        tables_.erase(graph_.tensors[node.inputs.front().tensors.front()].storage);
      if (!reads && !is_lookup(node)) continue;
      for (const std::uint32_t t : node.outputs) follows.insert(graph_.tensors[t].storage);
    }
  }

  bool add_lookup(std::uint32_t i, FoundTable& table) {
    const opgraph::Call call(sizes_, graph_.nodes[i]);
    const bool bag = opgraph::base_name(call.node().op) != "embedding";
    if (!call.has(bag ? 2 : 1) || call.outputs().empty()) return false;
    const double samples = static_cast<double>(std::max<std::int64_t>(1, graph_.samples));
    const auto [pool, pooled] = pool_of(call.node());
    const double vectors = sizes_.elements(call.outputs().front()) / static_cast<double>(table.dim) / samples / pooled;
    const double ids = sizes_.elements(call.inputs()[1]) / samples;
    if (vectors < 1 || vectors > 10'000 || vectors != std::floor(vectors) || !(ids > 0)) return false;
    table.features += static_cast<std::int64_t>(vectors);
    table.ids += ids;
    table.module = graph_.nodes[i].label;
    table.lookups.push_back(i);
    table.pools.push_back(pool);
    return table.features <= 10'000;
  }

  const opgraph::OpGraph& graph_;
  opgraph::Sizes sizes_;
  std::unordered_map<std::uint64_t, FoundTable> tables_;                   ///< by storage
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> readers_;  ///< of vectors, by their storage
};

/// Moves and removes nodes.
class TableRemover {
 public:
  TableRemover(const opgraph::OpGraph& graph, const std::vector<FoundTable>& tables)
      : graph_(graph), removed_(graph.nodes.size(), false), makes_ids_(graph.nodes.size(), false) {
    for (const FoundTable& t : tables) {
      tables_.insert(t.parameter);
      for (std::size_t k = 0; k < t.lookups.size(); ++k) {
        const std::uint32_t i = t.lookups[k];
        const opgraph::Node& maker = graph.nodes[t.pools[k] == FoundTable::kUnpooled ? i : t.pools[k]];
        removed_[i] = true;
        if (t.pools[k] != FoundTable::kUnpooled) removed_[t.pools[k]] = true;
        for (const std::uint32_t o : maker.outputs) vectors_.insert(graph.tensors[o].storage);
        outputs_.push_back(maker.outputs.front());
        for_each_input(graph.nodes[i], [&](std::uint32_t x) {
          if (x != t.parameter) ids_.insert(graph.tensors[x].storage);
        });
      }
      for (const std::uint32_t i : t.gradients) {
        removed_[i] = true;
        gradients_.push_back(i);
        if (std::ranges::any_of(t.pools, [](std::uint32_t p) { return p != FoundTable::kUnpooled; }))
          remove_division(i);
      }
    }
  }

  GraphWithoutTables remove(const opgraph::Element& wire) {
    find_makers_of_ids();
    remove_unread();
    GraphWithoutTables out;
    out.graph = graph_;
    out.graph.nodes.clear(), out.graph.gradients.clear();
    std::vector<std::uint32_t> place(graph_.nodes.size(), 0);
    const auto take = [&](std::uint32_t i) {
      place[i] = static_cast<std::uint32_t>(out.graph.nodes.size());
      out.graph.nodes.push_back(graph_.nodes[i]);
    };
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (makes_ids_[i] && !removed_[i]) take(i);
    }
    out.ids_end = static_cast<std::uint32_t>(out.graph.nodes.size());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!makes_ids_[i] && !removed_[i]) take(i);
    }
    out.arrive = first_reader(out);
    out.leave = last_maker(out, place);
    for (const opgraph::Gradient& g : graph_.gradients) {
      if (!tables_.contains(g.parameter)) out.graph.gradients.push_back({g.parameter, place[g.after]});
    }
    std::ranges::stable_sort(out.graph.gradients, {}, &opgraph::Gradient::after);
    for (const std::uint32_t t : outputs_) {
      if (out.graph.tensors[t].element.floating) out.graph.tensors[t].element = wire;
    }
    // Tables are no weights of the graph that is left.
    for (const std::uint32_t t : tables_) out.graph.tensors[t].role = opgraph::TensorRole::buffer;
    out.id_bytes = bytes_of_ids(out.graph, out.ids_end);
    return out;
  }

 private:
  /// A mean's gradient is divided for each id, which a bag does for each vector.
  void remove_division(std::uint32_t gradient) {
    const opgraph::Node& node = graph_.nodes[gradient];
    if (!is_lookup_gradient(node) || node.inputs.empty() || node.inputs.front().tensors.empty()) return;
    const std::uint64_t read = graph_.tensors[node.inputs.front().tensors.front()].storage;
    for (std::uint32_t i = gradient; i-- > 0;) {
      const opgraph::Node& maker = graph_.nodes[i];
      const bool makes =
          std::ranges::any_of(maker.outputs, [&](std::uint32_t t) { return graph_.tensors[t].storage == read; });
      if (!makes) continue;
      if (opgraph::base_name(maker.op) == "div" && maker.phase != graph::Phase::forward) removed_[i] = true;
      return;
    }
  }

  /// Calls of the forward pass that the ids of the lookups follow from.
  void find_makers_of_ids() {
    Storages needed = ids_;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      const opgraph::Node& node = graph_.nodes[i];
      if (node.phase != graph::Phase::forward || removed_[i]) continue;
      const bool makes = std::ranges::any_of(
          node.outputs, [&](std::uint32_t t) { return needed.contains(graph_.tensors[t].storage); });
      if (!makes) continue;
      makes_ids_[i] = true;
      for_each_input(node, [&](std::uint32_t t) { needed.insert(graph_.tensors[t].storage); });
    }
  }

  /// Constants that only the lookups read, such as the offsets of bags of equal lengths.
  void remove_unread() {
    std::unordered_map<std::uint64_t, bool> read;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!removed_[i])
        for_each_input(graph_.nodes[i], [&](std::uint32_t t) { read[graph_.tensors[t].storage] = true; });
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const opgraph::Node& node = graph_.nodes[i];
      bool has_tensors = false;
      for_each_input(node, [&](std::uint32_t) { has_tensors = true; });
      if (makes_ids_[i] && !has_tensors &&
          std::ranges::none_of(node.outputs, [&](std::uint32_t t) { return read[graph_.tensors[t].storage]; }))
        removed_[i] = true;
    }
  }

  std::uint32_t first_reader(const GraphWithoutTables& out) const {
    for (std::uint32_t i = out.ids_end; i < out.graph.nodes.size(); ++i) {
      bool reads = false;
      for_each_input(out.graph.nodes[i],
                     [&](std::uint32_t t) { reads = reads || vectors_.contains(out.graph.tensors[t].storage); });
      if (reads) return i;
    }
    return static_cast<std::uint32_t>(out.graph.nodes.size());
  }

  /// The last call that writes what a lookup's gradient reads.
  std::uint32_t last_maker(const GraphWithoutTables& out, const std::vector<std::uint32_t>& place) const {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < out.graph.nodes.size(); ++i) {
      if (out.graph.nodes[i].phase == graph::Phase::forward) last = i;
    }
    for (const std::uint32_t g : gradients_) {
      Storages read;
      if (!is_lookup_gradient(graph_.nodes[g]) || graph_.nodes[g].inputs.empty()) continue;
      for (const std::uint32_t t : graph_.nodes[g].inputs.front().tensors) read.insert(graph_.tensors[t].storage);
      for (std::uint32_t i = g; i-- > 0;) {
        const auto writes = [&](std::uint32_t t) { return read.contains(graph_.tensors[t].storage); };
        if (removed_[i] || !std::ranges::any_of(graph_.nodes[i].outputs, writes)) continue;
        last = std::max(last, place[i]);
        break;
      }
    }
    return last;
  }

  /// Inputs that nothing else reads than lookups and what makes their ids.
  double bytes_of_ids(const opgraph::OpGraph& left, std::uint32_t ids_end) const {
    Storages read, of_ids = ids_;
    for (std::uint32_t i = 0; i < left.nodes.size(); ++i)
      for_each_input(left.nodes[i],
                     [&](std::uint32_t t) { (i < ids_end ? of_ids : read).insert(left.tensors[t].storage); });
    const opgraph::Sizes sizes(left, std::max<std::int64_t>(1, left.samples));
    double bytes = 0;
    for (std::uint32_t t = 0; t < left.tensors.size(); ++t) {
      const opgraph::Tensor& x = left.tensors[t];
      if (x.role == opgraph::TensorRole::input && of_ids.contains(x.storage) && !read.contains(x.storage))
        bytes += sizes.bytes(t);
    }
    return bytes / static_cast<double>(std::max<std::int64_t>(1, left.samples));
  }

  const opgraph::OpGraph& graph_;
  std::vector<bool> removed_, makes_ids_;
  std::unordered_set<std::uint32_t> tables_;
  Storages vectors_, ids_;
  std::vector<std::uint32_t> outputs_, gradients_;
};

}  // namespace

std::vector<FoundTable> find_tables(const opgraph::OpGraph& graph) { return TableFinder(graph).find(); }

GraphWithoutTables without_tables(const opgraph::OpGraph& graph, const std::vector<FoundTable>& tables,
                                  const opgraph::Element& wire) {
  return TableRemover(graph, tables).remove(wire);
}

}  // namespace distsim::workload
