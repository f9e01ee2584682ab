#include "sim/study/plan_tables/price_choices.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

#include "base/text/counted.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/study/plan_tables/table_prices.hpp"
#include "sim/workload/dlrm/dlrm_plan.hpp"
#include "sim/workload/dlrm/embedding_ops.hpp"
#include "sim/workload/graph/memory.hpp"

namespace distsim::study {
namespace {

using workload::ModelTable;
using workload::TableSharding;

constexpr std::int64_t kColumnsMultiple = 4;  // FBGEMM loads rows four elements at a time
constexpr std::int64_t kMostWidths = 24;

/// Numbers of row pieces that are tried: 2, 3, 4, 6, 8, 12, ...
std::vector<std::uint32_t> row_pieces_below(std::uint32_t ranks) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t two = 2; two < ranks; two *= 2) {
    out.push_back(two);
    if (two / 2 * 3 < ranks) out.push_back(two / 2 * 3);
  }
  return out;
}

std::int64_t pieces_up(std::int64_t extent, std::int64_t pieces) { return (extent + pieces - 1) / pieces; }

/// The choices of one table.
class Chooser {
 public:
  Chooser(const TablePrices& prices, const ModelTable& table, const TableConstraint& constraint, std::int64_t least)
      : p_(prices), table_(table), constraint_(constraint), least_(least) {}

  Result<std::vector<TableChoice>> all() {
    const std::uint32_t n = p_.ranks(), nodes = p_.nodes(), gpus = n / nodes;
    TRY(add(TableSharding::table_wise, Spread::ranks, table_.dim, 1));
    for (const std::int64_t width : widths()) {
      if (pieces_up(table_.dim, width) <= n) TRY(add(TableSharding::column_wise, Spread::ranks, width, 1));
    }
    if (n > 1 && table_.rows >= n) TRY(add(TableSharding::row_wise, Spread::everywhere, table_.dim, n));
    if (p_.splits_rows_anywhere()) {
      for (const std::uint32_t k : row_pieces_below(n)) {
        if (table_.rows >= k) TRY(add(TableSharding::row_wise, Spread::ranks, table_.dim, k));
      }
      for (std::uint32_t k = 2; k < nodes && gpus > 1; ++k) {
        if (table_.rows >= k * gpus) TRY(add(TableSharding::row_wise, Spread::nodes, table_.dim, k * gpus));
      }
    }
    if (nodes > 1 && gpus > 1 && table_.rows >= gpus) {
      TRY(add(TableSharding::table_row_wise, Spread::nodes, table_.dim, gpus));
      for (const std::int64_t width : widths()) {
        if (pieces_up(table_.dim, width) <= nodes) TRY(add(TableSharding::grid, Spread::nodes, width, gpus));
      }
    }
    if (n > 1 && copy_fits()) TRY(add(TableSharding::data_parallel, Spread::everywhere, table_.dim, 1));
    return std::move(out_);
  }

 private:
  bool copy_fits() const {
    return static_cast<double>(table_.rows) * static_cast<double>(table_.dim) * 4 <= static_cast<double>(p_.room());
  }
  /// Columns of a shard that are tried: from the least to all but the least, in steps that FBGEMM can load, at most
  /// kMostWidths of them, and equal shards. What is left after as many of them as fit is a shard, too.
  std::vector<std::int64_t> widths() const {
    const std::int64_t unit = table_.dim % kColumnsMultiple == 0 ? kColumnsMultiple : 1;
    const std::int64_t least = pieces_up(std::max<std::int64_t>(1, least_), unit) * unit;
    const std::int64_t step = pieces_up(pieces_up(table_.dim, kMostWidths), unit) * unit;
    std::vector<std::int64_t> out;
    for (std::int64_t width = least; width <= table_.dim - least; width += step) {
      if (table_.dim % width == 0 || table_.dim % width >= least) out.push_back(width);
    }
    for (std::int64_t pieces = 2; table_.dim / pieces >= least; ++pieces) {
      if (table_.dim % (pieces * unit) == 0) out.push_back(table_.dim / pieces);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  Result<ShardPrice> price(TableSharding sharding, std::int64_t columns, std::int64_t row_pieces, Spread spread) const {
    const TableShard shard{pieces_up(table_.rows, row_pieces), columns,
                           table_.pooling_factor / static_cast<double>(row_pieces), meeting_of(sharding, spread),
                           spread != Spread::ranks};
    TRY_ASSIGN(const ShardCost cost, p_.shard(table_, shard));
    return ShardPrice{cost, cost.total(), {cost.total(), 0}, p_.shard_memory(table_, shard)};
  }

  Result<void> add(TableSharding sharding, Spread spread, std::int64_t columns, std::int64_t row_pieces) {
    if (!constraint_.allows(sharding)) return {};
    std::int64_t shards = pieces_up(table_.dim, columns);
    if (sharding == TableSharding::row_wise && spread == Spread::ranks) shards = row_pieces;
    if (sharding == TableSharding::row_wise && spread == Spread::nodes) shards = row_pieces * p_.nodes() / p_.ranks();
    TableChoice c{
        .sharding = sharding, .spread = spread, .shards = static_cast<std::uint32_t>(shards), .columns = columns};
    if (sharding == TableSharding::data_parallel) {
      TRY_ASSIGN(const ShardCost cost, p_.copy(table_));
      c.each = {cost, cost.total(), {cost.total(), 0}, p_.copy_memory(table_)};
    } else {
      TRY_ASSIGN(c.each, price(sharding, columns, row_pieces, spread));
    }
    c.last = c.each;
    if (const std::int64_t rest = table_.dim % columns; rest != 0) {
      TRY_ASSIGN(c.last, price(sharding, rest, row_pieces, spread));
    }
    out_.push_back(c);
    return {};
  }

  static workload::Meeting meeting_of(TableSharding sharding, Spread spread) {
    if (spread == Spread::everywhere) return workload::Meeting::everywhere;
    if (sharding == TableSharding::row_wise) return workload::Meeting::pairs;
    return spread == Spread::nodes ? workload::Meeting::in_node : workload::Meeting::pairs;
  }

  const TablePrices& p_;
  const ModelTable& table_;
  const TableConstraint& constraint_;
  std::int64_t least_;
  std::vector<TableChoice> out_;
};

/// Whether `a` is no worse than `b` wherever it is put: on places of the same kind.
bool covers(const TableProblem& problem, const TableChoice& a, const TableChoice& b) {
  if (a.spread != b.spread || a.shards > b.shards || a.each.seconds > b.each.seconds) return false;
  return problem.work_of(a) <= problem.work_of(b) && a.each.memory <= b.each.memory &&
         problem.memory_of(a) <= problem.memory_of(b);
}

/// Takes away choices that another one covers, of equals the later.
void drop_covered(const TableProblem& problem, std::vector<TableChoice>& choices) {
  std::vector<TableChoice> kept;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    bool covered = false;
    for (std::size_t j = 0; j < choices.size() && !covered; ++j)
      covered = j != i && choices[j].sharding == choices[i].sharding && covers(problem, choices[j], choices[i]) &&
                (j < i || !covers(problem, choices[i], choices[j]));
    if (!covered) kept.push_back(choices[i]);
  }
  choices = std::move(kept);
}

/// The least memory of tables over all ranks.
struct LeastMemory {
  double bytes = 0;
  double of_copies = 0;  ///< of it, that of tables which each rank holds whole: more ranks need more

  void add(const TableProblem& problem, const std::vector<TableChoice>& choices) {
    const auto smallest =
        std::ranges::min_element(choices, {}, [&](const TableChoice& c) { return problem.memory_of(c); });
    bytes += problem.memory_of(*smallest);
    if (smallest->sharding == TableSharding::data_parallel) of_copies += problem.memory_of(*smallest);
  }
};

/// What else there is room for the tables on: more nodes, half the bytes, other ways to split.
std::string change_that_fits(const TableProblem& problem, const LeastMemory& least, const workload::DlrmSpec& spec) {
  const double node = static_cast<double>(problem.memory) * problem.gpus;
  const double left = node - least.of_copies / problem.nodes;  // of a node, beside the copies
  std::string text;
  if (left > 0)
    text = "fits on " + counted(static_cast<std::uint64_t>(std::ceil((least.bytes - least.of_copies) / left)), "node");
  else
    text = "fits on no number of nodes, since every GPU holds a copy of each data_parallel table";
  if (spec.embedding_dtype == graph::DType::fp32 && least.bytes / 2 <= node * problem.nodes)
    text += ", or with model.dlrm.embedding_dtype: fp16";
  return text;
}

Result<void> check_total(const TableProblem& problem, const workload::DlrmSpec& spec) {
  LeastMemory least;
  for (const auto& choices : problem.tables) least.add(problem, choices);
  const double room = static_cast<double>(problem.memory) * problem.ranks();
  if (least.bytes <= room) return {};
  return Error{"model.dlrm.tables: found at least " + workload::gigabytes(static_cast<std::int64_t>(least.bytes)) +
                   " of tables, optimizer state and buffers, expected at most " +
                   workload::gigabytes(static_cast<std::int64_t>(room)) + " on " + counted(problem.ranks(), "GPU"),
               "", change_that_fits(problem, least, spec)};
}

/// Takes away what is too large for a rank; `number`: of the table in messages.
Result<void> keep_what_fits(TableProblem& problem, std::size_t t, std::size_t number,
                            const TableConstraint& constraint) {
  std::vector<TableChoice>& choices = problem.tables[t];
  const std::string table = "table " + std::to_string(number);
  if (choices.empty())
    return Error{"sharding_types: found none that " + table + " can have on " + counted(problem.ranks(), "GPU") +
                     " of " + counted(problem.nodes, "node") + ", expected at least one",
                 constraint.where, "table_wise is always possible"};
  std::int64_t least = choices.front().each.memory;
  for (const TableChoice& c : choices) least = std::min(least, c.each.memory);
  std::erase_if(choices, [&](const TableChoice& c) { return c.each.memory > problem.memory; });
  drop_covered(problem, choices);
  if (!choices.empty()) return {};
  return Error{"model.dlrm.tables: found " + workload::gigabytes(least) + " a GPU for " + table +
                   " in the smallest shards that it may have, expected at most the " +
                   workload::gigabytes(problem.memory) + " that the rest of the model leaves",
               constraint.where,
               constraint.where.empty() ? "use more GPUs" : "allow row_wise, or a smaller min_partition"};
}

}  // namespace

Result<TableProblem> price_choices(const config::Experiment& e, const ChoiceRules& rules,
                                   pipeline::CostModelCache& cache) {
  TRY_ASSIGN(const TablePrices prices, TablePrices::create(e, cache));
  TableProblem problem{prices.nodes(), prices.ranks() / prices.nodes(), prices.room(), {}};
  if (problem.memory <= 0)
    return Error{
        "model: every rank needs " + workload::gigabytes(-problem.memory) + " more than its GPU has before any tables",
        "", "use a smaller batch, smaller layers or more GPUs"};
  const TableConstraint free;
  const auto& spec = e.model.as<workload::DlrmSpec>();
  const std::vector<ModelTable> tables = workload::expand_tables(spec);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TableConstraint& constraint = rules.constraints.empty() ? free : rules.constraints[t];
    const std::int64_t least = constraint.min_partition > 0 ? constraint.min_partition : rules.least_columns;
    TRY_ASSIGN(std::vector<TableChoice> choices, Chooser(prices, tables[t], constraint, least).all());
    problem.tables.push_back(std::move(choices));
    TRY(keep_what_fits(problem, t, rules.numbers.empty() ? t : rules.numbers[t], constraint));
  }
  TRY(check_total(problem, spec));
  return problem;
}

}  // namespace distsim::study
