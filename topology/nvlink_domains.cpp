#include "topology/nvlink_domains.hpp"

#include "base/text/counted.hpp"

namespace distsim::topology {

NvlinkDomains::NvlinkDomains(std::uint32_t nodes, std::uint32_t nodes_of_domain)
    : count_((nodes + nodes_of_domain - 1) / nodes_of_domain),
      largest_((nodes + count_ - 1) / count_),
      larger_(nodes - count_ * (largest_ - 1)) {}

std::string NvlinkDomains::text() const {
  const std::string sizes = std::to_string(largest_) + (even() ? "" : " and " + std::to_string(largest_ - 1));
  return counted(count_, "NVLink domain") + " of " + sizes + (even() && largest_ == 1 ? " node" : " nodes");
}

}  // namespace distsim::topology
