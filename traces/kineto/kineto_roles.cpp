#include "traces/kineto/kineto_roles.hpp"

#include <algorithm>
#include <unordered_map>

namespace distsim::traces {
namespace {

/// Python frames of layers, where stacks were recorded: "nn.Module: Conv2d_3".
constexpr std::string_view kModule = "nn.Module: ";

using Role = KinetoRole;

Role role_of_category(std::string_view category) {
  static const std::unordered_map<std::string_view, Role> roles{{"cpu_op", Role::op},
                                                                {"Operator", Role::op},
                                                                {"cpu_instant_event", Role::ignored},
                                                                {"user_annotation", Role::annotation},
                                                                {"kernel", Role::kernel},
                                                                {"Kernel", Role::kernel},
                                                                {"gpu_memcpy", Role::memcpy},
                                                                {"Memcpy", Role::memcpy},
                                                                {"gpu_memset", Role::memset},
                                                                {"Memset", Role::memset},
                                                                {"cuda_runtime", Role::runtime},
                                                                {"cuda_driver", Role::runtime},
                                                                {"Runtime", Role::runtime},
                                                                {"hip_runtime", Role::runtime},
                                                                {"xpu_runtime", Role::runtime},
                                                                {"xpu_driver", Role::runtime},
                                                                {"mtia_runtime", Role::runtime},
                                                                {"privateuse1_runtime", Role::runtime},
                                                                {"privateuse1_driver", Role::runtime},
                                                                {"glow_runtime", Role::runtime},
                                                                {"python_function", Role::python},
                                                                {"cuda_sync", Role::sync},
                                                                {"gpu_user_annotation", Role::ignored},
                                                                {"Trace", Role::ignored},
                                                                {"overhead", Role::ignored},
                                                                {"ac2g", Role::flow},
                                                                {"fwdbwd", Role::flow},
                                                                {"async", Role::flow},
                                                                {"async_cpu_to_gpu", Role::flow},
                                                                {"forward_backward", Role::flow}};
  const auto at = roles.find(category);
  return at == roles.end() ? Role::unknown : at->second;
}

/// PyTorch built without Kineto (Debian's) writes no categories, but names two processes.
Role role_of_process(std::string_view process) {
  if (process == "CPU functions") return Role::op;
  return process == "CUDA functions" ? Role::kernel : Role::unknown;
}

/// Before 2022 annotations had the category of operators.
bool annotation_name(std::string_view name) {
  return name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.") || name.starts_with("nccl:") ||
         name.starts_with("gloo:") || name.starts_with("enumerate(") || name.starts_with("## ");
}

}  // namespace

KinetoRole role_of(const KinetoEvent& e) {
  const Role role = e.category.empty() ? role_of_process(e.process) : role_of_category(e.category);
  if (role == Role::python && e.name.starts_with(kModule)) return Role::annotation;
  return role == Role::op && annotation_name(e.name) ? Role::annotation : role;
}

bool is_profiler_work(const KinetoEvent& e) {
  if (e.category != "overhead") return false;
  const auto has = [&e](std::string_view word) { return e.name.find(word) != std::string_view::npos; };
  return has("Buffer Flush") || has("Buffer Request") || has("Instrumentation") || has("Resource") ||
         has("UVM Activity");
}

bool is_record(KinetoRole role, bool keep_python) {
  switch (role) {
    case Role::python:
      return keep_python;
    case Role::ignored:
    case Role::flow:
    case Role::unknown:
      return false;
    default:
      return true;
  }
}

bool event_times(const KinetoEvent& e, std::int64_t& start, std::int64_t& duration) {
  std::int64_t end = 0;
  duration = 0;
  return nanoseconds_of(e.start, start) && (e.duration.empty() || nanoseconds_of(e.duration, duration)) &&
         !__builtin_add_overflow(start, std::max<std::int64_t>(duration, 0), &end) && end <= INT64_MAX / 4 &&
         start >= INT64_MIN / 8;
}

}  // namespace distsim::traces
