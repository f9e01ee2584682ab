// Keys with several values: as they are written on the command line, and those of data parallel jobs.
#include <algorithm>
#include <set>

#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/study/plan/plan.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "sim/workload/opgraph/graph_spec.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::study {
namespace {

constexpr const char* kAccumulation = "model.accumulation";
constexpr workload::StateSplit kLevels[] = {workload::StateSplit::none, workload::StateSplit::optimizer,
                                            workload::StateSplit::gradients, workload::StateSplit::weights};

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
  for (const StateSplit s : kLevels) all.emplace_back(workload::name_of(s));
  return axis_with_own("parallel.shard", std::string(workload::name_of(own)), all);
}

/// A recorded iteration runs as it ran.
bool is_recorded(const config::Experiment& e) { return graph_of(e) != nullptr && graph_of(e)->recorded; }

/// As if nothing were held, but for accumulation.
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
  return out;
}

/// Memory decides how many micro-steps a batch needs. Of all that have as large a one, two steps are built.
bool fits_in_steps(const config::Experiment& e, const workload::ClusterShape& shape, std::int64_t batch,
                   std::int64_t steps) {
  workload::ModelSpec model = e.model;
  model.memory_check = false;
  model.accumulation = std::min<std::int64_t>(steps, 2);
  model.per_gpu_batch = 0;
  const std::int64_t places = std::int64_t{shape.ranks()} * steps, largest = (batch + places - 1) / places;
  model.global_batch = steps == 1 ? batch : largest * shape.ranks() * model.accumulation;
  const auto built = workload::build_workload(model, e.framework, shape);
  return built.ok() && std::ranges::all_of(built->memory, [&](const workload::RankMemory& m) {
           return m.total() <= shape.memory_per_gpu.value();
         });
}

/// 1, 2, 4 and 8 micro-steps, and around the first power of two with which memory suffices, for each way of splitting weights
/// on each number of GPUs: half as many may do with other keys, and twice as many where some are not checked.
SweepAxis accumulation_axis(const config::Experiment& e, const std::vector<std::int64_t>& gpus,
                            const std::vector<std::string>& sets) {
  workload::ClusterShape own = pipeline::shape_of(e);
  const std::int64_t batch = workload::samples_of(e.model, own.ranks());
  std::vector<workload::ClusterShape> shapes;
  for (const std::int64_t n : gpus) {
    shapes.push_back(own);
    shapes.back().nodes = static_cast<std::uint32_t>(std::max<std::int64_t>(1, n / own.gpus_per_node));
  }
  if (shapes.empty()) shapes.push_back(own);
  std::int64_t most = 0;  // a sample for each
  for (const workload::ClusterShape& shape : shapes) most = std::max(most, batch / shape.ranks());
  std::set<std::int64_t> steps{1, 2, 4, 8};
  std::vector<config::Experiment> splits{e};
  if (const auto shard = shard_axis(e); shard && !is_held(sets, e, shard->key)) {
    for (const auto level : kLevels) splits.emplace_back(e).model.parallel.shard = level;
  }
  for (const config::Experiment& split : splits) {
    for (const workload::ClusterShape& shape : shapes) {
      for (std::int64_t n = 1; n <= batch / shape.ranks(); n *= 2) {
        if (!fits_in_steps(split, shape, batch, n)) continue;
        steps.insert({std::max<std::int64_t>(1, n / 2), n, 2 * n});
        break;
      }
    }
  }
  std::vector<std::string> texts;
  for (const std::int64_t n : steps) {
    if (n <= most) texts.push_back(std::to_string(n));
  }
  return axis_with_own(kAccumulation, std::to_string(e.model.accumulation), texts);
}

}  // namespace

Result<std::vector<std::int64_t>> parse_gpus(const std::string& text) {
  const Error refused{"--gpus: found " + in_quotes(text) + ", expected numbers of GPUs such as 64,96 or 64..1024", "",
                      ""};
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

std::vector<SweepAxis> data_parallel_axes(const config::Experiment& e, const std::vector<std::string>& sets,
                                          const std::vector<std::int64_t>& gpus) {
  std::vector<SweepAxis> out = all_axes(e);
  std::erase_if(out, [&](const SweepAxis& axis) { return is_held(sets, e, axis.key); });
  if (!is_recorded(e) && !is_held(sets, e, kAccumulation)) out.push_back(accumulation_axis(e, gpus, sets));
  return out;
}

}  // namespace distsim::study
