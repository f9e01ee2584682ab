// Element types and reductions under the names of nccl-tests, and small integers written exactly in each type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace distsim::bench {

enum class DataType : std::uint8_t { int8, uint8, int32, uint32, int64, uint64, half, float32, float64, bfloat16 };
enum class RedOp : std::uint8_t { sum, prod, max, min };

struct DataTypeInfo {
  DataType type;
  std::string_view name;      ///< as nccl-tests prints it: "float", "half", ...
  std::size_t size;           ///< bytes
  std::uint64_t exact_limit;  ///< every integer 0 .. exact_limit is exact in this type (2^24 and above cut to 2^24)
};

std::span<const DataTypeInfo> data_types();
const DataTypeInfo& info_of(DataType type);
Result<DataType> parse_data_type(std::string_view name);

inline constexpr RedOp kAllRedOps[] = {RedOp::sum, RedOp::prod, RedOp::max, RedOp::min};
std::string_view name_of(RedOp op);
Result<RedOp> parse_red_op(std::string_view name);

/// Writes `value` (at most exact_limit) as one element of `type`.
void encode(DataType type, std::uint64_t value, std::byte* out);
/// One element as text, for messages; exact for integers.
std::string element_text(DataType type, const std::byte* element);

}  // namespace distsim::bench
