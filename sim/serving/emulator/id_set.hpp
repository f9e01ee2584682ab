// A set of small integers, walked in ascending order: a bit each, and a bit for each word that is not empty.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace distsim::serving {

class IdSet {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  explicit IdSet(std::uint32_t size) : words_((size + 63) / 64), summary_((words_.size() + 63) / 64) {}

  void insert(std::uint32_t id) {
    words_[id / 64] |= bit(id);
    summary_[id / 4096] |= bit(id / 64);
  }
  void erase(std::uint32_t id) {
    words_[id / 64] &= ~bit(id);
    if (words_[id / 64] == 0) summary_[id / 4096] &= ~bit(id / 64);
  }
  bool contains(std::uint32_t id) const { return (words_[id / 64] & bit(id)) != 0; }

  /// The least id that is at least `from`; kNone where there is none.
  std::uint32_t next(std::uint32_t from) const {
    const std::uint32_t word = from / 64;
    if (word >= words_.size()) return kNone;
    const std::uint64_t here = words_[word] >> (from % 64);
    if (here != 0) return from + static_cast<std::uint32_t>(std::countr_zero(here));
    const std::uint32_t full = next_word(word + 1);
    return full == kNone ? kNone : full * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[full]));
  }
  std::uint32_t first() const { return next(0); }

 private:
  static std::uint64_t bit(std::uint32_t id) { return std::uint64_t{1} << (id % 64); }
  std::uint32_t next_word(std::uint32_t from) const {
    std::uint32_t block = from / 64;
    if (block >= summary_.size()) return kNone;
    std::uint64_t here = from % 64 == 0 ? summary_[block] : summary_[block] >> (from % 64) << (from % 64);
    while (here == 0) {
      if (++block == summary_.size()) return kNone;
      here = summary_[block];
    }
    return block * 64 + static_cast<std::uint32_t>(std::countr_zero(here));
  }

  std::vector<std::uint64_t> words_, summary_;
};

}  // namespace distsim::serving
