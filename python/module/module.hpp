// What the parts of the compiled module share.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "distsim/distsim.hpp"

namespace distsim_python {

namespace py = pybind11;
namespace api = distsim::api;

/// Text as Python has it; foreign bytes that are no UTF-8 become U+FFFD.
inline py::str text_of(const std::string& text) {
  PyObject* out = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (out == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(out);
}

inline py::list texts_of(const std::vector<std::string>& texts) {
  py::list out;
  for (const std::string& text : texts) out.append(text_of(text));
  return out;
}

/// An exception that a signal's handler raised, KeyboardInterrupt for Ctrl-C, until the call has ended.
class Signals {
 public:
  Signals() = default;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  /// With the GIL. False where no handler raised.
  bool look() {
    if (PyErr_CheckSignals() == 0) return false;
    PyErr_Fetch(&type_, &value_, &trace_);
    return true;
  }
  /// With the GIL.
  void raise_if_any() {
    if (type_ == nullptr) return;
    PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr), std::exchange(trace_, nullptr));
    throw py::error_already_set();
  }

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

/// call(stop) without the GIL, so that other threads run meanwhile. Handlers of signals run between; what one raises ends
/// the call.
template <class Call>
auto without_gil(const Call& call) {
  Signals signals;
  const api::Stop stop = [&signals] {
    const py::gil_scoped_acquire gil;
    return signals.look();
  };
  try {
    auto out = [&] {
      const py::gil_scoped_release release;
      return call(stop);
    }();
    signals.raise_if_any();
    return out;
  } catch (const api::Interrupted&) {
    signals.raise_if_any();
    throw;
  } catch (const api::ConfigError&) {
    signals.raise_if_any();
    throw;
  }
}

/// without_effect() of a result.
template <class Found>
py::list without_effect_of(const Found& found) {
  return texts_of(without_gil([&](const api::Stop& stop) { return found.without_effect(stop); }));
}

void add_experiments(py::module_& m);
void add_predictions(py::module_& m);
void add_usual_prediction(py::module_& m);
void add_studies(py::module_& m);
void add_costs(py::module_& m);
void add_serving(py::module_& m);

}  // namespace distsim_python
