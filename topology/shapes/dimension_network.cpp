#include "topology/shapes/dimension_network.hpp"

#include <algorithm>
#include <set>

#include "base/config/schema.hpp"
#include "base/file.hpp"
#include "base/text/names/words.hpp"

namespace distsim::topology {
namespace {

constexpr std::uint64_t kMostRanks = 1u << 24;
constexpr double kBytesPerNs = 1073741824.0 / 1e9;  // 2^30 B/s in bytes a nanosecond
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

struct Lists {
  std::vector<DimensionKind> topology;
  std::vector<std::int64_t> npus_count;
  std::vector<double> bandwidth, latency;
};

const Words<DimensionKind>& kind_words() {
  static const Words<DimensionKind> words{{"Ring", DimensionKind::ring},
                                          {"FullyConnected", DimensionKind::fully_connected},
                                          {"Switch", DimensionKind::switched}};
  return words;
}

Schema<Lists> schema() {
  Schema<Lists> s("network", "A network in ASTRA-sim's format.");
  s.choices("topology", &Lists::topology, kind_words(), "By dimension.", 16);
  s.scalars("npus_count", &Lists::npus_count, {2, double(kMostRanks)}, "NPUs, by dimension.", true, 16);
  s.scalars("bandwidth", &Lists::bandwidth, {1e-6, 1e9}, "GB/s (2^30 bytes) per link and direction, by dimension.",
            true, 16);
  s.scalars("latency", &Lists::latency, {0, 1e12}, "ns per hop, by dimension.", true, 16);
  return s;
}

Result<DimensionNetwork> network_of(const Lists& lists, const ConfigNode& node) {
  const std::size_t n = lists.topology.size();
  if (n == 0 || lists.npus_count.size() != n || lists.bandwidth.size() != n || lists.latency.size() != n) {
    return schema_detail::expected(node, "network", "lists of equal length, one entry per dimension");
  }
  DimensionNetwork network;
  std::uint64_t ranks = 1;
  for (std::size_t d = 0; d < n; ++d) {
    ranks *= static_cast<std::uint64_t>(lists.npus_count[d]);
    if (ranks > kMostRanks) return schema_detail::expected(node, "network.npus_count", "at most 2^24 NPUs in total");
    network.dimensions.push_back({lists.topology[d], static_cast<std::uint32_t>(lists.npus_count[d]),
                                  lists.bandwidth[d] * kBytesPerNs, lists.latency[d]});
  }
  return network;
}

}  // namespace

std::uint32_t NetworkDimension::hops(std::uint32_t distance) const {
  if (kind == DimensionKind::switched) return 2;
  return kind == DimensionKind::fully_connected ? 1 : std::min(distance, count - distance);
}

std::uint32_t DimensionNetwork::ranks() const {
  std::uint32_t n = 1;
  for (const NetworkDimension& d : dimensions) n *= d.count;
  return n;
}

std::vector<std::uint32_t> DimensionNetwork::place_of(std::uint32_t rank) const {
  std::vector<std::uint32_t> place;
  for (const NetworkDimension& d : dimensions) {
    place.push_back(rank % d.count);
    rank /= d.count;
  }
  return place;
}

Result<DimensionNetwork> DimensionNetwork::of_group(std::span<const std::uint32_t> members) const {
  if (members.size() == ranks()) return *this;
  std::vector<std::set<std::uint32_t>> taken(dimensions.size());
  for (const std::uint32_t rank : members) {
    const auto place = place_of(rank);
    for (std::size_t d = 0; d < place.size(); ++d) taken[d].insert(place[d]);
  }
  DimensionNetwork group;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (taken[d].size() < 2) continue;
    group.dimensions.push_back(dimensions[d]);
    group.dimensions.back().count = static_cast<std::uint32_t>(taken[d].size());
  }
  if (group.ranks() == members.size()) return group;
  return Error{"group of " + std::to_string(members.size()) + " ranks: found members that do not form a grid in " +
                   describe() + ", expected complete dimensions",
               "", ""};
}

std::string DimensionNetwork::describe() const {
  std::string out;
  for (const NetworkDimension& d : dimensions) {
    out += (out.empty() ? "" : " x ") + std::string(word_of(d.kind, kind_words())) + " " + std::to_string(d.count);
  }
  return out;
}

Result<DimensionNetwork> parse_dimension_network(std::string_view yaml, const std::string& file) {
  TRY_ASSIGN(const ConfigNode node, parse_yaml(yaml, file));
  TRY_ASSIGN(const Lists lists, schema().read(node, "network"));
  return network_of(lists, node);
}

Result<DimensionNetwork> read_dimension_network(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_file(path, kMostBytes));
  return parse_dimension_network(text, path);
}

}  // namespace distsim::topology
