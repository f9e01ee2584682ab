// Row: one number for every rank (uniform), one per rank, or one for every `each` neighbouring ranks. An immutable
// value; copies share the numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distsim::engine {

/// Picoseconds by rank. A uniform row is one scalar however many ranks there are. Rows never change once built, so that
/// steps that start when they are ready, or are ready when the step before them ended, share one array instead of
/// keeping copies.
class Row {
 public:
  Row() = default;
  explicit Row(std::int64_t uniform) : uniform_(uniform) {}
  explicit Row(std::vector<std::int64_t> values, std::uint32_t each = 1) : count_(values.size()), each_(each) {
    auto owner = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
    first_ = std::shared_ptr<const std::int64_t>(owner, owner->data());
  }
  /// `count` numbers from `first`, which shares ownership of the memory they lie in.
  Row(std::shared_ptr<const std::int64_t> first, std::size_t count) : first_(std::move(first)), count_(count) {}
  /// The same numbers, each for `each` neighbouring ranks.
  Row with_each(std::uint32_t each) const {
    Row row = *this;
    if (!uniform()) row.each_ = each;
    return row;
  }

  bool uniform() const { return count_ == 0; }
  std::uint32_t each() const { return each_; }  ///< 1 for a uniform row
  std::int64_t at(std::uint32_t rank) const {
    return count_ == 0 ? uniform_ : first_.get()[each_ == 1 ? rank : rank / each_];
  }
  std::int64_t scalar() const { return uniform_; }  ///< of a uniform row
  std::span<const std::int64_t> values() const {
    return {first_.get(), count_};
  }  ///< ranks / each of them; none for a uniform row

 private:
  std::int64_t uniform_ = 0;
  std::shared_ptr<const std::int64_t> first_;
  std::size_t count_ = 0;
  std::uint32_t each_ = 1;
};

}  // namespace distsim::engine
