#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/signals.hpp"
#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/api/idle_keys.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/graph_file.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/pipeline/contention/link_loads.hpp"
#include "sim/pipeline/correction/graph_correction.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/pipeline/write_chakra.hpp"
#include "sim/report/html/html.hpp"
#include "sim/report/picture/pipeline_picture.hpp"
#include "sim/report/timeline/timeline_slices.hpp"
#include "sim/study/idle/without_effect.hpp"
#include "sim/study/trials.hpp"
#include "traces/timeline/timeline_writer.hpp"

namespace distsim::app {
namespace {

struct PredictFlags {
  std::string config, json, csv, timeline, html, graph, dump_after, write_et, correction;
  std::vector<std::string> sets, curves;
  std::uint32_t timeline_ranks = 0;  ///< 0: as many as make a file that viewers open
  std::uint32_t et_ranks = 0;        ///< 0: all, unless that is very much
  study::TrialOptions trials;
  bool timings = false;
};

/// A prediction, and the order of its passes where it has a pipeline.
struct Predicted {
  pipeline::Prediction prediction;
  std::optional<graph::PipelineOrder> pipeline;
  std::optional<pipeline::Prediction> whole;  ///< for --write-et: nothing is folded
  std::string links;                          ///< for --html: JSON of what the network carries
};

using Outputs = std::vector<std::pair<std::string, std::string>>;

Outputs outputs_of(const PredictFlags& f) {
  return {{"--json", f.json},
          {"--csv", f.csv},
          {"--timeline", f.timeline},
          {"--html", f.html},
          {"--graph", f.graph},
          {"--dump-after", f.dump_after.empty() ? "" : "-"},
          {"--write-et", f.write_et.empty() ? "" : f.write_et + ".0.et"}};
}

/// A file of the set that --write-et writes, as another output, by its name: before the job's ranks are known.
Result<void> check_apart_from_set(const PredictFlags& f) {
  if (f.write_et.empty()) return {};
  const std::filesystem::path prefix(f.write_et);
  if (takes_stdout({{"--write-et", f.write_et}}))
    return Error{"--write-et: found " + f.write_et + ", expected a prefix of files, e.g. job for job.0.et", "", ""};
  if (!prefix.has_filename())
    return Error{"--write-et: found the folder " + in_quotes(f.write_et) +
                     ", expected the beginning of a file name, e.g. " + f.write_et + "job",
                 "", ""};
  for (const auto& [flag, path] : outputs_of(f)) {
    const std::filesystem::path file(path);
    std::error_code unknown;
    const bool named = file.filename().string().starts_with(prefix.filename().string() + ".") &&
                       (path.ends_with(".et") || path.ends_with(".groups.json") || path.ends_with(".set.json"));
    if (flag == "--write-et" || !named) continue;
    const auto folder = [](const std::filesystem::path& p) { return p.has_parent_path() ? p.parent_path() : "."; };
    if (std::filesystem::equivalent(folder(file), folder(prefix), unknown))
      return Error{flag + ": found '" + path + "', but --write-et writes it too", "", ""};
  }
  return {};
}

Result<void> check_step(const std::string& step) {
  const std::vector<std::string> names = pipeline::dumpable_passes();
  if (std::find(names.begin(), names.end(), step) != names.end()) return {};
  return Error{"--dump-after: found '" + step + "', expected a pass of the pipeline", "", spelling_hint(step, names)};
}

std::string pass_list() { return fmt::format("{}", fmt::join(pipeline::dumpable_passes(), ", ")); }

std::vector<std::string> sets_of(const PredictFlags& f) {
  std::vector<config::FlagSet> flags;
  if (!f.correction.empty()) flags.push_back({"--correction " + f.correction, "model.correction", f.correction});
  if (!f.curves.empty()) flags.push_back(config::curves_flag(f.curves));
  return config::with_flags(f.sets, flags);
}

report::TimelineOptions timeline_options(const PredictFlags& f, const report::ReportContext& context) {
  report::TimelineOptions options;
  options.gpus_per_node = context.gpus_per_node;
  options.memory_per_rank = context.memory_per_rank;
  options.activations_per_rank = context.activations_per_rank;
  if (f.timeline_ranks == 0) return options;
  options.max_ranks = f.timeline_ranks;
  options.max_slices = std::numeric_limits<std::int64_t>::max();  // asked for
  return options;
}

/// What is about to be written, where that is not all or is a lot.
void announce_timeline(const std::string& path, const report::TimelineSlices& slices) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  if (slices.left_out.empty() && !traces::may_be_large(path, slices.slices)) return;
  const std::int64_t bytes = traces::timeline_bound(path, slices.source);
  if (slices.left_out.empty() && bytes < traces::kLargeTimeline) return;
  const std::string left_out = slices.left_out.empty() ? "" : "; " + slices.left_out;
  log_warn([&] {
    return fmt::format("{}: up to {} slices, {} MB before compression{} (see --timeline-ranks)", path, slices.slices,
                       1 + bytes / kMegabyte, left_out);
  });
}

/// --timeline FILE.svg: the schedule of a pipeline as a picture.
bool is_picture(const std::string& timeline) { return timeline.ends_with(".svg"); }

Result<void> check_timeline(const PredictFlags& f) {
  if (f.timeline.empty()) return {};
  if (!is_picture(f.timeline))
    return traces::check_timeline_path("--timeline", f.timeline, ".pftrace, .pftrace.gz, .json, .json.gz or .svg");
  if (f.timeline_ranks == 0) return {};
  return Error{"--timeline-ranks: found " + std::to_string(f.timeline_ranks) +
                   " for a picture, expected none: it shows the first rank of each stage",
               "", ""};
}

std::string schedule_of(const Predicted& p) {
  const std::string picture = report::pipeline_picture(p.prediction.played(), *p.pipeline);
  CHECK(!picture.empty()) << "the passes of " << p.pipeline->of_stage.size() << " stages";
  return picture + "\n";
}

/// What the report extends to the whole iteration, a timeline shows as it was played.
void announce_folding(const std::string& path, const report::ReportContext& context) {
  for (const graph::Assumption& a : context.assumptions) {
    if (a.kind == graph::AssumptionKind::folding) log_warn([&] { return path + ": " + a.text; });
  }
}

Result<void> write_timeline(const PredictFlags& f, const pipeline::Prediction& p, FilesTogether& files) {
  const report::TimelineSlices slices = report::timeline_slices(p.played(), timeline_options(f, p.report.context));
  announce_timeline(f.timeline, slices);
  announce_folding(f.timeline, p.report.context);
  return distsim::traces::write_timeline(slices.source, f.timeline, files);
}

/// Every file of the set: a link may make one of them another, another output or an input.
Result<void> check_set(const PredictFlags& f, const pipeline::Prediction& whole) {
  const std::uint32_t ranks = f.et_ranks > 0 ? f.et_ranks : whole.lowered->program.ranks;
  const std::vector<std::string> set = pipeline::files_of_chakra_set(f.write_et, ranks);
  Outputs outputs = outputs_of(f);
  std::erase_if(outputs, [](const auto& output) { return output.first == "--write-et"; });
  for (const std::string& path : set) outputs.emplace_back("--write-et", path);
  TRY(check_apart(outputs));
  for (const std::string& path : set) {
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) TRY(check_outputs({{"--write-et", path}}));
  }
  return pipeline::check_chakra_place(f.write_et, ranks);
}

Result<void> write_et(const PredictFlags& f, const pipeline::Prediction& p) {
  const std::uint32_t ranks = p.lowered->program.ranks;
  if (f.et_ranks > 0 && f.et_ranks < ranks)
    log_warn([&] { return fmt::format("{}: ranks {} to {} are left out", f.write_et, f.et_ranks, ranks - 1); });
  return pipeline::write_chakra(f.write_et, *p.costed, *p.lowered, f.et_ranks);
}

Result<void> check_rank_count(const char* flag, std::uint32_t found, std::uint32_t ranks) {
  if (found <= ranks) return {};
  return Error{fmt::format("{}: found {}, expected at most {}, the ranks of the job", flag, found, ranks), "", ""};
}

/// What was asked for and this job does not have, before trials of it are played.
Result<void> check_job(const PredictFlags& f, const Predicted& played) {
  const std::uint32_t ranks = played.prediction.report.rank_count;
  TRY(check_rank_count("--timeline-ranks", f.timeline_ranks, ranks));
  TRY(check_rank_count("--write-et-ranks", f.et_ranks, ranks));
  if (is_picture(f.timeline) && !played.pipeline)
    return Error{"--timeline: found " + in_quotes(f.timeline) +
                     ", a picture of the stages of a pipeline, expected a job with parallel.pipeline above 1",
                 "", "FILE.pftrace or FILE.json show any job"};
  TRY(check_outputs(outputs_of(f)));
  if (f.write_et.empty()) return {};
  TRY(pipeline::check_chakra_size(*played.whole->costed, *played.whole->lowered, f.et_ranks));
  return check_set(f, *played.whole);
}

Result<void> write_outputs(const PredictFlags& f, const Predicted& played) {
  const pipeline::Prediction& p = played.prediction;
  const auto page = [&] {
    const report::HtmlOptions options{.pipeline = played.pipeline ? &*played.pipeline : nullptr, .links = played.links};
    return report::to_html(p.report, p.played(), options);
  };
  const auto timeline = [&](FilesTogether& files) {
    return is_picture(f.timeline) ? files.write(f.timeline, schedule_of(played)) : write_timeline(f, p, files);
  };
  const auto graph = [&](FilesTogether& files) {
    return write_graph_file(f.graph, *p.costed, p.report.context.title, files);
  };
  const auto set = [&](FilesTogether&) -> Result<void> {  // it replaces another by itself, and is the last
    TRY(check_set(f, *played.whole));
    return write_et(f, *played.whole);
  };
  return write_output_files(
      {text_file("--json", f.json, [&] { return report::to_json(p.report) + "\n"; }),
       text_file("--csv", f.csv,
                 [&] { return csv_line(report::csv_columns()) + csv_line(report::csv_values(p.report)); }),
       {"--timeline", f.timeline, timeline},
       text_file("--html", f.html, page),
       {"--graph", f.graph, graph},
       {"--write-et", f.write_et.empty() ? "" : f.write_et + ".0.et", set}});
}

/// The report is printed.
bool shows_report(const PredictFlags& f) { return f.dump_after.empty() && !takes_stdout(outputs_of(f)); }

/// Keys that a flag of its own has set are called by that.
std::string by_flags(const PredictFlags& f, std::string text) {
  const auto call = [&](bool given, std::string_view key, std::string_view flag) {
    const std::string by_set = std::string(key) + " (--set)";
    if (const auto at = text.find(by_set); given && at != text.npos) text.replace(at, by_set.size(), flag);
  };
  call(!f.correction.empty(), "model.correction", "--correction");
  call(!f.curves.empty(), "collectives.curve_files", "--curves");
  return text;
}

/// Says which of the given keys change nothing: in the report, and where that is not shown, on standard error.
void name_idle_keys(const PredictFlags& f, const std::vector<std::string>& sets, const ConfigNode& parsed,
                    const config::Experiment& experiment, pipeline::CostModelCache& cache,
                    pipeline::Prediction& prediction) {
  const std::string text = by_flags(f, api::idle_keys(parsed, experiment, prediction, f.trials.trials > 0, cache));
  if (!text.empty() && !shows_report(f)) log_warn([&] { return text; });
  study::add_to_assumptions(text, prediction.report);
  study::add_to_assumptions(api::replaced_keys(sets), prediction.report);  // standard error had these as they were read
}

Result<report::TrialTimes> play_trials(const PredictFlags& f, const pipeline::Prediction& prediction) {
  const EarlyEnd early;
  ProgressLine progress("distsim trials:", f.trials.trials);
  return study::run_trials(prediction, f.trials, [&] { progress.advance(); });
}

Result<Predicted> predict(const PredictFlags& f, pipeline::Passes& passes) {
  pipeline::CostModelCache cache;
  const std::vector<std::string> sets = sets_of(f);
  TRY_ASSIGN(const ConfigNode parsed, passes.run("parse", config::parse_experiment, f.config, sets));
  const auto resolve = [](const ConfigNode& node) { return config::resolve(node); };  // one of several of that name
  TRY_ASSIGN(const config::Experiment experiment, passes.run("resolve", resolve, parsed));
  TRY_ASSIGN(pipeline::Prediction prediction, pipeline::predict(experiment, passes, cache));
  name_idle_keys(f, sets, parsed, experiment, cache, prediction);
  Predicted out{std::move(prediction), {}, {}};
  if (!f.html.empty() || is_picture(f.timeline)) {
    TRY_ASSIGN(out.pipeline,
               pipeline::played_pipeline(experiment, pipeline::kPlayedMicroSteps, out.prediction.stretch));
  }
  if (!f.html.empty()) {
    TRY_ASSIGN(const pipeline::LinkLoads loads, pipeline::link_loads(experiment, out.prediction.report));
    out.links = pipeline::link_loads_json(loads);
  }
  if (!f.write_et.empty()) {
    pipeline::Passes unseen;
    TRY_ASSIGN(out.whole, pipeline::predict(experiment, unseen, cache, pipeline::kAllMicroSteps));
  }
  return out;
}

/// Where the report says so, nothing else needs to.
void name_idle_correction(const PredictFlags& f, const CLI::App& command, const report::Report& report) {
  const bool says = shows_report(f) || !f.json.empty() || !f.html.empty();
  const auto none = [](const graph::Assumption& a) { return a.text.starts_with(pipeline::kNoCorrection); };
  if (f.correction == "graph" && !says && std::ranges::any_of(report.context.assumptions, none))
    name_unheeded(command, {"--correction"}, "the graph is unlike those that the correction was learned from");
}

Result<void> run(const PredictFlags& f, const CLI::App& command) {
  if (!shows_report(f)) name_unheeded(command, {"--timings"}, "the report is not printed");
  if (!shows_report(f) && f.json.empty()) name_unheeded(command, {"--trials", "--seed"}, "no output shows them");
  if (!f.dump_after.empty()) TRY(check_step(f.dump_after));
  TRY(check_outputs(outputs_of(f)));
  TRY(check_apart_from_set(f));
  TRY(check_timeline(f));
  TRY(check_graph_file(f.graph));
  for (const auto& [flag, path] : outputs_of(f)) {
    if (path == f.config) return Error{flag + ": found the experiment '" + path + "', expected another file", "", ""};
  }
  pipeline::Passes passes(f.dump_after);
  TRY_ASSIGN(Predicted played, predict(f, passes));
  pipeline::Prediction& prediction = played.prediction;
  name_idle_correction(f, command, prediction.report);
  TRY(check_job(f, played));
  if (f.trials.trials > 0) {
    TRY_ASSIGN(prediction.report.trials, play_trials(f, prediction));
  }
  const Result<void> written = passes.run("write", write_outputs, f, played);
  if (!f.dump_after.empty()) TRY(print(passes.dumped()));
  if (shows_report(f)) TRY(print(report::to_text(prediction.report) + (f.timings ? "\n" + passes.timings_text() : "")));
  TRY(written);
  if (prediction.report.trials.trials == f.trials.trials) return {};
  return Error{"interrupted: the percentiles are those of the trials that were played until then", "", ""};
}

void declare_predict(CLI::App& self, Action& action) {
  auto f = std::make_shared<PredictFlags>();
  self.add_option("--config", f->config, "Experiment file, e.g. configs/dgx_a100_4node.yaml")
      ->required()
      ->check(refuse_empty);
  self.add_option("--set", f->sets, "KEY=VALUE: override any key, e.g. cluster.nodes=8; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option(
          "--curves", f->curves,
          "Measured collectives to prefer, instead of collectives.curve_files: a curve file or an nccl-tests log; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--correction", f->correction,
                  "graph: correct kernel times by what was learned of whole graphs; none (docs/graph_correction.md)")
      ->check(CLI::IsMember({"graph", "none"}));
  self.add_option("--json", f->json, "Write the report as JSON (docs/report_schema.md); - is standard output")
      ->check(refuse_empty);
  self.add_option("--csv", f->csv, "Write the main figures as one CSV row; - is standard output")->check(refuse_empty);
  self.add_option(
          "--timeline", f->timeline,
          "Write the timeline for ui.perfetto.dev: FILE.pftrace (Perfetto protobuf) or FILE.json (Chrome trace), compressed "
          "if .gz follows; or of a pipeline's stages as a picture: FILE.svg")
      ->check(refuse_empty);
  self.add_option(
          "--timeline-ranks", f->timeline_ranks,
          "Number of ranks in the timeline, one per class of identical ranks first (default: at most 64, and 4 million slices)")
      ->needs("--timeline")
      ->check(CLI::Range(1u, 1u << 24));
  self.add_option("--write-et", f->write_et,
                  "Write one Chakra trace per rank, PREFIX.<rank>.et, for other simulators and `distsim replay`")
      ->check(refuse_empty);
  self.add_option("--write-et-ranks", f->et_ranks,
                  "Number of ranks that --write-et writes, from rank 0 (default: all, if they take no more than 4 GB)")
      ->needs("--write-et")
      ->check(CLI::Range(1u, 1u << 24));
  self.add_option("--html", f->html, "Write the report as one self-contained HTML page")->check(refuse_empty);
  self.add_option("--graph", f->graph,
                  "Write the op graph of rank 0: FILE.dot for Graphviz, or FILE.svg, drawn by it; - is dot text on "
                  "standard output")
      ->check(refuse_empty);
  self.add_option(
          "--trials", f->trials.trials,
          "Simulate this many iterations with randomized op, link and rank speeds; prints P10, P50, P90 and P99")
      ->check(CLI::Range(1u, 1'000'000u));
  self.add_option("--seed", f->trials.seed, "Random seed of --trials (default 1)")->needs("--trials");
  self.add_option("--dump-after", f->dump_after, "Print the result of one pass instead of the report: " + pass_list())
      ->check([](const std::string& name) { return name.empty() ? "found nothing, expected a pass" : ""; });
  self.add_flag("--timings", f->timings, "Print how long each pass took");
  self.callback([f, &self, &action] { action = [f, &self] { return run(*f, self); }; });
}

constexpr Refusal kPredictRefuses[] = {
    {"", "--config: missing"},
    {"--config no_such.yaml", "no_such.yaml"},
    {"--config configs/dgx_a100_4node.yaml --set cluster.nodes=0", "cluster.nodes"},
    {"--config configs/dgx_a100_4node.yaml --timeline x.svg", "expected a job with parallel.pipeline above 1"},
    {"--config configs/dgx_a100_4node.yaml --graph x.png", "expected a name that ends in .dot or .svg"},
};

}  // namespace

const Command predict_command{
    .name = "predict",
    .description = "Predict one training iteration (the default command)",
    .refuses = kPredictRefuses,
    .declare = declare_predict,
};

}  // namespace distsim::app
