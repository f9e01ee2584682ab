#include <optional>

#include "collectives/algorithms/selection.hpp"
#include "collectives/collective_models.hpp"

namespace distsim::collectives {

Schema<CollectiveOptions> collective_schema() {
  Schema<CollectiveOptions> s("collectives", "How collectives are priced.");
  s.optional("use_curves", &CollectiveOptions::use_curves,
             "Use measured curves of the system where available; false: analytic model only.");
  s.scalars("curve_files", &CollectiveOptions::curve_files, {},
            "Your own measurements: nccl-tests logs or curve files, preferred over all others.", false, 256);
  s.choice(
      "launch", &CollectiveOptions::launch,
      {{"mpi", std::string("mpi")}, {"single_process", std::string("single_process")}},
      "mpi: one process per GPU; single_process: one process drives all GPUs of a node, which costs host time per call.");
  s.optional("cuda_graph", &CollectiveOptions::cuda_graph, "Collectives are launched from a CUDA graph.");
  s.scalars(
      "algorithms", &CollectiveOptions::algorithms, {},
      "Algorithms that NCCL may choose, as in NCCL_ALGO: Ring, Tree, NVLS, ...; a collective that supports none of them keeps its default.",
      false, 16);
  s.scalars("protocols", &CollectiveOptions::protocols, {},
            "Protocols that NCCL may choose, as in NCCL_PROTO: LL, LL128, Simple.", false, 16);
  s.choice(
      "exchange", &CollectiveOptions::exchange,
      {{"auto", std::string("auto")},
       {"grouped", std::string("grouped")},
       {"hierarchical", std::string("hierarchical")},
       {"rdma", std::string("rdma")}},
      "all_to_all across nodes. grouped: NCCL send/recv between all pairs; hierarchical: over NVLink within nodes, then along rails; rdma: the same, with RDMA "
      "writes by the framework along the rails; auto: what the framework does.");
  s.optional("allow_partial", &CollectiveOptions::allow_partial, "Accept curve files from a run that did not finish.");
  s.optional(
      "constants", &CollectiveOptions::constants,
      "File that overrides constants of the NCCL model: all of configs/collectives/nccl.yaml or any part of it.");
  s.rule([](const CollectiveOptions& o) -> std::optional<std::string> {
    const auto selection = collectives::selection_of(o);
    return selection.ok() ? std::nullopt : std::optional(selection.error().what);
  });
  return s;
}

}  // namespace distsim::collectives
