// NvlinkDomains: which nodes of a job share an NVLink domain.
//
// A job has as few domains as hold its nodes, and its nodes are spread over them as evenly as possible, the larger parts
// first: 19 nodes in domains of 18 are 10 and 9, as a scheduler places them that balances the parts of a job (Slurm's
// topology/block with segments).
#pragma once

#include <cstdint>
#include <string>

namespace distsim::topology {

class NvlinkDomains {
 public:
  NvlinkDomains() = default;
  NvlinkDomains(std::uint32_t nodes, std::uint32_t nodes_of_domain);

  std::uint32_t count() const { return count_; }
  std::uint32_t largest() const { return largest_; }  ///< nodes of the job in its first domain
  bool even() const { return larger_ == count_; }
  std::uint32_t nodes_of(std::uint32_t domain) const { return domain < larger_ ? largest_ : largest_ - 1; }
  std::uint32_t first_node(std::uint32_t domain) const {
    return domain < larger_ ? domain * largest_ : larger_ * largest_ + (domain - larger_) * (largest_ - 1);
  }
  /// The domain of a node of the job.
  std::uint32_t of_node(std::uint32_t node) const {
    const std::uint32_t in_larger = larger_ * largest_;
    return node < in_larger ? node / largest_ : larger_ + (node - in_larger) / (largest_ - 1);
  }
  /// "2 NVLink domains of 10 and 9 nodes".
  std::string text() const;

 private:
  std::uint32_t count_ = 1, largest_ = 1;
  std::uint32_t larger_ = 1;  ///< domains with `largest` nodes; the others have one less
};

}  // namespace distsim::topology
