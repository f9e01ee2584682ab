// What each way to split a table costs a rank and how much memory it takes, by the op and collective models of an
// experiment. With B samples on n ranks, b on each, rows of D elements of all features, p ids a sample, vectors on the wire
// of e bytes an element:
//
//   lookup, update   of a shard: what one more table of its rows, columns and ids adds to a kernel over all tables (a ninth
//                    table less a first, over eight); without table-batched kernels that of its own kernel, or of the
//                    host's calls for it where these take longer
//   pairs            B D e bytes out, backward in, at the seconds that one more byte adds to the all-to-all of all vectors
//   rows of all      the same of a reduce-scatter, backward an all-gather
//   rows of a node   that of a reduce-scatter within the node, and b N D e bytes along the rails
//   ids              8 B p bytes, where the ids of the next batch do not travel ahead of their iteration
//   copy             lookups of b samples, dense gradients, their all-reduce and the dense optimizer's update
//
// Kernels are corrected as the experiment's are (framework, device, slowest rank). These costs add up over the tables of a
// rank, which a plan's iteration does only nearly: plans that are best by them are played (plan_tables.hpp).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/cost_model_cache.hpp"
#include "sim/study/plan_tables/search/table_choice.hpp"
#include "sim/study/plan_tables/table_constraints.hpp"

namespace distsim::study {

/// Least columns of a shard where nothing else is said: a row of 128 bytes in fp32.
inline constexpr std::int64_t kLeastColumns = 32;

struct ChoiceRules {
  std::vector<TableConstraint> constraints;  ///< one for each table; none: no constraints
  std::int64_t least_columns = kLeastColumns;
  std::vector<std::size_t> numbers;  ///< of the tables in messages; none: their places in the experiment
};

/// Every choice that the rules, the cluster and the framework leave a table. HugeCTR alone splits rows over some of the
/// ranks. Errors: a model that is no recommender; models that cannot be priced; constraints that leave a table none; tables
/// that do not fit, with the smallest change by which they would.
Result<TableProblem> price_choices(const config::Experiment& experiment, const ChoiceRules& rules,
                                   pipeline::CostModelCache& cache);

}  // namespace distsim::study
