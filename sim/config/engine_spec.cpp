#include "sim/config/engine_spec.hpp"

namespace distsim::config {

Schema<EngineSpec> engine_schema() {
  Schema<SlowGpu> gpu("slow_gpu", "A GPU that is slower than the others.");
  gpu.required("rank", &SlowGpu::rank, {0, 1 << 24}, "Which GPU of the job.");
  gpu.required("speed", &SlowGpu::speed, {0.001, 1}, "Speed of its kernels as a fraction of the others'.");
  Schema<SlowNic> nic("slow_nic", "A network adapter that is slow or broken.");
  nic.required("node", &SlowNic::node, {0, 1 << 24}, "Its node.");
  nic.required("nic", &SlowNic::nic, {0, 1024}, "Its number in the node.");
  nic.required("speed", &SlowNic::speed, {0, 1},
               "Its rate as a fraction of the sound one; 0: broken, its traffic goes over the node's others.");
  Schema<EngineSpec> s("engine", "How the job is played: contention, and hardware that is not as it should be.");
  s.optional(
      "contention", &EngineSpec::contention,
      "Collectives that run at once share links, adapters and switches fairly; false: each has what its group alone has.");
  s.list("slow_gpus", &EngineSpec::slow_gpus, gpu, false, 1024);
  s.list("slow_nics", &EngineSpec::slow_nics, nic, false, 1024);
  s.optional("uplink_load", &EngineSpec::uplink_load, {0, 0.99},
             "Share of every leaf's and pod's uplinks that other jobs take.");
  s.optional("jobs", &EngineSpec::jobs, {1, 64},
             "Copies of this job that run at once, dealt node by node over the same fabric.");
  return s;
}

}  // namespace distsim::config
