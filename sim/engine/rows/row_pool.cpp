#include "sim/engine/rows/row_pool.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace distsim::engine {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kLargeSlab = std::size_t{32} << 20;
constexpr std::size_t kSmallSlabRows = 64;

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

struct Free {
  void operator()(std::int64_t* p) const { std::free(p); }
};
using Slab = std::unique_ptr<std::int64_t, Free>;

Slab allocate(std::size_t bytes) {
  const bool large = bytes >= kHugePage;
  Slab slab(static_cast<std::int64_t*>(std::aligned_alloc(large ? kHugePage : kCacheLine, bytes)));
  if (!slab) throw std::bad_alloc();
#if defined(__linux__)
  if (large) madvise(slab.get(), bytes, MADV_HUGEPAGE);  // a wish; refusal changes only the speed
#endif
  return slab;
}

}  // namespace

struct RowPool::Store {
  std::size_t row_bytes = 0, slab_bytes = 0;
  std::vector<Slab> slabs;
  std::size_t used_bytes = 0;  ///< of the newest slab
  std::mutex mutex;            ///< guards `dropped`: rows are dropped from any thread
  std::vector<std::int64_t*> dropped;

  /// Every row that there will be has its place in `dropped` first: dropping one happens in destructors, where memory
  /// that runs out would end the program.
  std::int64_t* carve() {
    if (slabs.empty() || used_bytes + row_bytes > slab_bytes) {
      const std::size_t rows = (slabs.size() + 1) * (slab_bytes / row_bytes);
      if (rows > dropped.capacity()) dropped.reserve(std::max(rows, 2 * dropped.capacity()));
      slabs.push_back(allocate(slab_bytes));
      used_bytes = 0;
    }
    std::int64_t* row = slabs.back().get() + used_bytes / sizeof(std::int64_t);
    used_bytes += row_bytes;
    return row;
  }
  std::int64_t* reuse_or_carve() {
    const std::lock_guard lock(mutex);
    if (dropped.empty()) return carve();
    std::int64_t* row = dropped.back();
    dropped.pop_back();
    return row;
  }
  void drop(std::int64_t* row) {
    const std::lock_guard lock(mutex);
    dropped.push_back(row);
  }
};

RowPool::RowPool(std::uint32_t ranks) : store_(std::make_shared<Store>()) {
  store_->row_bytes = round_up(std::max(std::size_t{1}, std::size_t{ranks}) * sizeof(std::int64_t), kCacheLine);
  const std::size_t small = store_->row_bytes * kSmallSlabRows;
  store_->slab_bytes = small < kHugePage ? small : round_up(std::max(kLargeSlab, store_->row_bytes), kHugePage);
}

std::shared_ptr<std::int64_t> RowPool::acquire() {
  return {store_->reuse_or_carve(), [store = store_](std::int64_t* row) { store->drop(row); }};
}

}  // namespace distsim::engine
