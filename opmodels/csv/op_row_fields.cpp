// OpColumns and OpFields: finding and reading the fields of a row.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/text/number_text.hpp"
#include "opmodels/csv/op_row.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::array<std::string_view, OpColumns::count> kNames{
    "gpu",    "op",      "pass",     "dtype",    "timing",     "layout",   "extra",
    "b",      "m",       "n",        "k",        "c",          "h",        "w",
    "r",      "s",       "stride_h", "stride_w", "pad_h",      "pad_w",    "dil",
    "groups", "rows",    "cols",     "tables",   "batch",      "nnz",      "rows_total",
    "dim",    "pooling", "alpha",    "update",   "features",   "width",    "rank",
    "heads",  "q_len",   "kv_len",   "head_dim", "causal",     "elements", "reads",
    "writes", "flops",   "bytes",    "pieces",   "parameters", "tensors",  "master_weights"};

constexpr double kLargest = 1e15;  // sums of a few sizes stay far from overflow

using Name = OpColumns::Name;
// What the ops of a group cannot do without.
constexpr std::array<Name, 3> kProducts{Name::m, Name::n, Name::k};
constexpr std::array<Name, 7> kConvolution{Name::n, Name::c, Name::h, Name::w, Name::k, Name::r, Name::s};
constexpr std::array<Name, 2> kPointwise{Name::rows, Name::cols};
constexpr std::array<Name, 2> kEmbedding{Name::batch, Name::dim};  // interaction as well
constexpr std::array<Name, 2> kCross{Name::batch, Name::width};
constexpr std::array<Name, 4> kAttention{Name::batch, Name::heads, Name::q_len, Name::head_dim};
constexpr std::array<Name, 1> kElements{Name::elements};
constexpr std::array<Name, 1> kBytes{Name::bytes};
constexpr std::array<Name, 1> kParameters{Name::parameters};
constexpr std::array<std::span<const Name>, 9> kGroups{kProducts,  kConvolution, kPointwise, kEmbedding, kCross,
                                                       kAttention, kElements,    kBytes,     kParameters};

bool complete(const OpColumns& columns, std::span<const Name> group) {
  return std::all_of(group.begin(), group.end(), [&](Name name) { return columns.index(name).has_value(); });
}

std::string groups_text() {
  std::string text;
  for (const auto group : kGroups) {
    if (!text.empty()) text += " or ";
    for (const Name name : group) (text += text.empty() || text.back() == ' ' ? "" : ",") += OpColumns::text(name);
  }
  return text;
}

Error unreadable(Name column, std::string_view found, std::string_view expected) {
  return {
      std::string(OpColumns::text(column)) + ": found '" + std::string(found) + "', expected " + std::string(expected),
      "", ""};
}

}  // namespace

std::string_view OpColumns::text(Name column) { return kNames[column]; }

std::vector<std::string> OpColumns::size_names() {
  std::vector<std::string> names(kNames.begin() + b, kNames.end());
  names.emplace_back(kNames[layout]);
  return names;
}

Result<OpColumns> OpColumns::of_one_op(const CsvReader& reader) {
  OpColumns columns;
  for (int i = 0; i < count; ++i)
    columns.indices_[static_cast<std::size_t>(i)] = reader.column(kNames[static_cast<std::size_t>(i)]);
  for (const Name name : {gpu, op, dtype}) {
    const auto found = reader.require(text(name));
    if (!found.ok()) return found.error();
  }
  return columns;
}

Result<OpColumns> OpColumns::from(const CsvReader& reader) {
  TRY_ASSIGN(const OpColumns columns, of_one_op(reader));
  if (columns.index(extra)) return columns;  // the sizes may be there
  if (std::any_of(kGroups.begin(), kGroups.end(), [&](auto group) { return complete(columns, group); })) return columns;
  return Error{"columns: found no complete group of sizes, expected " + groups_text() + " or extra", reader.position(),
               ""};
}

std::string_view OpFields::text(Name column) const {
  const auto index = columns_.index(column);
  return index ? std::string_view(fields_[*index]) : std::string_view();
}

std::string_view OpFields::extra(std::string_view key) const {
  std::string_view rest = text(OpColumns::extra);
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(';'));
    if (entry.size() > key.size() && entry.starts_with(key) && entry[key.size()] == '=')
      return entry.substr(key.size() + 1);
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return {};
}

std::string_view OpFields::said(Name column) const {
  const std::string_view field = text(column);
  return field.empty() ? extra(OpColumns::text(column)) : field;
}

Result<double> OpFields::number(Name column) const {
  const std::string_view field = said(column);
  const auto parts = split_number(field);
  const auto value = parts && parts->rest.empty() ? to_double(*parts, 0) : std::nullopt;
  if (!value) return unreadable(column, field, "a number");
  return *value;
}

Result<std::int64_t> OpFields::integer(Name column) const {
  TRY_ASSIGN(const double value, number(column));
  if (std::floor(value) != value || std::abs(value) > kLargest)
    return unreadable(column, said(column), "a whole number up to 1e15");
  return static_cast<std::int64_t>(value);
}

Result<std::int64_t> OpFields::integer_or(Name column, std::int64_t fallback) const {
  if (said(column).empty()) return fallback;
  return integer(column);
}

Result<double> OpFields::number_or(OpColumns::Name column, double fallback) const {
  if (said(column).empty()) return fallback;
  return number(column);
}

Result<bool> OpFields::flag(OpColumns::Name column) const {
  const std::string_view field = said(column);
  for (const std::string_view no : {"", "0", "false", "False", "no"}) {
    if (field == no) return false;
  }
  for (const std::string_view yes : {"1", "true", "True", "yes"}) {
    if (field == yes) return true;
  }
  return unreadable(column, field, "1, true, yes, 0, false or no");
}

}  // namespace distsim::opmodels
