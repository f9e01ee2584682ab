// The tables behind sim/opgraph/kernels.hpp: which name of ATen becomes which op.
#pragma once

#include <span>
#include <string_view>

#include "sim/graph/ops/flops_per_element.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/opgraph/makers.hpp"

namespace distsim::opgraph {

struct KernelEntry {
  std::string_view name;
  Maker make;
  double flops = 1;  ///< for each element, of kernels that stream
  Autocast autocast = Autocast::widest;
};

std::span<const KernelEntry> kernels_of_layers();     ///< products, convolutions, normalisation, lookups, optimizers
std::span<const KernelEntry> kernels_of_pointwise();  ///< arguments once, results once; losses and reductions
std::span<const KernelEntry> kernels_of_movement();   ///< copies, indexing, sorting, filling
/// Of the entry that a call has, or nothing.
Maker maker_of(std::string_view op);
/// Views, allocations, queries, and calls that only pass their work on.
std::span<const std::string_view> names_of_nothing();

using graph::kErfFlops, graph::kErfGradFlops, graph::kLogisticGradFlops, graph::kRandomFlops, graph::kSpecialFlops;

}  // namespace distsim::opgraph
