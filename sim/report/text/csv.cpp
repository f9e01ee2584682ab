// The main figures as fields of a CSV line.
#include <algorithm>

#include "base/text/number_text.hpp"
#include "sim/report/report.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {
namespace {

double memory_max_gb(const ReportContext& c) {
  return c.memory_per_rank.empty() ? 0 : static_cast<double>(*std::ranges::max_element(c.memory_per_rank)) * 1e-9;
}

std::string ms(Duration d) { return fixed(d.ms(), 6); }

std::string limiter(const std::optional<Limiter>& limiter) { return limiter ? text_of(*limiter) : ""; }

}  // namespace

std::vector<std::string> csv_columns() {
  return {"title",         "system",        "device",       "model",          "framework",
          "nodes",         "gpus",          "iteration_ms", "low_ms",         "high_ms",
          "samples_per_s", "compute_ms",    "comm_ms",      "hidden_comm_ms", "exposed_comm_ms",
          "waiting_ms",    "host_bound_ms", "idle_ms",      "tflops_per_gpu", "mfu",
          "memory_max_gb", "slowest_rank",  "limited_by",   "runner_up",      "slack_ms"};
}

std::vector<std::string> csv_values(const Report& r) {
  const ReportContext& c = r.context;
  return {c.title,
          c.system,
          c.device,
          c.model,
          c.framework,
          std::to_string(c.nodes),
          std::to_string(r.rank_count),
          ms(r.iteration),
          ms(r.low),
          ms(r.high),
          fixed_or_digits(r.samples_per_second, r.samples_per_second < 1 ? 6 : 2),
          ms(r.compute),
          ms(r.comm),
          ms(r.hidden_comm),
          ms(r.exposed_comm),
          ms(r.waiting),
          ms(r.host_bound),
          ms(r.idle),
          fixed_or_digits(r.achieved_flops_per_gpu * 1e-12, 4),
          fixed_or_digits(r.mfu, 6),
          fixed_or_digits(memory_max_gb(c), 3),
          std::to_string(r.slowest_rank),
          limiter(r.limits.limited_by),
          limiter(r.limits.runner_up),
          ms(r.limits.slack)};
}

}  // namespace distsim::report
