#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/study/sweep.hpp"

namespace distsim::app {
namespace {

struct SweepFlags {
  std::string config, csv, scaling = "strong";
  std::vector<std::string> sets;
  unsigned jobs = 1;
};

Result<study::SweepRequest> request_of(const SweepFlags& flags) {
  study::SweepRequest request{
      flags.config, {}, {}, flags.scaling == "weak" ? study::Scaling::weak : study::Scaling::strong, flags.jobs};
  for (const auto& text : flags.sets) {
    TRY_ASSIGN(study::SweepAxis axis, study::parse_axis(text));
    for (const auto& earlier : request.axes) {
      if (earlier.key == axis.key)
        return Error{"found the key '" + axis.key + "' twice, expected one list of values", "--set", ""};
    }
    if (axis.values.size() == 1)
      request.sets.push_back(text);
    else
      request.axes.push_back(std::move(axis));
  }
  return request;
}

/// The first point, or the last: what is the same at all points is tried there.
study::NamedExperiment at_end(const study::SweepRequest& request, bool last) {
  study::NamedExperiment out{request.config, request.sets};
  for (const study::SweepAxis& axis : request.axes)
    out.sets.push_back(axis.key + "=" + (last ? axis.values.back() : axis.values.front()));
  return out;
}

Result<void> run(const SweepFlags& flags, const CLI::App& command) {
  note_input(flags.config);
  TRY(check_outputs({{"--csv", flags.csv}}));
  TRY_ASSIGN(const study::SweepRequest request, request_of(flags));
  if (std::ranges::none_of(request.axes, study::counts_gpus))
    name_unheeded(command, {"--scaling"}, "the number of GPUs is not swept");
  std::size_t total = 1;
  for (const auto& axis : request.axes) total *= axis.values.size();
  std::vector<study::SweepPoint> points;
  {
    const EarlyEnd early;
    ProgressLine progress("distsim sweep:", total);
    TRY_ASSIGN(points, study::sweep(request, [&] { progress.advance(); }));
  }
  const bool all = std::ranges::all_of(points, [](const study::SweepPoint& p) { return p.error.empty(); });
  for (const std::string& key : study::axes_without_effect(request, points))
    log_warn([&] { return "no effect at any point" + std::string(all ? "" : " that was predicted") + ": " + key; });
  name_idle_sets({at_end(request, false), at_end(request, true)}, request.sets);
  if (!flags.csv.empty()) TRY(write_file_atomically(flags.csv, study::sweep_csv(request, points)));
  if (flags.csv != "-") TRY(print(study::sweep_table(request, points)));
  if (end_asked()) return Error{"interrupted: the points that are left have that as their error", "", ""};
  if (std::ranges::any_of(points, [](const study::SweepPoint& p) { return p.error.empty(); })) return {};
  return Error{"none of " + counted(points.size(), "point") + " could be predicted; the first: " + points.front().error,
               "", ""};
}

void declare(CLI::App& self, Action& action) {
  auto flags = std::make_shared<SweepFlags>();
  self.add_option("--config", flags->config, "Experiment file")->required()->check(refuse_empty);
  self.add_option("--set", flags->sets,
                  "KEY=V1,V2,... (swept) or KEY=VALUE (fixed); may be repeated, the first list varies slowest")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--scaling", flags->scaling,
                  "strong: keep the global batch; weak: keep the samples per GPU of the first point")
      ->check(CLI::IsMember({"strong", "weak"}));
  self.add_option("--jobs", flags->jobs, "Threads")->check(CLI::Range(1u, 256u));
  self.add_option("--csv", flags->csv, "Write the full table as CSV; - is standard output")->check(refuse_empty);
  self.callback([flags, &self, &action] { action = [flags, &self] { return run(*flags, self); }; });
}

constexpr Refusal kRefuses[] = {
    {"--set cluster.nodes=1,2", "--config is required"},
    {"--config configs/dgx_a100_4node.yaml --scaling sideways", "sideways"},
};

}  // namespace

const Command sweep_command{
    .name = "sweep",
    .description = "Predict every combination of values of some keys: node counts, batch sizes, NICs, sharding",
    .refuses = kRefuses,
    .declare = declare,
};

}  // namespace distsim::app
