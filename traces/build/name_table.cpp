#include "traces/build/name_table.hpp"

namespace distsim::traces {

NameId NameTable::intern(std::string_view text) {
  const auto known = ids_.find(text);
  if (known != ids_.end()) return known->second;
  const NameId id(static_cast<std::uint32_t>(texts_.size()));
  texts_.emplace_back(text);
  bytes_ += text.size();
  ids_.emplace(texts_.back(), id);
  return id;
}

}  // namespace distsim::traces
