// Keys with several values: as they are written on the command line, and those of data parallel jobs.
#include <algorithm>

#include "base/text/number_text.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/study/plan/plan.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "sim/workload/opgraph/graph_spec.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::study {
namespace {

struct NumberRange {
  std::int64_t low = 0, high = 0;
};

/// "LO..HI"; nothing where the text is no range of whole numbers.
std::optional<NumberRange> number_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto low = plain_integer(text.substr(0, dots)), high = plain_integer(text.substr(dots + 2));
  if (!low || !high) return std::nullopt;
  return NumberRange{*low, *high};
}

/// The experiment's own value and others, each once.
SweepAxis axis_with_own(const std::string& key, const std::string& own, const std::vector<std::string>& others) {
  SweepAxis axis{key, {own}};
  for (const std::string& value : others) {
    if (std::ranges::find(axis.values, value) == axis.values.end()) axis.values.push_back(value);
  }
  return axis;
}

std::string mebibytes(Bytes size) {
  const std::int64_t bytes = size.value(), mebi = std::int64_t{1} << 20;
  return bytes % mebi == 0 ? std::to_string(bytes / mebi) + " MiB" : std::to_string(bytes) + " B";
}

const opgraph::OpGraph* graph_of(const config::Experiment& e) {
  return e.model.family->name == "graph" ? e.model.as<workload::GraphSpec>().graph.get() : nullptr;
}

/// How weights are split, of a graph whose weights can be: a captured one.
std::optional<SweepAxis> shard_axis(const config::Experiment& e) {
  using workload::StateSplit;
  if (graph_of(e) == nullptr || workload::mode_of(e.model) != workload::StepMode::train) return std::nullopt;
  const StateSplit stated = e.model.parallel.shard;
  const StateSplit own = stated == StateSplit::automatic ? e.framework.parallel.shard : stated;
  std::vector<std::string> all;
  for (const StateSplit s : {StateSplit::none, StateSplit::optimizer, StateSplit::gradients, StateSplit::weights})
    all.emplace_back(workload::name_of(s));
  return axis_with_own("parallel.shard", std::string(workload::name_of(own)), all);
}

/// A recorded iteration runs as it ran.
bool is_recorded(const config::Experiment& e) { return graph_of(e) != nullptr && graph_of(e)->recorded; }

/// As if nothing were held.
std::vector<SweepAxis> all_axes(const config::Experiment& e) {
  using workload::GradientSync;
  const workload::FrameworkSpec::Gradients& g = e.framework.gradients;
  const std::int64_t ranks = pipeline::shape_of(e).ranks();
  std::vector<SweepAxis> out;
  if (is_recorded(e)) {
    if (ranks > 1 && e.collectives.algorithms.empty())
      out.push_back({"collectives.algorithms", {"[]", "[Ring]", "[Tree]"}});
    return out;
  }
  if (auto shard = shard_axis(e); shard && ranks > 1) out.push_back(std::move(*shard));
  if (ranks > 1 && (g.sync == GradientSync::ddp_buckets || g.sync == GradientSync::fusion_buffer))
    out.push_back(axis_with_own("framework.gradients.bucket_size", mebibytes(g.bucket_size),
                                {"5 MiB", "10 MiB", "25 MiB", "50 MiB", "100 MiB", "200 MiB"}));
  if (ranks > 1 && workload::numerics_of(e.model.precision, e.framework).mixed)
    out.push_back(
        axis_with_own("framework.gradients.half_precision", g.half_precision ? "true" : "false", {"true", "false"}));
  if (ranks > 1 && e.collectives.algorithms.empty())
    out.push_back({"collectives.algorithms", {"[]", "[Ring]", "[Tree]"}});
  std::vector<std::string> steps;
  const std::int64_t batch = workload::samples_of(e.model, static_cast<std::uint32_t>(ranks));
  for (const std::int64_t n : {1, 2, 4, 8}) {
    if (batch >= ranks * n) steps.push_back(std::to_string(n));
  }
  out.push_back(axis_with_own("model.accumulation", std::to_string(e.model.accumulation), steps));
  return out;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_gpus(const std::string& text) {
  const Error refused{"--gpus: found '" + text + "', expected numbers of GPUs such as 64,96 or 64..1024", "", ""};
  std::vector<std::int64_t> out;
  if (const auto range = number_range(text)) {
    if (range->low < 1 || range->high < range->low || range->high > workload::kMaxRanks) return refused;
    for (std::int64_t n = range->low; n <= range->high; n *= 2) out.push_back(n);
    return out;
  }
  const auto axis = parse_axis("gpus=" + text, "--gpus", kMostVaried);
  if (!axis) return refused;
  for (const std::string& value : axis->values) {
    const auto n = plain_integer(value);
    if (!n || *n < 1 || *n > workload::kMaxRanks) return refused;
    out.push_back(*n);
  }
  return out;
}

std::vector<SweepAxis> data_parallel_axes(const config::Experiment& e, const std::vector<std::string>& sets) {
  std::vector<SweepAxis> out = all_axes(e);
  std::erase_if(out, [&](const SweepAxis& axis) { return is_held(sets, e, axis.key); });
  return out;
}

}  // namespace distsim::study
