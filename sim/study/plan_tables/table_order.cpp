#include "sim/study/plan_tables/table_order.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

auto shape_of(const workload::ModelTable& t) {
  return std::tuple(-static_cast<double>(t.rows) * static_cast<double>(t.dim), t.rows, t.dim, t.pooling_factor, t.alpha,
                    t.features);
}

auto rule_of(const TableConstraint& c) { return std::tie(c.sharding_types, c.min_partition, c.compute_kernels); }

}  // namespace

TableOrder::TableOrder(const std::vector<workload::ModelTable>& tables, const std::vector<TableConstraint>& constraints)
    : order_(tables.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    const auto x = shape_of(tables[a]), y = shape_of(tables[b]);
    if (x != y || constraints.empty()) return x < y;
    return rule_of(constraints[a]) < rule_of(constraints[b]);
  });
}

config::Experiment TableOrder::sorted(config::Experiment e) const {
  auto& dlrm = e.model.as<workload::DlrmSpec>();
  std::vector<workload::TableSpec> each;
  for (workload::TableSpec t : dlrm.tables) {
    const auto count = static_cast<std::size_t>(t.count);
    t.count = 1;
    each.insert(each.end(), count, t);
  }
  dlrm.tables = sorted(each);
  return e;
}

}  // namespace distsim::study
