// Kernels that several op models share.
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

/// Seconds of the product C[b,m,n] = A[b,m,k] B[b,k,n] whose sizes and dtype have been checked. gemm.cpp
double gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k, graph::DType dtype);

/// The same for one product of every head of attention, whose matrices follow each other. gemm.cpp
double head_product_seconds(const DeviceRates& device, double heads, double m, double n, double k, graph::DType dtype);

/// The same where the call before has left the operands in L2, as far as they fit, by the analytic model. gemm.cpp
double repeated_gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k, graph::DType dtype);

/// Seconds of a softmax over rows of `cols`. softmax.cpp
double softmax_seconds(const DeviceRates& device, double rows, double cols, double element_bytes, graph::Pass pass);

/// Bytes of gradients, weights and state that a step of an optimizer reads and writes. optimizer.cpp
double optimizer_bytes(const graph::Optimizer& op);

/// Bytes that lookups or their backward pass move at least: ids, vectors, and rows as far as L2 misses them. embedding_bag.cpp
double embedding_bytes(const DeviceRates& device, const graph::EmbeddingBag& op);

}  // namespace distsim::opmodels
