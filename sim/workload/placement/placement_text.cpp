// A placement as text for the report.
#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/workload/placement/placement.hpp"

namespace distsim::workload {

std::string gigabytes(std::int64_t bytes) { return format_decimal_bytes(bytes); }

namespace {

std::string text_of(const Shard& s) {
  const std::string table = "table " + std::to_string(s.table);
  switch (s.kind) {
    case ShardKind::whole:
      return table;
    case ShardKind::rows:
      return table + " (" + counted(static_cast<std::uint64_t>(s.rows), "row") + ")";
    case ShardKind::columns:
      return table + " (" + counted(static_cast<std::uint64_t>(s.dim), "column") + ")";
  }
  return table;
}

std::string text_of(const ShardSet& set) {
  if (set.shards.empty()) return "no tables";
  std::string out;
  for (const Shard& s : set.shards) out += (out.empty() ? "" : ", ") + text_of(s);
  return out + ": " + gigabytes(set.bytes) + ", " + format_quantity(set.ids, Dimension::none) +
         (set.ids == 1 ? " lookup per sample" : " lookups per sample");
}

}  // namespace

std::string Placement::describe() const {
  std::string out;
  for (std::uint32_t first = 0, rank = 0; rank < set_of_rank.size(); first = rank) {
    while (rank < set_of_rank.size() && set_of_rank[rank] == set_of_rank[first]) ++rank;
    out += (rank - first == 1 ? "rank " + std::to_string(first)
                              : "ranks " + std::to_string(first) + "-" + std::to_string(rank - 1)) +
           ": " + text_of(sets[set_of_rank[first]]) + "\n";
  }
  if (replicated.empty()) return out;
  std::string list;
  for (const std::uint32_t t : replicated) list += (list.empty() ? "" : ", ") + std::to_string(t);
  return out + "every rank: " + std::string(agreeing(replicated.size(), "table ", "tables ")) + list + " (" +
         gigabytes(replicated_bytes) + ")\n";
}

}  // namespace distsim::workload
