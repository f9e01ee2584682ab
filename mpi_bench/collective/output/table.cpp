#include "mpi_bench/collective/output/table.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace distsim::bench {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

// As many of two decimals as fit the column.
std::string fitted(double value, int width) {
  std::string text;
  for (int decimals = 2; decimals >= 0; --decimals) {
    text = format("%*.*f", width, decimals, value);
    if (text.size() <= static_cast<std::size_t>(width)) break;
  }
  return text;
}

std::string half_text(const std::optional<Measured>& m) {
  if (!m) return format("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong = m->wrong ? std::to_string(*m->wrong) : "N/A";
  return format("  %7s  %6s  %6s  %6s", fitted(m->time_us, 7).c_str(), fitted(m->algbw, 6).c_str(),
                fitted(m->busbw, 6).c_str(), wrong.c_str());
}

std::string stats_line(const char* which, std::uint64_t bytes, const Measured& m) {
  const Summary& s = m.iterations;
  return format("# stats %s %llu B: n %zu  median %.2f us  p5 %.2f  p95 %.2f  MAD %.2f  min %.2f  max %.2f", which,
                static_cast<unsigned long long>(bytes), s.count, s.median, s.p5, s.p95, s.mad, s.min, s.max) +
         format("  rank medians %.2f .. %.2f (slowest rank %d)  arrival skew %.2f us\n", m.ranks.medians.min,
                m.ranks.medians.max, m.ranks.slowest, m.ranks.arrival_us);
}

std::string noise_line(const char* which, std::uint64_t bytes, const Measured& m) {
  if (!m.noisy) return "";
  return format("# noisy: %s %llu B: median %.2f us, p5 %.2f, p95 %.2f, standard error of the median %.0f %%\n", which,
                static_cast<unsigned long long>(bytes), m.iterations.median, m.iterations.p5, m.iterations.p95,
                100 * std::min(9.99, relative_error_of_median(m.iterations)));
}

}  // namespace

Measured measured_from(std::uint64_t bytes, double seconds, double bus_factor) {
  Measured m;
  m.time_us = seconds * 1e6;
  m.algbw = seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
  m.busbw = m.algbw * bus_factor;
  return m;
}

std::string header_text(const TableHeader& h) {
  std::string text = "# distsim collective_bench, table in the format of nccl-tests\n";
  text += "# backend " + h.backend + "\n";
  if (!h.group.empty()) text += "# groups " + h.group + "\n";
  text += "# Collective test starting: " + h.collective + "_perf\n";
  text += format(
      "# nThread %d nGpus %d minBytes %llu maxBytes %llu step: %llu(%s) warmup iters: %d iters: %d agg iters: 1 validation: %d graph: %d\n",
      h.threads, h.gpus, static_cast<unsigned long long>(h.min_bytes), static_cast<unsigned long long>(h.max_bytes),
      static_cast<unsigned long long>(h.step), h.by_factor ? "factor" : "bytes", h.warmup, h.iterations,
      h.check ? 1 : 0, h.graph);
  text += "#\n# Using devices\n";
  for (const RankLine& r : h.ranks)
    text += format("#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s\n", r.rank, 0, r.pid, r.host.c_str(),
                   r.device, r.bus_id.c_str(), r.name.c_str());
  text += "#\n";
  text += format("# %65s           %15s\n", "out-of-place", "in-place");
  text += format("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "size", "count", "type",
                 "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
  text += format("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "(B)", "(elements)", "", "",
                 "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
  return text;
}

std::string row_text(const Row& row) {
  return format("%12llu  %12llu  %8s  %6s  %6d", static_cast<unsigned long long>(row.bytes),
                static_cast<unsigned long long>(row.count), row.type.c_str(), row.redop.c_str(), row.root) +
         half_text(row.out_of_place) + half_text(row.in_place) + "\n";
}

std::string stats_text(const Row& row) {
  std::string text;
  if (row.out_of_place) text += stats_line("out-of-place", row.bytes, *row.out_of_place);
  if (row.in_place) text += stats_line("in-place", row.bytes, *row.in_place);
  return text;
}

std::string noise_text(const Row& row) {
  std::string text;
  if (row.out_of_place) text += noise_line("out-of-place", row.bytes, *row.out_of_place);
  if (row.in_place) text += noise_line("in-place", row.bytes, *row.in_place);
  return text;
}

double average_bus_bandwidth(const std::vector<Row>& rows) {
  double sum = 0;
  int halves = 0;
  for (const Row& row : rows) {
    for (const auto* half : {&row.out_of_place, &row.in_place}) {
      if (!half->has_value()) continue;
      sum += (*half)->busbw;
      ++halves;
    }
  }
  return halves == 0 ? 0 : sum / halves;
}

std::string footer_text(const std::vector<Row>& rows, std::string_view collective, Outcome outcome) {
  std::uint64_t wrong = 0;
  for (const Row& row : rows)
    for (const auto* half : {&row.out_of_place, &row.in_place})
      if (half->has_value()) wrong += (*half)->wrong.value_or(0);
  std::string text = format("# Out of bounds values : %llu %s\n", static_cast<unsigned long long>(wrong),
                            wrong == 0 ? "OK" : "FAILED");
  text += format("# Avg bus bandwidth    : %g \n#\n", average_bus_bandwidth(rows));
  switch (outcome) {
    case Outcome::finished:
      text += "# Collective test concluded: " + std::string(collective) + "_perf\n";
      break;
    case Outcome::interrupted:
      text += "# Interrupted: the table is partial\n";
      break;
    case Outcome::wrong:
      text += "# Stopped at a wrong element: the table is partial\n";
      break;
  }
  return text + "#\n";
}

}  // namespace distsim::bench
