#include "sim/api/public/costs.hpp"

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/api/idle_choices.hpp"
#include "sim/api/priced.hpp"

namespace distsim::api {
namespace {

/// By the names of the request's members.
std::vector<std::string> unheeded_of(const CollectiveRequest& request, const PricedCollective& priced) {
  std::vector<std::string> lines = sizes_in_parts(priced);
  if (std::string line = unheeded_choice(priced); !line.empty()) lines.push_back(std::move(line));
  for (study::IdleArgument& idle : idle_choices(request, priced)) {
    if (idle.argument == "--curve") idle.argument = "--curves";
    if (idle.argument == "--no-curves") idle.argument = "--use-curves";
    lines.push_back(idle.text());
  }
  return as_arguments(std::move(lines));
}

}  // namespace

OpCost cost_op(const OpRequest& request) {
  const Call call({});
  for (const auto& [name, value] : {std::pair("gpu", &request.gpu), {"op", &request.op}}) {
    if (value->empty()) throw ConfigError("", std::string(name) + ": missing, expected it with the op's sizes", "");
  }
  pipeline::DeviceModels devices;
  const PricedOp priced = value_of(priced_op(request, devices));
  const graph::Cost& cost = priced.cost;
  OpCost out{cost.mean.us(),
             cost.low.us(),
             cost.high.us(),
             std::string(graph::name_of(cost.basis)),
             priced.source,
             priced.op,
             priced.device,
             console_text(priced.text),
             {}};
  if (!request.dtype.empty() && !priced.heeds_dtype) out.remarks.emplace_back("dtype: no effect, the op is the same");
  for (const std::size_t i : priced.idle)
    out.remarks.push_back(printable(request.sizes[i].first + "=" + request.sizes[i].second, 120) +
                          ": no effect, the op is the same");
  for (std::string& text : devices.doubts()) out.remarks.push_back(std::move(text));
  return out;
}

CollectiveCosts cost_collective(const CollectiveRequest& request) {
  const Call call({});
  if (request.bytes.empty()) throw ConfigError("", "bytes: found no sizes, expected at least one", "");
  const PricedCollective priced = value_of(priced_collective(request));
  CollectiveCosts out;
  for (const collectives::CostTableRow& row : priced.table.rows) {
    CollectiveCost cost{row.bytes};
    cost.error = row.error;
    if (row.error.empty()) {
      cost.us = row.cost.mean.us();
      cost.low_us = row.cost.low.us();
      cost.high_us = row.cost.high.us();
      cost.algbw_GBps = row.algbw_GBps;
      cost.busbw_GBps = row.busbw_GBps;
      cost.basis = graph::name_of(row.cost.basis);
      cost.source = row.source;
    }
    out.sizes.push_back(std::move(cost));
  }
  if (priced.table.unpriced == priced.sizes.size())
    throw ConfigError("",
                      "none of " + counted(priced.sizes.size(), "size") +
                          " could be priced; the first: " + priced.table.rows.front().error,
                      "");
  out.csv = priced.table.text;
  out.remarks = priced.remarks;
  out.remarks.insert(out.remarks.end(), priced.doubts.begin(), priced.doubts.end());
  for (std::string& line : unheeded_of(request, priced)) out.remarks.push_back(std::move(line));
  return out;
}

}  // namespace distsim::api
