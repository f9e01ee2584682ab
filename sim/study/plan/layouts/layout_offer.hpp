// LayoutOffer: how a framework can be told to split a language model, as configs/planning/layouts.yaml says.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::study {

/// What may be above 1, or on.
struct OfferedSplits {
  bool tensor = false, sequence_parallel = false, context = false, pipeline = false, virtual_stages = false,
       stage_layers = false, expert = false, expert_tensor = false;
  bool operator==(const OfferedSplits&) const = default;
};

struct LayoutOffer {
  OfferedSplits splits;
  std::vector<workload::ContextExchange> context_exchange;
  std::vector<workload::RankOrder> order;
  std::vector<workload::StateSplit> shard;
  bool shard_group = false;
  std::vector<workload::RecomputeKind> recompute;  ///< full, and with `some_layers` of some blocks too
  bool some_layers = false;
};

/// Of a framework's profile by its name; of one that is not listed: `plain`. Errors: the file's, with their position.
Result<LayoutOffer> layout_offer_of(const std::string& framework);

}  // namespace distsim::study
