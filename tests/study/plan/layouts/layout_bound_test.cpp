#include "sim/study/plan/layouts/layout_bound.hpp"

#include <gtest/gtest.h>

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

/// Every bound is below what is played.
TEST(LayoutBound, IsBelowWhatIsPlayed) {
  constexpr std::size_t kPlayed = 12;
  for (const BoundCase& c : kBoundCases) {
    const config::Experiment e = experiment_of(llm_text(c.model, c.framework, c.system, c.nodes, c.batch));
    const LayoutSite site = site_with(e, HeldValues());
    pipeline::CostModelCache cache;
    LayoutBound bound(site.experiment, site.space,
                      cache.models({e.cluster, e.device, pipeline::collective_options_of(e)}).value());
    SpaceCounts counts;
    const auto grids = site.space.grids(counts);
    std::size_t played = 0;
    for (std::uint64_t i = 0; i < 400 && played < kPlayed; ++i) {
      const auto at = [&](std::uint64_t what, std::size_t size) {
        return static_cast<std::size_t>(fnv32(std::to_string(i * 7 + what)) % size);
      };
      const auto shapes = site.space.shapes(grids[at(0, grids.size())]);
      if (shapes.empty()) continue;
      const workload::ParallelSpec shape = shapes[at(1, shapes.size())];
      const auto layouts = site.space.layouts(shape);
      const workload::ParallelSpec layout = layouts[at(2, layouts.size())];
      workload::ModelSpec model = site.space.model();
      model.parallel = layout;
      const auto plan = plan_llm(model, site.space.framework(), site.space.cluster(), site.space.batch());
      if (!plan || !fits(*plan)) continue;
      const auto whole = play_layout(site, layout, {}, cache);
      if (!whole) continue;
      const double least = bound.of_shape(*plan, shape).value() + bound.of_replicas(*plan, layout).value();
      EXPECT_LE(least, whole->iteration.seconds()) << c.model << " " << c.framework << " " << i;
      EXPECT_GT(least, 0);
      ++played;
    }
    EXPECT_GT(played, 3u) << c.model << " " << c.framework;
  }
}

}  // namespace
}  // namespace distsim::study
