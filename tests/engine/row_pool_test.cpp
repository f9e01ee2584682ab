#include "sim/engine/rows/row_pool.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {
thread_local bool memory_fails = false;
}

void* operator new(std::size_t size) {
  void* memory = memory_fails ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return memory_fails ? nullptr : std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace distsim::engine {
namespace {

/// Rows are dropped in destructors, of which one that throws ends the program.
TEST(RowPool, DropsRowsWithoutMemory) {
  for (const std::uint32_t ranks : {1u, 100u, 5'000'000u}) {
    RowPool pool(ranks);
    std::vector<std::shared_ptr<std::int64_t>> rows;
    rows.reserve(100);
    while (rows.size() < (ranks > 1000 ? 3u : 100u)) rows.push_back(pool.acquire());
    memory_fails = true;
    rows.clear();
    memory_fails = false;
    EXPECT_NE(pool.acquire(), nullptr) << ranks;
  }
}

TEST(RowPool, HandsOutDroppedRowsAgain) {
  RowPool pool(10);
  const std::int64_t* first = pool.acquire().get();
  EXPECT_EQ(pool.acquire().get(), first);
}

}  // namespace
}  // namespace distsim::engine
