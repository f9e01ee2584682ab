// Ops bound by memory: one or a few kernels that stream tensors. One file per op; every time is a sum of
// streaming_seconds(bytes moved, flops) (op_time.hpp), so that each kernel pays the floor of an empty kernel once.
// Validity: at least one element, products up to 2^62. Errors: dims below 1, passes that the op does not have, counts
// that are not finite.
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

/// (reads + writes) * elements * element bytes, `flops` an element on the plain lanes. elementwise_analytic.cpp
Result<OpTime> price_elementwise(const DeviceRates& device, const graph::Elementwise& op);

/// Layer and rms norm, batch norm; forward and backward. normalization_analytic.cpp
Result<OpTime> price_normalization(const DeviceRates& device, const graph::Normalization& op);

/// Softmax over rows of `cols`; forward and backward. softmax_analytic.cpp
Result<OpTime> price_softmax(const DeviceRates& device, const graph::Softmax& op);
double softmax_seconds(const DeviceRates& device, double rows, double cols, double element_bytes, graph::Pass pass);

/// Loss and its gradient. loss_analytic.cpp
Result<OpTime> price_loss(const DeviceRates& device, const graph::Loss& op);

/// Copies: h2d, d2h and p2p at the host link's rate (DeviceSpec knows no NVLink; links are the topology's), d2d reads
/// and writes HBM. copy_analytic.cpp
Result<OpTime> price_copy(const DeviceRates& device, const graph::Copy& op);

/// Every byte read once and written once, pieces in batches of up to 128 per kernel. concat_analytic.cpp
Result<OpTime> price_concat(const DeviceRates& device, const graph::Concat& op);

/// Tiled transpose through shared memory. transpose_analytic.cpp
Result<OpTime> price_transpose(const DeviceRates& device, const graph::Transpose& op);

/// Dense multi-tensor optimizer updates. optimizer_analytic.cpp
Result<OpTime> price_optimizer(const DeviceRates& device, const graph::Optimizer& op);

}  // namespace distsim::opmodels
