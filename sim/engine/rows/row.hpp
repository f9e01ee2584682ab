// Row: one number for every rank (uniform), one per rank, or one for every `each` neighbouring ranks, over and over
// `repeats` times. An immutable value; copies share the numbers.
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
  explicit Row(std::vector<std::int64_t> values, std::uint32_t each = 1, std::uint32_t repeats = 1)
      : count_(values.size()), each_(each), repeats_(repeats) {
    auto owner = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
    first_ = std::shared_ptr<const std::int64_t>(owner, owner->data());
  }
  /// `count` numbers from `first`, which shares ownership of the memory they lie in.
  Row(std::shared_ptr<const std::int64_t> first, std::size_t count) : first_(std::move(first)), count_(count) {}
  /// The same numbers, each for `each` neighbouring ranks, so many times.
  Row with_each(std::uint32_t each, std::uint32_t repeats = 1) const {
    Row row = *this;
    if (!uniform()) row.each_ = each, row.repeats_ = repeats;
    return row;
  }

  bool uniform() const { return count_ == 0; }
  std::uint32_t each() const { return each_; }        ///< 1 for a uniform row
  std::uint32_t repeats() const { return repeats_; }  ///< 1 for a uniform row
  bool whole() const { return each_ == 1 && repeats_ == 1; }
  std::size_t ranks() const { return count_ * each_ * repeats_; }  ///< 0 for a uniform row
  std::int64_t at(std::uint32_t rank) const {
    if (count_ == 0) return uniform_;
    const std::uint32_t place = each_ == 1 ? rank : rank / each_;
    return first_.get()[repeats_ == 1 ? place : place % count_];
  }
  std::int64_t scalar() const { return uniform_; }  ///< of a uniform row
  std::span<const std::int64_t> values() const {
    return {first_.get(), count_};
  }  ///< ranks / (each x repeats) of them; none for a uniform row

 private:
  std::int64_t uniform_ = 0;
  std::shared_ptr<const std::int64_t> first_;
  std::size_t count_ = 0;
  std::uint32_t each_ = 1, repeats_ = 1;
};

}  // namespace distsim::engine
