#include "sim/serving/report/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <numeric>
#include <system_error>
#include <thread>

#include "base/random.hpp"
#include "base/system/signals.hpp"
#include "base/system/stop.hpp"
#include "base/text/counted.hpp"

namespace distsim::serving {
namespace {

constexpr std::uint64_t kFewest = 1'000;  ///< requests of a run whose warm-up is looked for
constexpr double kMsPerPicosecond = 1e-9;

/// A second run leaves out the warm-up that the first one shows.
Result<RunResult> run_point(const Experiment& e, const PolicyEntry& policy, double rate_per_s) {
  const Load load = load_at(e, rate_per_s);
  RunOptions options = e.run;
  TRY_ASSIGN(RunResult first, emulate(e.scenario, policy, e.policy_options, load, options));
  const std::uint64_t cut = first.suggested_warm_up;
  if (!e.find_warm_up || first.unstable || cut == 0 || first.all.requests < kFewest || 5 * cut > 2 * first.all.requests)
    return first;
  options.warm_up = cut;
  return emulate(e.scenario, policy, e.policy_options, load, options);
}

void fill(const Experiment& e, Point& point) {
  auto result =
      end_asked() ? Result<RunResult>(Error{"interrupted", "", ""}) : run_point(e, *point.policy, point.rate_per_s);
  if (result.ok())
    point.result = std::move(*result);
  else
    point.error = result.error().text();
}

}  // namespace

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
  const auto help = [&work, question = stop_question()] {
    const StopScope scope(question);
    work();
  };
  std::vector<std::jthread> threads;
  try {
    for (unsigned t = 1; t < std::min<std::size_t>(jobs, out.points.size()); ++t) threads.emplace_back(help);
  } catch (const std::system_error&) {  // fewer threads
  }
  work();
  threads.clear();
  return out;
}

std::size_t rows_of(const Experiment& e) { return e.scenario.models.size() + 1 + e.scenario.classes.size(); }

static Figures class_figures(const Experiment& e, const Point& point, std::size_t index) {
  Figures f;
  f.model = "class " + e.scenario.classes[index].name;
  f.tally = &point.result.classes[index];
  const double span = point.result.span_s();
  f.throughput_per_s = span > 0 ? static_cast<double>(f.tally->answered()) / span : 0;
  f.goodput_per_s = span > 0 ? static_cast<double>(f.tally->requests - f.tally->violations) / span : 0;
  f.rate_per_s = f.throughput_per_s;
  f.makespan_ms = static_cast<double>(point.result.makespan_ps) * kMsPerPicosecond;
  return f;
}

Figures figures_of(const Experiment& e, const Point& point, std::size_t model) {
  const RunResult& r = point.result;
  const std::size_t models = e.scenario.models.size();
  const bool all = model == models;
  Figures f;
  if (model > models) return class_figures(e, point, model - models - 1);
  f.model = all ? "all" : e.scenario.models[model].name;
  f.tally = all ? &r.all : &r.models[model];
  double weights = 0;
  for (const Model& m : e.scenario.models) weights += m.weight;
  const double offered = offered_rate(load_at(e, point.rate_per_s));
  const double span = r.span_s(), makespan = static_cast<double>(r.makespan_ps);
  const auto answered = static_cast<double>(f.tally->answered());
  f.throughput_per_s = span > 0 ? answered / span : 0;
  f.rate_per_s = offered > 0 ? offered * (all ? 1 : e.scenario.models[model].weight / weights) : f.throughput_per_s;
  f.goodput_per_s = span > 0 ? static_cast<double>(f.tally->requests - f.tally->violations) / span : 0;
  f.makespan_ms = makespan * kMsPerPicosecond;
  const auto busy = static_cast<double>(all ? std::accumulate(r.busy_ps.begin(), r.busy_ps.end(), std::int64_t{0})
                                            : r.shares[model].executing_ps);
  f.utilisation = makespan > 0 ? busy / makespan / static_cast<double>(r.busy_ps.size()) : 0;
  f.moves = all ? r.moves : r.shares[model].moves;
  f.batches = all ? r.batches : r.shares[model].batches;
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
