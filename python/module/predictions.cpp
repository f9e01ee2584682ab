#include "module.hpp"

#include <ctime>

namespace distsim_python {
namespace {

template <class T, class Make>
py::str made(const T& of, const Make& make) {
  return text_of(without_gil([&](const api::Stop&) { return (of.*make)(); }));
}

/// Of this process; unlike the time on the wall, it does not depend on what else the machine does.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void add_predictions(py::module_& m) {
  using api::Prediction;
  py::class_<Prediction>(m, "Prediction")
      .def("json", [](const Prediction& p) { return made(p, &Prediction::json); })
      .def("csv", [](const Prediction& p) { return made(p, &Prediction::csv); })
      .def("html", [](const Prediction& p) { return made(p, &Prediction::html); })
      .def("text", [](const Prediction& p) { return made(p, &Prediction::text); })
      .def_property_readonly("iteration_ps", [](const Prediction& p) { return p.figures().iteration_ps; })
      .def_property_readonly("iteration_ms", [](const Prediction& p) { return p.figures().iteration_ms; })
      .def_property_readonly("low_ms", [](const Prediction& p) { return p.figures().low_ms; })
      .def_property_readonly("high_ms", [](const Prediction& p) { return p.figures().high_ms; })
      .def_property_readonly("samples_per_second", [](const Prediction& p) { return p.figures().samples_per_second; })
      .def_property_readonly("mfu", [](const Prediction& p) { return p.figures().mfu; });

  m.def(
      "predict",
      [](const api::Experiment& experiment, std::uint32_t trials, std::uint64_t seed) {
        return without_gil([&](const api::Stop& stop) { return api::predict(experiment, {trials, seed, stop}); });
      },
      py::arg("experiment"), py::arg("trials"), py::arg("seed"));

  m.def(
      "time_of_predict",
      [](const api::Experiment& experiment, int calls) {
        return without_gil([&](const api::Stop& stop) {
          const double begin = cpu_seconds();
          for (int i = 0; i < calls; ++i) api::predict(experiment, {.stop = stop});
          return cpu_seconds() - begin;
        });
      },
      py::arg("experiment"), py::arg("calls"),
      "CPU time of so many calls in C++, in seconds: for scripts/python_overhead.py.");
}

}  // namespace distsim_python
