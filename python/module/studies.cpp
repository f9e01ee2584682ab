#include "module.hpp"

namespace distsim_python {
namespace {

template <class T, class Make>
py::str written(const T& of, const Make& make) {
  return text_of(without_gil([&](const api::Stop&) { return (of.*make)(); }));
}

using Axes = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::vector<api::Axis> axes_of(const Axes& axes) {
  std::vector<api::Axis> out;
  for (const auto& [key, values] : axes) out.push_back({key, values});
  return out;
}

py::dict point_of(const api::Sweep& sweep, std::size_t index) {
  const api::SweepPoint p = sweep.point(index);
  py::dict out;
  for (std::size_t a = 0; a < p.values.size(); ++a) out[text_of(sweep.keys()[a])] = text_of(p.values[a]);
  const bool predicted = p.error.empty();
  const auto figure = [&](double value) -> py::object {
    return predicted ? py::object(py::float_(value)) : py::object(py::none());
  };
  out["nodes"] = p.nodes > 0 ? py::object(py::int_(static_cast<long long>(p.nodes))) : py::object(py::none());
  out["gpus"] = p.gpus > 0 ? py::object(py::int_(static_cast<long long>(p.gpus))) : py::object(py::none());
  out["global_batch"] = p.global_batch > 0 ? py::object(py::float_(p.global_batch)) : py::object(py::none());
  out["iteration_ms"] = figure(p.iteration_ms);
  out["low_ms"] = figure(p.low_ms);
  out["high_ms"] = figure(p.high_ms);
  out["samples_per_s"] = figure(p.samples_per_s);
  out["tokens_per_s_per_gpu"] = figure(p.tokens_per_s_per_gpu);
  out["compute_ms"] = figure(p.compute_ms);
  out["exposed_comm_ms"] = figure(p.exposed_comm_ms);
  out["waiting_ms"] = figure(p.waiting_ms);
  out["host_bound_ms"] = figure(p.host_bound_ms);
  out["idle_ms"] = figure(p.idle_ms);
  out["mfu"] = figure(p.mfu);
  out["memory_gb"] = p.memory_gb > 0 ? py::object(py::float_(p.memory_gb)) : py::object(py::none());
  out["fits"] = p.fits ? py::object(py::bool_(*p.fits)) : py::object(py::none());
  out["speedup"] = figure(p.speedup);
  out["efficiency"] = figure(p.efficiency);
  out["limited_by"] = text_of(p.limited_by);
  out["error"] = text_of(p.error);
  return out;
}

api::PlanRequest plan_request(const api::Experiment& experiment, const Axes& vary, const py::dict& rest) {
  api::PlanRequest r;
  r.experiment = experiment;
  r.vary = axes_of(vary);
  r.gpus = rest["gpus"].cast<std::string>();
  r.objective = rest["objective"].cast<std::string>();
  r.pareto = rest["pareto"].cast<std::string>();
  r.top = rest["top"].cast<std::size_t>();
  r.exhaustive = rest["exhaustive"].cast<bool>();
  r.most_played = rest["max_played"].cast<std::uint64_t>();
  r.draws = rest["draws"].cast<std::size_t>();
  r.jobs = rest["jobs"].cast<unsigned>();
  r.price_per_gpu_hour = rest["price_per_gpu_hour"].cast<double>();
  r.tokens = rest["tokens"].cast<double>();
  r.samples = rest["samples"].cast<double>();
  r.constraints = rest["constraints"].cast<std::string>();
  r.least_columns = rest["least_columns"].cast<std::int64_t>();
  return r;
}

py::list rows_of(const api::Plan& plan) {
  py::list out;
  for (const api::PlanRow& row : plan.rows()) {
    out.append(
        py::make_tuple(texts_of(row.sets), text_of(row.placement), row.iteration_ms, row.fits, text_of(row.error)));
  }
  return out;
}

py::list sides_of(const api::Comparison& comparison) {
  py::list out;
  for (const api::ComparedSide& side : comparison.sides())
    out.append(py::make_tuple(text_of(side.name), side.iteration_ms, side.ratio, side.low, side.high));
  return out;
}

}  // namespace

void add_studies(py::module_& m) {
  using api::Comparison;
  using api::Plan;
  using api::Sweep;
  py::class_<Sweep>(m, "Sweep")
      .def("size", &Sweep::size)
      .def("keys", &Sweep::keys)
      .def("point", &point_of)
      .def("csv", [](const Sweep& s) { return written(s, &Sweep::csv); })
      .def("html", [](const Sweep& s) { return written(s, &Sweep::html); })
      .def("text", [](const Sweep& s) { return written(s, &Sweep::text); })
      .def("without_effect", &without_effect_of<Sweep>);
  m.def("sweep", [](const api::Experiment& experiment, const Axes& axes, const std::string& scaling, unsigned jobs) {
    return without_gil([&](const api::Stop& stop) {
      const api::Scaling kept = scaling == "weak"     ? api::Scaling::weak
                                : scaling == "strong" ? api::Scaling::strong
                                                      : api::Scaling::as_given;
      return api::sweep({experiment, axes_of(axes), kept, jobs, stop});
    });
  });

  py::class_<Plan>(m, "Plan")
      .def("rows", &rows_of)
      .def("json", [](const Plan& p) { return written(p, &Plan::json); })
      .def("csv", [](const Plan& p) { return written(p, &Plan::csv); })
      .def("html", [](const Plan& p) { return written(p, &Plan::html); })
      .def("text", [](const Plan& p) { return written(p, &Plan::text); })
      .def("without_effect", &without_effect_of<Plan>);
  m.def("plan", [](const api::Experiment& experiment, const Axes& vary, const py::dict& rest) {
    api::PlanRequest request = plan_request(experiment, vary, rest);
    return without_gil([&](const api::Stop& stop) {
      request.stop = stop;
      return api::plan(request);
    });
  });

  py::class_<Comparison>(m, "Comparison")
      .def("sides", &sides_of)
      .def("csv", [](const Comparison& c) { return written(c, &Comparison::csv); })
      .def("html", [](const Comparison& c) { return written(c, &Comparison::html); })
      .def("text", [](const Comparison& c) { return written(c, &Comparison::text); })
      .def("without_effect", &without_effect_of<Comparison>);
  m.def("compare", [](const std::vector<std::pair<std::string, api::Experiment>>& sides) {
    std::vector<api::CompareSide> asked;
    for (const auto& [name, experiment] : sides) asked.push_back({name, experiment});
    return without_gil([&](const api::Stop& stop) { return api::compare(asked, stop); });
  });
}

}  // namespace distsim_python
