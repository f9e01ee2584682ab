#include "collectives/schedules/schedule.hpp"

#include "base/check.hpp"

namespace distsim::collectives {

std::int64_t chunk_bytes(std::int64_t bytes, std::uint32_t chunks, std::uint32_t i) {
  CHECK(chunks > 0 && i < chunks);
  return bytes / chunks + (static_cast<std::int64_t>(i) < bytes % chunks ? 1 : 0);
}

namespace {

/// Around the ring once: in step s rank r passes chunk r + first - s on to its right neighbour.
void around(std::vector<Transfer>& out, std::uint32_t n, std::int64_t bytes, std::uint32_t first,
            std::uint32_t first_step, bool reduce) {
  for (std::uint32_t s = 0; s + 1 < n; ++s) {
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t chunk = (r + first + n - s) % n;
      out.push_back({r, (r + 1) % n, chunk, first_step + s, chunk_bytes(bytes, n, chunk), reduce});
    }
  }
}

}  // namespace

std::vector<Transfer> ring_reduce_scatter(std::uint32_t n, std::int64_t bytes) {
  std::vector<Transfer> out;
  around(out, n, bytes, n - 1, 0, true);  // chunk c starts at rank c + 1 and is complete when it reaches rank c
  return out;
}

std::vector<Transfer> ring_all_gather(std::uint32_t n, std::int64_t bytes) {
  std::vector<Transfer> out;
  around(out, n, bytes, 0, 0, false);
  return out;
}

std::vector<Transfer> ring_all_reduce(std::uint32_t n, std::int64_t bytes) {
  std::vector<Transfer> out = ring_reduce_scatter(n, bytes);
  around(out, n, bytes, 0, n - 1, false);
  return out;
}

std::vector<Transfer> ring_chain(std::uint32_t n, std::int64_t bytes, bool reduce) {
  std::vector<Transfer> out;
  for (std::uint32_t step = 0; n > 1 && step < 2 * n - 2; ++step) {
    for (std::uint32_t chunk = 0; chunk < n; ++chunk) {
      if (step < chunk || step - chunk >= n - 1) continue;
      const std::uint32_t hop = step - chunk, from = reduce ? n - 1 - hop : hop, to = reduce ? from - 1 : from + 1;
      out.push_back({from, to, chunk, step, chunk_bytes(bytes, n, chunk), reduce});
    }
  }
  return out;
}

std::vector<Transfer> tree_all_reduce(std::uint32_t n, std::int64_t bytes) {
  std::vector<Transfer> out;
  std::uint32_t step = 0, width = 1;
  for (; width < n; width *= 2, ++step) {
    for (std::uint32_t r = width; r < n; r += 2 * width) out.push_back({r, r - width, 0, step, bytes, true});
  }
  for (width /= 2; width >= 1; width /= 2, ++step) {
    for (std::uint32_t r = width; r < n; r += 2 * width) out.push_back({r - width, r, 0, step, bytes, false});
  }
  return out;
}

std::vector<Transfer> pairwise_all_to_all(std::uint32_t n, std::int64_t bytes) {
  std::vector<Transfer> out;
  for (std::uint32_t s = 1; s < n; ++s) {
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t to = (r + s) % n;
      out.push_back({r, to, r * n + to, s - 1, chunk_bytes(bytes, n, to), false});
    }
  }
  return out;
}

}  // namespace distsim::collectives
