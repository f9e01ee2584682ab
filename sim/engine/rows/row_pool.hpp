// RowPool: memory for rows. Rows lie in large slabs, and memory that no Row shares any more is handed out again.
#pragma once

#include <cstdint>
#include <memory>

namespace distsim::engine {

/// Hands out arrays of one number per rank, not initialised, 64-byte aligned. Whoever holds the pointer keeps the
/// memory alive; the pool itself may go first. Slabs ask for huge pages: at 100,000 ranks the page faults of a timeline
/// would cost more than computing it. acquire() from one thread; the arrays may be dropped from any.
class RowPool {
 public:
  explicit RowPool(std::uint32_t ranks);
  std::shared_ptr<std::int64_t> acquire();

 private:
  struct Store;
  std::shared_ptr<Store> store_;
};

}  // namespace distsim::engine
