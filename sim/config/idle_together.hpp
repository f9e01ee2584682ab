// Keys that change nothing each by itself, and may do so together.
#pragma once

#include <cstddef>
#include <vector>

namespace distsim::config {

/// Those of `keys`, by number, that change nothing when all of them are taken away: of two that say the same each hides that the
/// other is gone. Of such keys the first stay. `matter`: whether anything changes without the keys of a list.
template <class Matter>
std::vector<std::size_t> idle_together(std::vector<std::size_t> keys, const Matter& matter) {
  if (keys.size() < 2 || !matter(keys)) return keys;
  std::vector<std::size_t> out;
  for (const std::size_t key : keys) {
    out.push_back(key);
    if (out.size() > 1 && matter(out)) out.pop_back();
  }
  return out;
}

}  // namespace distsim::config
