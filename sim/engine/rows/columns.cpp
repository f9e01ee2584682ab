#include "sim/engine/rows/columns.hpp"

#include <algorithm>

#include "sim/engine/program/program_check.hpp"
#include "sim/engine/rows/group_max.hpp"

namespace distsim::engine {
namespace {

/// The part of a row from a rank on.
Operand from(const Row& row, std::size_t rank) {
  return row.uniform() ? Operand{nullptr, row.scalar()} : Operand{row.values().data() + rank, 0};
}

}  // namespace

Columns::Columns(std::uint32_t ranks, bool hashed)
    : ranks_(ranks), hashed_(hashed), fingerprint_(ranks), pool_(ranks) {}

Column Columns::uniform(std::int64_t value) const {
  return {Row(value), value, value, hashed_ ? fingerprint_.of_uniform(value) : 0};
}

/// Blocks keep what one kernel writes in the cache for the next.
template <class Block>
void Columns::by_block(Block block) const {
  for (std::size_t first = 0; first < ranks_; first += Fingerprint::kBlock) {
    block(first, std::min<std::size_t>(Fingerprint::kBlock, ranks_ - first));
  }
}

std::uint64_t Columns::hash_block(const std::int64_t* row, std::size_t first, std::size_t n) const {
  return hashed_ ? Fingerprint::of_block(row_kernels(), row + first, first / Fingerprint::kBlock, n) : 0;
}

Column Columns::max(std::vector<const Column*>& inputs) {
  const auto latest = std::max_element(inputs.begin(), inputs.end(), [](auto* a, auto* b) { return a->low < b->low; });
  std::iter_swap(inputs.begin(), latest);
  const std::int64_t low = inputs.front()->low;
  inputs.erase(std::remove_if(inputs.begin() + 1, inputs.end(), [low](auto* c) { return c->high <= low; }),
               inputs.end());
  return inputs.size() == 1 ? *inputs.front() : max_of_rows(inputs);
}

Column Columns::max_of_rows(const std::vector<const Column*>& inputs) {
  const auto memory = pool_.acquire();
  std::int64_t* const out = memory.get();
  Column result{Row(memory, ranks_), inputs.front()->low, 0, 0};
  for (const Column* input : inputs) result.high = std::max(result.high, input->high);
  by_block([&](std::size_t first, std::size_t n) {
    row_kernels().max(out + first, from(inputs[0]->row, first), from(inputs[1]->row, first), n);
    for (std::size_t i = 2; i < inputs.size(); ++i)
      row_kernels().max(out + first, {out + first, 0}, from(inputs[i]->row, first), n);
    result.hash += hash_block(out, first, n);
  });
  return result;
}

Column Columns::join(const Column& arrivals, const Groups& groups) {
  if (is_one_group(groups, ranks_)) return uniform(arrivals.high);
  if (arrivals.row.uniform() || (!groups.listed() && groups.size == 1)) return arrivals;
  const auto memory = pool_.acquire();
  group_max(row_kernels(), groups, ranks_, arrivals.row.values().data(), memory.get());
  Column joined{Row(memory, ranks_), arrivals.low, arrivals.high, 0};
  if (hashed_) joined.hash = fingerprint_.of_row(joined.row);
  return joined;
}

std::optional<Column> Columns::add(const Column& start, const Row& duration) {
  if (duration.uniform() && start.row.uniform()) {
    const std::int64_t end = start.row.scalar() + duration.scalar();
    return end < kTimeLimit ? std::optional(uniform(end)) : std::nullopt;
  }
  if (duration.uniform() && duration.scalar() == 0) return start;
  return add_rows(start, duration);
}

std::optional<Column> Columns::add_rows(const Column& start, const Row& duration) {
  const auto memory = pool_.acquire();
  std::int64_t* const out = memory.get();
  Column result{Row(memory, ranks_), kTimeLimit, 0, 0};
  std::uint64_t bits = 0;
  by_block([&](std::size_t first, std::size_t n) {
    const Bounds bounds = row_kernels().add(out + first, from(start.row, first), from(duration, first), n);
    result.low = std::min(result.low, bounds.low);
    result.high = std::max(result.high, bounds.high);
    bits |= bounds.bits;
    result.hash += hash_block(out, first, n);
  });
  if (bits >= static_cast<std::uint64_t>(kTimeLimit)) return std::nullopt;
  return result.low == result.high ? uniform(result.low) : result;
}

}  // namespace distsim::engine
