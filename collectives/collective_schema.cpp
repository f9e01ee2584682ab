#include "collectives/collective_models.hpp"

namespace distsim {

Schema<CollectiveOptions> collective_schema() {
  Schema<CollectiveOptions> s("collectives", "How collectives are priced.");
  s.optional("use_curves", &CollectiveOptions::use_curves, "Use measured curves of the system where there are any; false: hardware facts alone.");
  s.scalars("curve_files", &CollectiveOptions::curve_files, {}, "Your own measurements: nccl-tests logs or curve files, trusted before all others.", false, 256);
  s.choice("launch", &CollectiveOptions::launch, {{"mpi", std::string("mpi")}, {"single_process", std::string("single_process")}},
           "mpi: one process a GPU; single_process: one process drives all GPUs of a node, which costs host time per call.");
  s.optional("cuda_graph", &CollectiveOptions::cuda_graph, "Collectives are launched from a CUDA graph.");
  return s;
}

}  // namespace distsim
