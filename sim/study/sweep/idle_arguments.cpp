// What was asked of a sweep and changes none of its points.
#include <algorithm>

#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::study {
namespace {

/// The fixed overrides: what is the same at all points is tried at the first and at the last.
std::vector<IdleArgument> idle_sets(const SweepResult& result) {
  const SweepRequest& request = result.request();
  if (request.sets.empty()) return {};
  std::shared_ptr<config::Variants> experiment = request.experiment;
  if (!experiment) {
    auto read = config::Variants::of(request.config);
    if (!read) return {};
    experiment = std::move(*read);
  }
  return sets_without_effect({{experiment, sets_at(request, 0)}, {experiment, sets_at(request, result.size() - 1)}},
                             request.sets);
}

}  // namespace

std::vector<IdleArgument> sweep_without_effect(const SweepResult& result, const std::string& flag) {
  std::vector<IdleArgument> out;
  if (std::ranges::none_of(result.request().axes, counts_gpus))
    out.push_back({"--scaling", "no effect, the number of GPUs is not swept"});
  const std::string where = result.predicted() == result.size() ? "" : " that was predicted";
  for (const std::string& key : result.axes_without_effect())
    out.push_back({flag + " " + key, "no effect at any point" + where});
  for (IdleArgument& set : idle_sets(result)) out.push_back(std::move(set));
  return out;
}

}  // namespace distsim::study
