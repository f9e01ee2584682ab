#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::app {
namespace {

struct SweepFlags {
  std::string config, csv, scaling = "strong", journal, columns, sort;
  std::vector<std::string> sets;
  unsigned jobs = 0;
  bool resume = false;
};

Result<study::SweepRequest> request_of(const SweepFlags& flags) {
  study::SweepRequest request{
      flags.config, {}, {}, flags.scaling == "weak" ? study::Scaling::weak : study::Scaling::strong};
  for (const auto& text : flags.sets) {
    TRY_ASSIGN(study::SweepAxis axis, study::parse_axis(text));
    for (const auto& earlier : request.axes) {
      if (earlier.key == axis.key)
        return Error{"found the key '" + axis.key + "' twice, expected one list of values", "--set", ""};
    }
    if (axis.values.size() == 1)
      request.sets.push_back(axis.key + "=" + axis.values.front());
    else
      request.axes.push_back(std::move(axis));
  }
  return request;
}

/// The first point, or the last: what is the same at all points is tried there.
study::NamedExperiment at_end(const study::SweepRequest& request, bool last) {
  std::size_t index = 1;
  for (const study::SweepAxis& axis : request.axes) index *= axis.values.size();
  return {request.config, study::sets_at(request, last ? index - 1 : 0)};
}

Result<void> check_flags(const SweepFlags& flags) {
  if (flags.resume && flags.journal.empty())
    return Error{"--resume: found no --journal, expected the file of the run to go on with", "", ""};
  return check_outputs({{"--csv", flags.csv}, {"--journal", flags.journal}});
}

void name_what_was_idle(const study::SweepResult& result) {
  const bool all = result.predicted() == result.size();
  for (const std::string& key : result.axes_without_effect())
    log_warn([&] { return "no effect at any point" + std::string(all ? "" : " that was predicted") + ": " + key; });
  const study::SweepRequest& request = result.request();
  name_idle_sets({at_end(request, false), at_end(request, true)}, request.sets);
}

Result<void> write_outputs(const SweepFlags& flags, const study::SweepView& view, const study::SweepResult& result) {
  if (!flags.csv.empty()) TRY(study::write_sweep_csv(flags.csv, view, result));
  if (!takes_stdout({{"--csv", flags.csv}})) TRY(print(study::sweep_table(view, result)));
  return {};
}

Result<void> run_sweep(const SweepFlags& flags, const CLI::App& command, study::Team* team) {
  note_input(flags.config);
  TRY(check_flags(flags));
  TRY_ASSIGN(const study::SweepRequest request, request_of(flags));
  TRY_ASSIGN(const study::SweepView view, study::sweep_view(request, flags.columns, flags.sort));
  if (std::ranges::none_of(request.axes, study::counts_gpus))
    name_unheeded(command, {"--scaling"}, "the number of GPUs is not swept");
  TRY_ASSIGN(study::PointList points, study::sweep_points(request, team != nullptr || !flags.journal.empty()));
  std::unique_ptr<study::StudyRun> study;
  const EarlyEnd early;
  TRY_ASSIGN(study, study::StudyRun::begin(std::move(points), {flags.jobs, flags.journal, flags.resume, team}));
  if (study->is_over()) return {};
  TRY(study->evaluate(study::sweep_order(request)));
  const study::SweepResult result(request, study->rows());
  if (!end_asked()) name_what_was_idle(result);
  TRY(write_outputs(flags, view, result));
  if (end_asked()) return study->interruption();
  if (result.predicted() > 0) return {};
  return Error{
      "none of " + counted(result.size(), "point") + " could be predicted; the first: " + result.point(0).error, "",
      ""};
}

/// As one of the processes that mpirun started, or alone.
Result<void> run(const SweepFlags& flags, const CLI::App& command) {
  TRY_ASSIGN(const std::unique_ptr<study::Team> team, study::join_team());
  return study::told(team.get(), run_sweep(flags, command, team.get()));
}

void declare(CLI::App& self, Action& action) {
  auto flags = std::make_shared<SweepFlags>();
  self.add_option("--config", flags->config, "Experiment file")->required()->check(refuse_empty);
  self.add_option("--set", flags->sets,
                  "KEY=V1,V2,... (swept; A..B, A..B:STEP and A..B:xFACTOR are ranges) or KEY=VALUE (fixed); may be "
                  "repeated, the first list varies slowest")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--scaling", flags->scaling,
                  "strong: keep the global batch; weak: keep the samples per GPU of the first point")
      ->check(CLI::IsMember({"strong", "weak"}));
  self.add_option("--jobs", flags->jobs, "Threads; default: the cores that this process has to itself")
      ->check(CLI::Range(1u, 256u));
  self.add_option("--journal", flags->journal, "Keep every finished point in this file, for --resume")
      ->check(refuse_empty);
  self.add_flag("--resume", flags->resume, "Go on with the points that the journal of an earlier run lacks");
  self.add_option("--columns", flags->columns, "Columns of the table, joined by commas; default: all in CSV files");
  self.add_option("--sort", flags->sort, "Sort by a column; COLUMN:desc: the largest first");
  self.add_option("--csv", flags->csv, "Write the full table as CSV; - is standard output")->check(refuse_empty);
  self.callback([flags, &self, &action] { action = [flags, &self] { return run(*flags, self); }; });
}

constexpr Refusal kRefuses[] = {
    {"--set cluster.nodes=1,2", "--config is required"},
    {"--config configs/dgx_a100_4node.yaml --scaling sideways", "sideways"},
    {"--config configs/dgx_a100_4node.yaml --resume", "--journal"},
    {"--config configs/dgx_a100_4node.yaml --columns gpu", "did you mean 'gpus'"},
    {"--config configs/dgx_a100_4node.yaml --sort iteration_ms:down", ":desc"},
    {"--config configs/dgx_a100_4node.yaml --set model.global_batch=1..1000000 --set cluster.nodes=1..1000000",
     "1e+12"},
};

}  // namespace

const Command sweep_command{
    .name = "sweep",
    .description = "Predict every combination of values of some keys: node counts, batch sizes, NICs, sharding",
    .refuses = kRefuses,
    .declare = declare,
    .joins_teams = true,
};

}  // namespace distsim::app
