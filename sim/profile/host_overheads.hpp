// T1 to T5 of the host, see HostOverheads.
#pragma once

#include "sim/profile/profile.hpp"

namespace distsim::profile {

/// Over all outermost ops within [begin, end). Outermost: only annotations around it.
HostOverheads host_overheads(const traces::TraceRank& rank, std::int64_t begin, std::int64_t end);

}  // namespace distsim::profile
