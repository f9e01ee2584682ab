// The usual arguments, converted here: between two predictions the interpreter's code is no longer in the caches, and the same
// steps in Python take ten times as long as they do in a loop of their own. Whatever is unusual, and whatever is wrong, is left
// to python/distsim/_experiment.py, which does the same and says what is wrong.
#include <cmath>

#include "module.hpp"

namespace distsim_python {
namespace {

constexpr int kMostDepth = 32;
constexpr std::size_t kMostValues = 200'000;

class Writer {
 public:
  std::string out;

  /// As JSON; false where the value is not plain.
  bool value(PyObject* v, int depth) {
    if (++values_ > kMostValues) return false;
    if (PyUnicode_CheckExact(v)) return text(v);
    if (v == Py_None) return put("null");
    if (PyBool_Check(v)) return put(v == Py_True ? "true" : "false");
    if (PyLong_CheckExact(v)) return whole(v);
    if (PyFloat_CheckExact(v)) return real(PyFloat_AS_DOUBLE(v));
    if (PyDict_CheckExact(v)) return depth < kMostDepth && map(v, depth);
    if (PyList_CheckExact(v)) return depth < kMostDepth && list(v, depth);
    return false;
  }

  /// As --set has it: text as it is.
  bool setting(PyObject* v) { return PyUnicode_CheckExact(v) ? raw(v) : value(v, 0); }

  bool raw(PyObject* v) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(v, &size);
    if (bytes == nullptr) {  // half of a surrogate pair
      PyErr_Clear();
      return false;
    }
    out.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

 private:
  bool put(const char* word) {
    out += word;
    return true;
  }

  bool whole(PyObject* v) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(v, &overflow);
    if (overflow != 0) return false;
    out += std::to_string(number);
    return true;
  }

  bool real(double number) {
    if (!std::isfinite(number)) return false;
    char* text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
    if (text == nullptr) throw py::error_already_set();
    out += text;
    PyMem_Free(text);
    return true;
  }

  bool text(PyObject* v) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(v, &size);
    if (bytes == nullptr) {
      PyErr_Clear();
      return false;
    }
    out += '"';
    for (Py_ssize_t i = 0; i < size; ++i) {
      const char c = bytes[i];
      if (static_cast<unsigned char>(c) < 0x20) return false;  // seldom
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
    return true;
  }

  bool map(PyObject* v, int depth) {
    out += '{';
    PyObject *key = nullptr, *item = nullptr;
    bool first = true;
    for (Py_ssize_t at = 0; PyDict_Next(v, &at, &key, &item);) {
      if (!first) out += ", ";
      first = false;
      if (!PyUnicode_CheckExact(key) || !text(key)) return false;
      out += ": ";
      if (!value(item, depth + 1)) return false;
    }
    out += '}';
    return true;
  }

  bool list(PyObject* v, int depth) {
    out += '[';
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(v); ++i) {
      if (i > 0) out += ", ";
      if (!value(PyList_GET_ITEM(v, i), depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  std::size_t values_ = 0;
};

bool add_sets(PyObject* sets, std::vector<std::string>& out) {
  PyObject *key = nullptr, *item = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(sets, &at, &key, &item);) {
    Writer writer;
    if (!PyUnicode_CheckExact(key) || !writer.raw(key)) return false;
    if (writer.out.empty() || writer.out.find('=') != std::string::npos) return false;
    writer.out += '=';
    if (!writer.setting(item)) return false;
    out.push_back(std::move(writer.out));
  }
  return true;
}

/// Whether a key comes before the map that it is in, or there are too many to compare.
bool may_be_replaced(const std::vector<std::string>& sets) {
  constexpr std::size_t kMostCompared = 64;
  const auto key_of = [](const std::string& set) { return std::string_view(set).substr(0, set.find('=')); };
  if (sets.size() > kMostCompared) return true;
  for (std::size_t late = 1; late < sets.size(); ++late) {
    const std::string_view map = key_of(sets[late]);
    for (std::size_t early = 0; early < late; ++early) {
      const std::string_view key = key_of(sets[early]);
      if (key.starts_with(map) && key.size() > map.size() && key[map.size()] == '.') return true;
    }
  }
  return false;
}

/// None where something is not plain.
std::optional<api::Experiment> plain_experiment(const py::object& config, const py::object& sets,
                                                const std::string& called) {
  api::Experiment out;
  if (!sets.is_none() && (!PyDict_CheckExact(sets.ptr()) || !add_sets(sets.ptr(), out.sets))) return std::nullopt;
  if (may_be_replaced(out.sets)) return std::nullopt;
  Writer writer;
  if (PyUnicode_CheckExact(config.ptr())) {
    if (!writer.raw(config.ptr()) || writer.out.empty()) return std::nullopt;
    out.file = std::move(writer.out);
    return out;
  }
  if (!PyDict_CheckExact(config.ptr()) || !writer.value(config.ptr(), 0)) return std::nullopt;
  out.file = called;
  out.text = std::move(writer.out);
  return out;
}

}  // namespace

void add_experiments(py::module_& m) {
  py::class_<api::Experiment>(m, "Experiment")
      .def(py::init([](std::string file, std::optional<std::string> text, std::vector<std::string> sets) {
             return api::Experiment{std::move(file), std::move(text), std::move(sets)};
           }),
           py::arg("file"), py::arg("text"), py::arg("sets"))
      .def_property_readonly("text", [](const api::Experiment& e) { return e.text; })
      .def_property_readonly("sets", [](const api::Experiment& e) { return e.sets; });
  m.def("plain_experiment", &plain_experiment, py::arg("config"), py::arg("sets"), py::arg("called"));
}

void add_usual_prediction(py::module_& m) {
  m.def(
      "predict_plain",
      [](const py::object& config, const py::object& sets, const std::string& called) {
        const std::optional<api::Experiment> plain = plain_experiment(config, sets, called);
        if (!plain) return std::optional<api::Prediction>();
        return without_gil([&](const api::Stop& stop) { return std::optional(api::predict(*plain, {.stop = stop})); });
      },
      py::arg("config"), py::arg("sets"), py::arg("called"));
}

}  // namespace distsim_python
