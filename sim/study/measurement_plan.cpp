#include "sim/study/measurement_plan.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::study {
namespace {

/// Ranks and nodes of a group.
using GroupShape = std::pair<std::uint32_t, std::uint32_t>;
/// collective, dtype, ranks, nodes, at_once, bytes
using CollectiveKey = std::tuple<std::string_view, std::string_view, std::uint32_t, std::uint32_t, int, std::int64_t>;

GroupShape strided_shape(const graph::Partition& p, std::uint32_t first, std::uint32_t per_node) {
  std::set<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < p.size; ++i) nodes.insert((first + i * p.stride) / per_node);
  return {p.size, static_cast<std::uint32_t>(nodes.size())};
}

/// Shapes of the groups; where groups start within a node decides how many nodes they touch.
std::set<GroupShape> shapes_of(const graph::Partition& p, std::uint32_t ranks, std::uint32_t per_node) {
  std::set<GroupShape> shapes;
  for (std::size_t g = 0; g + 1 < p.listed_offsets.size(); ++g) {
    std::set<std::uint32_t> nodes;
    for (std::uint32_t i = p.listed_offsets[g]; i < p.listed_offsets[g + 1]; ++i)
      nodes.insert(p.listed_members[i] / per_node);
    shapes.emplace(p.listed_offsets[g + 1] - p.listed_offsets[g], static_cast<std::uint32_t>(nodes.size()));
  }
  if (!p.listed_offsets.empty()) return shapes;
  const std::uint64_t block = std::uint64_t{p.size} * p.stride;
  std::set<std::uint64_t> seen;
  for (std::uint64_t base = 0; base + block <= ranks && seen.size() < per_node; base += block) {
    for (std::uint64_t offset = 0; offset < p.stride && offset < per_node; ++offset) {
      if (seen.insert((base + offset) % per_node).second)
        shapes.insert(strided_shape(p, static_cast<std::uint32_t>(base + offset), per_node));
    }
  }
  return shapes;
}

bool alone(const graph::Partition& p, std::uint32_t ranks) {
  return p.listed_offsets.empty() ? p.size == ranks : p.listed_offsets.size() == 2;
}

std::map<CollectiveKey, int> collectives_of(const graph::TaskGraph& graph, std::uint32_t per_node) {
  std::map<CollectiveKey, int> rows;
  for (const graph::Task& task : graph.tasks) {
    const auto* c = std::get_if<graph::Collective>(&graph.ops[task.first_op]);
    if (c == nullptr || c->kind == graph::CollectiveKind::barrier || c->bytes <= 0) continue;
    const graph::Partition p = graph::listed_by_rank(graph.partitions[task.partition]);
    for (const auto& [ranks, nodes] : shapes_of(p, graph.ranks, per_node)) {
      if (ranks > 1)
        ++rows[{graph::name_of(c->kind), graph::name_of(c->dtype), ranks, nodes, alone(p, graph.ranks) ? 0 : 1,
                c->bytes}];
    }
  }
  return rows;
}

}  // namespace

Result<std::string> measurement_plan(const config::Experiment& e) {
  const workload::ClusterShape shape = pipeline::shape_of(e);
  TRY_ASSIGN(const workload::Workload workload, workload::build_workload(e.model, e.framework, shape));
  const auto rows = collectives_of(workload.graph, shape.gpus_per_node);
  if (rows.empty()) return Error{"found no collective in an iteration, expected at least one to measure", e.path, ""};
  std::string text = "collective,dtype,ranks,nodes,at_once,bytes,calls\n";
  for (const auto& [row, calls] : rows) {
    const auto& [collective, dtype, ranks, nodes, at_once, bytes] = row;
    text += fmt::format("{},{},{},{},{},{},{}\n", collective, dtype, ranks, nodes, at_once, bytes, calls);
  }
  return text;
}

}  // namespace distsim::study
