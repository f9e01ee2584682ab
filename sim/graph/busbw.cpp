#include "sim/graph/op.hpp"

namespace distsim::graph {

double busbw_factor(CollectiveKind kind, std::uint32_t ranks) {
  if (ranks <= 1)
    return kind == CollectiveKind::send_recv || kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ? 1
                                                                                                                    : 0;
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
      return 1;
    case CollectiveKind::barrier:
      return 0;  // moves no data
  }
  return 0;
}

}  // namespace distsim::graph
