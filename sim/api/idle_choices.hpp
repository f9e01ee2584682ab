// What was asked of a collective's price and does not count in it, in the words of `distsim cost collective`: for the command
// and for the library's function.
#pragma once

#include <string>
#include <vector>

#include "sim/api/priced.hpp"
#include "sim/study/idle/without_effect.hpp"

namespace distsim::api {

/// "--bytes: 9 is not a multiple of 8 ranks; ...": nccl-tests would round such a size down; the price is that of the size as
/// it stands.
std::vector<std::string> sizes_in_parts(const PricedCollective& priced);

/// NCCL ignores a choice of algorithms and protocols that leaves nothing, and so does the price. Empty where that is not so.
std::string unheeded_choice(const PricedCollective& priced);

/// Members of the request without which the same price comes out, called by the command's flags; but for an unheeded_choice().
std::vector<study::IdleArgument> idle_choices(const CollectiveRequest& request, const PricedCollective& priced);

}  // namespace distsim::api
