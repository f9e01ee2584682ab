#include "module.hpp"

namespace distsim_python {
namespace {

using Sizes = std::vector<std::pair<std::string, std::string>>;

py::dict cost_op(const std::string& gpu, const std::string& op, const std::string& dtype, const std::string& pass,
                 const Sizes& sizes) {
  const api::OpCost cost = without_gil([&](const api::Stop&) { return api::cost_op({gpu, op, dtype, pass, sizes}); });
  py::dict out;
  out["us"] = cost.us;
  out["low_us"] = cost.low_us;
  out["high_us"] = cost.high_us;
  out["basis"] = text_of(cost.basis);
  out["source"] = text_of(cost.source);
  out["op"] = text_of(cost.op);
  out["device"] = text_of(cost.device);
  out["text"] = text_of(cost.text);
  py::list remarks;
  for (const std::string& remark : cost.remarks) remarks.append(text_of(remark));
  out["remarks"] = remarks;
  return out;
}

api::CollectiveRequest collective_request(const std::string& system, const std::string& kind,
                                          const std::vector<std::string>& bytes, const py::dict& rest) {
  api::CollectiveRequest r;
  r.system = system;
  r.kind = kind;
  r.bytes = bytes;
  r.nodes = rest["nodes"].cast<std::uint32_t>();
  r.gpus_per_node = rest["gpus_per_node"].cast<std::uint32_t>();
  r.curves = rest["curves"].cast<std::vector<std::string>>();
  r.algorithms = rest["algorithms"].cast<std::vector<std::string>>();
  r.protocols = rest["protocols"].cast<std::vector<std::string>>();
  r.launch = rest["launch"].cast<std::string>();
  r.exchange = rest["exchange"].cast<std::string>();
  r.all_reduce = rest["all_reduce"].cast<std::string>();
  r.use_curves = rest["use_curves"].cast<bool>();
  r.allow_partial = rest["allow_partial"].cast<bool>();
  r.side_by_side = rest["side_by_side"].cast<bool>();
  r.explain = rest["explain"].cast<bool>();
  return r;
}

py::tuple cost_collective(const std::string& system, const std::string& kind, const std::vector<std::string>& bytes,
                          const py::dict& rest) {
  const api::CollectiveRequest request = collective_request(system, kind, bytes, rest);
  const api::CollectiveCosts costs = without_gil([&](const api::Stop&) { return api::cost_collective(request); });
  py::list rows;
  for (const api::CollectiveCost& cost : costs.sizes) {
    const bool priced = cost.error.empty();
    const auto figure = [&](double value) -> py::object {
      return priced ? py::object(py::float_(value)) : py::object(py::none());
    };
    py::dict row;
    row["bytes"] = cost.bytes;
    row["us"] = figure(cost.us);
    row["low_us"] = figure(cost.low_us);
    row["high_us"] = figure(cost.high_us);
    row["algbw_GBps"] = figure(cost.algbw_GBps);
    row["busbw_GBps"] = figure(cost.busbw_GBps);
    row["basis"] = text_of(cost.basis);
    row["source"] = text_of(cost.source);
    row["error"] = text_of(cost.error);
    rows.append(row);
  }
  py::list remarks;
  for (const std::string& remark : costs.remarks) remarks.append(text_of(remark));
  return py::make_tuple(rows, text_of(costs.csv), remarks);
}

py::tuple replay(const std::vector<std::string>& traces, const std::optional<api::Experiment>& experiment,
                 const py::dict& rest) {
  api::ReplayRequest r;
  r.traces = traces;
  r.experiment = experiment;
  r.priced = rest["priced"].cast<bool>();
  r.step_pattern = rest["step_pattern"].cast<std::string>();
  r.measured_on = rest["measured_on"].cast<std::string>();
  r.remove = rest["remove"].cast<std::vector<std::string>>();
  r.fuse = rest["fuse"].cast<std::vector<std::string>>();
  r.leave_one_step_out = rest["leave_one_step_out"].cast<bool>();
  r.network = rest["network"].cast<std::string>();
  r.network_system = rest["network_system"].cast<std::string>();
  r.groups = rest["groups"].cast<std::string>();
  r.ranks = rest["ranks"].cast<std::optional<std::uint32_t>>();
  r.recorded_collectives = rest["recorded_collectives"].cast<bool>();
  r.compute_scale = rest["compute_scale"].cast<double>();
  const api::Replay done = without_gil([&](const api::Stop& stop) {
    r.stop = stop;
    return api::replay(r);
  });
  return py::make_tuple(text_of(done.json), text_of(done.csv), text_of(done.text));
}

}  // namespace

void add_costs(py::module_& m) {
  m.def("cost_op", &cost_op);
  m.def("cost_collective", &cost_collective);
  m.def("replay", &replay);
}

}  // namespace distsim_python
