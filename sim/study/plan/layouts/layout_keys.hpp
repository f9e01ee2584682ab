// The keys of the section `parallel` as a planner needs them: read from text, copied one by one, written as text.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::study {

struct LayoutKey {
  std::string_view name;  ///< of the section: "tensor"
  std::string_view head;  ///< of a column of a table: "tp"
  void (*copy)(workload::ParallelSpec& to, const workload::ParallelSpec& from);
  std::string (*text)(const workload::ParallelSpec& layout);  ///< as --set takes it
};

/// All that a search of layouts chooses, in the order of the columns.
std::span<const LayoutKey> layout_keys();
/// "parallel.tensor" or "tensor"; null where a search does not choose it.
const LayoutKey* find_layout_key(std::string_view name);

/// Values that a key is held to, each in a ParallelSpec of which only that key counts.
using HeldValues = std::map<std::string_view, std::vector<workload::ParallelSpec>>;

/// Reads values as the section `parallel` does. Errors: as there, at "--vary parallel.tensor".
Result<std::vector<workload::ParallelSpec>> read_layout_values(const LayoutKey& key,
                                                               const std::vector<std::string>& texts);

/// Whether a layout has one of the values of each key that is held.
bool agrees_with(const HeldValues& held, const workload::ParallelSpec& layout);

/// Whether two layouts say the same in every key.
bool same_layout(const workload::ParallelSpec& a, const workload::ParallelSpec& b);

}  // namespace distsim::study
