#include "mpi_bench/collective/plan/plan.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"

namespace distsim::bench {
namespace {

constexpr std::size_t kMostRows = 100'000;

struct TypeName {
  const char* plan;
  DataType type;
};
constexpr TypeName kTypes[] = {{"", DataType::float32},     {"fp32", DataType::float32}, {"tf32", DataType::float32},
                               {"fp64", DataType::float64}, {"fp16", DataType::half},    {"bf16", DataType::bfloat16},
                               {"fp8", DataType::uint8},    {"int8", DataType::int8},    {"int32", DataType::int32},
                               {"int64", DataType::int64}};

Result<DataType> type_of(const std::string& name) {
  for (const TypeName& t : kTypes) {
    if (name == t.plan) return t.type;
  }
  return parse_data_type(name);
}

struct Columns {
  std::size_t collective, dtype, ranks, nodes, at_once, bytes;
  std::optional<std::size_t> calls;  ///< of an iteration; it decides nothing
};

Result<Columns> columns_of(const CsvReader& csv) {
  Columns c{};
  TRY_ASSIGN(c.collective, csv.require("collective"));
  TRY_ASSIGN(c.dtype, csv.require("dtype"));
  TRY_ASSIGN(c.ranks, csv.require("ranks"));
  TRY_ASSIGN(c.nodes, csv.require("nodes"));
  TRY_ASSIGN(c.at_once, csv.require("at_once"));
  TRY_ASSIGN(c.bytes, csv.require("bytes"));
  c.calls = csv.column("calls");
  return c;
}

Result<std::uint64_t> whole(const std::string& text, std::uint64_t least, std::uint64_t most, const char* column) {
  const bool digits = !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
  const std::uint64_t value = digits ? std::stoull(text) : 0;
  if (digits && value >= least && value <= most) return value;
  return Error{
      std::string(column) + ": found '" + text + "', expected " + std::to_string(least) + " .. " + std::to_string(most),
      "", ""};
}

/// The row's curve without sizes, and its size.
Result<PlannedCurve> read_row(const std::vector<std::string>& row, const Columns& c) {
  PlannedCurve curve;
  TRY_ASSIGN(curve.what, find_case(row[c.collective]));
  TRY_ASSIGN(curve.type, type_of(row[c.dtype]));
  TRY_ASSIGN(const std::uint64_t ranks, whole(row[c.ranks], 2, 1u << 24, "ranks"));
  TRY_ASSIGN(const std::uint64_t nodes, whole(row[c.nodes], 1, ranks, "nodes"));
  TRY_ASSIGN(const std::uint64_t at_once, whole(row[c.at_once], 0, 1, "at_once"));
  TRY_ASSIGN(const std::uint64_t bytes, whole(row[c.bytes], 1, std::uint64_t{1} << 50, "bytes"));
  if (c.calls) TRY(whole(row[*c.calls], 1, std::uint64_t{1} << 50, "calls"));
  TRY_ASSIGN(curve.group,
             parse_group(std::to_string(ranks) + "x" + std::to_string(nodes) + (at_once == 0 ? ".alone" : "")));
  curve.sizes = {bytes};
  return curve;
}

void add(std::vector<PlannedCurve>& curves, PlannedCurve&& row) {
  for (PlannedCurve& curve : curves) {
    if (curve.what != row.what || curve.type != row.type || !(curve.group == row.group)) continue;
    curve.sizes.push_back(row.sizes.front());
    return;
  }
  curves.push_back(std::move(row));
}

void sort_once(std::vector<std::uint64_t>& sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
}

/// The measurement that is this curve on these ranks already, or null.
Measurement* same_as(std::vector<Measurement>& known, const PlannedCurve& curve, const Grouping& grouping) {
  for (Measurement& m : known) {
    if (m.curve.what == curve.what && m.curve.type == curve.type && m.grouping.members == grouping.members) return &m;
  }
  return nullptr;
}

void remark_once(std::vector<std::string>& remarks, std::string remark) {
  if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(std::move(remark));
}

}  // namespace

Result<std::vector<PlannedCurve>> parse_plan(std::string_view text, const std::string& file) {
  std::istringstream in{std::string(text)};
  TRY_ASSIGN(CsvReader csv, CsvReader::open(in, file));
  TRY_ASSIGN(const Columns columns, columns_of(csv));
  std::vector<PlannedCurve> curves;
  for (std::size_t rows = 0;; ++rows) {
    TRY_ASSIGN(const auto row, csv.next());
    if (!row) break;
    if (rows == kMostRows) return Error{"found more than 100000 rows", csv.position(), ""};
    auto curve = read_row(*row, columns);
    if (!curve.ok()) return Error{curve.error().what, csv.position(), curve.error().hint};
    add(curves, std::move(curve).value());
  }
  if (curves.empty()) return Error{"found no rows, expected at least one collective", file, ""};
  for (PlannedCurve& curve : curves) sort_once(curve.sizes);
  return curves;
}

Result<Schedule> schedule_of(std::span<const PlannedCurve> curves, std::span<const int> node_of) {
  Schedule schedule;
  for (const PlannedCurve& curve : curves) {
    TRY_ASSIGN(Grouping grouping, groups_of(curve.group, node_of));
    Measurement* known = same_as(schedule.measurements, curve, grouping);
    if (known == nullptr) {
      schedule.measurements.push_back({curve, std::move(grouping)});
      continue;
    }
    known->curve.sizes.insert(known->curve.sizes.end(), curve.sizes.begin(), curve.sizes.end());
    sort_once(known->curve.sizes);
    if (known->grouping.name != grouping.name)
      remark_once(schedule.remarks,
                  grouping.name + " has the same ranks as " + known->grouping.name + " on this machine: measured once");
  }
  return schedule;
}

}  // namespace distsim::bench
