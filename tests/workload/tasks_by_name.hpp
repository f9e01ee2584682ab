// Tasks of a graph by their names.
#pragma once

#include <string>
#include <variant>

#include "base/check.hpp"
#include "sim/graph/task_graph.hpp"

namespace distsim::workload {

inline const graph::Task* find(const graph::TaskGraph& g, const std::string& name) {
  for (const graph::Task& t : g.tasks) {
    if (g.names[t.name] == name) return &t;
  }
  return nullptr;
}

inline const graph::Collective& collective(const graph::TaskGraph& g, const std::string& name) {
  const graph::Task* t = find(g, name);
  CHECK(t != nullptr) << name;
  return std::get<graph::Collective>(g.ops[t->first_op]);
}

}  // namespace distsim::workload
