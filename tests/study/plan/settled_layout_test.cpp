// A plan's row of the experiment as it is: its keys bring its figures back.
#include "sim/study/plan/settled_layout.hpp"

#include <gtest/gtest.h>

#include "sim/pipeline/pipeline.hpp"
#include "small_llm.hpp"

namespace distsim::study {
namespace {

std::vector<std::string> sets_of(const workload::ParallelSpec& layout) {
  std::vector<std::string> out;
  for (const LayoutKey& key : layout_keys())
    out.push_back("parallel." + std::string(key.name) + "=" + key.text(layout));
  return out;
}

TEST(SettledLayout, ItsKeysBringTheSameFigures) {
  struct Case {
    const char* model;
    int nodes, batch;
  };
  const Case cases[] = {{"nemotron3_nano_30b_a3b", 4, 128}, {"mixtral_8x7b", 2, 64}, {"llama3_8b", 1, 64}};
  std::size_t fit = 0, open = 0;
  pipeline::CostModelCache cache;
  for (const Case& c : cases) {
    for (const char* framework :
         {"megatron_bridge", "nemo_automodel", "deepspeed_hf", "colossalai", "fsdp2_torchtitan"}) {
      const std::string text = test::llm_text(c.model, framework, "dgx_h100", c.nodes, c.batch);
      for (const char* memory : {"20 GB", "28 GB", "40 GB", "80 GB"}) {
        std::vector<std::string> sets{"device.hbm.capacity=" + std::string(memory), "model.per_gpu_batch=0"};
        const auto iteration = [&](const std::vector<std::string>& all) {
          pipeline::Passes passes;
          const auto p = predict(test::experiment_of(text, all), passes, cache, pipeline::kPlayedMicroSteps,
                                 report::Detail::figures);
          return p.ok() ? p->report.iteration : Duration();
        };
        const Duration left_open = iteration(sets);
        if (left_open == Duration()) continue;
        const workload::ParallelSpec layout = settled_layout(test::experiment_of(text, sets)).value();
        ++fit;
        open += layout.offload == workload::Offload::automatic ? 1 : 0;
        for (std::string& set : sets_of(layout)) sets.push_back(std::move(set));
        EXPECT_EQ(iteration(sets), left_open) << c.model << ", " << framework << ", " << memory;
      }
    }
  }
  EXPECT_GT(fit, 20u);
  EXPECT_GT(open, 0u) << "of part of the weights";
}

}  // namespace
}  // namespace distsim::study
