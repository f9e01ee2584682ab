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

std::optional<std::string> contradicts_contention(const EngineSpec& e) {
  if (!e.refuses_contention || !e.contended()) return std::nullopt;
  const char* key = e.jobs > 1 ? "jobs" : e.uplink_load > 0 ? "uplink_load" : "slow_nics";
  return "contention: found false, expected true, or no " + std::string(key) + ", with which collectives share links";
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
  s.custom(
      {"contention", "true or false", "", "false",
       "Concurrent collectives share links, NICs and switches fairly; false: each runs as if there were no others. With slow_nics, uplink_load or jobs they always do."},
      false, [](EngineSpec& out, const ConfigNode& node, const std::string& path) -> Result<void> {
        TRY_ASSIGN(out.contention, schema_detail::read_scalar<bool>(node, path, {}));
        out.refuses_contention = !out.contention;
        return {};
      });
  s.list("slow_gpus", &EngineSpec::slow_gpus, gpu, false, 1024);
  s.list("slow_nics", &EngineSpec::slow_nics, nic, false, 1024);
  s.optional("uplink_load", &EngineSpec::uplink_load, {0, 0.99},
             "Fraction of every leaf's and pod's uplinks used by other jobs.");
  s.optional("jobs", &EngineSpec::jobs, {1, 64},
             "Copies of this job that run at once, interleaved node by node on the same fabric.");
  s.rule(given_twice);
  s.rule(contradicts_contention);
  return s;
}

}  // namespace distsim::config
