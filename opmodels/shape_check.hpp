// Refusing shapes. What a field must be within is said with the field (sim/graph/ops/field.hpp) and checked here for
// every op; a model checks what several fields must be together.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "sim/graph/op.hpp"

namespace distsim::opmodels {

/// Every field within its bounds, and the pass one of `passes` where the op has several kernels.
/// Errors: "gemm.m: found 0, expected at least 1"; "elementwise.reads: found -1, expected a number from 0 to 1000";
/// "softmax.pass: found update, expected forward or backward".
Result<void> check_fields(const graph::Op& op, std::span<const graph::Pass> passes);

/// Error: "gemm: found dimensions whose product is 9e18, expected at most 2^62".
Result<void> check_product(std::string_view op, std::initializer_list<std::int64_t> dims);

/// `value` within low .. high. Error: as check_fields'.
Result<void> check_number(std::string_view op, std::string_view key, double value, double low, double high);

}  // namespace distsim::opmodels
