#include "traces/graph/et_link.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "base/text/counted.hpp"

namespace distsim::traces {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // timed, node

/// Ids that belong to one op each; 0 marks those that do not.
std::unordered_map<std::uint64_t, std::uint32_t> unique_ids(const TraceRank& rank) {
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const HostRecord& r = rank.host_records[i];
    if (r.op_id == 0 || r.kind == HostKind::runtime) continue;
    const auto [at, fresh] = ids.emplace(r.op_id, i);
    if (!fresh) at->second = kNone;
  }
  return ids;
}

Pairs by_id(const TraceRank& timed, const TraceRank& nodes) {
  const auto left = unique_ids(timed), right = unique_ids(nodes);
  Pairs out;
  for (const auto& [id, i] : left) {
    const auto at = right.find(id);
    if (i == kNone || at == right.end() || at->second == kNone) continue;
    if (timed.host_records[i].name == nodes.host_records[at->second].name) out.emplace_back(i, at->second);
  }
  std::ranges::sort(out);
  return out;
}

/// Ops of each name in the order of their start, over all threads. An execution trace and Kineto number threads in ways
/// of their own.
std::map<NameId, std::vector<std::uint32_t>> by_name(const TraceRank& rank) {
  std::map<NameId, std::vector<std::uint32_t>> out;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < rank.host_records.size(); ++i) {
    const HostKind kind = rank.host_records[i].kind;
    if (kind == HostKind::op || kind == HostKind::annotation) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return rank.host_records[i].start_ns; });
  for (const std::uint32_t i : order) out[rank.host_records[i].name].push_back(i);
  return out;
}

Pairs by_order(const TraceRank& timed, const TraceRank& nodes) {
  Pairs out;
  const auto left = by_name(timed), right = by_name(nodes);
  for (const auto& [name, ops] : left) {
    const auto at = right.find(name);
    if (at == right.end() || at->second.size() != ops.size()) continue;
    for (std::size_t k = 0; k < ops.size(); ++k) out.emplace_back(ops[k], at->second[k]);
  }
  return out;
}

}  // namespace

void link_execution_trace(TraceJob&, TraceRank& timed, const TraceRank& nodes) {
  Pairs pairs = by_id(timed, nodes);
  std::string how = "record function id";
  if (pairs.size() * 2 < std::min(timed.host_records.size(), nodes.host_records.size()) / 2) {
    const Pairs ordered = by_order(timed, nodes);
    if (ordered.size() > pairs.size()) {
      pairs = ordered;
      how = "name and order";
    }
  }
  for (const auto& [i, n] : pairs) {
    HostRecord& r = timed.host_records[i];
    const HostRecord& node = nodes.host_records[n];
    if (node.inputs != kNone) r.inputs = node.inputs;
    if (r.collective == kNone && node.collective != kNone) {
      r.collective = static_cast<std::uint32_t>(timed.collectives.size());
      timed.collectives.push_back(nodes.collectives[node.collective]);
      timed.collectives.back().host_record = i;
    }
  }
  std::size_t ops = 0;
  for (const HostRecord& r : timed.host_records)
    ops += r.kind == HostKind::op || r.kind == HostKind::annotation ? 1 : 0;
  timed.format += " + " + nodes.format;
  timed.notes.assume(std::to_string(pairs.size()) + " of " + std::to_string(ops) +
                     " ops matched to the execution trace (" + counted(nodes.host_records.size(), "node") + ") by " +
                     how);
  for (const TraceNotes::Count& c : nodes.notes.dropped) timed.notes.drop(c.what, c.count);
}

}  // namespace distsim::traces
