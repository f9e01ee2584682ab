// Timing conventions of measured latencies. The models price pure kernel time; a row measured differently is converted,
// in one place, here.
//
//   kernel  kernel durations only (profiler, CUDA graph, many queued repetitions)      t = kernels
//   event   two CUDA events around one framework call on an idle stream                t = launch + max(kernels, tail)
//           the GPU waits `launch` until the host has dispatched the call; the end event is recorded `tail` after that
//           at the earliest
//   wall    host clock with a synchronisation after each call                          t = launch + kernels + return of
//           the synchronisation
// `launch` and `tail` belong to a host, not to a GPU. The figures are the floors seen in NeuSight's measurements
// (sitar-lab/NeuSight, MIT): one figure per kind of call, times a factor for each of its machines; other machines have
// the factor 1.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace distsim::opmodels {

enum class Timing { kernel, event, wall };

/// By how the text of the `timing` column begins: evt and event are `event`, wall_sync is `wall`; kernel, cudagraph,
/// trace, deepbench (many repetitions between two looks at the clock) and nothing at all are `kernel`. Errors: every
/// other text.
Result<Timing> parse_timing(std::string_view text);

/// True where the same call runs again and again on the same operands, so that those which fit stay in L2. A training
/// step's operands, and those of a benchmark that rotates its weights (cudagraph_multiweight), do not. By the text of
/// the `timing` column: traces and rotating benchmarks are not warm.
bool is_warm(std::string_view text);

/// What the host does for one call of the framework. pointwise_wrapped: of a module, or with a number that becomes a
/// tensor first.
enum class HostCall { pointwise, pointwise_wrapped, normalization, softmax, bmm, linear, conv, embedding };

/// measured = launch + max(kernels, tail), in seconds.
struct HostShare {
  double launch = 0, tail = 0;
};
HostShare host_share(Timing timing, HostCall call, std::string_view gpu, double calls);

/// "44 us of launch (timed by events)": what of a row's time is the host's, `seconds` of HostShare::launch.
std::string launch_text(Timing timing, double seconds);

/// Measured-style seconds for `kernel_seconds` of pure kernels. `gpu` is the row's gpu text, `calls` the framework
/// calls it took.
double as_measured(Timing timing, HostCall call, std::string_view gpu, double kernel_seconds, double calls);

}  // namespace distsim::opmodels
