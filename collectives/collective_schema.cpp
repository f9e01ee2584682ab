#include <optional>

#include "collectives/algorithms/selection.hpp"
#include "collectives/collective_models.hpp"

namespace distsim::collectives {

Schema<CollectiveOptions> collective_schema() {
  Schema<CollectiveOptions> s("collectives", "How collectives are priced.");
  s.optional("use_curves", &CollectiveOptions::use_curves,
             "Use measured curves of the system where there are any; false: hardware facts alone.");
  s.scalars("curve_files", &CollectiveOptions::curve_files, {},
            "Your own measurements: nccl-tests logs or curve files, trusted before all others.", false, 256);
  s.choice(
      "launch", &CollectiveOptions::launch,
      {{"mpi", std::string("mpi")}, {"single_process", std::string("single_process")}},
      "mpi: one process a GPU; single_process: one process drives all GPUs of a node, which costs host time per call.");
  s.optional("cuda_graph", &CollectiveOptions::cuda_graph, "Collectives are launched from a CUDA graph.");
  s.scalars(
      "algorithms", &CollectiveOptions::algorithms, {},
      "What NCCL may choose from, as NCCL_ALGO: Ring, Tree, NVLS, ...; a collective that can use none of them keeps its own.",
      false, 16);
  s.scalars("protocols", &CollectiveOptions::protocols, {}, "As NCCL_PROTO: LL, LL128, Simple.", false, 16);
  s.choice(
      "exchange", &CollectiveOptions::exchange,
      {{"auto", std::string("auto")},
       {"grouped", std::string("grouped")},
       {"hierarchical", std::string("hierarchical")},
       {"rdma", std::string("rdma")}},
      "all_to_all across nodes. grouped: NCCL send/recv of every pair; hierarchical: over NVLink inside the nodes, then along rails; rdma: the same, with RDMA "
      "writes of the framework's own along the rails; auto: as the framework does it.");
  s.optional("allow_partial", &CollectiveOptions::allow_partial,
             "Use curve files although the run that wrote them did not end.");
  s.optional("constants", &CollectiveOptions::constants,
             "File that replaces constants of the NCCL model, as configs/collectives/nccl.yaml or any part of it.");
  s.rule([](const CollectiveOptions& o) -> std::optional<std::string> {
    const auto selection = collectives::selection_of(o);
    return selection.ok() ? std::nullopt : std::optional(selection.error().what);
  });
  return s;
}

}  // namespace distsim::collectives
