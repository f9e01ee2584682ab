// Two ways of doing the same thing, measured in turns on a machine that is not quiet: how much longer does the first
// take?
#pragma once

#include <vector>

namespace distsim::bench {

/// Turns of one block, first and second way alternating.
struct PairedBlock {
  std::vector<double> first, second;  ///< seconds of each turn; as many of both
};

struct PairedRatio {
  double ratio = 1;   ///< of first to second
  double error = 0;   ///< relative standard error of the ratio; infinite below three blocks
  double second = 0;  ///< seconds of a quiet turn of the second way
};

/// Of each block the 20th percentile of either way counts, turns that nothing interrupted; of the blocks the quieter
/// half, by the sum of both ways, so that the choice favours neither; of those the median ratio, with the standard
/// error that their spread gives it. At least one block, none of them empty.
PairedRatio paired_ratio(const std::vector<PairedBlock>& blocks);

}  // namespace distsim::bench
