#include "sim/workload/placement/placement_file.hpp"

#include <map>
#include <optional>

#include "base/system/inputs/open_input.hpp"
#include "base/text/csv.hpp"
#include "base/text/number_text.hpp"

namespace distsim::workload {
namespace {

constexpr std::uint32_t kMostTables = 1'000'000;
constexpr std::size_t kMostShards = 1 << 20;   // of a table: as many as there can be ranks
constexpr std::size_t kMostNumbers = 1 << 25;  // of a file: some 200 MB
constexpr std::int64_t kMostExtent = 10'000'000'000'000;

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t most) {
  const auto value = number_hint(text).empty() ? exact_integer(text) : std::nullopt;
  return value && *value >= 0 && *value <= most ? value : std::nullopt;
}

/// "A<mark>B" or a number alone, which stands for `alone`.
struct Pair {
  std::int64_t first = 0;
  std::optional<std::int64_t> second;
};
std::optional<Pair> pair_of(std::string_view text, char mark, std::int64_t most) {
  const std::size_t at = text.find(mark);
  const auto first = whole_number(text.substr(0, at), most);
  if (!first) return std::nullopt;
  if (at == std::string_view::npos) return Pair{*first, std::nullopt};
  const auto second = whole_number(text.substr(at + 1), static_cast<std::int64_t>(kMostShards));
  if (!second) return std::nullopt;
  return Pair{*first, second};
}

/// Calls `add` for each word between blanks; false where it refuses one, or there is none.
template <class Add>
bool each_word(std::string_view text, Add add) {
  bool any = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin && !add(text.substr(begin, end - begin))) return false;
    any = any || end > begin;
    begin = end + 1;
  }
  return any;
}

std::optional<std::vector<std::uint32_t>> ranks_in(std::string_view text) {
  std::vector<std::uint32_t> out;
  const bool good = each_word(text, [&](std::string_view word) {
    const auto range = pair_of(word, '-', static_cast<std::int64_t>(kMostShards));
    if (!range) return false;
    const std::int64_t last = range->second.value_or(range->first);
    if (last < range->first || out.size() + static_cast<std::size_t>(last - range->first) >= kMostShards) return false;
    for (std::int64_t r = range->first; r <= last; ++r) out.push_back(static_cast<std::uint32_t>(r));
    return true;
  });
  return good ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> extents_in(std::string_view text) {
  std::vector<std::int64_t> out;
  const bool good = each_word(text, [&](std::string_view word) {
    const auto run = pair_of(word, 'x', kMostExtent);
    if (!run || run->second == 0) return false;
    const auto times = static_cast<std::size_t>(run->second.value_or(1));
    if (out.size() + times > kMostShards) return false;
    out.insert(out.end(), times, run->first);
    return true;
  });
  return good ? std::optional(std::move(out)) : std::nullopt;
}

/// Columns of a placement file by what they hold.
struct Columns {
  std::size_t table, sharding, ranks, rows, columns;
};

Result<Columns> columns_of(const CsvReader& reader) {
  Columns c{};
  TRY_ASSIGN(c.table, reader.require("table"));
  TRY_ASSIGN(c.sharding, reader.require("sharding"));
  TRY_ASSIGN(c.ranks, reader.require("ranks"));
  TRY_ASSIGN(c.rows, reader.require("rows"));
  TRY_ASSIGN(c.columns, reader.require("columns"));
  return c;
}

template <class T>
Result<T> expect(std::optional<T> value, const char* column, const std::string& text, const char* expected,
                 const CsvReader& reader) {
  if (value) return std::move(*value);
  return Error{std::string(column) + ": found " + in_quotes(text.substr(0, 40)) + ", expected " + expected,
               reader.position(), number_hint(text)};
}

Result<TablePlan> read_plan(const CsvReader& reader, const Columns& c, const std::vector<std::string>& row) {
  constexpr const char* kSizes = "sizes of shards between blanks, e.g. 64x2 or 32 96";
  TablePlan plan;
  plan.line = static_cast<std::uint32_t>(reader.line());
  auto sharding = read_word("sharding", row[c.sharding], table_sharding_words());
  if (!sharding.ok()) return Error{sharding.error().what, reader.position(), sharding.error().hint};
  plan.sharding = *sharding;
  TRY_ASSIGN(plan.ranks,
             expect(ranks_in(row[c.ranks]), "ranks", row[c.ranks], "ranks between blanks, e.g. 0-7 or 3 5", reader));
  TRY_ASSIGN(plan.rows, expect(extents_in(row[c.rows]), "rows", row[c.rows], kSizes, reader));
  TRY_ASSIGN(plan.columns, expect(extents_in(row[c.columns]), "columns", row[c.columns], kSizes, reader));
  return plan;
}

/// 0-7 for a run of at least three, else the numbers.
std::string list_of(const std::vector<std::uint32_t>& ranks) {
  std::string out;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
    end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    out += (out.empty() ? "" : " ") + std::to_string(ranks[i]);
    if (end - i > 1) out += "-" + std::to_string(ranks[end - 1]);
  }
  return out;
}

std::string list_of(const std::vector<std::int64_t>& extents) {
  std::string out;
  for (std::size_t i = 0, end = 0; i < extents.size(); i = end) {
    end = i + 1;
    while (end < extents.size() && extents[end] == extents[i]) ++end;
    out += (out.empty() ? "" : " ") + std::to_string(extents[i]);
    if (end - i > 1) out += "x" + std::to_string(end - i);
  }
  return out;
}

}  // namespace

const Words<TableSharding>& table_sharding_words() {
  static const Words<TableSharding> words{{"table_wise", TableSharding::table_wise},
                                          {"column_wise", TableSharding::column_wise},
                                          {"row_wise", TableSharding::row_wise},
                                          {"table_row_wise", TableSharding::table_row_wise},
                                          {"grid", TableSharding::grid},
                                          {"data_parallel", TableSharding::data_parallel}};
  return words;
}

Result<TablePlans> read_placement(std::istream& in, const std::string& name) {
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, name));
  TRY_ASSIGN(const Columns columns, columns_of(reader));
  std::map<std::uint32_t, TablePlan> found;
  std::size_t numbers = 0;
  for (;;) {
    TRY_ASSIGN(const auto row, reader.next());
    if (!row) break;
    const std::string& text = (*row)[columns.table];
    TRY_ASSIGN(const std::int64_t table, expect(whole_number(text, kMostTables), "table", text,
                                                "the table's number in the model, from 0", reader));
    TRY_ASSIGN(TablePlan plan, read_plan(reader, columns, *row));
    numbers += plan.ranks.size() + plan.rows.size() + plan.columns.size();
    if (numbers > kMostNumbers)
      return Error{"ranks: found more than " + std::to_string(kMostNumbers) + " ranks and sizes, expected at most that",
                   reader.position(), ""};
    const auto [at, is_new] = found.emplace(static_cast<std::uint32_t>(table), std::move(plan));
    if (!is_new)
      return Error{"table: found " + text + " again, expected every table once", reader.position(),
                   "its first line is " + std::to_string(at->second.line)};
  }
  if (found.empty()) return Error{"table: found none, expected a line for each table", name, ""};
  TablePlans out{name, {}};
  for (auto& [table, plan] : found) {
    if (table != out.tables.size())
      return Error{"table: found none with number " + std::to_string(out.tables.size()) + ", expected every table once",
                   name, ""};
    out.tables.push_back(std::move(plan));
  }
  return out;
}

Result<TablePlans> read_placement_file(const std::string& path) {
  TRY_ASSIGN(const auto in, open_input_stream(path));
  return read_placement(*in, path);
}

std::vector<std::string> placement_fields(std::size_t table, const TablePlan& plan) {
  return {std::to_string(table), std::string(word_of(plan.sharding, table_sharding_words())), list_of(plan.ranks),
          list_of(plan.rows), list_of(plan.columns)};
}

}  // namespace distsim::workload
