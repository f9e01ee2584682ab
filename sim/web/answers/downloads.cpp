// Files that a page offers: made when asked for, fetched by HTTP (kept_files.hpp).
#include <array>
#include <sstream>
#include <string_view>

#include "base/json/json_text.hpp"
#include "base/text/csv.hpp"
#include "sim/pipeline/contention/link_loads.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/report/html/html.hpp"
#include "sim/report/timeline/timeline_slices.hpp"
#include "sim/study/idle/without_effect.hpp"
#include "sim/web/answers/answers.hpp"
#include "traces/timeline/chrome_writer.hpp"

namespace distsim::web {
namespace {

constexpr std::int64_t kMostTraceBytes = 128'000'000;  ///< a file is held in memory until it is fetched

/// The report as `distsim --json` writes it: with the keys that change nothing.
report::Report whole_report(const Shown& s, pipeline::CostModelCache& cache) {
  report::Report report = s.prediction.report;
  study::add_to_assumptions(
      study::describe(study::keys_without_effect(s.parsed, s.experiment, report, false, 1, cache)), report);
  return report;
}

Result<std::string> json_file(const Shown& s, pipeline::CostModelCache& cache) {
  return report::to_json(whole_report(s, cache)) + "\n";
}

Result<std::string> csv_file(const Shown& s, pipeline::CostModelCache&) {
  return csv_line(report::csv_columns()) + csv_line(report::csv_values(s.prediction.report));
}

Result<std::string> html_file(const Shown& s, pipeline::CostModelCache& cache) {
  TRY_ASSIGN(const auto order,
             pipeline::played_pipeline(s.experiment, pipeline::kPlayedMicroSteps, s.prediction.stretch));
  TRY_ASSIGN(const pipeline::LinkLoads loads, pipeline::link_loads(s.experiment, s.prediction.report));
  const report::HtmlOptions page{.pipeline = order ? &*order : nullptr, .links = pipeline::link_loads_json(loads)};
  return report::to_html(whole_report(s, cache), s.prediction.played(), page);
}

Result<std::string> trace_file(const Shown& s, pipeline::CostModelCache&) {
  report::TimelineOptions options;
  options.gpus_per_node = s.prediction.report.context.gpus_per_node;
  options.memory_per_rank = s.prediction.report.context.memory_per_rank;
  options.activations_per_rank = s.prediction.report.context.activations_per_rank;
  for (options.max_ranks = 64;; options.max_ranks /= 4) {
    const report::TimelineSlices slices = report::timeline_slices(s.prediction.played(), options);
    if (options.max_ranks > 1 && traces::chrome_trace_bound(slices.source) > kMostTraceBytes) continue;
    std::ostringstream out;
    TRY(traces::stream_chrome_trace(slices.source, out));
    return std::move(out).str();
  }
}

struct FileKind {
  std::string_view kind, name, type;
  Result<std::string> (*make)(const Shown&, pipeline::CostModelCache&);
};
constexpr std::array kFileKinds{FileKind{"json", "report.json", "application/json", json_file},
                                FileKind{"csv", "report.csv", "text/csv; charset=utf-8", csv_file},
                                FileKind{"html", "report.html", "application/octet-stream", html_file},
                                FileKind{"trace", "timeline.json", "application/json", trace_file}};

}  // namespace

Result<std::string> Answers::file(const Message& m) {
  TRY_ASSIGN(const std::string text, asked_text(m.body));
  const auto kind = m.body.find("kind");
  for (const FileKind& k : kFileKinds) {
    if (kind == m.body.end() || *kind != k.kind) continue;
    TRY_ASSIGN(const auto shown, predictions_.of(text));
    TRY_ASSIGN(std::string made, k.make(*shown, *predictions_.models()));
    const std::string id = files_.keep(std::string(k.name), std::string(k.type), std::move(made));
    return json_text(
        nlohmann::json{{"id", m.id}, {"type", "file"}, {"path", "/file/" + id + "/" + std::string(k.name)}});
  }
  return Error{"kind: expected one of json, csv, html, trace", "message", ""};
}

}  // namespace distsim::web
