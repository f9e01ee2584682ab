#include "sim/serving/policies/library/policy_library.hpp"

#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>

#include "base/file.hpp"
#include "base/text/printable.hpp"
#include "sim/serving/policies/library/distsim_policy.hpp"

namespace distsim::serving {
namespace {

namespace own = serving_policy;
using Create = own::Policy* (*)(int);

constexpr double kSecondsPerPs = 1e-12;

double seconds(std::int64_t ps) {
  return ps == kNever ? std::numeric_limits<double>::infinity() : static_cast<double>(ps) * kSecondsPerPs;
}

/// The emulator's view in the words of the interface.
class LibraryState : public own::State {
 public:
  explicit LibraryState(const View& view) : view_(view) {}
  double now_s() const override { return seconds(view_.now_ps()); }
  std::uint32_t gpus() const override { return static_cast<std::uint32_t>(view_.scenario().gpus.size()); }
  std::uint32_t models() const override { return static_cast<std::uint32_t>(view_.scenario().models.size()); }
  std::uint32_t layers(std::uint32_t model) const override { return model_at(model).layers; }
  std::uint32_t max_batch(std::uint32_t model) const override { return model_at(model).max_batch; }
  own::Request request(std::uint32_t id) const override {
    const Request& r = request_at(id);
    return {r.number,
            seconds(r.arrival_ps),
            seconds(r.deadline_ps),
            seconds(r.waiting_since_ps),
            r.model,
            r.next_layer,
            r.place,
            r.priority};
  }
  bool runs_on(std::uint32_t id, std::uint32_t gpu) const override {
    return view_.runs_on(request_at(id), gpu_at(gpu));
  }
  double predicted_s(std::uint32_t id, std::uint32_t gpu) const override {
    if (!runs_on(id, gpu)) return std::numeric_limits<double>::infinity();
    return seconds(view_.predicted_ps(request_at(id), gpu));
  }
  double fetch_s(std::uint32_t id, std::uint32_t gpu) const override {
    return seconds(view_.fetch_ps(request_at(id), gpu_at(gpu)));
  }
  bool resident(std::uint32_t gpu, std::uint32_t model) const override {
    model_at(model);
    return view_.resident(gpu_at(gpu), model);
  }
  bool draining() const override { return view_.draining(); }

 private:
  const Model& model_at(std::uint32_t model) const {
    if (model >= models()) throw PolicyFailure("asked for model " + std::to_string(model) + ", which does not exist");
    return view_.scenario().models[model];
  }
  std::uint32_t gpu_at(std::uint32_t gpu) const {
    if (gpu >= gpus()) throw PolicyFailure("asked for GPU " + std::to_string(gpu) + ", which does not exist");
    return gpu;
  }
  const Request& request_at(std::uint32_t id) const {
    if (!view_.knows(id))
      throw PolicyFailure("asked for the request with id " + std::to_string(id) + ", which no request has had");
    return view_.request(id);
  }
  const View& view_;
};

/// What a library throws is an error of the run, except that memory is short.
template <class Call>
auto guarded(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const PolicyFailure&) {
    throw;
  } catch (const std::exception& e) {
    throw PolicyFailure("threw an exception: " + printable(e.what(), 200));
  } catch (...) {
    throw PolicyFailure("threw an exception");
  }
}

class LibraryPolicy : public Policy {
 public:
  explicit LibraryPolicy(std::unique_ptr<own::Policy> policy) : policy_(std::move(policy)) {}

  std::uint32_t arrived(const View& view, RequestSlot slot) override {
    return guarded([&] {
      const std::uint32_t gpu = policy_->arrived(LibraryState(view), slot);
      if (gpu == own::kAny) return kAnyGpu;
      if (gpu >= view.scenario().gpus.size())
        throw PolicyFailure("named GPU " + std::to_string(gpu) + " for request " +
                            std::to_string(view.request(slot).number) + ", expected one of 0 to " +
                            std::to_string(view.scenario().gpus.size() - 1));
      return gpu;
    });
  }
  Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t&) override {
    return guarded([&] {
      own::Work work = policy_->next(LibraryState(view), gpu);
      if (work.requests.empty()) return Answer::nothing;
      out.requests = std::move(work.requests);
      out.layers = work.layers;
      return Answer::work;
    });
  }

 private:
  std::unique_ptr<own::Policy> policy_;
};

class LibraryFactory : public PolicyFactory {
 public:
  explicit LibraryFactory(CallersPolicy::Make make) : make_(std::move(make)) {}
  std::unique_ptr<Policy> make(const Scenario&, const PolicyOptions&) const override {
    std::unique_ptr<own::Policy> policy = guarded(make_);
    if (policy == nullptr) throw PolicyFailure("made no policy");
    return std::make_unique<LibraryPolicy>(std::move(policy));
  }

 private:
  CallersPolicy::Make make_;
};

struct Found {
  Create create = nullptr;
  bool takes_branches = false;
};

Result<Found> open_library(const std::string& path) {
  const auto refused = [&](const std::string& what) {
    return Error{"found " + in_quotes(path) + ", expected a library with a policy: " + what, "", ""};
  };
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return refused("it is a folder");
  if (!std::filesystem::exists(path, failed)) return refused("no such file");
  if (!std::filesystem::is_regular_file(path, failed)) return refused("it is not a plain file");
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return refused(printable(why != nullptr ? why : "cannot be loaded", 200));
  }
  const auto create = reinterpret_cast<Create>(dlsym(library, "distsim_create_policy"));
  if (create == nullptr) {
    dlclose(library);
    return refused("it does not define distsim_create_policy");
  }
  std::unique_ptr<own::Policy> probe;
  try {
    probe = guarded([&] { return std::unique_ptr<own::Policy>(create(own::kVersion)); });
  } catch (const PolicyFailure& failure) {
    return refused(failure.what());
  }
  if (probe == nullptr) return refused("it is not for version " + std::to_string(own::kVersion) + " of the interface");
  const auto takes_branches = reinterpret_cast<bool (*)()>(dlsym(library, "distsim_policy_takes_branches"));
  return Found{create, takes_branches != nullptr && takes_branches()};
}

}  // namespace

CallersPolicy::CallersPolicy(std::string name, Make make, bool takes_branches)
    : name_(std::move(name)),
      factory_(std::make_unique<LibraryFactory>(std::move(make))),
      entry_{name_.c_str(), "a policy of the user's own", nullptr, factory_.get(), takes_branches} {}
CallersPolicy::~CallersPolicy() = default;

Result<const PolicyEntry*> load_policy(const std::string& path) {
  static std::mutex mutex;
  // Entries are kept for the process, as the code of their libraries is.
  static std::map<std::string, std::unique_ptr<CallersPolicy>> loaded;
  const std::lock_guard lock(mutex);
  note_input(path);  // dlopen opens it by itself
  const std::string key = std::filesystem::absolute(path).lexically_normal().string();
  const auto known = loaded.find(key);
  if (known != loaded.end()) return &known->second->entry();
  TRY_ASSIGN(const Found found, open_library(path));
  auto policy = std::make_unique<CallersPolicy>(
      std::filesystem::path(path).stem().string(),
      [create = found.create] { return std::unique_ptr<own::Policy>(create(own::kVersion)); }, found.takes_branches);
  return &loaded.emplace(key, std::move(policy)).first->second->entry();
}

}  // namespace distsim::serving
