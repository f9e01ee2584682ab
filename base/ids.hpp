// Dense integer ids, one type per kind of thing, and arrays that only their own id type can index.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace distsim {

/// A 32-bit index that remembers what it indexes. Default-constructed ids are invalid.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : v_(v) {}
  constexpr std::uint32_t value() const { return v_; }
  constexpr bool valid() const { return v_ != kInvalid; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr std::uint32_t kInvalid = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t v_ = kInvalid;
};

/// vector<T> that only IdType can index. push_back returns the new element's id.
template <class IdType, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t n, const T& value = T()) : items_(n, value) {}

  IdType push_back(T value) {
    items_.push_back(std::move(value));
    return IdType(static_cast<std::uint32_t>(items_.size() - 1));
  }
  T& operator[](IdType id) {
    CHECK(id.value() < items_.size());
    return items_[id.value()];
  }
  const T& operator[](IdType id) const {
    CHECK(id.value() < items_.size());
    return items_[id.value()];
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void reserve(std::size_t n) { items_.reserve(n); }
  /// Leaves the first n, of at least as many.
  void truncate(std::size_t n) {
    CHECK(n <= items_.size());
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(n), items_.end());
  }
  IdType end_id() const { return IdType(static_cast<std::uint32_t>(items_.size())); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const std::vector<T>& raw() const { return items_; }

 private:
  std::vector<T> items_;
};

using RankId = Id<struct RankTag>;
using LinkId = Id<struct LinkTag>;
using DeviceId = Id<struct DeviceTag>;
using StepId = Id<struct StepTag>;
using StreamId = Id<struct StreamTag>;
using TaskId = Id<struct TaskTag>;
using OpId = Id<struct OpTag>;
using NameId = Id<struct NameTag>;
using PartitionId = Id<struct PartitionTag>;

}  // namespace distsim
