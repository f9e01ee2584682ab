// Selection: what NCCL and the framework may choose from, as NCCL_ALGO and NCCL_PROTO do it. Part of a curve's
// identity, as its `settings` say it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/collective_models.hpp"

namespace distsim::collectives {

struct Selection {
  std::uint32_t algorithms = 0, protocols = 0;  ///< a bit for each that is allowed; 0: all
  bool hierarchical_exchange = false;  ///< the framework exchanges in two levels instead of leaving all pairs to NCCL
  bool rdma_writes = false;            ///< the framework writes along rails itself instead of leaving them to NCCL
  bool operator==(const Selection&) const = default;
};

/// From the `collectives` section. Errors name the word that is not known and the nearest that is.
Result<Selection> selection_of(const CollectiveOptions& options);

/// From a curve's settings: "NCCL_ALGO=Ring", "NCCL_PROTO=LL128,LL", "forced tree". Other words say nothing.
Selection selection_of_settings(std::string_view settings);

/// What of a selection matters to one kind: NCCL's to collectives, the framework's to exchanges.
Selection selection_for(graph::CollectiveKind kind, Selection selection);

/// Whether one of the candidates is allowed: where none is, `selected` keeps them all.
bool any_allowed(const std::vector<Candidate>& candidates, const Selection& selection);

/// `selection` without restrictions that have no effect: those that leave a group none of its candidates, or all of
/// them, are NCCL's own choice.
Selection heeded(Selection selection, const std::vector<Candidate>& candidates);

/// The candidates that are left. A collective that no allowed algorithm or protocol can do keeps all of its own:
/// NCCL_ALGO=Tree does not affect all_gather. NCCL_ALGO and NCCL_PROTO say nothing about grouped send/recv.
std::vector<Candidate> selected(std::vector<Candidate> candidates, const Selection& selection);

}  // namespace distsim::collectives
