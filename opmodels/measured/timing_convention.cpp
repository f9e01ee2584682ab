#include "opmodels/measured/timing_convention.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::opmodels {
namespace {

struct HostFactor {
  std::string_view gpu;  // its machine in the NeuSight data
  double factor;
  // Of products and convolutions: AMD's libraries take the host as long as NVIDIA's.
  double products = factor;
};
constexpr std::array<HostFactor, 11> kHosts{{{"A100-PCIE-40GB", 1.0},
                                             {"A100-PCIE-80GB", 1.0},
                                             {"H100-SXM5-80GB", 0.8},
                                             {"L4", 1.0},
                                             {"V100-PCIE-32GB", 1.23},
                                             {"P100-PCIE-16GB", 1.65},
                                             {"T4", 0.98},
                                             {"P4", 0.98},
                                             {"MI100", 0.62, 1.0},
                                             {"MI210", 0.52, 1.0},
                                             {"AMD_Instinct_MI250", 0.52, 1.0}}};

/// Microseconds from the start event to the first kernel, and from there to the end event, on the A100-PCIE-40GB
/// machine.
struct CallCost {
  double launch_us, tail_us;
};
CallCost cost_of(HostCall call) {
  switch (call) {
    case HostCall::pointwise:
      return {19, 8};
    case HostCall::pointwise_wrapped:
      return {23, 8};
    case HostCall::normalization:
      return {36, 10};
    case HostCall::softmax:
      return {24, 9};
    case HostCall::bmm:
      return {24, 8};
    case HostCall::linear:
      return {44, 10};
    case HostCall::conv:
      return {45, 10};
    case HostCall::embedding:
      return {24, 8};
  }
  CHECK(false) << "host call";
  return {};
}

bool is_product(HostCall call) { return call == HostCall::bmm || call == HostCall::linear || call == HostCall::conv; }

double host_factor(std::string_view gpu, HostCall call) {
  const auto found =
      std::find_if(kHosts.begin(), kHosts.end(), [&](const HostFactor& host) { return host.gpu == gpu; });
  if (found == kHosts.end()) return 1.0;
  return is_product(call) ? found->products : found->factor;
}

bool starts_with(std::string_view text, std::string_view head) { return text.substr(0, head.size()) == head; }

struct NamedTiming {
  std::string_view head;
  Timing timing;
};
constexpr std::array<NamedTiming, 7> kTimings{{{"evt", Timing::event},
                                               {"event", Timing::event},
                                               {"wall_sync", Timing::wall},
                                               {"kernel", Timing::kernel},
                                               {"cudagraph", Timing::kernel},
                                               {"trace", Timing::kernel},
                                               {"deepbench", Timing::kernel}}};

constexpr double kSynchroniseUs = 10;  // return of cudaDeviceSynchronize, beyond the kernel's end

}  // namespace

Result<Timing> parse_timing(std::string_view text) {
  if (text.empty()) return Timing::kernel;
  for (const NamedTiming& known : kTimings) {
    if (starts_with(text, known.head)) return known.timing;
  }
  return Error{"timing: found '" + std::string(text) +
                   "', expected evt..., event..., wall_sync..., kernel..., cudagraph..., trace... or nothing",
               "", ""};
}

bool is_warm(std::string_view text) {
  return !text.empty() && !starts_with(text, "cudagraph_multiweight") && !starts_with(text, "trace");
}

HostShare host_share(Timing timing, HostCall call, std::string_view gpu, double calls) {
  if (timing == Timing::kernel) return {};
  const CallCost cost = cost_of(call);
  const double scale = host_factor(gpu, call) * calls * 1e-6;
  if (timing == Timing::wall) return {cost.launch_us * scale + kSynchroniseUs * 1e-6, 0};
  return {cost.launch_us * scale, cost.tail_us * scale};
}

std::string launch_text(Timing timing, double seconds) {
  return format_quantity(seconds, Dimension::seconds) +
         (timing == Timing::wall ? " of launch and synchronization (timed by the host's clock)"
                                 : " of launch (timed by events)");
}

double as_measured(Timing timing, HostCall call, std::string_view gpu, double kernel_seconds, double calls) {
  const HostShare host = host_share(timing, call, gpu, calls);
  return host.launch + std::max(kernel_seconds, host.tail);
}

}  // namespace distsim::opmodels
