// T1 to T5 of the host, see HostOverheads.
#pragma once

#include "sim/profile/profile.hpp"

namespace distsim::profile {

/// Over all outermost ops within [begin, end). Outermost: only annotations around it. From each interval `per_record` ns
/// are taken off for every host record that starts in it, down to 0: what recording them cost (Lin et al. take off 2 us).
HostOverheads host_overheads(const traces::TraceRank& rank, std::int64_t begin, std::int64_t end,
                             double per_record = 0);

}  // namespace distsim::profile
