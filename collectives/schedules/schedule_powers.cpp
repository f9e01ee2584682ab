// Schedules by powers of two: recursive halving and doubling, Bruck.
#include <bit>

#include "base/check.hpp"
#include "collectives/schedules/schedule.hpp"

namespace distsim::collectives {

namespace {

/// Every chunk of `from` to `to`.
void send_all(std::vector<Transfer>& out, std::uint32_t from, std::uint32_t to, std::uint32_t chunks,
              std::uint32_t step, std::int64_t bytes, bool reduce) {
  for (std::uint32_t c = 0; c < chunks; ++c) out.push_back({from, to, c, step, chunk_bytes(bytes, chunks, c), reduce});
}

/// Whether a and b agree in all bits from that of `power` on.
bool agree_from(std::uint32_t a, std::uint32_t b, std::uint32_t power) { return a / power == b / power; }

/// Rank r gives its partner at distance d the half of its chunks that the partner goes on with.
void halve(std::vector<Transfer>& out, std::uint32_t p, std::uint32_t d, std::uint32_t step, std::int64_t bytes) {
  for (std::uint32_t r = 0; r < p; ++r) {
    for (std::uint32_t c = 0; c < p; ++c) {
      if (agree_from(c, r ^ d, d)) out.push_back({r, r ^ d, c, step, chunk_bytes(bytes, p, c), true});
    }
  }
}

void doubled(std::vector<Transfer>& out, std::uint32_t p, std::uint32_t d, std::uint32_t step, std::int64_t bytes) {
  for (std::uint32_t r = 0; r < p; ++r) {
    for (std::uint32_t c = 0; c < p; ++c) {
      if (agree_from(c, r, d)) out.push_back({r, r ^ d, c, step, chunk_bytes(bytes, p, c), false});
    }
  }
}

}  // namespace

std::vector<Transfer> halving_doubling_all_reduce(std::uint32_t n, std::int64_t bytes) {
  CHECK(n >= 1);
  const std::uint32_t p = std::bit_floor(n);
  std::vector<Transfer> out;
  std::uint32_t step = 0;
  for (std::uint32_t r = p; r < n; ++r) send_all(out, r, r - p, p, step, bytes, true);
  if (n > p) ++step;
  for (std::uint32_t d = p / 2; d >= 1; d /= 2) halve(out, p, d, step++, bytes);
  for (std::uint32_t d = 1; d < p; d *= 2) doubled(out, p, d, step++, bytes);
  for (std::uint32_t r = p; r < n; ++r) send_all(out, r - p, r, p, step, bytes, false);
  return out;
}

std::vector<Transfer> bruck_all_to_all(std::uint32_t n, std::int64_t bytes) {
  std::vector<Transfer> out;
  for (std::uint32_t power = 1, step = 0; power < n; power *= 2, ++step) {
    for (std::uint32_t from = 0; from < n; ++from) {
      for (std::uint32_t offset = 1; offset < n; ++offset) {
        if ((offset & power) == 0) continue;
        const std::uint32_t here = (from + (offset & (power - 1))) % n, to = (from + offset) % n;
        out.push_back({here, (here + power) % n, from * n + to, step, chunk_bytes(bytes, n, to), false});
      }
    }
  }
  return out;
}

}  // namespace distsim::collectives
