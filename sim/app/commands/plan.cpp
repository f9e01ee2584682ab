#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/system/temporaries.hpp"
#include "base/system/write_all.hpp"
#include "sim/api/plan_request.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/named_inputs.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/study/plan/experiment_file.hpp"
#include "sim/study/plan/plan.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "sim/study/points/progress.hpp"
#include "sim/study/points/team.hpp"

namespace distsim::app {
namespace {

struct PlanFlags {
  api::PlanRequest asked;
  std::string config, csv, json, html, write;
  std::vector<std::string> sets, varied;
  std::string placement, sharding_plan, journal;
  bool resume = false;
};

/// Not of CLI11: its range takes nan, and writes all digits.
CLI::Validator number_in(double least, double most) {
  const auto check = [=](std::string& text) {
    double value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    return is_number && value >= least && value <= most
               ? std::string()
               : fmt::format("Value {} not in range {:g} to {:g}", text, least, most);
  };
  return {check, "", ""};
}

Result<study::PlanRequest> request_of(const PlanFlags& flags) {
  api::PlanRequest asked = flags.asked;
  asked.experiment = {flags.config, {}, flags.sets};
  for (const std::string& text : flags.varied) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) TRY(study::parse_axis(text, "--vary"));  // says what is wrong
    asked.vary.push_back({text.substr(0, equals), {text.substr(equals + 1)}});
  }
  TRY_ASSIGN(study::PlanRequest request, api::plan_request(asked, flags.config));
  request.journal = flags.journal;
  request.resume = flags.resume;
  if (!flags.placement.empty()) request.tables.wanted_by = "--placement";
  if (!flags.sharding_plan.empty()) request.tables.wanted_by = "--sharding-plan";
  if (flags.resume && flags.journal.empty())
    return Error{"--resume: found no --journal, expected the file of the run to go on with", "", ""};
  return request;
}

/// Why there is no experiment to write for the best.
Result<void> check_winner(const PlanFlags& flags, const study::Plan& plan) {
  if (flags.write.empty()) return {};
  if (!plan.rows.front().error.empty())
    return Error{"--write: found no layout to write, expected one that fits", "", ""};
  const bool needs_tables = plan.tables && plan.tables->chosen;
  if (needs_tables && (flags.placement.empty() || takes_stdout({{"--placement", flags.placement}})))
    return Error{"--write: found no --placement FILE, expected one, which the experiment names", "", ""};
  return {};
}

/// The placement itself takes its place with all other files.
Result<void> write_to_read_back(const std::string& text, const std::string& begin, std::optional<Temporary>& made) {
  made.emplace(begin);
  if (made->made() && write_all(made->file().get(), text.data(), text.size())) return {};
  return Error{std::string("--placement: cannot write a copy to read back (") + std::strerror(errno) + ")", begin, ""};
}

Result<void> write_winner(const PlanFlags& flags, const study::Plan& plan, FilesTogether& files) {
  const study::PlanRow& winner = plan.rows.front();
  std::vector<std::string> sets = flags.sets, moved;
  for (const std::string& set : winner.sets) sets = study::with_set(std::move(sets), set);  // some were held
  std::optional<Temporary> placement;
  if (plan.tables && plan.tables->chosen) {
    const std::filesystem::path file = std::filesystem::absolute(flags.placement);
    TRY(write_to_read_back(study::placement_csv(*plan.tables), file.parent_path() / "placement.tmp.", placement));
    sets.push_back("parallel.placement_file=" + file.string());
    moved.push_back("parallel.placement_file=" + placement->path());
  }
  return study::write_experiment(flags.write, flags.config, sets, moved, winner.report.iteration, files);
}

const char* flag_of_tables(const PlanFlags& flags) {
  return flags.placement.empty() ? "--sharding-plan" : "--placement";
}

/// Why no file can say where the tables lie.
Result<void> check_tables(const PlanFlags& flags, const study::Plan& plan) {
  const bool asked = !flags.placement.empty() || !flags.sharding_plan.empty();
  if (!asked || !plan.tables->placement.tables.empty()) return {};
  return Error{std::string(flag_of_tables(flags)) +
                   ": found no placement that a file can state, for the experiment's own is the fastest, and it "
                   "splits a table in several ways",
               "", ""};
}

void warn_of_own_placement(const PlanFlags& flags, const study::Plan& plan) {
  const bool written = !flags.placement.empty() || !flags.sharding_plan.empty();
  if (written && !plan.tables->chosen)
    log_warn([&] {
      return std::string(flag_of_tables(flags)) +
             ": the experiment's own placement is the fastest, and is what is written";
    });
}

/// Why tables or the best were not written, though the rows were: the plan has no text for them.
struct WrittenPlan {
  Result<void> tables, winner;
};

/// All files or none: the experiment names the placement of its own plan.
Result<WrittenPlan> write_plan_files(const PlanFlags& flags, const study::Plan& plan) {
  WrittenPlan out{check_tables(flags, plan), check_winner(flags, plan)};
  const bool tables = out.tables.ok() && out.winner.ok();
  const bool is_whole = out.tables.ok() || !plan.tables->chosen;  // the winner needs no tables
  const std::string winner = out.winner.ok() && is_whole ? flags.write : "";
  const std::string placement = tables ? flags.placement : "", shards = tables ? flags.sharding_plan : "";
  TRY(write_output_files(
      {{"--csv", flags.csv, [&](FilesTogether& files) { return files.write(flags.csv, study::plan_csv(plan)); }},
       {"--json", flags.json, [&](FilesTogether& files) { return files.write(flags.json, study::plan_json(plan)); }},
       {"--html", flags.html, [&](FilesTogether& files) { return files.write(flags.html, study::plan_html(plan)); }},
       {"--placement", placement,
        [&](FilesTogether& files) { return files.write(placement, study::placement_csv(*plan.tables)); }},
       {"--sharding-plan", shards,
        [&](FilesTogether& files) { return files.write(shards, study::sharding_plan_json(*plan.tables)); }},
       {"--write", winner, [&](FilesTogether& files) { return write_winner(flags, plan, files); }}}));
  if (tables) warn_of_own_placement(flags, plan);
  return out;
}

/// `rows_only`: no output shows more than the rows.
void name_idle_flags(const PlanFlags& flags, const study::PlanRequest& request, const study::Plan& plan,
                     const CLI::App& command, bool rows_only) {
  name_idle(command, study::plan_without_effect(request, plan));
  if (!plan.played_all && rows_only)
    name_unheeded(command, {"--exhaustive"}, "the rows are the same, and no output shows what was played");
  if (plan.rank.drawn > 0 && rows_only) name_unheeded(command, {"--draws"}, "no output shows them");
  if (plan.tables && flags.csv.empty() && flags.json.empty())
    name_unheeded(command, {"--price-per-gpu-hour", "--tokens", "--samples"}, "--csv and --json have the cost");
  if (plan.counts.left > 0)
    log_warn([&] {
      return fmt::format("--max-played {}: {:.0f} were not reached", flags.asked.most_played, plan.counts.left);
    });
}

Result<void> run_plan(const PlanFlags& flags, const CLI::App& command, study::Team* team) {
  note_input(flags.config);
  if (!flags.asked.constraints.empty()) note_input(flags.asked.constraints);
  const std::vector<std::pair<std::string, std::string>> outputs{
      {"--csv", flags.csv},        {"--json", flags.json},           {"--html", flags.html},
      {"--write", flags.write},    {"--placement", flags.placement}, {"--sharding-plan", flags.sharding_plan},
      {"--journal", flags.journal}};
  TRY(check_outputs(outputs));
  TRY_ASSIGN(study::PlanRequest request, request_of(flags));
  request.team = team;
  TRY(check_named_inputs(outputs, {flags.config, flags.sets, study::values_of(request.sets, request.varied)}));
  study::Plan plan;
  {
    const EarlyEnd early;
    study::StudyProgress progress("plan", 0, 0);
    TRY_ASSIGN(
        plan, study::plan_experiment(request, [&, played = std::size_t{0}]() mutable { progress.show(++played, ""); }));
  }
  if (team != nullptr && !team->leads()) return {};  // the first process writes
  if (team != nullptr && plan.tables)
    log_warn([] { return "tables are planned by one process; the others have nothing to do"; });
  if (plan.tables) name_unheeded(command, {"--journal", "--resume"}, "tables are planned at once");
  if (!end_asked())
    name_idle_flags(flags, request, plan, command, takes_stdout(outputs) && flags.json.empty() && flags.html.empty());
  TRY(check_apart(outputs));
  const Result<WrittenPlan> written = write_plan_files(flags, plan);
  // Also where a file cannot be written any more: the search may be hours of work.
  if (!takes_stdout(outputs)) TRY(print(plan.tables ? study::describe(*plan.tables) : study::plan_text(plan)));
  TRY(written);
  TRY(written->winner);
  TRY(written->tables);
  if (end_asked() && team != nullptr) return Error{"", "", ""};  // it has been said
  if (end_asked())
    return Error{
        "interrupted: the best of what was played until then" +
            std::string(flags.journal.empty() || plan.tables ? "" : "; the same command with --resume goes on"),
        "", ""};
  return {};
}

/// As one of the processes that mpirun started, or alone.
Result<void> run(const PlanFlags& flags, const CLI::App& command) {
  TRY_ASSIGN(const std::unique_ptr<study::Team> team, study::join_team());
  return study::told(team.get(), run_plan(flags, command, team.get()));
}

void declare_search(CLI::App& self, PlanFlags& flags) {
  self.add_option(
          "--vary", flags.varied,
          "KEY=V1,V2,... or KEY=LO..HI: values to choose from; may be repeated. Default: what the framework offers")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--gpus", flags.asked.gpus, "Numbers of GPUs to choose from: 64,96, or 64..1024 in powers of two");
  self.add_option("--objective", flags.asked.objective,
                  "What is least: time (default), cost or energy of a sample, or memory of the fullest GPU")
      ->check(CLI::IsMember({"time", "cost", "energy", "memory"}));
  self.add_option("--pareto", flags.asked.pareto, "Two objectives: all rows that nothing beats in both")
      ->check(refuse_empty);
  self.add_option("--top", flags.asked.top, "Rows to show")->check(CLI::Range(1u, 100000u));
  self.add_flag("--exhaustive", flags.asked.exhaustive, "Play everything that fits, whatever its bound says");
  self.add_option("--max-played", flags.asked.most_played,
                  "Stop after so many are played; what is left is said, with a bound. Default: no limit")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  self.add_option("--draws", flags.asked.draws,
                  "Also play so many layouts drawn at random, to say where the baseline stands")
      ->check(CLI::Range(1u, 100000u));
  self.add_option("--jobs", flags.asked.jobs, "Threads")->check(CLI::Range(1u, 256u));
  self.add_option("--journal", flags.journal, "Keep what is played in this file, for --resume")->check(refuse_stdout);
  self.add_flag("--resume", flags.resume, "Go on with what the journal of an earlier run has");
}

void declare_tables(CLI::App& self, PlanFlags& flags) {
  self.add_option("--constraints", flags.asked.constraints,
                  "Recommenders: CSV of what each table may be, in the words of TorchRec's ParameterConstraints")
      ->check(refuse_empty);
  self.add_option("--least-columns", flags.asked.least_columns, "Recommenders: least width of a column-wise shard")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  self.add_option("--placement", flags.placement,
                  "Recommenders: write where each table lies, for parallel.placement_file")
      ->check(refuse_empty);
  self.add_option("--sharding-plan", flags.sharding_plan,
                  "Recommenders: write the same as a sharding plan like TorchRec's")
      ->check(refuse_empty);
}

void declare_plan(CLI::App& self, Action& action) {
  auto flags = std::make_shared<PlanFlags>();
  self.add_option("--config", flags->config, "Experiment file")->required()->check(refuse_empty);
  self.add_option("--set", flags->sets, "KEY=VALUE: override any key; what is set is not searched; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  declare_search(self, *flags);
  declare_tables(self, *flags);
  self.add_option("--price-per-gpu-hour", flags->asked.price_per_gpu_hour, "Price of a GPU for an hour, for cost")
      ->check(number_in(1e-9, 1e9));
  self.add_option("--tokens", flags->asked.tokens, "Tokens that are trained on, for cost and energy")
      ->check(number_in(1, 1e20));
  self.add_option("--samples", flags->asked.samples, "Samples that are trained on, for cost and energy")
      ->check(number_in(1, 1e20));
  self.add_option("--csv", flags->csv, "Write the table as CSV; - is standard output")->check(refuse_empty);
  self.add_option("--json", flags->json, "Write everything as JSON; - is standard output")->check(refuse_empty);
  self.add_option("--html", flags->html, "Write a page with the table and a chart; - is standard output")
      ->check(refuse_empty);
  self.add_option("--write", flags->write, "Write the best as an experiment file that predict takes")
      ->check(refuse_empty);
  self.callback([flags, &self, &action] { action = [flags, &self] { return run(*flags, self); }; });
}

constexpr Refusal kPlanRefuses[] = {
    {"", "--config: missing"},
    {"--config no_such.yaml", "no_such.yaml"},
    {"--config configs/megatron_gpt_7_5b.yaml --objective tme", "tme"},
    {"--config configs/megatron_gpt_7_5b.yaml --pareto time", "two objectives"},
    {"--config configs/megatron_gpt_7_5b.yaml --gpus 0..64", "'0..64'"},
    {"--config configs/megatron_gpt_7_5b.yaml --gpus 64..8", "'64..8'"},
    {"--config configs/megatron_gpt_7_5b.yaml --gpus 12", "whole nodes"},
    {"--config configs/megatron_gpt_7_5b.yaml --vary parallel.tensr=1,2", "tensor"},
    {"--config configs/megatron_gpt_7_5b.yaml --vary parallel.tensor=8..1", "'8..1'"},
    {"--config configs/megatron_gpt_7_5b.yaml --vary parallel.tensor=2 --set parallel.tensor=1", "--set holds"},
    {"--config configs/megatron_gpt_7_5b.yaml --set parallel.tensor=3", "divides"},
    {"--config configs/dgx_a100_4node.yaml --objective memory", "planned for time"},
    {"--config configs/resnet50_dgx_a100.yaml --vary framework.gradients.bucket_size=5MiB,25MiB --placement p.csv",
     "no tables"},
    {"--config configs/dgx_a100_4node.yaml --constraints no_such.csv", "no_such.csv"},
    {"--config configs/megatron_gpt_7_5b.yaml --constraints no_such.csv", "a recommender"},
    {"--config configs/megatron_gpt_7_5b.yaml --tokens nan", "from 1 to 1e+20"},
    {"--config configs/megatron_gpt_7_5b.yaml --gpus 32 --set cluster.nodes=4", "one of the two"},
};

}  // namespace

const Command plan_command{
    .name = "plan",
    .description = "Find the best layout of a model on its cluster, and say why the next ones are slower",
    .refuses = kPlanRefuses,
    .declare = declare_plan,
    .joins_teams = true,
};

}  // namespace distsim::app
