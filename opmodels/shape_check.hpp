// Refusing shapes: every dimension at least 1, every product at most 2^62. Nothing is allocated unless something is
// wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/result.hpp"
#include "sim/graph/op.hpp"

namespace distsim::opmodels {

struct NamedDim {
  std::string_view name;
  std::int64_t value;
};

/// Errors: "gemm.m: found 0, expected at least 1"; "gemm: found a product of dims over 2^62, ...".
Result<void> check_dims(std::string_view op, std::initializer_list<NamedDim> dims);

/// `value` finite and in [low, high]. Error: "elementwise.reads: found -1, expected a number from 0 to 1e3".
Result<void> check_number(std::string_view op, std::string_view key, double value, double low, double high);

/// The pass is one of those that the op has. Error: "softmax.pass: found update, expected forward or backward".
Result<void> check_pass(std::string_view op, graph::Pass pass, std::initializer_list<graph::Pass> allowed);

}  // namespace distsim::opmodels
