// Types of elements, and the kernels of a layer.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "sim/graph/ops/field.hpp"

namespace distsim::graph {

enum class DType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int64, int32, int8, fp4 };
template <>
inline constexpr std::array<std::string_view, 10> kNames<DType>{"fp64", "fp32",  "tf32",  "fp16", "bf16",
                                                                "fp8",  "int64", "int32", "int8", "fp4"};
inline constexpr std::size_t kDTypes = kNames<DType>.size();

/// Bytes of one element in memory (tf32 is stored as fp32; of fp4, of which a byte holds two, 1).
std::int64_t size_of(DType dtype);
/// Also "float16", "half", "bfloat16", ... Errors: every other name, with the known ones.
Result<DType> parse_dtype(std::string_view name);

/// Which kernel of a layer. Its shape is that of the forward pass, except for Gemm.
enum class Pass : std::uint8_t { forward, backward, backward_data, backward_weight, update };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Pass>{"forward", "backward", "backward_data", "backward_weight",
                                                              "update"};

/// A layer's backward pass has two products (data and weight gradient) where the forward pass has one.
inline double products_of(Pass pass) { return pass == Pass::backward ? 2.0 : 1.0; }

/// Shapes count in whole numbers; their products may be beyond 64 bits.
inline double real(std::int64_t n) { return static_cast<double>(n); }

/// "found 'x', expected one of ..." for a name that is not among `names`, with the nearest spelling.
Error unknown_name(std::string_view key, std::string_view found, std::span<const std::string_view> names);

}  // namespace distsim::graph
