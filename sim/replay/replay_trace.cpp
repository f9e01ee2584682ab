#include "sim/replay/replay_trace.hpp"

#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/replay/doubt.hpp"
#include "sim/replay/replay_report.hpp"
#include "sim/replay/replay_stage.hpp"
#include "sim/replay/results/held_out.hpp"
#include "sim/replay/results/replay_slices.hpp"
#include "traces/timeline/chrome_writer.hpp"
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

traces::SliceSource side_by_side(const ReplayReport& report, const ReplayTimes& times) {
  const std::string played = report.what_if.empty() ? "replayed" : "what-if";
  return traces::side_by_side(
      {{"measured", measured_slices(*report.graph), 0}, {played, played_slices(*report.graph, times), 0}});
}

Result<void> write_outputs(const TraceReplay& f, const ReplayReport& report, const ReplayTimes& times) {
  const auto write_timeline = [&](FilesTogether& files) {
    const traces::SliceSource both = side_by_side(report, times);
    announce_timeline(f.timeline, count_slices(*report.graph), both);
    return traces::write_timeline(both, f.timeline, files);
  };
  return write_and_print({text_file("--csv", f.csv, [&] { return replay_csv(report); }),
                          text_file("--json", f.json, [&] { return replay_json(report); }),
                          {"--timeline", f.timeline, write_timeline}},
                         [&] { return replay_text(report); });
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

/// Steps with nothing that a what-if on the GPU could make longer, beside GPU work that may be theirs. Empty: none.
std::string steps_without_work(const ReplayGraph& graph) {
  std::uint64_t found = 0, steps = 0;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    if (graph.job->ranks[r].device_records.empty()) continue;
    for (const ReplayStep& s : graph.ranks[r].steps) {
      ++steps;
      found += s.begin_mark != traces::kNone && s.first_device == traces::kNone ? 1 : 0;
    }
  }
  if (found == 0) return "";
  return "no GPU work is known to be launched in " + std::to_string(found) + " of " + counted(steps, "step") +
         ", which " + std::string(agreeing(found, "changes", "change")) + " only with what the host does and waits for";
}

Result<traces::TraceJob> job_of(const TraceReplay& f) {
  traces::TraceOptions options;
  options.step_pattern = f.step_pattern;
  return traces::read_traces(f.traces, options);
}

/// A replay with all that its report points to; it is not moved, and each member refers to those before it.
struct Replayed {
  ReplayGraph graph;
  ReplayStage stage;
  ReplayTimes times;  ///< of the what-if, where there is one
  Changed changed;
  ReplayReport report;
  std::uint64_t recorded = 0;  ///< digest with the measured costs
};

Result<std::unique_ptr<Replayed>> replayed_of(const TraceReplay& f, const traces::TraceJob& job) {
  TRY(check_gpu_work(job));
  auto out = std::make_unique<Replayed>();
  TRY_ASSIGN(out->graph, build_replay(job));
  if (const auto profile = profile::make_profile(job); profile.ok()) {
    if (std::string doubt = doubt_of(job, *profile); !doubt.empty()) out->graph.assumptions.push_back(std::move(doubt));
  }
  TRY_ASSIGN(out->times, play(out->graph, measured_costs(out->graph)));
  ReplayReport& report = out->report;
  report.graph = &out->graph;
  report.replayed = step_results(out->graph, out->times);
  report.replayed_span = device_span(out->graph, out->times);
  out->recorded = report.digest = out->times.digest;
  TRY_ASSIGN(out->stage, replay_stage(f, job));
  const ReplayStage& stage = out->stage;
  out->graph.assumptions.insert(out->graph.assumptions.end(), stage.notes.begin(), stage.notes.end());
  if (!changes_nothing(stage.what_if)) {
    TRY_ASSIGN(out->changed, apply(stage.what_if, out->graph));
    TRY_ASSIGN(out->times, play(out->changed.graph, out->changed.costs));
    report.what_if = step_results(out->changed.graph, out->times);
    report.what_if_span = device_span(out->changed.graph, out->times);
    report.changes = out->changed.changes;
    if (std::string note = steps_without_work(out->changed.graph); !note.empty())
      out->graph.assumptions.push_back(std::move(note));
    report.digest = out->times.digest;
  }
  report.wants_held_out = f.leave_one_step_out;
  if (f.leave_one_step_out) {
    TRY_ASSIGN(report.held_out, predict_held_out_steps(out->graph));
  }
  return out;
}

}  // namespace

Result<config::Experiment> TraceReplay::with(const std::vector<std::string>& overrides) const {
  return experiment != nullptr ? experiment->with(overrides) : config::load_experiment(config, overrides);
}

Result<void> replay_trace(const TraceReplay& f) {
  traces::note_folders(f.traces);
  TRY(check_outputs(outputs_of(f)));
  if (!f.timeline.empty()) TRY(traces::check_timeline_path("--timeline", f.timeline));
  TRY_ASSIGN(const traces::TraceJob job, job_of(f));
  TRY_ASSIGN(const std::unique_ptr<Replayed> replayed, replayed_of(f, job));
  ReplayReport& report = replayed->report;
  TRY(name_idle_sets(f, job, replayed->graph, report.digest));
  if (f.has_experiment() && report.digest == replayed->recorded && takes_stdout(outputs_of(f)))
    log_warn([] { return "--config: no effect, the times are those of the trace"; });
  if (f.leave_one_step_out && f.json.empty() && takes_stdout(outputs_of(f)))
    log_warn([] { return "--leave-one-step-out: no effect, the text is not printed"; });
  return write_outputs(f, report, replayed->times);
}

Result<ReplayTexts> replayed_texts(TraceReplay f) {
  f.json = f.csv = f.timeline = "";
  TRY_ASSIGN(const traces::TraceJob job, job_of(f));
  TRY_ASSIGN(const std::unique_ptr<Replayed> done, replayed_of(f, job));
  TRY(name_idle_sets(f, job, done->graph, done->report.digest));
  return ReplayTexts{replay_json(done->report), replay_csv(done->report), replay_text(done->report)};
}

Result<std::string> replayed_json(const TraceReplay& f, const traces::TraceJob& job) {
  TRY_ASSIGN(const std::unique_ptr<Replayed> replayed, replayed_of(f, job));
  return replay_json(replayed->report);
}

Result<std::string> replayed_timeline(const TraceReplay& f, const traces::TraceJob& job, std::int64_t most_bytes) {
  TRY_ASSIGN(const std::unique_ptr<Replayed> replayed, replayed_of(f, job));
  const traces::SliceSource both = side_by_side(replayed->report, replayed->times);
  if (traces::chrome_trace_bound(both) > most_bytes)
    return Error{"found a timeline of more than " + std::to_string(most_bytes / 1'000'000) + " MB", "",
                 "`distsim replay --timeline FILE` writes it"};
  std::ostringstream out;
  TRY(traces::stream_chrome_trace(both, out));
  return std::move(out).str();
}

}  // namespace distsim::replay
