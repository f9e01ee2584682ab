// What a report says of a model that is split over GPUs: tokens per second, what communication of each dimension costs,
// memory by kind.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"

namespace distsim::report {

/// What the iteration would be shorter by if the collectives of one dimension took no time, each by itself: "tensor",
/// "context", "expert", "data", "pipeline", as the names of their tasks begin.
struct DimensionTime {
  std::string dimension;
  Duration transfer, exposed;
};
std::vector<DimensionTime> dimensions_of(const Report& report);

double tokens_per_second(const Report& report);

/// What the caching allocator of the fullest rank has reserved at its peak, in bytes: from what is in use to what fragmentation
/// leaves besides. No more than the GPU has: before it fails, the allocator frees what it only keeps.
struct ReservedMemory {
  std::int64_t low = 0, high = 0;
};
ReservedMemory reserved_memory(const ReportContext& context);

/// "12345 tokens/s, 1543 per GPU", "exposed: tensor 12 ms, data 3 ms; bubble 4.2 %", "memory of rank 0: ..."; nothing
/// for models without tokens.
std::vector<std::string> split_model_lines(const Report& report);

}  // namespace distsim::report
