#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "base/csv.hpp"
#include "base/spelling.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/output.hpp"
#include "sim/app/pipeline.hpp"
#include "sim/report/html.hpp"
#include "sim/report/timeline_slices.hpp"
#include "traces/chrome_writer.hpp"

namespace distsim {
namespace {

struct PredictFlags {
  std::string config, json, csv, timeline, html, dump_after;
  std::vector<std::string> sets, curves;
  std::uint32_t timeline_ranks = 64;
  bool timings = false;
};

using Outputs = std::vector<std::pair<std::string, std::string>>;

Outputs outputs_of(const PredictFlags& f) {
  return {{"--json", f.json}, {"--csv", f.csv}, {"--timeline", f.timeline}, {"--html", f.html}, {"--dump-after", f.dump_after.empty() ? "" : "-"}};
}

Result<void> check_step(const std::string& step) {
  std::vector<std::string> names;
  for (const auto name : pipeline_steps()) {
    if (name == step) return {};
    names.emplace_back(name);
  }
  return Error{"--dump-after: found '" + step + "', expected a step of the pipeline", "", spelling_hint(step, names)};
}

/// --curves FILE is short for the key collectives.curve_files.
std::vector<std::string> sets_of(const PredictFlags& f) {
  std::vector<std::string> sets = f.sets;
  if (f.curves.empty()) return sets;
  std::string list;
  for (const auto& path : f.curves) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", path);
  sets.push_back("collectives.curve_files=[" + list + "]");
  return sets;
}

Result<void> write_timeline(const PredictFlags& f, const Prediction& p) {
  const TimelineSlices slices = timeline_slices(p.played(), {f.timeline_ranks, false, p.report.context.gpus_per_node});
  TRY(write_chrome_trace(slices.source, f.timeline));
  if (!slices.left_out.empty()) std::fprintf(stderr, "distsim: %s: %s (see --timeline-ranks)\n", f.timeline.c_str(), slices.left_out.c_str());
  return {};
}

Result<void> write_outputs(const PredictFlags& f, const Prediction& p) {
  if (!f.json.empty()) TRY(write_file_atomically(f.json, to_json(p.report) + "\n"));
  if (!f.csv.empty()) TRY(write_file_atomically(f.csv, csv_line(csv_columns()) + csv_line(csv_values(p.report))));
  if (!f.timeline.empty()) TRY(write_timeline(f, p));
  if (!f.html.empty()) TRY(write_file_atomically(f.html, to_html(p.report, p.played())));
  return {};
}

std::string timings_text(const Passes& passes) {
  std::string out = "\n";
  double total = 0;
  for (const auto& t : passes.times()) {
    out += fmt::format("{:<16} {:>9.3f} ms\n", t.name, t.ms);
    total += t.ms;
  }
  return out + fmt::format("{:<16} {:>9.3f} ms\n", "all steps", total);
}

Result<void> run(const PredictFlags& f) {
  if (!f.dump_after.empty()) TRY(check_step(f.dump_after));
  TRY(check_outputs(outputs_of(f)));
  for (const auto& [flag, path] : outputs_of(f)) {
    if (path == f.config) return Error{flag + ": found the experiment '" + path + "', expected another file", "", ""};
  }
  std::string dump;
  Passes passes(f.dump_after, [&](const std::string& text) { dump = text; });
  TRY_ASSIGN(const Prediction prediction, predict(f.config, sets_of(f), passes));
  TRY(write_outputs(f, prediction));
  if (!f.dump_after.empty()) return print(dump);
  if (takes_stdout(outputs_of(f))) return {};
  return print(to_text(prediction.report) + (f.timings ? timings_text(passes) : ""));
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  auto f = std::make_shared<PredictFlags>();
  CLI::App* sub = app.add_subcommand("predict", "Predict one training iteration (the default command)");
  sub->add_option("--config", f->config, "Experiment file, e.g. configs/dgx_a100_4node.yaml")->required();
  sub->add_option("--set", f->sets, "KEY=VALUE: override any key, e.g. cluster.nodes=8; may be repeated")
      ->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--curves", f->curves, "Measured collectives to use first: a curve file or an nccl-tests log; may be repeated")
      ->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--json", f->json, "Write the report as JSON (docs/report_schema.md); - is standard output")->check(refuse_empty);
  sub->add_option("--csv", f->csv, "Write the main figures as one CSV row; - is standard output")->check(refuse_empty);
  sub->add_option("--timeline", f->timeline, "Write the timeline as Chrome trace JSON, which ui.perfetto.dev opens; compressed if the name ends in .gz")->check(refuse_empty);
  sub->add_option("--timeline-ranks", f->timeline_ranks, "Ranks that the timeline shows")->check(CLI::Range(1u, 1u << 24));
  sub->add_option("--html", f->html, "Write the report as one self-contained page")->check(refuse_empty);
  sub->add_option("--dump-after", f->dump_after, "Print what a step of the pipeline produced, instead of the report");
  sub->add_flag("--timings", f->timings, "Print how long each step of the prediction took");
  sub->callback([f, &action] { action = [f] { return run(*f); }; });
}

}  // namespace distsim
