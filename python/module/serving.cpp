// distsim.serving: a policy in Python behind the interface of shared objects (distsim_policy.hpp).
#include <distsim_policy.hpp>
#include <exception>
#include <memory>
#include <mutex>

#include "module.hpp"

namespace distsim_python {
namespace {

/// What a policy sees, while it is called.
class State {
 public:
  const serving_policy::State& now() const {
    if (of_ == nullptr) throw std::runtime_error("the state of a policy's call was used after the call");
    return *of_;
  }
  /// Of what a policy asks for and there is not, the emulator's exception is kept beside the one that Python gets for it.
  template <class Ask>
  auto answer(const Ask& ask) -> decltype(ask(std::declval<const serving_policy::State&>())) {
    const serving_policy::State& state = now();
    try {
      return ask(state);
    } catch (const py::error_already_set&) {
      throw;
    } catch (const std::runtime_error& e) {
      refused_ = std::current_exception();
      shown_ = py::reinterpret_borrow<py::object>(PyExc_RuntimeError)(text_of(e.what()));
    }
    PyErr_SetObject(PyExc_RuntimeError, shown_.ptr());
    throw py::error_already_set();
  }
  /// The emulator's exception, where it is what Python raised; else null.
  std::exception_ptr refusal_behind(const py::error_already_set& raised) const {
    return shown_ && raised.value().is(shown_) ? refused_ : nullptr;
  }
  class Scope {
   public:
    /// With the GIL, to the end.
    Scope(State& state, const serving_policy::State& of) : state_(state) { state.of_ = &of; }
    ~Scope() {
      state_.of_ = nullptr;
      state_.refused_ = nullptr;
      state_.shown_ = py::object();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    State& state_;
  };

 private:
  const serving_policy::State* of_ = nullptr;
  std::exception_ptr refused_;
  py::object shown_;
};

/// The first exception that a policy raised, on whatever thread.
class Raised {
 public:
  void keep(std::exception_ptr e) {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = std::move(e);
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

[[noreturn]] void refuse(const std::string& what) {
  PyErr_SetString(PyExc_TypeError, what.c_str());
  throw py::error_already_set();
}

/// `where`: "arrived() returned", "runs_on() was given"; `what`: "a GPU".
std::uint32_t number_of(const py::handle& value, const std::string& where, const std::string& what) {
  if (!PyLong_Check(value.ptr()) || PyBool_Check(value.ptr()))
    refuse(where + " " + Py_TYPE(value.ptr())->tp_name + ", expected whole numbers");
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0 || number < 0 || number > 0xFFFFFFFDLL) {
    const std::string shown = py::str(value);
    PyErr_SetString(PyExc_ValueError, (where + " " + shown.substr(0, 40) + ", expected " + what).c_str());
    throw py::error_already_set();
  }
  return static_cast<std::uint32_t>(number);
}

constexpr const char* kRequest = "the id of a request, from 0";
constexpr const char* kGpu = "the number of a GPU, from 0";
constexpr const char* kModel = "the number of a model, from 0";

class Policy : public serving_policy::Policy {
 public:
  /// With the GIL.
  Policy(py::object policy, Raised& raised)
      : policy_(std::move(policy)), state_(std::make_shared<State>()), shown_(py::cast(state_)), raised_(raised) {}
  ~Policy() override {
    const py::gil_scoped_acquire gil;
    policy_ = py::object();
    shown_ = py::object();
  }
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  std::uint32_t arrived(const serving_policy::State& state, std::uint32_t id) override {
    return called(state, [&] {
      const py::object gpu = policy_.attr("arrived")(shown_, id);
      return gpu.is_none() ? serving_policy::kAny
                           : number_of(gpu, "arrived() returned", "the number of a GPU, from 0, or None for any");
    });
  }

  serving_policy::Work next(const serving_policy::State& state, std::uint32_t gpu) override {
    return called(state, [&] {
      serving_policy::Work work;
      py::object given = policy_.attr("next")(shown_, gpu);
      if (given.is_none()) return work;
      if (py::isinstance<py::tuple>(given)) {
        const auto pair = py::reinterpret_borrow<py::tuple>(given);
        if (pair.size() != 2)
          refuse("next() returned a tuple, expected a list of requests, or that and a number of layers");
        work.layers = number_of(pair[1], "next() returned", "a number of layers, or 0 for all");
        given = pair[0];
      }
      if (!py::isinstance<py::list>(given))
        refuse(std::string("next() returned ") + Py_TYPE(given.ptr())->tp_name +
               ", expected a list of requests or None");
      for (const py::handle id : given) work.requests.push_back(number_of(id, "next() returned", kRequest));
      return work;
    });
  }

 private:
  template <class Call>
  auto called(const serving_policy::State& state, const Call& call) -> decltype(call()) {
    const py::gil_scoped_acquire gil;
    const State::Scope scope(*state_, state);
    try {
      return call();
    } catch (const py::error_already_set& raised) {
      if (const std::exception_ptr refusal = state_->refusal_behind(raised)) std::rethrow_exception(refusal);
      raised_.keep(std::current_exception());
    }
    throw std::runtime_error("raised by the policy");
  }

  py::object policy_;
  std::shared_ptr<State> state_;
  py::object shown_;
  Raised& raised_;
};

std::unique_ptr<serving_policy::Policy> make_policy(const py::object& callable, Raised& raised) {
  const py::gil_scoped_acquire gil;
  try {
    return std::make_unique<Policy>(callable(), raised);
  } catch (const py::error_already_set&) {
    raised.keep(std::current_exception());
  }
  throw std::runtime_error("raised by the policy");
}

api::Serving run(const api::Experiment& experiment, const py::object& policy, const std::string& name,
                 bool takes_branches, unsigned jobs) {
  Raised raised;
  api::ServingRequest request;
  request.experiment = experiment;
  request.jobs = jobs;
  if (!policy.is_none()) {
    request.policy = [&policy, &raised] { return make_policy(policy, raised); };
    request.policy_name = name;
    request.takes_branches = takes_branches;
  }
  try {
    return without_gil([&](const api::Stop& stop) {
      request.stop = stop;
      return api::serving(request);
    });
  } catch (const api::ConfigError&) {
    raised.rethrow();
    throw;
  }
}

template <class Make>
py::str written_serving(const api::Serving& s, const Make& make) {
  return text_of(without_gil([&](const api::Stop&) { return (s.*make)(); }));
}

}  // namespace

void add_serving(py::module_& m) {
  using serving_policy::Request;
  py::class_<Request>(m, "ServingRequest", "A request, or a branch of one; place is None while its data is on no GPU.")
      .def_readonly("number", &Request::number)
      .def_readonly("arrival_s", &Request::arrival_s)
      .def_readonly("deadline_s", &Request::deadline_s)
      .def_readonly("waiting_since_s", &Request::waiting_since_s)
      .def_readonly("model", &Request::model)
      .def_readonly("next_layer", &Request::next_layer)
      .def_property_readonly("place",
                             [](const Request& r) -> py::object {
                               if (r.place == serving_policy::kHost) return py::none();
                               return py::int_(r.place);
                             })
      .def_readonly("priority", &Request::priority);
  py::class_<State, std::shared_ptr<State>>(
      m, "ServingState",
      "What a policy may know while it is called: requests are named by ids, GPUs and models by numbers from 0; seconds.")
      .def_property_readonly("now_s", [](const State& s) { return s.now().now_s(); })
      .def_property_readonly("gpus", [](const State& s) { return s.now().gpus(); })
      .def_property_readonly("models", [](const State& s) { return s.now().models(); })
      .def_property_readonly("draining", [](const State& s) { return s.now().draining(); })
      .def("layers",
           [](State& s, const py::object& model) {
             return s.answer([&](const serving_policy::State& state) {
               return state.layers(number_of(model, "layers() was given", kModel));
             });
           })
      .def("max_batch",
           [](State& s, const py::object& model) {
             return s.answer([&](const serving_policy::State& state) {
               return state.max_batch(number_of(model, "max_batch() was given", kModel));
             });
           })
      .def("request",
           [](State& s, const py::object& id) {
             return s.answer([&](const serving_policy::State& state) {
               return state.request(number_of(id, "request() was given", kRequest));
             });
           })
      .def("runs_on",
           [](State& s, const py::object& id, const py::object& gpu) {
             return s.answer([&](const serving_policy::State& state) {
               return state.runs_on(number_of(id, "runs_on() was given", kRequest),
                                    number_of(gpu, "runs_on() was given", kGpu));
             });
           })
      .def("predicted_s",
           [](State& s, const py::object& id, const py::object& gpu) {
             return s.answer([&](const serving_policy::State& state) {
               return state.predicted_s(number_of(id, "predicted_s() was given", kRequest),
                                        number_of(gpu, "predicted_s() was given", kGpu));
             });
           })
      .def("fetch_s",
           [](State& s, const py::object& id, const py::object& gpu) {
             return s.answer([&](const serving_policy::State& state) {
               return state.fetch_s(number_of(id, "fetch_s() was given", kRequest),
                                    number_of(gpu, "fetch_s() was given", kGpu));
             });
           })
      .def("resident", [](State& s, const py::object& gpu, const py::object& model) {
        return s.answer([&](const serving_policy::State& state) {
          return state.resident(number_of(gpu, "resident() was given", kGpu),
                                number_of(model, "resident() was given", kModel));
        });
      });
  py::class_<api::Serving>(m, "Serving", "Results of a serving experiment.")
      .def("json", [](const api::Serving& s) { return written_serving(s, &api::Serving::json); })
      .def("csv", [](const api::Serving& s) { return written_serving(s, &api::Serving::csv); })
      .def("html", [](const api::Serving& s) { return written_serving(s, &api::Serving::html); })
      .def("text", [](const api::Serving& s) { return written_serving(s, &api::Serving::text); })
      .def("without_effect", &without_effect_of<api::Serving>);
  m.def("serving", &run);
}

}  // namespace distsim_python
