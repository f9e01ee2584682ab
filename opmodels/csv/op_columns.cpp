#include "opmodels/csv/op_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/trimmed.hpp"
#include "sim/graph/op.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::array<std::string_view, 7> kCommon{"gpu", "op", "pass", "dtype", "timing", "layout", "extra"};

/// Those of the public data sets. Which shapes no learned model has seen follows from a row's sizes in this order
/// (training_rows.hpp), so it stays as it is.
constexpr std::array<std::string_view, 42> kPublicSizes{
    "b",      "m",       "n",        "k",        "c",          "h",        "w",
    "r",      "s",       "stride_h", "stride_w", "pad_h",      "pad_w",    "dil",
    "groups", "rows",    "cols",     "tables",   "batch",      "nnz",      "rows_total",
    "dim",    "pooling", "alpha",    "update",   "features",   "width",    "rank",
    "heads",  "q_len",   "kv_len",   "head_dim", "causal",     "elements", "reads",
    "writes", "flops",   "bytes",    "pieces",   "parameters", "tensors",  "master_weights"};

constexpr double kLargest = 1e15;  // sums of a few sizes stay far from overflow

/// Whether a shapes file can ask for it.
bool has_columns(const graph::Op& op) {
  return graph::work_of(op) == graph::Work::kernel || graph::work_of(op) == graph::Work::copy;
}

/// Adds the columns of an op's fields that are not there yet.
struct ColumnSink {
  std::vector<std::string_view>& names;
  void operator()(const graph::Field& field, const graph::DType&) const { (void)field; }
  void operator()(const graph::Field& field, const graph::Pass&) const { (void)field; }
  template <class Value>
  void operator()(const graph::Field& field, const Value&) const {
    if (field.role == graph::Role::note) return;
    if (std::find(names.begin(), names.end(), field.column) == names.end()) names.push_back(field.column);
  }
};

std::vector<std::string_view> all_sizes() {
  std::vector<std::string_view> names(kPublicSizes.begin(), kPublicSizes.end());
  for (std::size_t i = 0; i < graph::kOpKinds; ++i) {
    const graph::Op op = graph::default_op(i);
    if (!has_columns(op)) continue;
    std::visit([&](const auto& shape) { graph::for_each_field(ColumnSink{names}, shape); }, op);
  }
  return names;
}

std::vector<std::string_view> all_columns() {
  std::vector<std::string_view> names(kCommon.begin(), kCommon.end());
  names.insert(names.end(), OpColumns::sizes().begin(), OpColumns::sizes().end());
  return names;
}

/// Places of the columns in all_columns().
const std::unordered_map<std::string_view, std::size_t>& places() {
  static const auto known = [] {
    std::unordered_map<std::string_view, std::size_t> map;
    const auto names = all_columns();
    for (std::size_t i = 0; i < names.size(); ++i) map.emplace(names[i], i);
    return map;
  }();
  return known;
}

/// Columns of op_bench and of the public data sets that are neither sizes nor choices.
constexpr std::array<std::string_view, 20> kBeside{"latency_us",   "low_us",           "high_us",       "repetitions",
                                                   "launches",     "relative_error",   "framework",     "date",
                                                   "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w",
                                                   "source",       "source_repo",      "source_path",   "origin",
                                                   "licence",      "license",          "notes",         "name"};

/// The column that frameworks call by `name`: is_causal, num_heads, n_heads. Empty: none.
std::string without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"is_", "num_", "n_"}) {
    if (name.starts_with(prefix) && places().contains(name.substr(prefix.size())))
      return std::string(name.substr(prefix.size()));
  }
  return "";
}

/// The column that `name` is but for capital letters. Empty: none, or it is written as it should be.
std::string in_other_case(std::string_view name) {
  const std::string lower = lower_case(trimmed(name));
  return lower != name && places().contains(lower) ? lower : "";
}

/// The column that `name` is a misspelling of, or another word for: one nearly the same that begins with the same letter,
/// or the same behind a prefix. Empty: another name.
std::string misspelt(std::string_view name) {
  if (std::string column = in_other_case(name); !column.empty()) return column;
  constexpr std::size_t kFewestLetters = 3;  // of shorter words every other one is near
  if (name.size() < kFewestLetters || places().contains(name) || std::ranges::find(kBeside, name) != kBeside.end())
    return "";
  if (std::string column = without_prefix(name); !column.empty()) return column;
  static const std::vector<std::string> known = [] {
    const auto names = all_columns();
    return std::vector<std::string>(names.begin(), names.end());
  }();
  const std::string nearest = nearest_spelling(name, known);
  return !nearest.empty() && lower_case(nearest.substr(0, 1)) == lower_case(name.substr(0, 1)) ? nearest : "";
}

std::string unread(std::string_view what, std::string_view name, const std::string& nearest) {
  return std::string(what) + in_quotes(name, 60) + " is carried along unread; " + did_you_mean(name, nearest);
}

/// "heads=16" of "library=flash2; heads=16".
struct ExtraEntry {
  std::string_view name, value;
};

using Group = std::vector<std::string_view>;

/// The columns that a shape cannot do without: those of numbers whose default is out of bounds.
struct NeedSink {
  Group needs;
  bool lists = false;
  void operator()(const graph::Field& field, const std::int64_t& value) { add(field, graph::real(value)); }
  void operator()(const graph::Field& field, const double& value) { add(field, value); }
  template <class Item>
  void operator()(const graph::Field&, const std::vector<Item>&) {
    lists = true;
  }
  template <class Other>
  void operator()(const graph::Field&, const Other&) {}

 private:
  void add(const graph::Field& field, double value) {
    if (field.bounded && !(value >= field.least && value <= field.most)) needs.push_back(field.column);
  }
};

/// What a file must have one of: the needs of an op, or those of the public data sets' embeddings (lists of tables) and
/// attention (one length for queries and keys), or of an op that may read or write nothing.
std::vector<Group> all_groups() {
  std::vector<Group> groups{{"m", "n", "k"},
                            {"rows", "cols"},
                            {"batch", "dim"},
                            {"batch", "heads", "q_len", "head_dim"},
                            {"read_bytes", "written_bytes"}};
  for (std::size_t i = 0; i < graph::kOpKinds; ++i) {
    const graph::Op op = graph::default_op(i);
    if (!has_columns(op)) continue;
    NeedSink sink;
    std::visit([&](const auto& shape) { graph::for_each_field(sink, shape); }, op);
    const auto within = [&](const Group& group) {
      return std::all_of(sink.needs.begin(), sink.needs.end(),
                         [&](auto name) { return std::find(group.begin(), group.end(), name) != group.end(); });
    };
    if (!sink.lists && std::none_of(groups.begin(), groups.end(), within)) groups.push_back(sink.needs);
  }
  return groups;
}

std::string text_of(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) {
    if (!text.empty()) text += " or ";
    for (const std::string_view name : group) (text += name == group.front() ? "" : ",") += name;
  }
  return text;
}

Error unreadable(std::string_view column, std::string_view found, std::string_view expected) {
  if (found.empty()) return {std::string(column) + ": missing, expected " + std::string(expected), "", ""};
  return {std::string(column) + ": found " + in_quotes(found) + ", expected " + std::string(expected), "",
          number_hint(found)};
}

}  // namespace

const std::vector<std::string_view>& OpColumns::sizes() {
  static const std::vector<std::string_view> names = all_sizes();
  return names;
}

std::vector<std::string> OpColumns::size_names() {
  std::vector<std::string> names(sizes().begin(), sizes().end());
  names.emplace_back("layout");
  return names;
}

std::optional<std::size_t> OpColumns::index(std::string_view column) const {
  const auto place = places().find(column);
  CHECK(place != places().end()) << "column " << column;
  return indices_[place->second];
}

Result<OpColumns> OpColumns::of_one_op(const CsvReader& reader) {
  OpColumns columns;
  for (const std::string_view name : all_columns()) columns.indices_.push_back(reader.column(name));
  for (const std::string& column : reader.header()) {
    if (const std::string right = in_other_case(column); !right.empty())
      return Error{"columns: found " + in_quotes(column, 60) +
                       (reader.column(right) ? " beside '" + right + "', expected only '" : ", expected '") + right +
                       "'",
                   reader.position(), ""};
  }
  for (const std::string_view name : {"gpu", "op", "dtype"}) {
    const auto found = reader.require(name);
    if (!found.ok()) return found.error();
  }
  for (const std::string& column : reader.header()) {
    if (const std::string nearest = misspelt(column); !nearest.empty())
      columns.remarks_.push_back(unread("column ", column, nearest));
    else if (!places().contains(column) && std::ranges::find(kBeside, column) == kBeside.end())
      columns.unused_ += (columns.unused_.empty() ? "" : ", ") + printable(column, 60);
  }
  return columns;
}

Result<std::size_t> require_latency(const CsvReader& reader) {
  TRY_ASSIGN(const std::size_t latency, reader.require("latency_us"));
  for (const std::string_view other : {"latency", "latency_ns", "latency_ms", "latency_s"}) {
    if (reader.column(other))
      return Error{"columns: found latency_us and " + std::string(other) + ", expected one time of a row",
                   reader.position(), ""};
  }
  return latency;
}

Result<OpColumns> OpColumns::from(const CsvReader& reader) {
  TRY_ASSIGN(const OpColumns columns, of_one_op(reader));
  const auto there = [&](std::string_view name) { return columns.index(name).has_value(); };
  if (there("extra")) return columns;  // the sizes may be there
  static const std::vector<Group> groups = all_groups();
  for (const Group& group : groups) {
    if (std::all_of(group.begin(), group.end(), there)) return columns;
  }
  return Error{"columns: found no complete group of sizes, expected " + text_of(groups) + " or extra",
               reader.position(), ""};
}

std::string_view OpFields::peek(std::string_view column) const {
  const auto index = columns_.index(column);
  return index ? std::string_view(fields_[*index]) : std::string_view();
}

std::string_view OpFields::text(std::string_view column) const {
  read_.push_back(column);
  return peek(column);
}

std::string OpFields::idle_sizes() const {
  std::string out;
  for (const std::string_view column : OpColumns::sizes()) {
    const std::string_view field = peek_said(column);
    const auto number = plain_number(field);
    const bool says_nothing = field.empty() || (number && *number == 0) || lower_case(field) == "false";
    if (!says_nothing && std::ranges::find(read_, column) == read_.end()) (out += out.empty() ? "" : ", ") += column;
  }
  return out;
}

/// The next entry of `rest`, which it takes off.
static std::optional<ExtraEntry> next_entry(std::string_view& rest) {
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;  // words of the data set
    return ExtraEntry{trimmed(entry.substr(0, equals)), trimmed(entry.substr(equals + 1))};
  }
  return std::nullopt;
}

std::string_view OpFields::extra(std::string_view key) const {
  std::string_view rest = peek("extra");
  while (const auto entry = next_entry(rest)) {
    if (entry->name == key && !entry->value.empty()) return entry->value;
  }
  return {};
}

std::string OpFields::remark() const {
  std::string_view rest = text("extra");
  while (const auto entry = next_entry(rest)) {
    if (const std::string nearest = misspelt(entry->name); !nearest.empty())
      return unread("extra: ", entry->name, nearest);
  }
  return "";
}

Result<void> OpFields::check_once() const {
  const auto same = [](std::string_view a, std::string_view b) {
    const auto x = plain_number(a), y = plain_number(b);
    return a == b || (x && y && *x == *y);
  };
  std::string_view rest = text("extra");
  while (const auto entry = next_entry(rest)) {
    if (!places().contains(entry->name) || entry->name == "extra" || entry->value.empty()) continue;
    const std::string_view first = peek_said(entry->name);  // of the column, or what `extra` has first
    if (!same(first, entry->value))
      return Error{std::string(entry->name) + ": found " + in_quotes(first, 60) + " and " +
                       in_quotes(entry->value, 60) + " in one row, expected one of them",
                   "", ""};
  }
  return {};
}

std::string_view OpFields::peek_said(std::string_view column) const {
  const std::string_view field = peek(column);
  return field.empty() ? extra(column) : field;
}

std::string_view OpFields::said(std::string_view column) const {
  read_.push_back(column);
  return peek_said(column);
}

Result<double> OpFields::number(std::string_view column) const {
  const std::string_view field = said(column);
  const auto value = plain_number(field);
  if (!value) return unreadable(column, field, "a number");
  return *value;
}

Result<std::int64_t> OpFields::integer(std::string_view column) const {
  TRY_ASSIGN(const double value, number(column));
  if (std::floor(value) != value || std::abs(value) > kLargest)
    return unreadable(column, said(column), "a whole number up to 1e15");
  return static_cast<std::int64_t>(value);
}

Result<std::int64_t> OpFields::integer_or(std::string_view column, std::int64_t fallback) const {
  if (!has(column)) return fallback;
  return integer(column);
}

Result<double> OpFields::number_or(std::string_view column, double fallback) const {
  if (!has(column)) return fallback;
  return number(column);
}

Result<bool> OpFields::flag(std::string_view column) const {
  const std::string_view field = said(column);
  for (const std::string_view no : {"", "0", "false", "False", "no"}) {
    if (field == no) return false;
  }
  for (const std::string_view yes : {"1", "true", "True", "yes"}) {
    if (field == yes) return true;
  }
  return unreadable(column, field, "1, true, yes, 0, false or no");
}

std::string shape_text(const OpFields& fields) {
  std::string text;
  for (const std::string_view column : OpColumns::sizes()) {
    const std::string_view field = fields.text(column);
    if (!field.empty()) (text += text.empty() ? "" : "x") += field;
  }
  return text;
}

}  // namespace distsim::opmodels
