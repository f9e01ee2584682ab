#include "mpi_bench/collective/verify/pattern.hpp"

#include <algorithm>
#include <cstring>

#include "base/random.hpp"

namespace distsim::bench {
namespace {

std::uint64_t hash(std::uint64_t rank, std::uint64_t index) { return Random(rank * kPeriod + index + 1).next(); }

// A sum over n ranks of values up to limit/n stays within the limit. With more ranks than the limit, only every
// stride-th rank adds a 1.
std::uint64_t summand(std::uint64_t limit, std::uint64_t ranks, std::uint64_t rank, std::uint64_t index) {
  if (ranks <= limit) return hash(rank, index) % (limit / ranks + 1);
  const std::uint64_t stride = (ranks + limit - 1) / limit;
  return (rank + index) % stride == 0 ? 1 : 0;
}

// Products are powers of two up to 2^6, which int8 still holds: k ranks have a 2, k = 0..6 by position, and which ones
// moves with the position.
std::uint64_t factor(std::uint64_t ranks, std::uint64_t rank, std::uint64_t index) {
  const std::uint64_t twos = hash(0, index) % 7;
  return (rank + index) % ranks < twos ? 2 : 1;
}

}  // namespace

std::uint64_t pattern_value(const PatternSpec& spec, int rank, std::uint64_t index) {
  const std::uint64_t limit = info_of(spec.type).exact_limit, r = rank, n = spec.ranks, i = index % kPeriod;
  if (spec.op == RedOp::sum) return summand(limit, n, r, i);
  if (spec.op == RedOp::prod) return factor(n, r, i);
  return hash(r, i) % (limit + 1);
}

std::uint64_t reduced_value(const PatternSpec& spec, std::uint64_t index) {
  std::uint64_t total = pattern_value(spec, 0, index);
  for (int rank = 1; rank < spec.ranks; ++rank) {
    const std::uint64_t value = pattern_value(spec, rank, index);
    switch (*spec.op) {
      case RedOp::sum:
        total += value;
        break;
      case RedOp::prod:
        total *= value;
        break;
      case RedOp::max:
        total = std::max(total, value);
        break;
      case RedOp::min:
        total = std::min(total, value);
        break;
    }
  }
  return total;
}

PatternBytes::PatternBytes(const PatternSpec& spec, int source, std::uint64_t first, std::uint64_t count)
    : element_bytes_(info_of(spec.type).size), tile_(std::min(count, kPeriod) * element_bytes_) {
  for (std::size_t i = 0; i * element_bytes_ < tile_.size(); ++i) {
    const std::uint64_t value =
        source == Segment::kReduced ? reduced_value(spec, first + i) : pattern_value(spec, source, first + i);
    encode(spec.type, value, tile_.data() + i * element_bytes_);
  }
}

void PatternBytes::copy(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t from = offset % kPeriod * element_bytes_;
  while (!out.empty()) {
    CHECK(from < tile_.size()) << "beyond the requested count";
    const std::size_t length = std::min(out.size(), tile_.size() - from);
    std::memcpy(out.data(), tile_.data() + from, length);
    out = out.subspan(length);
    from = 0;
  }
}

}  // namespace distsim::bench
