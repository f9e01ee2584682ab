// Sweep results as CSV and as an aligned table; both from the same columns.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/study/sweep.hpp"

namespace distsim::study {
namespace {

struct Column {
  const char* name;
  std::string (*cell)(const SweepPoint&);
};

std::int64_t largest(const std::vector<std::int64_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

const std::vector<Column>& columns() {
  using P = const SweepPoint&;
  static const std::vector<Column> all{
      {"nodes", [](P p) { return std::to_string(p.report.context.nodes); }},
      {"gpus",
       [](P p) { return std::to_string(std::uint64_t(p.report.context.nodes) * p.report.context.gpus_per_node); }},
      {"global_batch", [](P p) { return std::to_string(p.global_batch); }},
      {"iteration_ms", [](P p) { return fmt::format("{:.4f}", p.report.iteration.ms()); }},
      {"low_ms", [](P p) { return fmt::format("{:.4f}", p.report.low.ms()); }},
      {"high_ms", [](P p) { return fmt::format("{:.4f}", p.report.high.ms()); }},
      {"samples_per_s", [](P p) { return fmt::format("{:.0f}", p.report.samples_per_second); }},
      {"speedup", [](P p) { return fmt::format("{:.3f}", p.speedup); }},
      {"scaling_efficiency", [](P p) { return fmt::format("{:.4f}", p.efficiency); }},
      {"compute_ms", [](P p) { return fmt::format("{:.4f}", p.report.compute.ms()); }},
      {"comm_ms", [](P p) { return fmt::format("{:.4f}", p.report.comm.ms()); }},
      {"exposed_comm_ms", [](P p) { return fmt::format("{:.4f}", p.report.exposed_comm.ms()); }},
      {"waiting_ms", [](P p) { return fmt::format("{:.4f}", p.report.waiting.ms()); }},
      {"host_bound_ms", [](P p) { return fmt::format("{:.4f}", p.report.host_bound.ms()); }},
      {"idle_ms", [](P p) { return fmt::format("{:.4f}", p.report.idle.ms()); }},
      {"mfu", [](P p) { return fmt::format("{:.4f}", p.report.mfu); }},
      {"memory_max_gb",
       [](P p) { return fmt::format("{:.2f}", double(largest(p.report.context.memory_per_rank)) * 1e-9); }},
      {"limited_by", [](P p) { return report::text_of(p.report.limits.limited_by); }},
  };
  return all;
}

std::vector<std::string> header_of(const SweepRequest& request) {
  std::vector<std::string> header;
  for (const auto& axis : request.axes) header.push_back(axis.key);
  for (const auto& column : columns()) header.emplace_back(column.name);
  header.emplace_back("error");
  return header;
}

std::vector<std::string> cells_of(const SweepPoint& point) {
  std::vector<std::string> cells = point.values;
  for (const auto& column : columns()) cells.push_back(point.error.empty() ? column.cell(point) : "");
  cells.push_back(point.error);
  return cells;
}

}  // namespace

std::string sweep_csv(const SweepRequest& request, const std::vector<SweepPoint>& points) {
  std::string out = csv_line(header_of(request));
  for (const auto& point : points) out += csv_line(cells_of(point));
  return out;
}

std::string sweep_table(const SweepRequest& request, const std::vector<SweepPoint>& points) {
  std::string out;
  for (const auto& axis : request.axes)
    out += fmt::format("{:<{}}  ", axis.key, std::max<std::size_t>(axis.key.size(), 10));
  out += fmt::format("{:>6} {:>10} {:>11} {:>21} {:>13} {:>10} {:>11} {:>10}\n", "GPUs", "batch", "iteration",
                     "low .. high", "samples/s", "efficiency", "exposed", "memory");
  for (const auto& p : points) {
    for (std::size_t a = 0; a < request.axes.size(); ++a) {
      out +=
          fmt::format("{:<{}}  ", printable(p.values[a], 200), std::max<std::size_t>(request.axes[a].key.size(), 10));
    }
    if (!p.error.empty()) {
      out += p.error + "\n";
      continue;
    }
    const report::Report& r = p.report;
    out += fmt::format("{:>6} {:>10} {:>8.3f} ms {:>18} ms {:>13.0f} {:>9.1f}% {:>8.3f} ms {:>7.1f} GB\n",
                       r.context.nodes * r.context.gpus_per_node, p.global_batch, r.iteration.ms(),
                       fmt::format("{:.2f} .. {:.2f}", r.low.ms(), r.high.ms()), r.samples_per_second,
                       100 * p.efficiency, r.exposed_comm.ms(), double(largest(r.context.memory_per_rank)) * 1e-9);
  }
  return out;
}

}  // namespace distsim::study
