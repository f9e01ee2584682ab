// How far measured times lie from what is said of them, relative: about the 10th and 90th percentile of measured over
// predicted, low = 1 - p10, high = p90 - 1.
#pragma once

namespace distsim::collectives {

struct RelativeSpread {
  double low = 0, high = 0;
};

/// Of the analytic model alone, over 62 published sweeps (tests/collectives/sweep_validation_test.cpp).
RelativeSpread analytic_spread(bool one_node, double bytes);

/// Of one site's curve where another site of the same hardware is asked about. Inside a node: five sites of 8 x A100 on
/// NVSwitches, standard deviation of the logarithm 0.27 up to 1 MiB (up to 1.8 times between two of them), 0.2 to 64
/// MiB, 0.08 beyond. Across nodes: two sites of 16 x 100 Gb/s RoCE, 1.3 to 1.8 times up to 4 MiB; beyond, chosen.
RelativeSpread site_spread(bool one_node, double bytes);

}  // namespace distsim::collectives
