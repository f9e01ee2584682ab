#include "collectives/curves/spread.hpp"

#include <iterator>

namespace distsim::collectives {

namespace {

/// From `from_bytes` on.
struct SpreadBySize {
  double from_bytes;
  RelativeSpread one_node, several_nodes;
};
constexpr SpreadBySize kAnalytic[] = {
    {64e6, {0.08, 0.15}, {0.10, 0.40}}, {1e6, {0.26, 0.35}, {0.25, 1.20}}, {0, {0.25, 0.40}, {0.45, 0.65}}};
constexpr SpreadBySize kSites[] = {
    {64e6, {0.09, 0.10}, {0.15, 0.18}}, {1e6, {0.20, 0.26}, {0.28, 0.40}}, {0, {0.28, 0.40}, {0.30, 0.42}}};

RelativeSpread by_size(const SpreadBySize (&table)[3], bool one_node, double bytes) {
  const SpreadBySize* row = std::begin(table);
  while (bytes < row->from_bytes) ++row;
  return one_node ? row->one_node : row->several_nodes;
}

}  // namespace

RelativeSpread analytic_spread(bool one_node, double bytes) { return by_size(kAnalytic, one_node, bytes); }
RelativeSpread site_spread(bool one_node, double bytes) { return by_size(kSites, one_node, bytes); }

}  // namespace distsim::collectives
