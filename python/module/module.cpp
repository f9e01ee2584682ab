// The compiled part of `import distsim`: the library's functions (docs/cpp_library.md) with the GIL released. What users see is
// python/distsim, which checks and converts arguments.
#include "module.hpp"

#include <mutex>

namespace distsim_python {
namespace {

/// distsim.ConfigError, an exception class of Python with attributes.
void raise_config_error(const api::ConfigError& e) {
  const py::object type = py::module_::import("distsim._errors").attr("ConfigError");
  const py::object error = type(text_of(e.what()), text_of(e.problem()), text_of(e.hint()), text_of(e.where()),
                                text_of(e.file()), e.line(), e.column());
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const api::ConfigError& e) {
    raise_config_error(e);
  } catch (const api::Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace
}  // namespace distsim_python

PYBIND11_MODULE(_distsim, m) {
  using namespace distsim_python;
  m.doc() = "Compiled part of distsim; use `import distsim`.";
  py::register_exception_translator(translate);
  add_experiments(m);
  m.def("version", &api::version);
  m.def("config_folders", &api::config_folders);
  m.def("names", &api::names);
  add_predictions(m);
  add_usual_prediction(m);
  add_studies(m);
  add_costs(m);
  add_serving(m);
}
