#include "sim/study/sweep.hpp"

#include <algorithm>
#include <map>

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/without_effect.hpp"
#include "sim/study/workers.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {

bool counts_gpus(const SweepAxis& axis) { return axis.key == "cluster.nodes" || axis.key == "cluster.gpus_per_node"; }

namespace {

constexpr std::size_t kMaxPoints = 100'000;

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (c == ',' && depth == 0 && quote == 0)
      values.emplace_back();
    else
      values.back() += c;
  }
  return values;
}

/// Values of every axis at point number `index`, the first axis slowest.
std::vector<std::string> values_at(const std::vector<SweepAxis>& axes, std::size_t index) {
  std::vector<std::string> values(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    values[a] = axes[a].values[index % axes[a].values.size()];
    index /= axes[a].values.size();
  }
  return values;
}

std::vector<std::string> sets_at(const SweepRequest& request, const std::vector<std::string>& values) {
  std::vector<std::string> sets = request.sets;
  for (std::size_t a = 0; a < values.size(); ++a) sets.push_back(request.axes[a].key + "=" + values[a]);
  return sets;
}

std::int64_t gpus_of(const config::Experiment& e) { return e.cluster.nodes * e.cluster.gpus_per_node; }

std::int64_t batch_of(const config::Experiment& e) {
  return workload::samples_of(e.model, pipeline::shape_of(e).ranks());
}

/// The same row on the first number of GPUs.
Result<config::Experiment> on_first_gpus(const SweepRequest& request, std::vector<std::string> values) {
  for (std::size_t a = 0; a < values.size(); ++a) {
    if (counts_gpus(request.axes[a])) values[a] = request.axes[a].values.front();
  }
  return config::load_experiment(request.config, sets_at(request, values));
}

Result<config::Experiment> experiment_at(const SweepRequest& request, const std::vector<std::string>& values) {
  TRY_ASSIGN(config::Experiment e, config::load_experiment(request.config, sets_at(request, values)));
  if (std::ranges::none_of(request.axes, counts_gpus)) return e;
  TRY_ASSIGN(const config::Experiment first, on_first_gpus(request, values));
  e.model.global_batch = batch_of(first);
  e.model.per_gpu_batch = 0;
  if (request.scaling == Scaling::weak) e.model.global_batch = batch_of(first) * gpus_of(e) / gpus_of(first);
  return e;
}

SweepPoint predict_point(const SweepRequest& request, std::size_t index, pipeline::CostModelCache& cache) {
  SweepPoint point;
  point.values = values_at(request.axes, index);
  const Result<config::Experiment> e = experiment_at(request, point.values);
  if (!e) {
    point.error = e.error().text();
    return point;
  }
  point.global_batch = batch_of(*e);
  pipeline::Passes passes;
  Result<pipeline::Prediction> p =
      pipeline::predict(*e, passes, cache, pipeline::kPlayedMicroSteps, report::Detail::figures);
  if (!p) {
    point.error = p.error().text();
    return point;
  }
  point.report = std::move(p->report);
  return point;
}

double gpus_in(const SweepPoint& p) { return double(p.report.context.nodes) * p.report.context.gpus_per_node; }

/// What a point is compared with: the point of fewest GPUs that has the same values on all other axes.
const SweepPoint& baseline_of(const SweepPoint& point, const std::vector<SweepPoint>& points,
                              const std::vector<SweepAxis>& axes) {
  const SweepPoint* best = &point;
  for (const SweepPoint& p : points) {
    if (!p.error.empty() || gpus_in(p) >= gpus_in(*best)) continue;
    bool same = true;
    for (std::size_t a = 0; a < axes.size(); ++a)
      same = same && (counts_gpus(axes[a]) || p.values[a] == point.values[a]);
    if (same) best = &p;
  }
  return *best;
}

void add_scaling(std::vector<SweepPoint>& points, const std::vector<SweepAxis>& axes) {
  for (auto& p : points) {
    if (!p.error.empty()) continue;
    const SweepPoint& base = baseline_of(p, points, axes);
    p.speedup = p.report.samples_per_second / base.report.samples_per_second;
    p.efficiency = p.speedup / (gpus_in(p) / gpus_in(base));
  }
}

/// False where two predictions that differ only in this axis differ in anything.
bool is_idle(std::size_t axis, const std::vector<SweepPoint>& points) {
  std::map<std::vector<std::string>, const SweepPoint*> first;
  bool compared = false;
  for (const SweepPoint& p : points) {
    if (!p.error.empty()) continue;
    std::vector<std::string> others = p.values;
    others[axis].clear();
    const auto [it, fresh] = first.emplace(std::move(others), &p);
    if (fresh) continue;
    if (!same_figures(p.report, it->second->report)) return false;
    compared = true;
  }
  return compared;
}

}  // namespace

std::vector<std::string> axes_without_effect(const SweepRequest& request, const std::vector<SweepPoint>& points) {
  std::vector<std::string> out;
  for (std::size_t a = 0; a < request.axes.size(); ++a) {
    if (is_idle(a, points)) out.push_back(request.axes[a].key);
  }
  return out;
}

Result<SweepAxis> parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{"found '" + text + "', expected KEY=VALUE[,VALUE...]", "--set", ""};
  SweepAxis axis{text.substr(0, equals), split_values(text.substr(equals + 1))};
  for (const auto& value : axis.values) {
    if (value.empty())
      return Error{"found an empty value in '" + text + "', expected KEY=V1,V2,...", "--set " + axis.key, ""};
  }
  return axis;
}

Result<std::vector<SweepPoint>> sweep(const SweepRequest& request, const std::function<void()>& on_point) {
  std::size_t count = 1;
  for (const auto& axis : request.axes) {
    count *= axis.values.size();
    if (count > kMaxPoints)
      return Error{"found over " + std::to_string(kMaxPoints) + " combinations, expected fewer", "--set", ""};
  }
  TRY(config::load_experiment(request.config, sets_at(request, values_at(request.axes, 0))));
  if (request.scaling == Scaling::weak &&
      std::ranges::any_of(request.axes, [](const SweepAxis& axis) { return axis.key == "model.global_batch"; }))
    return Error{
        "--scaling: found weak, which sets the batch itself, and a swept model.global_batch, expected one of them", "",
        "sweep model.per_gpu_batch"};
  pipeline::CostModelCache cache;
  std::vector<SweepPoint> points(count);
  const auto predict = [&](std::size_t i) { points[i] = predict_point(request, i, cache); };
  for (const std::size_t i : for_each_index(count, request.jobs, predict, on_point)) {
    points[i].values = values_at(request.axes, i);
    points[i].error = why_left();
  }
  add_scaling(points, request.axes);
  return points;
}

}  // namespace distsim::study
