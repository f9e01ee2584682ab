// Prices of single ops and collectives, for `distsim cost` and for the library's functions of the same name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/cost_table.hpp"
#include "sim/api/public/costs.hpp"
#include "sim/pipeline/device_models.hpp"

namespace distsim::api {

struct PricedCollective {
  graph::CollectiveKind kind;
  std::vector<std::int64_t> sizes;
  std::uint32_t ranks = 0;
  collectives::CollectiveOptions options;
  std::vector<std::string> remarks;  ///< on the files of `curves`
  std::vector<std::string> doubts;   ///< on the system's device (device_doubts.hpp)
  collectives::CostTable table;
};

/// Errors: unknown words (nearest spelling), sizes that are none, groups that the system does not hold; what the readers of
/// configuration and curve files refuse.
Result<PricedCollective> priced_collective(const CollectiveRequest& request);

struct PricedOp {
  graph::Cost cost;    ///< without its source
  std::string source;  ///< may be empty
  std::string op;      ///< for people: "gemm 4096x1024x1024 bf16"
  std::string device;
  /// "gemm 4096x1024x1024 bf16 on h100_sxm5_80gb: 12.3 us (11.2 to 13.9), learned (learned product16)".
  std::string text;
  bool heeds_dtype = true;          ///< else the op is the same with any type
  std::vector<std::size_t> idle{};  ///< which of the request's sizes the op is the same without
};

/// Errors: an unknown op, size, type or GPU; sizes that are missing or out of range.
/// `dtype` may be empty where the op has none, such as a copy of so many bytes; else its absence is an Error.
Result<PricedOp> priced_op(const OpRequest& request, pipeline::DeviceModels& devices);

}  // namespace distsim::api
