#include "sim/replay/replay_trace.hpp"

#include <cstdio>
#include <memory>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/text/printable.hpp"
#include "sim/replay/replay_report.hpp"
#include "sim/replay/replay_stage.hpp"
#include "sim/replay/results/held_out.hpp"
#include "sim/replay/results/replay_slices.hpp"
#include "traces/timeline/timeline_writer.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::replay {
namespace {

using Outputs = std::vector<std::pair<std::string, std::string>>;

Outputs outputs_of(const TraceReplay& f) { return {{"--csv", f.csv}, {"--json", f.json}, {"--timeline", f.timeline}}; }

/// What is about to be written, where it is a lot.
void announce_timeline(const std::string& path, std::int64_t slices, const traces::SliceSource& source) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  if (!traces::may_be_large(path, slices)) return;
  const std::int64_t bytes = traces::timeline_bound(path, source);
  if (bytes < traces::kLargeTimeline) return;
  log_warn([&] {
    return path + ": up to " + std::to_string(slices) + " slices, " + std::to_string(1 + bytes / kMegabyte) +
           " MB before compression (fewer traces, or .pftrace, make it smaller)";
  });
}

Result<void> write_outputs(const TraceReplay& f, const ReplayReport& report, const ReplayTimes& times) {
  TRY(check_outputs(outputs_of(f)));
  if (!f.csv.empty()) TRY(write_file_atomically(f.csv, replay_csv(report)));
  if (!f.json.empty()) TRY(write_file_atomically(f.json, replay_json(report)));
  if (!f.timeline.empty()) {
    const std::string played = report.what_if.empty() ? "replayed" : "what-if";
    const traces::SliceSource both = traces::side_by_side(
        {{"measured", measured_slices(*report.graph), 0}, {played, played_slices(*report.graph, times), 0}});
    announce_timeline(f.timeline, count_slices(*report.graph), both);
    TRY(traces::write_timeline(both, f.timeline));
  }
  return {};
}

/// A file that is cut off before the first kernel has nothing that a replay could get wrong, or right.
Result<void> check_gpu_work(const traces::TraceJob& job) {
  bool cut = false;
  for (const traces::TraceRank& r : job.ranks) {
    if (!r.device_records.empty()) return {};
    cut = cut || !r.notes.missing.empty();
  }
  if (!cut) return {};
  return Error{"found no kernel or copy before the file is cut off, expected GPU work to replay",
               job.ranks.front().path, "the trace is incomplete: record it again"};
}

/// What the replay of a stage comes to.
Result<std::uint64_t> digest_of(const ReplayStage& stage, const ReplayGraph& graph) {
  if (changes_nothing(stage.what_if)) {
    TRY_ASSIGN(const ReplayTimes times, play(graph, measured_costs(graph)));
    return times.digest;
  }
  TRY_ASSIGN(const Changed changed, apply(stage.what_if, graph));
  TRY_ASSIGN(const ReplayTimes times, play(changed.graph, changed.costs));
  return times.digest;
}

/// Names each --set without which the replay is the same to the picosecond.
Result<void> name_idle_sets(const TraceReplay& f, const traces::TraceJob& job, ReplayGraph& graph,
                            std::uint64_t digest) {
  std::string idle;
  for (std::size_t i = 0; i < f.sets.size(); ++i) {
    TraceReplay rest = f;
    rest.sets.erase(rest.sets.begin() + static_cast<std::ptrdiff_t>(i));
    const LogSilence silence;
    const auto stage = replay_stage(rest, job);
    if (!stage) continue;  // it cannot be left out
    TRY_ASSIGN(const std::uint64_t without, digest_of(*stage, graph));
    if (without == digest) idle += (idle.empty() ? "" : ", ") + printable(f.sets[i], 120);
  }
  if (idle.empty()) return {};
  const std::string line = "no effect on this replay: --set " + idle;
  if (takes_stdout(outputs_of(f))) log_warn([&] { return line; });
  graph.assumptions.push_back(line);
  return {};
}

/// Each member refers to those before it.
struct Replayed {
  traces::TraceJob job;
  ReplayGraph graph;
  ReplayStage stage;
  ReplayTimes times;
  Changed changed;
  ReplayReport report;
};

Result<std::unique_ptr<Replayed>> replayed(const TraceReplay& f) {
  traces::TraceOptions options;
  options.step_pattern = f.step_pattern;
  auto out = std::make_unique<Replayed>();
  TRY_ASSIGN(out->job, traces::read_traces(f.traces, options));
  const traces::TraceJob& job = out->job;
  TRY(check_gpu_work(job));
  TRY_ASSIGN(out->graph, build_replay(job));
  ReplayGraph& graph = out->graph;
  ReplayReport& report = out->report;
  TRY_ASSIGN(out->times, play(graph, measured_costs(graph)));
  report.graph = &graph;
  report.replayed = step_results(graph, out->times);
  const std::uint64_t recorded = report.digest = out->times.digest;
  TRY_ASSIGN(out->stage, replay_stage(f, job));
  const ReplayStage& stage = out->stage;
  graph.assumptions.insert(graph.assumptions.end(), stage.notes.begin(), stage.notes.end());
  if (!changes_nothing(stage.what_if)) {
    TRY_ASSIGN(out->changed, apply(stage.what_if, graph));
    const Changed& changed = out->changed;
    TRY_ASSIGN(out->times, play(changed.graph, changed.costs));
    report.what_if = step_results(changed.graph, out->times);
    report.changes = changed.changes;
    report.digest = out->times.digest;
  }
  TRY(name_idle_sets(f, job, graph, report.digest));
  if (!f.config.empty() && report.digest == recorded && takes_stdout(outputs_of(f)))
    log_warn([] { return "--config: no effect, the times are those of the trace"; });
  report.wants_held_out = f.leave_one_step_out;
  if (f.leave_one_step_out && f.json.empty() && takes_stdout(outputs_of(f)))
    log_warn([] { return "--leave-one-step-out: no effect, the text is not printed"; });
  if (f.leave_one_step_out) {
    TRY_ASSIGN(report.held_out, predict_held_out_steps(graph));
  }
  return out;
}

}  // namespace

Result<void> replay_trace(const TraceReplay& f) {
  TRY(check_outputs(outputs_of(f)));
  if (!f.timeline.empty()) TRY(traces::check_timeline_path("--timeline", f.timeline));
  TRY_ASSIGN(const auto done, replayed(f));
  TRY(write_outputs(f, done->report, done->times));
  if (takes_stdout(outputs_of(f))) return {};
  return print(replay_text(done->report));
}

Result<ReplayTexts> replayed_texts(TraceReplay f) {
  f.json = f.csv = f.timeline = "";
  TRY_ASSIGN(const auto done, replayed(f));
  return ReplayTexts{replay_json(done->report), replay_csv(done->report), replay_text(done->report)};
}

}  // namespace distsim::replay
