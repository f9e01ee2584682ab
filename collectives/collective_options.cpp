#include "collectives/collective_options.hpp"

namespace distsim::collectives {

Words<Launch> launch_words() { return {{"mpi", Launch::mpi}, {"single_process", Launch::single_process}}; }

Words<Exchange> exchange_words() {
  return {{"auto", Exchange::automatic},
          {"grouped", Exchange::grouped},
          {"hierarchical", Exchange::hierarchical},
          {"rdma", Exchange::rdma}};
}

Words<Reduction> reduction_words() {
  return {{"auto", Reduction::automatic}, {"nccl", Reduction::nccl}, {"one_shot", Reduction::one_shot}};
}

Words<Protocol> protocol_words() {
  Words<Protocol> words;
  for (const Protocol p : kProtocols) words.emplace_back(name_of(p), p);
  return words;
}

Words<const AlgorithmInfo*> nccl_algorithm_words() {
  Words<const AlgorithmInfo*> words;
  for (const AlgorithmInfo* a : algorithms()) {
    for (const std::string_view name : a->nccl_names) {
      if (!name.empty()) words.emplace_back(name, a);
    }
  }
  return words;
}

Schema<CollectiveOptions> collective_schema() {
  Schema<CollectiveOptions> s("collectives", "How collectives are priced.");
  s.optional("use_curves", &CollectiveOptions::use_curves,
             "Use measured curves of the system where available; false: analytic model only.");
  s.scalars("curve_files", &CollectiveOptions::curve_files, {},
            "Your own measurements: nccl-tests logs or curve files, preferred over all others.", false, 256);
  s.choice(
      "launch", &CollectiveOptions::launch, launch_words(),
      "mpi: one process per GPU; single_process: one process drives all GPUs of a node, which costs host time per call.");
  s.optional("cuda_graph", &CollectiveOptions::cuda_graph, "Collectives are launched from a CUDA graph.");
  s.choices(
      "algorithms", &CollectiveOptions::algorithms, nccl_algorithm_words(),
      "Algorithms that NCCL may choose, as in NCCL_ALGO; a collective that supports none of them keeps its default.",
      16);
  s.choices("protocols", &CollectiveOptions::protocols, protocol_words(),
            "Protocols that NCCL may choose, as in NCCL_PROTO.", 16);
  s.choice(
      "exchange", &CollectiveOptions::exchange, exchange_words(),
      "all_to_all across nodes. grouped: NCCL send/recv between all pairs; hierarchical: over NVLink within nodes, then "
      "along rails; rdma: the same, with RDMA writes by the framework along the rails; auto: what the framework "
      "does.");
  s.optional(
      "launch_scale", &CollectiveOptions::launch_scale, {0, 1000},
      "Time to launch a collective, on the host, its proxy thread and the GPU, relative to that of the NCCL model "
      "and the curves; larger is slower.");
  s.choice(
      "all_reduce", &CollectiveOptions::all_reduce, reduction_words(),
      "Sums over the ranks. nccl: NCCL; one_shot: one kernel of the framework over NVSwitch, across nodes with SHARP and "
      "GPUDirect (HugeCTR), NCCL where the cluster has not all of these; auto: what the framework does.");
  s.optional("allow_partial", &CollectiveOptions::allow_partial, "Accept curve files from a run that did not finish.");
  s.optional(
      "constants", &CollectiveOptions::constants,
      "File that overrides constants of the NCCL model: all of configs/collectives/nccl.yaml or any part of it. Counted "
      "from the folder of the file that names it.");
  return s;
}

}  // namespace distsim::collectives
