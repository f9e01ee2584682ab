#include "sim/study/plan_tables/table_constraints.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/system/inputs/open_input.hpp"
#include "base/text/csv.hpp"
#include "base/text/number_text.hpp"

namespace distsim::study {
namespace {

using workload::TableSharding;

/// Ours, and TorchRec's own for a grid (ShardingType.GRID_SHARD).
const Words<TableSharding>& sharding_type_words() {
  static const Words<TableSharding> words = [] {
    Words<TableSharding> all = workload::table_sharding_words();
    all.emplace_back("grid_shard", TableSharding::grid);
    return all;
  }();
  return words;
}

const Words<ComputeKernel>& compute_kernel_words() {
  static const Words<ComputeKernel> words{{"fused", ComputeKernel::fused}, {"dense", ComputeKernel::dense}};
  return words;
}

enum class DeviceGroup : std::uint8_t { cuda };
const Words<DeviceGroup>& device_group_words() {
  static const Words<DeviceGroup> words{{"cuda", DeviceGroup::cuda}};
  return words;
}

std::optional<std::int64_t> natural(std::string_view text) {
  const auto n = plain_integer(text);
  return n && *n >= 0 ? n : std::nullopt;
}

struct TableRange {
  std::size_t first = 0, last = 0;
};

Result<TableRange> tables_in(const std::string& text, std::size_t tables, const std::string& where) {
  const std::size_t dash = text.find('-');
  const auto first = natural(std::string_view(text).substr(0, dash));
  const auto last = dash == std::string::npos ? first : natural(std::string_view(text).substr(dash + 1));
  if (!first || !last || *last < *first || static_cast<std::size_t>(*last) >= tables)
    return Error{"table: found " + in_quotes(text.substr(0, 40)) + ", expected a table or range of tables of 0 .. " +
                     std::to_string(tables - 1),
                 where, ""};
  return TableRange{static_cast<std::size_t>(*first), static_cast<std::size_t>(*last)};
}

template <class E>
Result<std::vector<E>> words_in(const char* key, const std::string& text, const Words<E>& words,
                                const std::string& where) {
  std::vector<E> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) {
      auto word = read_word(key, std::string_view(text).substr(begin, end - begin), words);
      if (!word.ok()) return Error{word.error().what, where, word.error().hint};
      out.push_back(*word);
    }
    begin = end + 1;
  }
  return out;
}

/// A line of the file: what it says, where it says anything.
struct Line {
  TableConstraint says;
  TableRange tables;
  std::vector<std::string> cells;
};

class Reader {
 public:
  Reader(CsvReader& csv, const std::vector<workload::ModelTable>& tables) : csv_(csv), tables_(tables) {}

  Result<std::vector<TableConstraint>> read() {
    static const std::vector<std::string> known{"table", "sharding_types", "min_partition", "compute_kernels",
                                                "device_group"};
    for (const std::string& column : csv_.header()) {
      if (std::find(known.begin(), known.end(), column) == known.end())
        return Error{"column: found " + in_quotes(column) +
                         ", expected table, sharding_types, min_partition, compute_kernels or device_group",
                     csv_.position(), spelling_hint(column, known)};
    }
    TRY_ASSIGN(const std::size_t table, csv_.require("table"));
    std::vector<TableConstraint> out(tables_.size());
    std::set<std::tuple<std::size_t, std::size_t, std::size_t>> seen;  // first and last table, column
    std::vector<Line> lines;
    std::vector<std::vector<std::size_t>> last(tables_.size(), std::vector<std::size_t>(csv_.header().size(), 0));
    for (;;) {
      TRY_ASSIGN(const auto row, csv_.next());
      if (!row) break;
      TRY_ASSIGN(const TableRange range, tables_in((*row)[table], tables_.size(), csv_.position()));
      for (std::size_t i = 0; i < row->size(); ++i) {
        if (i == table || (*row)[i].empty() || seen.emplace(range.first, range.last, i).second) continue;
        return Error{csv_.header()[i] + ": found a second one of table " + in_quotes((*row)[table].substr(0, 40)) +
                         ", expected one",
                     csv_.position(), ""};
      }
      TRY_ASSIGN(TableConstraint says, constraint(*row));
      for (std::size_t t = range.first; t <= range.last; ++t) {
        TRY(add(out[t], says, t));
        for (std::size_t i = 0; i < row->size(); ++i)
          if (!(*row)[i].empty()) last[t][i] = lines.size();
      }
      lines.push_back({std::move(says), range, std::move(*row)});
    }
    TRY(check_lines(lines, last));
    TRY(check_partitions(out));
    return out;
  }

 private:
  /// Whether each cell counts for a table. `last`: by table and column, the number of the line that says it.
  Result<void> check_lines(const std::vector<Line>& lines, const std::vector<std::vector<std::size_t>>& last) const {
    for (std::size_t n = 0; n < lines.size(); ++n) {
      for (std::size_t i = 0; i < lines[n].cells.size(); ++i) {
        bool counts = lines[n].cells[i].empty() || csv_.header()[i] == "table";
        for (std::size_t t = lines[n].tables.first; t <= lines[n].tables.last && !counts; ++t) counts = last[t][i] == n;
        if (!counts)
          return Error{csv_.header()[i] + ": found " + in_quotes(lines[n].cells[i].substr(0, 40)) +
                           ", which later lines replace for all its tables, expected one that counts",
                       lines[n].says.where, ""};
      }
    }
    return {};
  }

  static Result<void> check_partitions(const std::vector<TableConstraint>& constraints) {
    for (const TableConstraint& c : constraints) {
      if (c.min_partition > 0 && !c.allows(TableSharding::column_wise) && !c.allows(TableSharding::grid))
        return Error{"min_partition: found " + std::to_string(c.min_partition) +
                         ", expected it where sharding_types have column_wise or grid",
                     c.where, ""};
    }
    return {};
  }

  std::string cell(const std::vector<std::string>& row, const char* name) const {
    const auto column = csv_.column(name);
    return column ? row[*column] : "";
  }

  Result<TableConstraint> constraint(const std::vector<std::string>& row) const {
    TableConstraint c;
    c.where = csv_.position();
    TRY_ASSIGN(c.sharding_types,
               words_in("sharding_types", cell(row, "sharding_types"), sharding_type_words(), c.where));
    TRY_ASSIGN(c.compute_kernels,
               words_in("compute_kernels", cell(row, "compute_kernels"), compute_kernel_words(), c.where));
    const auto group = words_in("device_group", cell(row, "device_group"), device_group_words(), c.where);
    if (!group.ok()) return group.error();
    const std::string least = cell(row, "min_partition");
    if (least.empty()) return c;
    const auto n = natural(least);
    if (!n || *n < 1)
      return Error{"min_partition: found " + in_quotes(least.substr(0, 40)) + ", expected columns, at least 1", c.where,
                   ""};
    c.min_partition = *n;
    return c;
  }

  Result<void> add(TableConstraint& c, const TableConstraint& says, std::size_t table) const {
    if (!says.sharding_types.empty()) c.sharding_types = says.sharding_types;
    if (!says.compute_kernels.empty()) c.compute_kernels = says.compute_kernels;
    if (says.min_partition > 0) c.min_partition = says.min_partition;
    c.where = says.where;
    const std::int64_t dim = tables_[table].dim;
    if (c.min_partition > 0 && dim % c.min_partition != 0)
      return Error{"min_partition: found " + std::to_string(c.min_partition) + ", expected a divisor of the " +
                       std::to_string(dim) + " columns of table " + std::to_string(table),
                   c.where, ""};
    for (const auto& [name, sharding] : workload::table_sharding_words()) {
      if (c.allows(sharding)) return {};
    }
    return Error{"compute_kernels: found none that the sharding_types of table " + std::to_string(table) +
                     " have, expected dense with data_parallel, fused with the others",
                 c.where, ""};
  }

  CsvReader& csv_;
  const std::vector<workload::ModelTable>& tables_;
};

}  // namespace

bool TableConstraint::allows(TableSharding sharding) const {
  const ComputeKernel kernel = sharding == TableSharding::data_parallel ? ComputeKernel::dense : ComputeKernel::fused;
  const auto among = [](const auto& list, auto value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  return among(sharding_types, sharding) && among(compute_kernels, kernel);
}

bool TableConstraint::allows(const workload::TablePlan& plan) const {
  const bool columns = plan.sharding == TableSharding::column_wise || plan.sharding == TableSharding::grid;
  return allows(plan.sharding) && (!columns || std::ranges::min(plan.columns) >= min_partition);
}

Result<std::vector<TableConstraint>> read_constraints(std::istream& in, const std::string& name,
                                                      const std::vector<workload::ModelTable>& tables) {
  TRY_ASSIGN(CsvReader csv, CsvReader::open(in, name));
  return Reader(csv, tables).read();
}

Result<std::vector<TableConstraint>> read_constraints_file(const std::string& path,
                                                           const std::vector<workload::ModelTable>& tables) {
  TRY_ASSIGN(const auto in, open_input_stream(path));
  return read_constraints(*in, path, tables);
}

}  // namespace distsim::study
