// OpColumns and OpFields: finding and reading the fields of a row.
#include <cmath>

#include "base/number_text.hpp"
#include "opmodels/op_row.hpp"

namespace distsim {
namespace {

constexpr std::array<std::string_view, OpColumns::count> kNames{
    "gpu", "op", "pass",     "dtype",    "timing", "layout", "extra", "b",      "m",    "n",    "k",      "c",     "h",   "w",          "r",
    "s",   "stride_h", "stride_w", "pad_h",  "pad_w",  "dil",   "groups", "rows", "cols", "tables", "batch", "nnz", "rows_total", "dim"};

constexpr double kLargest = 1e15;  // sums of a few sizes stay far from overflow

using Name = OpColumns::Name;
constexpr std::array<Name, 3> kProducts{Name::m, Name::n, Name::k};
constexpr std::array<Name, 7> kConvolution{Name::n, Name::c, Name::h, Name::w, Name::k, Name::r, Name::s};
constexpr std::array<Name, 2> kPointwise{Name::rows, Name::cols};
constexpr std::array<Name, 4> kEmbedding{Name::batch, Name::nnz, Name::rows_total, Name::dim};

template <class Group>
bool complete(const OpColumns& columns, const Group& group) {
  for (const Name name : group) {
    if (!columns.index(name)) return false;
  }
  return true;
}

Error unreadable(Name column, std::string_view found, std::string_view expected) {
  return {std::string(OpColumns::text(column)) + ": found '" + std::string(found) + "', expected " + std::string(expected), "", ""};
}

}  // namespace

std::string_view OpColumns::text(Name column) { return kNames[column]; }

Result<OpColumns> OpColumns::from(const CsvReader& reader) {
  OpColumns columns;
  for (int i = 0; i < count; ++i) columns.indices_[static_cast<std::size_t>(i)] = reader.column(kNames[static_cast<std::size_t>(i)]);
  for (const Name name : {gpu, op, dtype}) {
    const auto found = reader.require(text(name));
    if (!found.ok()) return found.error();
  }
  if (complete(columns, kProducts) || complete(columns, kConvolution) || complete(columns, kPointwise) || complete(columns, kEmbedding)) return columns;
  return Error{"columns: found no complete group of sizes, expected m,n,k or n,c,h,w,k,r,s or rows,cols or batch,nnz,rows_total,dim", reader.position(), ""};
}

std::string_view OpFields::text(Name column) const {
  const auto index = columns_.index(column);
  return index ? std::string_view(fields_[*index]) : std::string_view();
}

Result<double> OpFields::number(Name column) const {
  const std::string_view field = text(column);
  const auto parts = split_number(field);
  const auto value = parts && parts->rest.empty() ? to_double(*parts, 0) : std::nullopt;
  if (!value) return unreadable(column, field, "a number");
  return *value;
}

Result<std::int64_t> OpFields::integer(Name column) const {
  TRY_ASSIGN(const double value, number(column));
  if (std::floor(value) != value || std::abs(value) > kLargest) return unreadable(column, text(column), "a whole number up to 1e15");
  return static_cast<std::int64_t>(value);
}

Result<std::int64_t> OpFields::integer_or(Name column, std::int64_t fallback) const {
  if (text(column).empty()) return fallback;
  return integer(column);
}

}  // namespace distsim
