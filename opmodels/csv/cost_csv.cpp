#include "opmodels/csv/cost_csv.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <ostream>

namespace distsim::opmodels {
namespace {

constexpr std::array<std::string_view, 5> kAdded{"predicted_us", "low_us", "high_us", "basis", "source"};

/// Devices by the text of the gpu column; a name that failed keeps its error.
class Devices {
 public:
  explicit Devices(const DeviceLookup& lookup) : lookup_(lookup) {}
  const Result<const OpModels*>& find(std::string_view gpu) {
    const auto found = known_.find(gpu);
    if (found != known_.end()) return found->second;
    if (known_.size() >= kMaxNames) known_.clear();  // a hostile file with a new name on every row must not grow
    return known_.emplace(std::string(gpu), lookup_(gpu)).first->second;
  }

 private:
  static constexpr std::size_t kMaxNames = 1024;
  const DeviceLookup& lookup_;
  std::map<std::string, Result<const OpModels*>, std::less<>> known_;
};

Result<void> check_not_there(const CsvReader& reader) {
  for (const std::string_view column : kAdded) {
    if (reader.column(column))
      return Error{"column " + std::string(column) + ": found in the input, expected only in the output",
                   reader.position(), ""};
  }
  return {};
}

std::string microseconds(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", duration.us());
  return text;
}

/// Each once, and a few: a file may have many names.
void add(std::vector<std::string>& remarks, std::string remark) {
  constexpr std::size_t kMostRemarks = 8;
  if (remarks.size() < kMostRemarks && std::ranges::find(remarks, remark) == remarks.end())
    remarks.push_back(std::move(remark));
}

Result<graph::Cost> price_fields(const OpColumns& columns, const std::vector<std::string>& fields, Devices& devices,
                                 std::vector<std::string>& remarks) {
  const std::string_view gpu = fields[*columns.index("gpu")];
  const auto& models = devices.find(gpu);
  if (!models.ok()) return models.error();
  TRY_ASSIGN(const OpRow row, op_from_row(columns, fields));
  if (!row.unread.empty()) add(remarks, row.unread);
  return price_row(**models, row, gpu);
}

void append(std::vector<std::string>& fields, const Result<graph::Cost>& cost) {
  if (!cost.ok()) {
    fields.insert(fields.end(), {"", "", "", cost.error().text(), ""});
    return;
  }
  fields.insert(fields.end(), {microseconds(cost->mean), microseconds(cost->low), microseconds(cost->high),
                               std::string(graph::name_of(cost->basis)), std::string(cost->source)});
}

/// Low and high come from the kernels; the host's share has no range.
struct RowSeconds {
  double mean = 0, low = 0, high = 0;
  graph::Basis basis = graph::Basis::measured;
  std::string_view source;
};

Result<RowSeconds> kernels_of(const OpModels& models, const OpRow& row) {
  RowSeconds sum;
  for (const graph::Op& op : row.ops) {
    TRY_ASSIGN(const graph::Cost cost, row.steady ? models.price_steady(op, row.warm) : models.price(op, row.warm));
    sum.mean += cost.mean.seconds();
    sum.low += cost.low.seconds();
    sum.high += cost.high.seconds();
    sum.basis = std::max(sum.basis, cost.basis);  // the least trusted
    if (sum.source.empty()) sum.source = cost.source;
  }
  return sum;
}

}  // namespace

Result<graph::Cost> price_row(const OpModels& models, const OpRow& row, std::string_view gpu) {
  TRY_ASSIGN(const RowSeconds kernels, kernels_of(models, row));
  const auto convert = [&](double seconds) {
    return Duration::from_seconds(as_measured(row.timing, row.call, gpu, seconds, row.calls));
  };
  graph::Cost cost{{}, {}, {}, kernels.basis, kernels.source};
  TRY_ASSIGN(cost.mean, convert(kernels.mean));
  TRY_ASSIGN(cost.low, convert(kernels.low));
  TRY_ASSIGN(cost.high, convert(kernels.high));
  return cost;
}

Result<CostCsvCount> cost_csv(std::istream& in, const std::string& name, std::ostream& out,
                              const DeviceLookup& lookup) {
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, name));
  TRY_ASSIGN(const OpColumns columns, OpColumns::from(reader));
  TRY(check_not_there(reader));
  TRY_ASSIGN(auto fields, reader.next());
  if (!fields) return Error{"found no row below the header, expected an op in each", name, ""};
  std::vector<std::string> header = reader.header();
  header.insert(header.end(), kAdded.begin(), kAdded.end());
  out << csv_line(header);
  Devices devices(lookup);
  CostCsvCount count;
  count.remarks = columns.remarks();
  if (!columns.unused().empty()) count.remarks.push_back("carried along, not used: " + columns.unused());
  while (fields) {
    const Result<graph::Cost> cost = price_fields(columns, *fields, devices, count.remarks);
    ++count.rows;
    if (!cost.ok() && count.unpriced++ == 0) count.first_problem = cost.error().text();
    if (std::string remark = OpFields(columns, *fields).remark(); !remark.empty())
      add(count.remarks, std::move(remark));
    append(*fields, cost);
    out << csv_line(*fields);
    TRY_ASSIGN(fields, reader.next());
  }
  return count;
}

}  // namespace distsim::opmodels
