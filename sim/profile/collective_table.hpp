// Collectives across ranks: who came late, how long the transfer itself took.
#pragma once

#include "sim/profile/profile.hpp"

namespace distsim::profile {

/// Fills Profile::collectives (most time first) and Profile::standing. A kernel of a collective waits until the last
/// rank has begun, then transfers: the shortest duration over ranks is the transfer. compute_excess needs the steps of
/// the ranks to be profiled already.
void profile_collectives(const traces::TraceJob& job, Profile& out);

/// The order of Profile::collectives: most time first; of equal ones by kind, group and size.
bool comes_first(const CollectiveSummary& a, const CollectiveSummary& b);

}  // namespace distsim::profile
