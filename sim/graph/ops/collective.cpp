#include "sim/graph/ops/collective.hpp"

#include "base/text/lower_case.hpp"

namespace distsim::graph {
namespace {

/// "All-Reduce", "all_reduce" and "allreduce" are one word.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : lower_case(text)) {
    if (c != '_' && c != '-' && c != ' ') out += c;
  }
  return out;
}

}  // namespace

Result<CollectiveKind> parse_collective(std::string_view name) {
  const std::string word = squeezed(name);
  for (std::size_t i = 0; i < kNames<CollectiveKind>.size(); ++i) {
    if (squeezed(kNames<CollectiveKind>[i]) == word) return static_cast<CollectiveKind>(i);
  }
  if (word == "bcast") return CollectiveKind::broadcast;
  if (word == "sendreceive") return CollectiveKind::send_recv;
  return unknown_name("collective", name, kNames<CollectiveKind>);
}

double busbw_factor(CollectiveKind kind, std::uint32_t ranks) {
  if (ranks <= 1)
    return kind == CollectiveKind::send_recv || kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce ? 1
                                                                                                                    : 0;
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::all_to_all_v:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send_recv:
      return 1;
    case CollectiveKind::barrier:
      return 0;  // moves no data
  }
  return 0;
}

}  // namespace distsim::graph
