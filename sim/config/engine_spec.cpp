#include "sim/config/engine_spec.hpp"

#include <optional>
#include <set>

namespace distsim::config {

namespace {

std::optional<std::string> given_twice(const EngineSpec& e) {
  std::set<std::int64_t> gpus;
  for (const SlowGpu& g : e.slow_gpus) {
    if (!gpus.insert(g.rank).second)
      return "slow_gpus: found rank " + std::to_string(g.rank) + " twice, expected one speed for each GPU";
  }
  std::set<std::pair<std::int64_t, std::int64_t>> nics;
  for (const SlowNic& n : e.slow_nics) {
    if (!nics.insert({n.node, n.nic}).second)
      return "slow_nics: found NIC " + std::to_string(n.nic) + " of node " + std::to_string(n.node) +
             " twice, expected one speed for each NIC";
  }
  return std::nullopt;
}

}  // namespace

Schema<EngineSpec> engine_schema() {
  Schema<SlowGpu> gpu("slow_gpu", "A GPU that is slower than the others.");
  gpu.required("rank", &SlowGpu::rank, {0, 1 << 24}, "Rank of the GPU in the job.");
  gpu.required("speed", &SlowGpu::speed, {0.001, 1}, "Its kernel speed as a fraction of that of the other GPUs.");
  Schema<SlowNic> nic("slow_nic", "A NIC that is slow or has failed.");
  nic.required("node", &SlowNic::node, {0, 1 << 24}, "Node that it is in.");
  nic.required("nic", &SlowNic::nic, {0, 1024}, "Its index within the node.");
  nic.required("speed", &SlowNic::speed, {0, 1},
               "Its rate as a fraction of a healthy NIC's; 0: failed, its traffic uses the other NICs of the node.");
  Schema<EngineSpec> s("engine", "How the job is simulated: contention and degraded hardware.");
  s.optional(
      "contention", &EngineSpec::contention,
      "Concurrent collectives share links, NICs and switches fairly; false: each runs as if there were no others.");
  s.list("slow_gpus", &EngineSpec::slow_gpus, gpu, false, 1024);
  s.list("slow_nics", &EngineSpec::slow_nics, nic, false, 1024);
  s.optional("uplink_load", &EngineSpec::uplink_load, {0, 0.99},
             "Fraction of every leaf's and pod's uplinks used by other jobs.");
  s.optional("jobs", &EngineSpec::jobs, {1, 64},
             "Copies of this job that run at once, interleaved node by node on the same fabric.");
  s.rule(given_twice);
  return s;
}

}  // namespace distsim::config
