// What was asked of a sweep and changes none of its points.
#include <algorithm>
#include <optional>

#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/point_experiments.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::study {
namespace {

/// Keys in the maps of an axis of more values are not looked for: each takes predictions.
constexpr std::size_t kMostMaps = 64;

/// The number of the point at such places of its values.
std::size_t point_at(const std::vector<SweepAxis>& axes, const std::vector<std::size_t>& places) {
  std::size_t out = 0;
  for (std::size_t a = 0; a < axes.size(); ++a) out = out * axes[a].values.size() + places[a];
  return out;
}

struct HeldValue {
  std::size_t axis, value;
};

/// The first point and the last, and others until every value of every axis is at one of them; of axes of more than `most`
/// values, some throughout. With `held` all have that value of that axis.
std::vector<std::size_t> spread_points(const std::vector<SweepAxis>& axes, std::size_t most,
                                       const std::optional<HeldValue>& held = std::nullopt) {
  std::size_t longest = 1;
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (!held || held->axis != a) longest = std::max(longest, axes[a].values.size());
  const std::size_t steps = std::min(longest, most);
  const auto point = [&](const auto& place) {
    std::vector<std::size_t> places;
    for (std::size_t a = 0; a < axes.size(); ++a)
      places.push_back(held && held->axis == a ? held->value : place(axes[a].values.size()));
    return point_at(axes, places);
  };
  std::vector<std::size_t> out;
  const auto add = [&](std::size_t index) {
    if (out.size() < most && std::ranges::find(out, index) == out.end()) out.push_back(index);
  };
  add(point([](std::size_t) { return std::size_t{0}; }));
  add(point([](std::size_t length) { return length - 1; }));
  for (std::size_t i = 1; i < steps; ++i)
    add(point([&](std::size_t length) { return length <= steps ? i % length : i * (length - 1) / (steps - 1); }));
  return out;
}

/// The fixed overrides, at points that have a prediction.
std::vector<IdleArgument> idle_sets(const SweepResult& result, PointExperiments& points,
                                    const std::shared_ptr<config::Variants>& experiment, unsigned jobs) {
  const SweepRequest& request = result.request();
  if (request.sets.empty()) return {};
  std::vector<VariedExperiment> tried;
  for (const std::size_t index : spread_points(request.axes, kMostTried)) {
    if (result.point(index).error.empty()) tried.push_back({experiment, points.sets(index)});
  }
  return sets_without_effect(tried, request.sets, "", tried.size() == result.size(), jobs);
}

/// Keys within the maps that an axis has as values.
struct IdleMapKeys {
  std::vector<std::string> keys;
  bool are_all = true;  ///< every point was tried
};
IdleMapKeys idle_keys_within(const SweepResult& result, std::size_t axis, PointExperiments& points,
                             const std::shared_ptr<config::Variants>& experiment, unsigned jobs) {
  const std::vector<SweepAxis>& axes = result.request().axes;
  const SweepAxis& swept = axes[axis];
  if (!swept.sets.empty() || swept.values.size() > kMostMaps) return {};
  const std::size_t of_each = std::max<std::size_t>(2, kMostTried / swept.values.size()),
                    others = result.size() / swept.values.size();
  std::vector<TriedMap> tried;
  bool are_all = true;
  for (std::size_t v = 0; v < swept.values.size(); ++v) {
    const std::string set = swept.key + "=" + swept.values[v];
    const auto parsed = config::parse_set(set);
    if (!parsed.ok() || parsed->value.kind != ConfigNode::Kind::map) continue;
    const std::vector<std::size_t> at = spread_points(axes, of_each, HeldValue{axis, v});
    for (const std::size_t index : at) tried.push_back({{experiment, points.sets(index)}, set});
    are_all = are_all && at.size() == others;
  }
  return {map_keys_without_effect(tried, jobs), are_all};
}

/// Why the --scaling that was asked for gives no point another batch than the experiment does; empty where it may. What a study
/// says holds for any experiment.
std::string why_scaling_is_idle(const SweepResult& result, PointExperiments& points) {
  const SweepRequest& request = result.request();
  if (request.scaling == Scaling::as_given || request.scaling_asked != "--scaling" || result.predicted() == 0)
    return "";
  const std::vector<std::size_t> tried = spread_points(request.axes, kMostTried);
  if (std::ranges::any_of(tried, [&](std::size_t i) { return points.sets(i) != sets_at(request, i); })) return "";
  return std::string(tried.size() == result.size() ? "every point has" : "the points tried have") +
         " the batch that the experiment gives";
}

}  // namespace

std::vector<IdleArgument> sweep_without_effect(const SweepResult& result, const std::string& flag, unsigned jobs) {
  std::vector<IdleArgument> out;
  const bool sweeps_gpus = std::ranges::any_of(result.request().axes, counts_gpus);
  if (!sweeps_gpus) out.push_back({"--scaling", std::string("no effect, ") + kNoGpusSwept});
  const std::string where = result.predicted() == result.size() ? "" : " that was predicted";
  const auto add = [&](const std::string& key, bool are_all) {
    out.push_back({flag + " " + key, are_all ? "no effect at any point" + where : "no effect at the points tried"});
  };
  const std::vector<std::string> idle = result.axes_without_effect();
  for (const std::string& key : idle) add(key, true);
  const auto read = variants_of(result.request());
  if (!read.ok()) return out;
  const std::shared_ptr<config::Variants>& experiment = *read;
  PointExperiments points(result.request(), experiment);
  if (const std::string why = why_scaling_is_idle(result, points); sweeps_gpus && !why.empty())
    out.insert(out.begin(), {"--scaling", "no effect, " + why});
  const std::vector<SweepAxis>& axes = result.request().axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (std::ranges::find(idle, axes[a].key) != idle.end()) continue;
    const IdleMapKeys within = idle_keys_within(result, a, points, experiment, jobs);
    for (const std::string& key : within.keys) add(key, within.are_all);
  }
  for (IdleArgument& set : idle_sets(result, points, experiment, jobs)) out.push_back(std::move(set));
  return out;
}

}  // namespace distsim::study
