// Tables by what they are. A search takes the first of equals: in the order of the file, the same tables listed otherwise
// would get another plan.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/study/plan_tables/table_constraints.hpp"

namespace distsim::study {

/// Largest first; of equal size by rows, columns, ids, skew, features and constraints. Tables that are equal in all of these
/// keep their order, and may change places in any plan.
class TableOrder {
 public:
  /// `constraints`: none, or one for each table.
  TableOrder(const std::vector<workload::ModelTable>& tables, const std::vector<TableConstraint>& constraints);

  /// A list of the given order in this one, and back.
  template <class T>
  std::vector<T> sorted(const std::vector<T>& given) const {
    std::vector<T> out;
    out.reserve(given.size());
    for (const std::size_t t : order_) out.push_back(given[t]);
    return out;
  }
  template <class T>
  std::vector<T> given(const std::vector<T>& sorted) const {
    std::vector<T> out(sorted.size());
    for (std::size_t i = 0; i < order_.size(); ++i) out[order_[i]] = sorted[i];
    return out;
  }

  /// The number in the given order of each table.
  const std::vector<std::size_t>& numbers() const { return order_; }

  /// The experiment with its tables in this order, each on its own. A placement that names tables by their numbers is not
  /// changed: it is to be replaced.
  config::Experiment sorted(config::Experiment experiment) const;

 private:
  std::vector<std::size_t> order_;
};

}  // namespace distsim::study
