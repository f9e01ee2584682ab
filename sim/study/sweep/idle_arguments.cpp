// What was asked of a sweep and changes none of its points.
#include <algorithm>

#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/point_experiments.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::study {
namespace {

/// The fixed overrides: what is the same at all points is tried at the first and at the last.
std::vector<IdleArgument> idle_sets(const SweepResult& result, PointExperiments& points,
                                    const std::shared_ptr<config::Variants>& experiment) {
  const SweepRequest& request = result.request();
  if (request.sets.empty()) return {};
  return sets_without_effect({{experiment, points.sets(0)}, {experiment, points.sets(result.size() - 1)}},
                             request.sets);
}

/// Keys of more values are not looked for: each takes predictions.
constexpr std::size_t kMostMaps = 64;

/// Keys within the maps that an axis has as values. Each value is tried at the first and at the last of its points.
std::vector<std::string> idle_keys_within(const SweepRequest& request, std::size_t axis, PointExperiments& points,
                                          const std::shared_ptr<config::Variants>& experiment) {
  const SweepAxis& swept = request.axes[axis];
  if (!swept.sets.empty() || swept.values.size() > kMostMaps) return {};
  std::size_t before = 1, stride = 1;  // combinations of the axes before it, and of those after it
  for (std::size_t a = 0; a < request.axes.size(); ++a)
    (a < axis ? before : stride) *= a == axis ? 1 : request.axes[a].values.size();
  std::vector<TriedMap> tried;
  for (std::size_t v = 0; v < swept.values.size(); ++v) {
    const std::string set = swept.key + "=" + swept.values[v];
    const auto parsed = config::parse_set(set);
    if (!parsed.ok() || parsed->value.kind != ConfigNode::Kind::map) continue;
    const std::size_t first = v * stride, last = ((before - 1) * swept.values.size() + v + 1) * stride - 1;
    tried.push_back({{experiment, points.sets(first)}, set});
    if (last != first) tried.push_back({{experiment, points.sets(last)}, set});
  }
  return map_keys_without_effect(tried);
}

}  // namespace

std::vector<IdleArgument> sweep_without_effect(const SweepResult& result, const std::string& flag) {
  std::vector<IdleArgument> out;
  if (std::ranges::none_of(result.request().axes, counts_gpus))
    out.push_back({"--scaling", std::string("no effect, ") + kNoGpusSwept});
  const std::string where = result.predicted() == result.size() ? "" : " that was predicted";
  const auto add = [&](const std::string& key) { out.push_back({flag + " " + key, "no effect at any point" + where}); };
  const std::vector<std::string> idle = result.axes_without_effect();
  std::ranges::for_each(idle, add);
  const auto read = variants_of(result.request());
  if (!read.ok()) return out;
  const std::shared_ptr<config::Variants>& experiment = *read;
  PointExperiments points(result.request(), experiment);
  const std::vector<SweepAxis>& axes = result.request().axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (std::ranges::find(idle, axes[a].key) == idle.end())
      std::ranges::for_each(idle_keys_within(result.request(), a, points, experiment), add);
  }
  for (IdleArgument& set : idle_sets(result, points, experiment)) out.push_back(std::move(set));
  return out;
}

}  // namespace distsim::study
