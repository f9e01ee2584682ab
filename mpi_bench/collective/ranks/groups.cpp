#include "mpi_bench/collective/ranks/groups.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"

namespace distsim::bench {
namespace {

/// Ranks of each node, ascending.
std::vector<std::vector<int>> ranks_by_node(std::span<const int> node_of) {
  std::vector<std::vector<int>> nodes(
      node_of.empty() ? 0 : static_cast<std::size_t>(*std::max_element(node_of.begin(), node_of.end())) + 1);
  for (std::size_t r = 0; r < node_of.size(); ++r) nodes[node_of[r]].push_back(static_cast<int>(r));
  return nodes;
}

struct Machine {
  std::vector<std::vector<int>> nodes;
  int ranks = 0, least = 0, most = 0;  ///< in all; on the smallest and on the largest node
};

Machine machine_of(std::span<const int> node_of) {
  Machine m{.nodes = ranks_by_node(node_of), .ranks = static_cast<int>(node_of.size())};
  m.least = m.ranks;
  for (const auto& node : m.nodes) {
    m.least = std::min(m.least, static_cast<int>(node.size()));
    m.most = std::max(m.most, static_cast<int>(node.size()));
  }
  return m;
}

struct Shape2 {
  int per_node, nodes;
  bool alone;
};

Error misfit(const GroupRequest& request, const std::string& expected) {
  return {"found '" + request.name + "', expected " + expected, "--groups", ""};
}

Result<Shape2> shape_of(const GroupRequest& request, const Machine& m) {
  const int nodes = static_cast<int>(m.nodes.size());
  const std::string& name = request.name;
  if (m.least != m.most)
    return misfit(
        request, "all, because the nodes have " + std::to_string(m.least) + " to " + std::to_string(m.most) + " ranks");
  if (name == "nodes") return Shape2{m.least, 1, false};
  if (name == "one_per_node") return Shape2{1, nodes, true};
  if (name == "rails") return Shape2{1, nodes, false};
  if (name == "halves") return nodes > 1 ? Shape2{m.least, nodes / 2, false} : Shape2{m.least / 2, 1, false};
  if (name == "pairs") return Shape2{2, 1, false};
  if (name == "far_pairs") return Shape2{1, 2, false};
  if (request.ranks % request.nodes != 0) return misfit(request, "a multiple of " + counted(request.nodes, "rank"));
  return Shape2{request.ranks / request.nodes, request.nodes, request.alone};
}

/// Groups of `per_node` neighbouring ranks on each of `nodes` neighbouring nodes; what does not fill a group is left
/// out.
std::vector<std::vector<int>> tiles(const Machine& m, const Shape2& shape) {
  std::vector<std::vector<int>> groups;
  for (std::size_t block = 0; block + shape.nodes <= m.nodes.size(); block += shape.nodes) {
    for (int first = 0; first + shape.per_node <= m.least; first += shape.per_node) {
      std::vector<int>& group = groups.emplace_back();
      for (std::size_t node = block; node < block + shape.nodes; ++node)
        group.insert(group.end(), m.nodes[node].begin() + first, m.nodes[node].begin() + first + shape.per_node);
      std::sort(group.begin(), group.end());
      if (shape.alone) return groups;
    }
  }
  return groups;
}

Result<GroupRequest> parse_figures(std::string_view text) {
  GroupRequest request{.name = std::string(text)};
  char rest = '\0';
  std::string figures(text);
  if (figures.ends_with(".alone")) {
    request.alone = true;
    figures.resize(figures.size() - 6);
  }
  const bool read =
      figures.size() < 20 && std::sscanf(figures.c_str(), "%dx%d%c", &request.ranks, &request.nodes, &rest) == 2;
  if (read && request.ranks >= 1 && request.nodes >= 1) return request;
  return Error{"found '" + std::string(text) + "', expected ranks x nodes such as 8x2", "--groups", ""};
}

}  // namespace

Result<GroupRequest> parse_group(std::string_view text) {
  static const std::vector<std::string> names = {"all",    "nodes", "one_per_node", "rails",
                                                 "halves", "pairs", "far_pairs"};
  if (std::find(names.begin(), names.end(), text) != names.end()) return GroupRequest{.name = std::string(text)};
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') return parse_figures(text);
  return Error{"found '" + std::string(text) +
                   "', expected all, nodes, one_per_node, rails, halves, pairs, far_pairs or ranks x nodes such as 8x2",
               "--groups", spelling_hint(text, names)};
}

Result<Grouping> groups_of(const GroupRequest& request, std::span<const int> node_of) {
  const Machine machine = machine_of(node_of);
  if (request.name == "all") {
    std::vector<int> everybody(node_of.size());
    std::iota(everybody.begin(), everybody.end(), 0);
    return Grouping{request.name, machine.ranks, static_cast<int>(machine.nodes.size()), {std::move(everybody)}};
  }
  TRY_ASSIGN(const Shape2 shape, shape_of(request, machine));
  const std::string there = counted(machine.nodes.size(), "node") + " with " + counted(machine.least, "rank") +
                            (machine.nodes.size() == 1 ? "" : " each");
  if (shape.per_node * shape.nodes < 2)
    return misfit(request, "a shape with at least 2 ranks per group; this is " + there);
  if (shape.nodes > static_cast<int>(machine.nodes.size()) || shape.per_node > machine.least)
    return misfit(request, "a shape that fits " + there);
  return Grouping{request.name, shape.per_node * shape.nodes, shape.nodes, tiles(machine, shape)};
}

}  // namespace distsim::bench
