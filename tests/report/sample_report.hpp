// A small job and its report, for the tests of what is written from reports.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "job.hpp"

namespace distsim::report {

constexpr std::int64_t kMs = 1'000'000'000;

inline ReportContext context() {
  ReportContext c;
  c.title = "A test";
  c.system = "dgx_test";
  c.device = "A100";
  c.model = "mlp";
  c.framework = "eager";
  c.nodes = 2;
  c.gpus_per_node = 2;
  c.samples = 65536;
  c.model_flops = 1e12;
  c.peak_flops = 3.12e14;
  c.memory_per_rank = {10'000'000'000, 24'100'000'000, 1, 1};
  c.memory_capacity = 40'000'000'000;
  c.assumptions = {{graph::AssumptionKind::workload, "weights are fp32"},
                   {graph::AssumptionKind::batch, "the input pipeline keeps up"}};
  return c;
}

/// forward 4-7 ms by rank, 12 buckets of 1 ms under a backward of 6 ms, update 1 ms.
inline Job small_job(const std::string& name = "forward") {
  JobBuilder b(4);
  b.launch(kMs / 100).cost(0.1, 0.2, graph::Basis::interpolated, "a curve");
  const TaskId forward = b.compute_per_rank(name, {4 * kMs, 5 * kMs, 6 * kMs, 7 * kMs});
  TaskId last = forward;
  for (int i = 0; i < 12; ++i) {
    const TaskId piece =
        b.compute("layer " + std::to_string(11 - i), kMs / 2, {}, graph::Gemm{1, 64, 64, 64}, graph::Phase::backward);
    last = b.collective("grad bucket " + std::to_string(i), kMs, 25 << 20, {piece});
  }
  b.compute("update", kMs, {last}, graph::Optimizer{}, graph::Phase::optimizer);
  return b.play(3, kMs / 10);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace distsim::report
