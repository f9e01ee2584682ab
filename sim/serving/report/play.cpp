#include "sim/serving/report/play.hpp"

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::serving {
namespace {

constexpr std::uint64_t kFewest = 1'000;  ///< requests of a run whose warm-up is looked for

Result<RunResult> counted_run(const Experiment& e, const PolicyEntry& policy, const Load& load,
                              const RunOptions& options) {
  TRY_ASSIGN(RunResult result, emulate(e.scenario, policy, e.policy_options, load, options));
  if (result.sent == 0)
    return Error{"load.duration: no request came within " +
                     format_quantity(static_cast<double>(load.duration_ps) * 1e-12, Dimension::seconds) +
                     ", expected at least one",
                 "", ""};
  if (result.all.requests == 0)
    return Error{"run.warm_up: found " + std::to_string(options.warm_up) + ", expected less than the " +
                     counted(result.sent, "request") + " that came",
                 "", ""};
  return result;
}

}  // namespace

Result<RunResult> play(const Experiment& e, const PolicyEntry& policy, const Load& load, const std::uint64_t* warm_up) {
  RunOptions options = e.run;
  if (warm_up != nullptr) options.warm_up = *warm_up;
  TRY_ASSIGN(RunResult first, counted_run(e, policy, load, options));
  if (warm_up != nullptr || !e.find_warm_up) return first;
  const std::uint64_t cut = first.suggested_warm_up;
  if (first.unstable || first.overload.requests > 0 || cut == 0 || first.all.requests < kFewest ||
      5 * cut > 2 * first.all.requests)
    return first;
  options.warm_up = cut;
  return counted_run(e, policy, load, options);
}

}  // namespace distsim::serving
