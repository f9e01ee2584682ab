#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/earlier_results.hpp"
#include "sim/app/named_inputs.hpp"
#include "sim/app/serving_sweep.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/config/config.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/study/recipes/recipe.hpp"
#include "sim/study/sweep/columns.hpp"
#include "sim/study/sweep/point_experiments.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::app {
namespace {

struct SweepFlags {
  std::string config, csv, html, study, scaling, journal, columns, sort;
  std::vector<std::string> sets;
  unsigned jobs = 0;
  bool resume = false;
};

constexpr const char* kScalingOfStudy = "scaling of the study";

/// Whether the recipe has variants of which some say otherwise.
bool is_of_variants(const study::SweepRequest& request, const std::string& set) {
  return std::ranges::any_of(request.axes, [&](const study::SweepAxis& axis) {
    return std::ranges::any_of(axis.sets, [&](const auto& variant) { return config::replace_all(variant, set); });
  });
}

/// Before the values of a range are made: those of several keys may be more points than any study has.
Result<void> check_counts(const std::vector<std::string>& sets) {
  std::vector<double> lists;
  for (const std::string& text : sets) {
    TRY_ASSIGN(const double count, study::count_values(text));
    if (count > 1) lists.push_back(count);
  }
  TRY(study::count_points(lists));
  return {};
}

/// What --set says: lists of values, and single ones.
struct GivenSets {
  std::vector<study::SweepAxis> lists;
  std::vector<std::string> fixed;
};

Result<GivenSets> given_sets(const std::vector<std::string>& sets) {
  TRY(check_counts(sets));
  GivenSets out;
  for (const std::string& text : sets) {
    TRY_ASSIGN(study::SweepAxis axis, study::parse_axis(text));
    if (axis.values.size() > 1)
      out.lists.push_back(std::move(axis));
    else
      out.fixed.push_back(axis.key + "=" + axis.values.front());
  }
  const std::string twice = study::key_given_twice(out.lists, out.fixed);
  if (twice.empty()) return out;
  return Error{"found the key '" + printable(twice) + "' twice, expected one list of values", "--set", ""};
}

/// A list of values becomes an axis, in place of one of that key in the recipe; a single value is fixed, in place of the
/// recipe's. Errors: a list that says in another way what the recipe varies.
Result<void> add_sets(const SweepFlags& flags, study::SweepRequest& request) {
  TRY_ASSIGN(GivenSets given, given_sets(flags.sets));
  std::erase_if(request.axes, [&](const study::SweepAxis& axis) {
    return axis.sets.empty() && std::ranges::any_of(given.fixed, [&](const std::string& set) {
             return axis.key.starts_with(config::key_of_set(set)) && config::gives(set, axis.key);
           });
  });
  const auto replace = [&](std::string_view key) {
    std::erase_if(request.sets, [&](const std::string& set) { return config::is_of_key(set, key); });
  };
  for (const std::string& set : given.fixed) replace(config::key_of_set(set));
  for (study::SweepAxis& axis : given.lists) {
    replace(axis.key);
    const auto there =
        std::ranges::find_if(request.axes, [&](const study::SweepAxis& other) { return other.key == axis.key; });
    if (there != request.axes.end())
      *there = std::move(axis);
    else
      request.axes.push_back(std::move(axis));
  }
  if (const std::string twice = study::key_given_twice(request.axes, given.fixed); !twice.empty())
    return Error{"found the key '" + printable(twice) + "' twice, expected one of --set and of the study", "--set", ""};
  for (const std::string& set : given.fixed) {
    if (is_of_variants(request, set))
      log_warn([&] { return "--set " + printable(set, 200) + ": no effect where variants of the study set it"; });
  }
  request.sets.insert(request.sets.end(), given.fixed.begin(), given.fixed.end());
  return {};
}

/// What is to be swept, and what for: by the recipe and the flags.
Result<study::Recipe> recipe_of(const SweepFlags& flags, const CLI::App& command) {
  study::Recipe recipe;
  if (!flags.study.empty()) {
    TRY_ASSIGN(recipe, study::load_recipe(flags.study));
  }
  if (!flags.config.empty()) recipe.request.config = flags.config;
  if (recipe.request.config.empty())
    return Error{
        flags.study.empty() ? "--config is required, or --study" : "--config is required, the study names none", "",
        ""};
  if (!flags.scaling.empty()) {
    const study::Scaling asked = flags.scaling == "weak" ? study::Scaling::weak : study::Scaling::strong;
    if (!flags.study.empty() && asked == recipe.request.scaling)
      name_unheeded(command, {"--scaling"}, "the study says so already");
    else
      recipe.request.scaling_asked = "--scaling";
    recipe.request.scaling = asked;
  }
  TRY(add_sets(flags, recipe.request));
  return recipe;
}

std::vector<std::pair<std::string, std::string>> outputs_of(const SweepFlags& flags) {
  return {{"--csv", flags.csv}, {"--html", flags.html}, {"--journal", flags.journal}};
}

Result<void> check_flags(const SweepFlags& flags) {
  if (flags.resume && flags.journal.empty())
    return Error{"--resume: found no --journal, expected the file of the run to go on with", "", ""};
  return check_outputs(outputs_of(flags));
}

std::string title_of(const study::Recipe& recipe) {
  const study::SweepRequest& request = recipe.request;
  if (!recipe.title.empty()) return recipe.title;
  const auto first = request.experiment->with(request.sets);
  std::string keys;
  for (const std::string& name : study::short_names(request.axes)) keys += (keys.empty() ? "" : ", ") + name;
  return (first.ok() ? first->title : request.config) + (keys.empty() ? "" : ": " + keys);
}

Result<void> write_files(const SweepFlags& flags, const study::SweepView& view, const study::Recipe& recipe,
                         const study::SweepResult& result, const EarlierResults& earlier) {
  const std::string csv = earlier.gives_way(flags.csv) ? flags.csv : "",
                    html = earlier.gives_way(flags.html) ? flags.html : "";
  return write_output_files(
      {{"--csv", csv, [&](FilesTogether& files) { return study::write_sweep_csv(csv, view, result, files); }},
       {"--html", html,
        [&](FilesTogether& files) { return files.write(html, study::sweep_html(result, title_of(recipe))); }}});
}

/// The table is printed, too, where a file cannot be written any more: its points may be hours of work.
Result<void> write_outputs(const SweepFlags& flags, const study::SweepView& view, const study::Recipe& recipe,
                           const study::SweepResult& result, const EarlierResults& earlier) {
  const Result<void> written = write_files(flags, view, recipe, result, earlier);
  const std::string found = study::findings(recipe.find, result);
  if (recipe.find != study::Find::nothing && found.empty() && !end_asked())
    log_warn([&] { return "--study: nothing found, " + study::why_nothing(recipe.find, result); });
  if (!takes_stdout({{"--csv", flags.csv}, {"--html", flags.html}}))
    TRY(print(study::sweep_table(view, result) + found));
  return written;
}

/// What the study says is not called a flag that nobody gave: "--set KEY" or "--set KEY=VALUE" is "KEY of the study". It ends
/// with the text, at a colon or, as a value may hold colons, at what is said of it.
std::string as_given(const std::string& text, const SweepFlags& flags) {
  constexpr std::string_view kFlag = "--set ";
  if (flags.study.empty() || !text.starts_with(kFlag)) return text;
  const std::string key = text.substr(kFlag.size(), text.find_first_of("=:", kFlag.size()) - kFlag.size());
  const bool given =
      std::ranges::any_of(flags.sets, [&](const std::string& set) { return config::key_of_set(set) == key; });
  if (given) return text;
  const std::size_t after = kFlag.size() + key.size();
  const bool has_value = after < text.size() && text[after] == '=';
  const std::size_t end = std::min(has_value ? text.rfind(": no effect") : text.find(": ", after), text.size());
  return text.substr(kFlag.size(), end - kFlag.size()) + " of the study" + text.substr(end);
}

std::vector<study::IdleArgument> as_given(std::vector<study::IdleArgument> idle, const SweepFlags& flags,
                                          const study::SweepRequest& request) {
  for (study::IdleArgument& one : idle) {
    if (one.argument == "--scaling" && flags.scaling.empty() && request.scaling != study::Scaling::as_given)
      one.argument = kScalingOfStudy;
    one.argument = as_given(one.argument, flags);
  }
  return idle;
}

/// What a study asks for besides its points.
void name_study_unheeded(const SweepFlags& flags, const study::Recipe& recipe, const std::string& because) {
  std::vector<study::IdleArgument> idle;
  if (flags.scaling.empty() && recipe.request.scaling != study::Scaling::as_given)
    idle.push_back({kScalingOfStudy, "no effect, " + because});
  if (recipe.find != study::Find::nothing) idle.push_back({"find of the study", "no effect, " + because});
  name_idle(idle);
}

Result<void> sweep(const SweepFlags& flags, const CLI::App& command, study::Team* team) {
  if (!flags.config.empty()) note_input(flags.config);
  TRY_ASSIGN(study::Recipe recipe, recipe_of(flags, command));
  study::SweepRequest& request = recipe.request;
  note_input(request.config);
  TRY(check_flags(flags));
  TRY(check_named_inputs(outputs_of(flags),
                         {request.config, study::sets_at(request, 0), study::values_of(request.sets, request.axes)}));
  if (is_serving_experiment(request.config)) {
    constexpr const char* kServing = "the experiment is one of serving";
    name_unheeded(command, {"--scaling", "--columns", "--sort"}, kServing);
    name_study_unheeded(flags, recipe, kServing);
    return sweep_serving({request.config,
                          flags.csv,
                          flags.html,
                          request.sets,
                          request.axes,
                          {flags.jobs, flags.journal, flags.resume, team},
                          [&](const std::string& line) { return as_given(line, flags); }});
  }
  TRY_ASSIGN(request.experiment, study::variants_of(request));  // all that is said of it is of the file as it is now
  TRY_ASSIGN(const study::SweepView view, study::sweep_view(request, flags.columns, flags.sort));
  if (takes_stdout({{"--html", flags.html}}) && flags.csv.empty())
    name_unheeded(command, {"--columns", "--sort"}, "neither a table nor a CSV file is written");
  TRY_ASSIGN(study::PointList points, study::sweep_points(request, team != nullptr || !flags.journal.empty()));
  std::unique_ptr<study::StudyRun> study;
  const EarlyEnd early;
  TRY_ASSIGN(study, study::StudyRun::begin(std::move(points), {flags.jobs, flags.journal, flags.resume, team}));
  if (study->is_over()) return {};
  TRY(study->evaluate(study::sweep_order(request)));
  request.told = [&](const std::string& error) { return as_given(error, flags); };
  const study::SweepResult result(request, study->rows());
  if (!study->was_cut())
    name_idle(command, as_given(study::sweep_without_effect(result, "--set", study->threads()), flags, request));
  const EarlierResults earlier(result.predicted() == 0, {flags.csv, flags.html});
  TRY(write_outputs(flags, view, recipe, result, earlier));
  if (study->was_cut()) return study->interruption();
  if (result.predicted() > 0) return {};
  return Error{
      "none of " + counted(result.size(), "point") + " could be predicted; the first: " + result.point(0).error, "",
      earlier.unchanged()};
}

Result<void> run_sweep(const SweepFlags& flags, const CLI::App& command, study::Team* team) {
  Result<void> done = sweep(flags, command, team);
  if (done.ok()) return done;
  Error error = done.error();
  if (as_given(error.where, flags) != error.where) error.where = flags.study;  // the text begins with the key
  return error;
}

/// As one of the processes that mpirun started, or alone.
Result<void> run(const SweepFlags& flags, const CLI::App& command) {
  TRY_ASSIGN(const std::unique_ptr<study::Team> team, study::join_team());
  return study::told(team.get(), run_sweep(flags, command, team.get()));
}

void declare_sweep(CLI::App& self, Action& action) {
  auto flags = std::make_shared<SweepFlags>();
  self.add_option("--config", flags->config, "Experiment file; may be left out where --study names one")
      ->check(refuse_empty);
  self.add_option("--study", flags->study, "A recipe: a name of configs/studies, or a file")->check(refuse_empty);
  self.add_option("--set", flags->sets,
                  "KEY=V1,V2,... (swept; A..B, A..B:STEP and A..B:xFACTOR are ranges) or KEY=VALUE (fixed); may be "
                  "repeated, the first list varies slowest")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--scaling", flags->scaling,
                  "strong: keep the global batch of the first point; weak: keep its samples per GPU; default: keep "
                  "what the experiment gives, model.global_batch or model.per_gpu_batch")
      ->check(CLI::IsMember({"strong", "weak"}));
  self.add_option("--jobs", flags->jobs, "Threads; default: the cores that this process has to itself")
      ->check(CLI::Range(1u, 256u));
  self.add_option("--journal", flags->journal, "Keep every finished point in this file, for --resume")
      ->check(refuse_stdout);
  self.add_flag("--resume", flags->resume, "Go on with the points that the journal of an earlier run lacks");
  self.add_option("--columns", flags->columns, "Columns of the table, joined by commas; default: all in CSV files");
  self.add_option("--sort", flags->sort, "Sort by a column; COLUMN:desc: the largest first");
  self.add_option("--csv", flags->csv, "Write the full table as CSV; - is standard output")->check(refuse_empty);
  self.add_option("--html", flags->html,
                  "Write a page with charts: curves, heat map, parallel coordinates; - is standard output")
      ->check(refuse_empty);
  self.callback([flags, &self, &action] { action = [flags, &self] { return run(*flags, self); }; });
}

constexpr Refusal kSweepRefuses[] = {
    {"--set cluster.nodes=1,2", "--config is required"},
    {"--config configs/dgx_a100_4node.yaml --scaling sideways", "sideways"},
    {"--config configs/resnet50_dgx_a100.yaml --scaling strong --set cluster.nodes=1,2 --set model.per_gpu_batch=64,128",
     "--scaling: found strong"},
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
    .refuses = kSweepRefuses,
    .declare = declare_sweep,
    .joins_teams = true,
};

}  // namespace distsim::app
