#include "sim/study/plan/layouts/layout_bound.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/fnv.hpp"
#include "small_llm.hpp"

namespace distsim::study {
namespace {

using test::experiment_of;
using test::llm_text;
using test::site_with;

/// A setting of each kind of framework, model and machine.
struct BoundCase {
  const char *model, *framework, *system;
  int nodes, batch;
};

constexpr BoundCase kBoundCases[] = {
    {"llama3_8b", "megatron_core", "dgx_h100", 2, 64},
    {"llama3_8b", "megatron_lm", "dgx_a100_80gb", 2, 64},
    {"llama2_13b", "megatron_deepspeed", "dgx_a100_80gb", 4, 128},
    {"llama2_7b", "internevo", "dgx_a100_80gb", 2, 64},
    {"llama3_8b", "fsdp2_torchtitan", "dgx_h100", 2, 64},
    {"llama2_7b", "fsdp1_llm_foundry", "dgx_a100_40gb", 4, 128},
    {"llama2_7b", "colossalai", "dgx_h100", 2, 64},
    {"llama2_7b", "maxtext", "dgx_h100", 2, 64},
    {"deepseek_v2_l4", "megatron_bridge", "dgx_h100", 4, 128},
    {"deepseek_v3_l4", "nemo_automodel", "dgx_h100", 4, 128},
    {"llama3_8b", "nemo", "dgx_h100", 2, 128},
    {"llama3_8b", "mlperf_nemo", "dgx_h100", 4, 64},
};

/// A site with what bounds its layouts.
struct BoundSite {
  BoundSite(const BoundCase& c, const char* mode)
      : experiment(experiment_of(llm_text(c.model, c.framework, c.system, c.nodes, c.batch, mode))),
        site(site_with(experiment, HeldValues())),
        bound(site.experiment, site.space,
              cache.models({experiment.cluster, experiment.device, pipeline::collective_options_of(experiment)})
                  .value()) {}
  config::Experiment experiment;
  LayoutSite site;
  pipeline::CostModelCache cache;
  LayoutBound bound;

  /// Plays a layout that fits; its order, or nothing where it cannot be played.
  std::optional<workload::RankOrder> expect_below(const workload::ParallelSpec& shape,
                                                  const workload::ParallelSpec& layout) {
    workload::ModelSpec model = site.space.model();
    model.parallel = layout;
    const auto plan = plan_llm(model, site.space.framework(), site.space.cluster(), site.space.batch());
    if (!plan || !fits(*plan)) return std::nullopt;
    const auto whole = play_layout(site, layout, {}, cache);
    if (!whole) return std::nullopt;
    const double least = bound.of_shape(*plan, shape).value() + bound.of_replicas(*plan, layout).value();
    EXPECT_LE(least, whole->iteration.seconds()) << name_of(layout.order);
    EXPECT_GT(least, 0);
    return plan->grid.order();
  }
};

/// Those that keep every stage busy, too, which hardly fill and empty.
void expect_below_by_other_schedules(BoundSite& s, workload::ParallelSpec shape, workload::ParallelSpec layout) {
  using workload::PipelineSchedule;
  if (shape.pipeline == 1 || shape.virtual_stages > 1) return;
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::zero_bubble, PipelineSchedule::dualpipe}) {
    SCOPED_TRACE(name_of(schedule));
    shape.schedule = layout.schedule = schedule;
    s.expect_below(shape, layout);
  }
}

/// Plays `most` layouts drawn at random in both orders of ranks; how many of them kept the second order.
std::size_t expect_all_below(const BoundCase& c, const char* mode, std::size_t most) {
  std::size_t mapped = 0, played = 0;
  BoundSite s(c, mode);
  SpaceCounts counts;
  const auto grids = s.site.space.grids(counts);
  for (std::uint64_t i = 0; i < 400 && played < most; ++i) {
    SCOPED_TRACE(std::string(c.model) + " " + c.framework + " " + mode + " " + std::to_string(i));
    const auto at = [&](std::uint64_t what, std::size_t size) {
      return static_cast<std::size_t>(fnv32(std::to_string(i * 7 + what)) % size);
    };
    const auto shapes = s.site.space.shapes(grids[at(0, grids.size())]);
    if (shapes.empty()) continue;
    const workload::ParallelSpec shape = shapes[at(1, shapes.size())];
    const auto layouts = s.site.space.layouts(shape);
    workload::ParallelSpec layout = layouts[at(2, layouts.size())];
    layout.order = workload::RankOrder::tp_cp_ep_dp_pp;
    if (!s.expect_below(shape, layout)) continue;
    ++played;
    layout.order = workload::RankOrder::tp_cp_ep_pp_dp;
    mapped += s.expect_below(shape, layout) == layout.order ? 1 : 0;
    expect_below_by_other_schedules(s, shape, layout);
  }
  EXPECT_GT(played, 3u) << c.model << " " << c.framework << " " << mode;
  return mapped;
}

/// Every bound is below what is played, in either order of ranks.
TEST(LayoutBound, IsBelowWhatIsPlayed) {
  std::size_t mapped = 0;
  for (const BoundCase& c : kBoundCases) mapped += expect_all_below(c, "train", 12);
  EXPECT_GT(mapped, 24u);
}

TEST(LayoutBound, IsBelowWhatIsPlayedWithoutAnOptimizer) {
  for (const BoundCase& c : kBoundCases) expect_all_below(c, "forward_backward", 8);
}

TEST(LayoutBound, IsBelowWhatIsPlayedOfForwardPassesAlone) {
  for (const BoundCase& c : kBoundCases) expect_all_below(c, "inference", 8);
}

}  // namespace
}  // namespace distsim::study
