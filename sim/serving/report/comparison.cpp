#include "sim/serving/report/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <numeric>

#include "base/random.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/threads/side_by_side.hpp"
#include "sim/serving/report/play.hpp"

namespace distsim::serving {
namespace {

constexpr double kMsPerPicosecond = 1e-9;

void fill(const Experiment& e, Point& point) {
  auto result = end_asked() ? Result<RunResult>(Error{"interrupted", "", ""})
                            : play(e, *point.policy, load_at(e, point.rate_per_s));
  if (result.ok())
    point.result = std::move(*result);
  else
    point.error = result.error().text();
}

double sum_of_weights(const Experiment& e) {
  double sum = 0;
  for (const Model& m : e.scenario.models) sum += m.weight;
  return sum;
}

}  // namespace

double share_of_row(const Experiment& e, std::size_t row) {
  const std::size_t models = e.scenario.models.size();
  if (row == models) return 1;
  if (row > models) {
    double sum = 0;
    for (const ServiceClass& c : e.scenario.classes) sum += c.weight;
    return e.scenario.classes[row - models - 1].weight / sum;
  }
  const double weighted = e.scenario.models[row].weight / sum_of_weights(e);
  if (e.load.kind != LoadKind::trace) return weighted;
  double count = 0;
  for (const TraceRow& arrival : e.load.trace)
    count += arrival.model == row ? 1 : arrival.model >= models ? weighted : 0;
  return count / static_cast<double>(e.load.trace.size());
}

Load load_at(const Experiment& e, double rate_per_s) {
  Load load = e.load;
  if (rate_per_s > 0) load.rate_per_s = rate_per_s;
  return load;
}

Result<void> failed_points(const Comparison& c) {
  std::size_t failed = 0;
  std::string first;
  for (const Point& p : c.points) {
    if (p.error.empty()) continue;
    if (failed++ == 0) first = p.error;
  }
  if (failed == 0) return {};
  if (c.points.size() == 1) return Error{first, "", ""};
  return Error{std::to_string(failed) + " of " + counted(c.points.size(), "run") + " failed; the first: " + first, "",
               ""};
}

Comparison compare_policies(const Experiment& e, unsigned jobs, const std::function<void()>& on_done) {
  Comparison out{&e, {}};
  for (const double rate : e.rates_per_s) {
    for (const PolicyEntry* policy : e.policies) {
      out.points.emplace_back();
      out.points.back().policy = policy;
      out.points.back().rate_per_s = rate;
    }
  }
  std::atomic<std::size_t> next{0};
  std::mutex reporting;
  const auto work = [&] {
    for (std::size_t i = next++; i < out.points.size(); i = next++) {
      fill(e, out.points[i]);
      const std::lock_guard lock(reporting);
      on_done();
    }
  };
  side_by_side(static_cast<unsigned>(std::min<std::size_t>(jobs, out.points.size())), work);
  return out;
}

std::size_t rows_of(const Experiment& e) { return e.scenario.models.size() + 1 + e.scenario.classes.size(); }

Figures figures_of(const Experiment& e, const Point& point, std::size_t row) {
  const RunResult& r = point.result;
  const std::size_t models = e.scenario.models.size();
  const bool all = row == models, of_class = row > models;
  Figures f;
  f.model = name_of_row(e, row);
  f.tally = all ? &r.all : of_class ? &r.classes[row - models - 1] : &r.models[row];
  f.offered_per_s = offered_rate(load_at(e, point.rate_per_s)) * share_of_row(e, row);
  const double span = r.span_s();
  f.throughput_per_s = span > 0 ? static_cast<double>(f.tally->answered()) / span : 0;
  f.goodput_per_s = span > 0 ? static_cast<double>(f.tally->requests - f.tally->violations) / span : 0;
  f.makespan_ms = static_cast<double>(r.makespan_ps) * kMsPerPicosecond;
  if (of_class) return f;
  f.has_work = true;
  const auto gpus = static_cast<double>(r.busy_ps.size());
  if (all) {
    for (const std::int64_t busy : r.busy_ps) f.utilisation += r.part_of_span(static_cast<double>(busy));
    f.utilisation /= gpus;
  } else {
    f.utilisation = r.part_of_span(r.shares[row].executing_ps / gpus);
  }
  f.moves = all ? r.moves : r.shares[row].moves;
  f.batches = all ? r.batches : r.shares[row].batches;
  if (all) f.joules = std::accumulate(r.joules.begin(), r.joules.end(), 0.0);
  return f;
}

QuantileEstimate quantile_of(const Tally& tally, double q, double confidence) {
  const auto n = static_cast<double>(tally.latency_ps.count());
  const double z = normal_quantile(0.5 + confidence / 2);
  const double off = z * std::sqrt(q * (1 - q) / std::max(1.0, tally.latency_ms.independent()));
  const auto at = [&](double p) {
    const double rank = std::clamp(std::ceil(p * n), 1.0, n);
    return static_cast<double>(tally.latency_ps.of_rank(static_cast<std::uint64_t>(rank))) * kMsPerPicosecond;
  };
  return {at(q), at(q - off), at(q + off)};
}

}  // namespace distsim::serving
