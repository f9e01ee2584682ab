// Columns: rows of times with what is known of them, and the arithmetic of a max-plus recurrence on them. Each
// operation is O(1) on uniform rows.
#pragma once

#include <optional>
#include <vector>

#include "sim/engine/program/program.hpp"
#include "sim/engine/rows/row_kernels.hpp"
#include "sim/engine/rows/row_pool.hpp"
#include "sim/engine/timeline/fingerprint.hpp"

namespace distsim::engine {

/// A row of times. The bounds let most maxima be decided without touching the ranks.
struct Column {
  Row row;
  std::int64_t low = 0;    ///< no entry is below
  std::int64_t high = 0;   ///< the largest entry
  std::uint64_t hash = 0;  ///< of Fingerprint; 0 where none is asked for
};

class Columns {
 public:
  /// `hashed`: keep hashes of the columns too, at the price of one more look at every new number.
  Columns(std::uint32_t ranks, bool hashed);

  Column uniform(std::int64_t value) const;

  /// Entry by entry the maximum of the inputs, of which there is at least one; reorders them. An input that is nowhere
  /// earlier than the others is returned as it is and shares its numbers.
  Column max(std::vector<const Column*>& inputs);

  /// Every entry becomes the maximum of its group.
  Column join(const Column& arrivals, const Groups& groups);

  /// start + duration; nothing where a number is negative or the sum reaches kTimeLimit.
  std::optional<Column> add(const Column& start, const Row& duration);

 private:
  template <class Block>
  void by_block(Block block) const;
  std::uint64_t hash_block(const std::int64_t* row, std::size_t first, std::size_t n) const;
  Column max_of_rows(const std::vector<const Column*>& inputs);
  std::optional<Column> add_rows(const Column& start, const Row& duration);

  std::uint32_t ranks_;
  bool hashed_;
  Fingerprint fingerprint_;
  RowPool pool_;
};

}  // namespace distsim::engine
