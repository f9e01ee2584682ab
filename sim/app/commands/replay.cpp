#include <CLI/CLI.hpp>
#include <memory>

#include "base/output.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/replay_priced.hpp"
#include "sim/chakra/replay_chakra.hpp"
#include "sim/replay/replay_trace.hpp"

namespace distsim::app {
namespace {

struct ReplayFlags {
  chakra::ChakraReplay chakra;
  replay::TraceReplay trace;
  bool priced = false, ranks_given = false;
};

/// The first flag of a list that was given, or "".
std::string given(const std::vector<std::pair<std::string, bool>>& flags) {
  for (const auto& [name, is_given] : flags) {
    if (is_given) return name;
  }
  return "";
}

std::string given_for_chakra(const chakra::ChakraReplay& c) {
  return given({{"--network", !c.network.empty()},
                {"--network-system", !c.network_system.empty()},
                {"--groups", !c.groups.empty()},
                {"--recorded-collectives", c.recorded_collectives},
                {"--compute-scale", c.compute_scale != 1}});
}

std::string given_for_profiles(const replay::TraceReplay& t) {
  return given({{"--step-pattern", !t.step_pattern.empty()},
                {"--measured-on", !t.measured_on.empty()},
                {"--remove", !t.remove.empty()},
                {"--fuse", !t.fuse.empty()},
                {"--leave-one-step-out", t.leave_one_step_out}});
}

/// Flags that both kinds of traces have are declared for the profiler's and handed on; those of the other kind are
/// refused, not ignored.
Result<void> run_priced(const ReplayFlags& f) {
  std::string stray = given_for_chakra(f.chakra);
  if (stray.empty()) stray = given_for_profiles(f.trace);
  if (stray.empty()) stray = given({{"--timeline", !f.trace.timeline.empty()}, {"--ranks", f.ranks_given}});
  if (!stray.empty())
    return Error{
        stray + ": found --priced, which predicts the trace anew, expected only --config, --set, --csv and --json", "",
        ""};
  return replay_priced({f.trace.traces, f.trace.config, f.trace.sets, f.trace.csv, f.trace.json});
}

Result<void> run(const ReplayFlags& f) {
  if (f.priced) return run_priced(f);
  if (!chakra::names_chakra(f.trace.traces)) {
    const std::string stray = given_for_chakra(f.chakra);
    if (!stray.empty()) return Error{stray + ": found a profiler trace, expected a Chakra trace (.et)", "", ""};
    replay::TraceReplay trace = f.trace;
    trace.ranks = f.ranks_given ? f.chakra.ranks : 0;  // one rank, too, is a target
    return replay::replay_trace(trace);
  }
  if (!f.trace.timeline.empty())
    return Error{"--timeline: found a Chakra trace, expected a profiler trace", "", "use --json"};
  const std::string stray = given_for_profiles(f.trace);
  if (!stray.empty()) return Error{stray + ": found a Chakra trace, expected a profiler trace", "", ""};
  chakra::ChakraReplay chakra = f.chakra;
  chakra.traces = f.trace.traces;
  chakra.config = f.trace.config;
  chakra.sets = f.trace.sets;
  chakra.csv = f.trace.csv;
  chakra.json = f.trace.json;
  return chakra::replay_chakra(chakra);
}

CLI::Option* many(CLI::Option* option) {
  return option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void declare_replay(CLI::App& self, Action& action) {
  auto f = std::make_shared<ReplayFlags>();
  replay::TraceReplay& t = f->trace;
  self.add_option(
          "traces", t.traces,
          "Files, folders or patterns, all of one job: rank0.json.gz, run/, 'run/*.json', nsys.sqlite; Chakra: 'dlrm.*.et'")
      ->required();
  self.add_option("--config", t.config, "Experiment whose cluster and device the traces are replayed on")
      ->check(refuse_empty);
  many(self.add_option("--set", t.sets,
                       "KEY=VALUE: override any key of the experiment, e.g. cluster.nodes=8; may be repeated"));
  self.add_option("--csv", t.csv, "Write one CSV row per rank and step; - is standard output")->check(refuse_empty);
  self.add_option("--json", t.json, "Write the result as JSON; - is standard output")->check(refuse_empty);
  self.add_option("--timeline", t.timeline,
                  "Write measured and replayed side by side, for ui.perfetto.dev: FILE.pftrace or FILE.json, also .gz")
      ->check(refuse_empty);
  self.add_option("--step-pattern", t.step_pattern, "Regular expression of the annotations that mark an iteration")
      ->check(refuse_empty);
  self.add_option("--measured-on", t.measured_on,
                  "System or device the traces were recorded on, if they do not state it")
      ->check(refuse_empty);
  many(self.add_option("--remove", t.remove,
                       "Simulate removing kernels whose name matches this regular expression; may be repeated"));
  many(self.add_option("--fuse", t.fuse,
                       "Simulate fusing adjacent kernels whose names match this regular expression; may be repeated"));
  self.add_flag("--leave-one-step-out", t.leave_one_step_out, "Predict each step from the costs of the other steps");
  self.add_flag("--priced", f->priced,
                "Price an execution trace, which has no times, from its shapes on the cluster of --config");
  chakra::add_chakra_flags(self, f->chakra);
  self.callback([f, &self, &action] {
    f->ranks_given = self.count("--ranks") > 0;
    action = [f] { return run(*f); };
  });
}

constexpr Refusal kReplayRefuses[] = {
    {"", "traces: missing"},
    {"no_such_trace.json", "no_such_trace.json"},
    {"no_such_trace.json --priced", "no --config"},
};

}  // namespace

const Command replay_command{
    .name = "replay",
    .description =
        "Replay recorded traces, unchanged or as a what-if: PyTorch, Nsight Systems, nvprof, HugeCTR, Chakra",
    .refuses = kReplayRefuses,
    .declare = declare_replay,
};

}  // namespace distsim::app
