// Schedules in two levels: inside the nodes, and along the rails that join GPU j of every node.
#include "base/check.hpp"
#include "collectives/schedules/schedule.hpp"

namespace distsim::collectives {

namespace {

struct Buffer : Grid {
  std::int64_t bytes;
  std::uint32_t rank(std::uint32_t node, std::uint32_t local) const { return node * per_node + local; }
};

/// Around the ring inside every node once; the piece of local rank j is cut into one chunk a node: j * nodes + k.
void around_nodes(std::vector<Transfer>& out, const Buffer& g, std::uint32_t first, std::uint32_t first_step,
                  bool reduce) {
  for (std::uint32_t s = 0; s + 1 < g.per_node; ++s) {
    for (std::uint32_t r = 0; r < g.ranks(); ++r) {
      const std::uint32_t node = r / g.per_node, local = r % g.per_node,
                          piece = (local + first + g.per_node - s) % g.per_node;
      for (std::uint32_t k = 0; k < g.nodes; ++k) {
        const std::uint32_t chunk = piece * g.nodes + k;
        out.push_back({r, g.rank(node, (local + 1) % g.per_node), chunk, first_step + s,
                       chunk_bytes(g.bytes, g.ranks(), chunk), reduce});
      }
    }
  }
}

/// Around the ring of every rail once, each with the chunks of its own piece.
void around_rails(std::vector<Transfer>& out, const Buffer& g, std::uint32_t first, std::uint32_t first_step,
                  bool reduce) {
  for (std::uint32_t s = 0; s + 1 < g.nodes; ++s) {
    for (std::uint32_t r = 0; r < g.ranks(); ++r) {
      const std::uint32_t node = r / g.per_node, local = r % g.per_node;
      const std::uint32_t chunk = local * g.nodes + (node + first + g.nodes - s) % g.nodes;
      out.push_back({r, g.rank((node + 1) % g.nodes, local), chunk, first_step + s,
                     chunk_bytes(g.bytes, g.ranks(), chunk), reduce});
    }
  }
}

}  // namespace

std::vector<Transfer> hierarchical_all_reduce(std::uint32_t nodes, std::uint32_t per_node, std::int64_t bytes) {
  CHECK(nodes >= 1 && per_node >= 1);
  const Buffer g{{nodes, per_node}, bytes};
  std::vector<Transfer> out;
  around_nodes(out, g, per_node - 1, 0, true);
  around_rails(out, g, nodes - 1, per_node - 1, true);
  around_rails(out, g, 0, per_node + nodes - 2, false);
  around_nodes(out, g, 0, per_node + 2 * nodes - 3, false);
  return out;
}

std::vector<Transfer> hierarchical_all_to_all(std::uint32_t nodes, std::uint32_t per_node, std::int64_t bytes) {
  CHECK(nodes >= 1 && per_node >= 1);
  const Buffer g{{nodes, per_node}, bytes};
  const std::uint32_t n = g.ranks();
  std::vector<Transfer> out;
  for (std::uint32_t s = 1; s < per_node; ++s) {
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t rail = (r % per_node + s) % per_node;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        const std::uint32_t to = g.rank(node, rail);
        out.push_back({r, g.rank(r / per_node, rail), r * n + to, s - 1, chunk_bytes(bytes, n, to), false});
      }
    }
  }
  for (std::uint32_t s = 1; s < nodes; ++s) {
    for (std::uint32_t r = 0; r < n; ++r) {
      const std::uint32_t to = g.rank((r / per_node + s) % nodes, r % per_node);
      for (std::uint32_t local = 0; local < per_node; ++local) {
        const std::uint32_t from = g.rank(r / per_node, local);
        out.push_back({r, to, from * n + to, per_node - 2 + s, chunk_bytes(bytes, n, to), false});
      }
    }
  }
  return out;
}

}  // namespace distsim::collectives
