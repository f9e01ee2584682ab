// TextInterner: texts numbered from 1, with a bound on what is remembered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace distsim::traces {

class TextInterner {
 public:
  /// The number of a text, and whether it is new.
  struct Found {
    std::uint64_t id = 0;
    bool is_new = false;
  };
  Found find_or_add(std::string_view text) {
    const auto it = ids_.find(text);
    if (it != ids_.end()) return {it->second, false};
    bytes_ += text.size() + kOverhead;
    const std::uint64_t id = ids_.size() + 1;
    ids_.emplace(std::string(text), id);
    return {id, true};
  }
  std::size_t bytes() const { return bytes_; }  ///< about what it holds
  void clear() {
    ids_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kOverhead = 80;  ///< node, string and bucket
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> ids_;
  std::size_t bytes_ = 0;
};

}  // namespace distsim::traces
