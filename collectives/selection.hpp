// Selection: what NCCL and the framework may choose from, as NCCL_ALGO and NCCL_PROTO do it. Part of a curve's
// identity, as given by its `settings`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective_options.hpp"

namespace distsim::collectives {

struct Selection {
  std::uint32_t algorithms = 0, protocols = 0;  ///< a bit for each that is allowed; 0: all
  Exchange exchange = Exchange::grouped;        ///< never automatic
  Reduction reduction = Reduction::nccl;        ///< never automatic
  bool operator==(const Selection&) const = default;
};

Selection selection_of(const CollectiveOptions& options);

/// From a curve's settings: "NCCL_ALGO=Ring", "NCCL_PROTO=LL128,LL", "forced tree", in upper or lower case. Other words
/// select nothing.
Selection selection_of_settings(std::string_view settings);

/// Whether a variable of NCCL's takes links or channels away that it would use: NCCL_IB_DISABLE=1, NCCL_NET=Socket,
/// NCCL_MAX_NCHANNELS=4. The model knows nothing of what is left.
bool takes_away(std::string_view name, std::string_view value);

/// The words of settings that takes_away is of; those about the network between nodes only where `network`.
std::string taken_away(std::string_view settings, bool network);

/// Whether settings say something that no Selection holds: what is taken away, or nothing that is known ("MPI"). Where not
/// `network`, words about the network between nodes say nothing; nor do variables that change no time, such as NCCL_DEBUG.
bool has_other_settings(std::string_view settings, bool network);

/// The part of a selection that affects one kind: NCCL's choice for collectives, the framework's for exchanges.
Selection selection_for(graph::CollectiveKind kind, Selection selection);

/// Whether one of the candidates is allowed: where none is, `selected` keeps them all.
bool any_allowed(const std::vector<Candidate>& candidates, const Selection& selection);

/// `selection` without restrictions that have no effect: those that leave a group none of its candidates, or all of them, are
/// NCCL's own choice, and so are a sum that the group has not the hardware for and an exchange that it is too small for.
Selection heeded(Selection selection, const std::vector<Candidate>& candidates);

/// The candidates that are left. A collective that no allowed algorithm or protocol supports keeps all of its own:
/// NCCL_ALGO=Tree does not affect all_gather. NCCL_ALGO and NCCL_PROTO do not apply to grouped send/recv. An exchange
/// that the group is too small for falls back to grouped, a sum that it has not the hardware for to NCCL.
std::vector<Candidate> selected(std::vector<Candidate> candidates, const Selection& selection);

}  // namespace distsim::collectives
