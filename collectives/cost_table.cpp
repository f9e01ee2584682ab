#include "collectives/cost_table.hpp"

#include <cstdio>
#include <vector>

#include "base/text/csv.hpp"
#include "base/text/printable.hpp"

namespace distsim::collectives {

namespace {

Result<void> check_group(const topology::Topology& t, const CostTableRequest& r) {
  if (r.nodes < 1 || r.nodes > t.nodes())
    return Error{"--nodes: found " + std::to_string(r.nodes) + ", expected 1 .. " + std::to_string(t.nodes()), "", ""};
  if (r.gpus_per_node < 1 || r.gpus_per_node > t.gpus_per_node()) {
    return Error{"--gpus-per-node: found " + std::to_string(r.gpus_per_node) + ", expected 1 .. " +
                     std::to_string(t.gpus_per_node()),
                 "", ""};
  }
  return {};
}

std::vector<std::uint32_t> members_of(const topology::Topology& t, const CostTableRequest& r) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t node = 0; node < r.nodes; ++node) {
    for (std::uint32_t gpu = 0; gpu < r.gpus_per_node; ++gpu) out.push_back(node * t.gpus_per_node() + gpu);
  }
  return out;
}

std::string figure(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

CostTableRow row_of(const Result<graph::Cost>& cost, std::int64_t bytes, double factor) {
  if (!cost.ok()) return {bytes, cost.error().text(), {}, ""};
  const bool moves = factor > 0 && cost->mean.us() > 0;  // not so a barrier, whose bytes are nobody's
  const double algbw = moves ? static_cast<double>(bytes) / cost->mean.us() / 1000 : 0;
  CostTableRow row{bytes, "", *cost, std::string(cost->source), algbw, algbw * factor};
  row.cost.source = {};
  return row;
}

std::vector<std::string> priced_fields(const CostTableRow& row) {
  if (!row.error.empty()) return {"", "", "", "", "", "error: " + row.error, ""};
  const graph::Cost& cost = row.cost;
  return {figure(cost.mean.us()),
          figure(cost.low.us()),
          figure(cost.high.us()),
          row.algbw_GBps > 0 ? figure(row.algbw_GBps) : "",
          row.algbw_GBps > 0 ? figure(row.busbw_GBps) : "",
          std::string(graph::name_of(cost.basis)),
          row.source};
}

/// Each line behind "# ", printable.
std::string commented(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += "# " + printable(text.substr(begin, end - begin), std::string::npos) + "\n";
    begin = end + 1;
  }
  return out;
}

}  // namespace

Result<CostTable> collective_cost_table(const topology::Topology& topology, const CollectiveModels& models,
                                        const CostTableRequest& request) {
  TRY(check_group(topology, request));
  const topology::GroupFacts facts = topology.facts(
      members_of(topology, request), request.side_by_side ? topology::Siblings::active : topology::Siblings::idle);
  const double factor = graph::busbw_factor(request.kind, facts.ranks);
  CostTable table;
  table.facts = facts;
  std::string& out = table.text =
      request.header ? "kind,nodes,gpus,bytes,predicted_us,low_us,high_us,algbw_GBps,busbw_GBps,basis,source\n" : "";
  std::string explained;
  for (std::int64_t bytes : request.bytes) {
    const graph::Collective op{request.kind, bytes, graph::DType::fp32, {}, {}};
    std::vector<std::string> fields{std::string(graph::name_of(request.kind)), std::to_string(request.nodes),
                                    std::to_string(facts.ranks), std::to_string(bytes)};
    table.rows.push_back(row_of(models.price(op, facts), bytes, factor));
    if (!table.rows.back().error.empty()) ++table.unpriced;
    const std::vector<std::string> rest = priced_fields(table.rows.back());
    fields.insert(fields.end(), rest.begin(), rest.end());
    out += csv_line(fields);
    if (request.explain) explained += commented(models.explain(op, facts));
  }
  out += explained;
  return table;
}

}  // namespace distsim::collectives
