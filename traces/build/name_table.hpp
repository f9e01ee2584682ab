// Names of a trace, each kept once. A trace of a million records has a few thousand names.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ids.hpp"

namespace distsim::traces {

class NameTable {
 public:
  NameTable() = default;
  NameTable(NameTable&&) = default;  // moving a deque leaves its elements where they are
  NameTable& operator=(NameTable&&) = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;

  /// The id of `text`; equal texts have equal ids, numbered in order of first appearance.
  NameId intern(std::string_view text);
  std::string_view text(NameId id) const { return texts_[id.value()]; }
  std::size_t size() const { return texts_.size(); }
  std::uint64_t bytes() const { return bytes_; }  ///< of all texts

 private:
  std::uint64_t bytes_ = 0;
  std::deque<std::string> texts_;  // a deque: the keys below point into it
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace distsim::traces
