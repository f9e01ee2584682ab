// What bounds a kernel on a device: the longer of its two sides of the roofline,
//   compute  useful operations / sustained rate of the units that run them
//   memory   bytes of operands read once and results written once / streaming bandwidth of HBM
// Learned and measured corrections of the time do not change it. Ops whose time is given count as compute.
#pragma once

#include "opmodels/hardware/device_rates.hpp"
#include "sim/graph/cost.hpp"

namespace distsim::opmodels {

graph::Bound bound_of(const DeviceRates& device, const graph::Op& op);

}  // namespace distsim::opmodels
