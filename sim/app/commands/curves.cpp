// distsim curves: measurements of collectives into a curve file, a look at one, and a plan of what to measure.
#include <CLI/CLI.hpp>

#include <memory>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/inputs/protected_inputs.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "collectives/logs/curve_import.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/config/config.hpp"
#include "sim/study/measurement_plan.hpp"

namespace distsim::app {
namespace {

using namespace collectives;

struct CurveFlags {
  std::vector<std::string> files;
  std::string system, out = "-", date, config, launch;
  std::uint32_t ranks = 0, nodes = 0;
  bool cuda_graph = false;
  std::vector<std::string> sets, results;
};

void print_remarks(const collectives::CurveSet& set) {
  for (const std::string& remark : set.remarks) log_warn([&] { return remark; });
  if (set.partial)
    log_warn([] { return "the curves are partial; use collectives.allow_partial or --allow-partial to accept them"; });
}

/// What is written at `path` is made for a folder of curves.
void note_curves(const std::string& path) { note_made_input(path, ".curve.txtpb"); }

Result<void> import_logs(const CurveFlags& f) {
  note_curves(f.out);
  TRY(check_outputs({{"--out", f.out}}));
  TRY_ASSIGN(const topology::ClusterSpec spec, config::load_system(f.system));
  TRY_ASSIGN(const topology::DeviceSpec device, config::load_device(spec.device));
  std::optional<collectives::Launch> launch;
  if (!f.launch.empty()) {
    TRY_ASSIGN(launch, read_word("--launch", f.launch, collectives::launch_words()));
  }
  TRY_ASSIGN(const collectives::CurveSet set, collectives::import_curves({f.files,
                                                                          spec.name,
                                                                          spec.device,
                                                                          f.date,
                                                                          {f.ranks, f.nodes},
                                                                          launch,
                                                                          f.cuda_graph,
                                                                          config::known_devices(),
                                                                          spec,
                                                                          device.compute_capability}));
  TRY(write_file_atomically(f.out, collectives::curve_text(set)));
  print_remarks(set);
  std::uint32_t flagged = 0;
  std::size_t points = 0;
  for (const collectives::Curve& c : set.curves) {
    flagged += c.flagged;
    points += c.points.size();
  }
  const std::string summary = counted(set.curves.size(), "curve") + ", " + counted(points, "size") +
                              (flagged > 0 ? "; " + counted(flagged, "inconsistent row") + " left out" : "");
  if (!takes_stdout({{"--out", f.out}})) return print(summary + "\n");
  log_info([&] { return summary; });
  return {};
}

/// A file that states its ranks and nodes needs no flag for them.
void name_idle_counts(const CurveFlags& f, const std::string& file, const CurveSet& set, const CLI::App& command) {
  const std::string shown = collectives::show_curves(set), because = file + " states them";
  if (f.ranks > 0) {
    const auto without = collectives::read_curve_file(file, {0, f.nodes});
    if (without && collectives::show_curves(*without) == shown) name_unheeded(command, {"--ranks"}, because);
  }
  if (f.nodes > 0) {
    const auto without = collectives::read_curve_file(file, {f.ranks, 0});
    if (without && collectives::show_curves(*without) == shown) name_unheeded(command, {"--nodes"}, because);
  }
}

Result<void> show_files(const CurveFlags& f, const CLI::App& command) {
  for (const std::string& file : f.files) {
    TRY_ASSIGN(const collectives::CurveSet set, collectives::read_curve_file(file, {f.ranks, f.nodes}));
    TRY(print(collectives::show_curves(set)));
    name_idle_counts(f, file, set, command);
    print_remarks(set);
  }
  return {};
}

Result<void> write_plan(const CurveFlags& f) {
  TRY(check_outputs({{"--out", f.out}}));
  TRY_ASSIGN(const config::Experiment experiment, config::load_experiment(f.config, f.sets));
  TRY_ASSIGN(const std::string plan, study::measurement_plan(experiment));
  for (const std::string& path : f.results) {
    note_curves(path);
    if (const auto checked = check_not_input(path); !checked.ok())
      return Error{"--results: " + checked.error().what, path, checked.error().hint};
  }
  for (std::size_t i = 0; i < f.sets.size(); ++i) {
    std::vector<std::string> rest = f.sets;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const auto without = config::load_experiment(f.config, rest);
    const auto other = without ? study::measurement_plan(*without) : Result<std::string>(Error{});
    if (other && *other == plan)
      log_warn([&] { return "--set " + printable(f.sets[i], 200) + ": no effect, the plan is the same"; });
  }
  return write_file_atomically(f.out, plan);
}

void add_hints(CLI::App& sub, CurveFlags& f) {
  sub.add_option("--ranks", f.ranks, "Ranks of the run, for logs that do not state them")
      ->check(CLI::Range(2u, collectives::kMaxCurveRanks));
  sub.add_option("--nodes", f.nodes, "Nodes of the run, for logs that do not state them")
      ->check(CLI::Range(1u, collectives::kMaxCurveRanks));
}

void declare_curves(CLI::App& self, Action& action) {
  self.require_subcommand(1);
  auto f = std::make_shared<CurveFlags>();
  CLI::App* importer = self.add_subcommand(
      "import",
      "Write one curve file from the logs of a system: nccl-tests (text or -J), OSU, PARAM, collective_bench");
  importer->add_option("logs", f->files, "Logs or curve files")->required();
  importer->add_option("--system", f->system, "System they were measured on: a name (distsim list systems) or file")
      ->required();
  importer->add_option("--date", f->date, "Date of the measurement, e.g. 2026-11-20, if the log does not state it");
  importer
      ->add_option("--launch", f->launch, "mpi (one rank per process) or single_process; default: as stated in the log")
      ->type_name("LAUNCH");
  importer->add_flag("--cuda-graph", f->cuda_graph, "The collectives were launched from a CUDA graph");
  add_hints(*importer, *f);
  importer->add_option("--out", f->out, "Curve file to write, NAME.curve.txtpb; - is standard output (the default)");
  importer->callback([f, &action] { action = [f] { return import_logs(*f); }; });
  CLI::App* plan =
      self.add_subcommand("plan", "List the collectives of an experiment, for `collective_bench --plan FILE`");
  plan->add_option("--config", f->config, "Experiment file")->required()->check(refuse_empty);
  plan->add_option("--set", f->sets, "KEY=VALUE: override any key; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  plan->add_option("--results", f->results,
                   "File that the measurement will write, refused where the plan is made from it; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(refuse_empty);
  plan->add_option("--out", f->out, "CSV file to write; - is standard output (the default)");
  plan->callback([f, &action] { action = [f] { return write_plan(*f); }; });
  CLI::App* show = self.add_subcommand("show", "Plot curve files in the terminal and list what is missing");
  show->add_option("files", f->files, "Curve files or logs")->required();
  add_hints(*show, *f);
  show->callback([f, show, &action] { action = [f, show] { return show_files(*f, *show); }; });
}

constexpr Refusal kCurvesRefuses[] = {
    {"", "found no command"},
    {"show no_such.curve.txtpb", "no_such.curve.txtpb"},
};

}  // namespace

const Command curves_command{
    .name = "curves",
    .description = "Measured collectives: convert logs to a curve file, plan a measurement, show what a file covers",
    .refuses = kCurvesRefuses,
    .declare = declare_curves,
};

}  // namespace distsim::app
