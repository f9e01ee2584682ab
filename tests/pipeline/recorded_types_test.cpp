// A recorded iteration keeps the types of its tensors, whatever precision the experiment states.
#include <gtest/gtest.h>

#include "predicted_text.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

report::Report predicted_at(const std::string& precision) {
  auto out = predicted_text(
      "cluster: {system: dgx_a100_80gb, nodes: 1, gpus_per_node: 1}\nframework: {name: pytorch}\n"
      "model: {kind: graph, per_gpu_batch: 512, graph: {file: " +
          test::root() + "/tests/data/opgraph/linear_et_1.0.1.json.gz}}\n",
      {"model.precision=" + precision});
  EXPECT_TRUE(out.ok()) << out.error().text();
  return std::move(out->report);
}

/// The fp32 products of a trace had the device's correction, and the peak, of 16-bit products in a job of 16 bits.
TEST(RecordedTypes, ThePrecisionOfTheJobChangesNoRecordedProduct) {
  const report::Report full = predicted_at("fp32");
  for (const char* precision : {"fp16", "bf16"}) {
    const report::Report half = predicted_at(precision);
    EXPECT_EQ(half.iteration, full.iteration) << precision;
    EXPECT_EQ(half.mfu, full.mfu) << precision;
  }
}

}  // namespace
}  // namespace distsim::pipeline
