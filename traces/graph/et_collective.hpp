// Collectives and process groups in PyTorch execution traces.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace distsim::traces {

/// A node's attributes, nested ("attrs": [{name, type, value}], since 1.0.2) or keys of the node itself (1.0.1).
class EtAttributes {
 public:
  explicit EtAttributes(const simdjson::dom::element& node);
  std::uint64_t number(std::string_view name) const;  ///< 0 where absent
  std::int64_t number(std::string_view name, std::int64_t absent) const;
  std::string text(std::string_view name) const;  ///< "" where absent

 private:
  bool find(std::string_view name, simdjson::dom::element& value) const;
  simdjson::dom::element node_;
  simdjson::dom::array attrs_;
  bool nested_ = false;
};

/// The collective of a `record_param_comms` node; nothing for those that only wait or initialise. Sizes come from the
/// attributes (1.1.0), else from the shapes of its tensors.
std::optional<TraceCollective> et_collective(TraceJob& job, const simdjson::dom::element& node,
                                             const EtAttributes& attributes, const OpInputs& inputs);

/// The groups in a `## process_group:init ##` node, whose first value is JSON in a string.
void read_process_groups(const simdjson::dom::element& node, std::vector<TraceGroup>& groups);

}  // namespace distsim::traces
