#include "sim/replay/replay_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/json/json_text.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "traces/verdict.hpp"

namespace distsim::replay {
namespace {

constexpr std::size_t kMostStepLines = 12, kMostNotes = 12;

double ms(std::int64_t ps) { return static_cast<double>(ps) * 1e-9; }
std::string ms_text(std::int64_t ps) { return ps < 0 ? "-" : fmt::format("{:.3f}", ms(ps)); }
std::string percent(double error) { return fmt::format("{:+.2f} %", 100 * error); }

/// Mean of the parts over all results. In floating point: the sum of many long windows may leave the range of an
/// integer.
StepParts mean_parts(const std::vector<StepResult>& results) {
  const auto mean = [&](std::int64_t StepParts::*part) {
    double sum = 0;
    for (const StepResult& r : results) sum += static_cast<double>(r.parts.*part);
    return static_cast<std::int64_t>(sum / static_cast<double>(std::max<std::size_t>(1, results.size())));
  };
  return {mean(&StepParts::window), mean(&StepParts::compute), mean(&StepParts::comm), mean(&StepParts::exposed),
          mean(&StepParts::idle)};
}

std::string_view noun_of(StepBasis basis) { return basis == StepBasis::window ? "window" : "step"; }

/// Of those that were read, where some have no such step: "7 of 8 ranks".
std::string ranks_text(std::size_t with, std::size_t all) {
  return with < all ? fmt::format("{} of {}", with, counted(all, "rank")) : counted(all, "rank");
}

std::string steps_text(const ReplayReport& report, const StepMedians& m) {
  return fmt::format("{}{}, median of {} on {}", name_of(m.basis),
                     m.basis == StepBasis::window ? ", which marks no step" : "", counted(m.steps, noun_of(m.basis)),
                     ranks_text(m.ranks, report.graph->ranks.size()));
}

std::string first_line(const ReplayReport& report) {
  const StepMedians m = medians(report.replayed);
  if (m.measured < 0)
    return fmt::format("{:.3f} ms replayed, not measured ({})\n", ms(m.replayed), steps_text(report, m));
  const double error = static_cast<double>(m.replayed) / static_cast<double>(m.measured) - 1;
  return fmt::format("{:.3f} ms replayed, {:.3f} ms measured, {} ({}; worst {} {:.2f} %)\n", ms(m.replayed),
                     ms(m.measured), percent(error), steps_text(report, m), noun_of(m.basis), 100 * m.worst_error);
}

/// Of the what-if, over the whole trace.
double change_of_span(const ReplayReport& report) {
  if (report.replayed_span <= 0) return 0;
  return static_cast<double>(report.what_if_span) / static_cast<double>(report.replayed_span) - 1;
}

/// One is longer and the other shorter, each by more than is seen in two decimals.
bool opposed(double a, double b) {
  constexpr double kSeen = 1e-4;
  return (a > kSeen && b < -kSeen) || (a < -kSeen && b > kSeen);
}

/// Where the median step and the whole trace change by factors this far apart, one does not stand for the other; chosen.
constexpr double kFarFactors = 1.05;

/// Why the whole trace changes otherwise than the median step; empty: it does not.
std::string_view why_span_differs(double step, double whole) {
  if (opposed(step, whole)) return "work of before the steps moves where they begin";
  const double factor = (1 + whole) / std::max(1 + step, 1e-9);
  if (factor < kFarFactors && factor > 1 / kFarFactors) return "";
  return "the median step leaves out the last one, what falls behind until then, and what lies before the first";
}

std::string what_if_line(const ReplayReport& report) {
  const StepMedians now = medians(report.replayed), then = medians(report.what_if);
  const double change =
      now.replayed > 0 ? static_cast<double>(then.replayed) / static_cast<double>(now.replayed) - 1 : 0;
  std::string out = fmt::format("{:.3f} ms what-if, {} relative to the replay\n", ms(then.replayed), percent(change));
  const double whole = change_of_span(report);
  if (const std::string_view why = why_span_differs(change, whole); !why.empty())
    out += fmt::format(
        "  but the whole trace takes {:.3f} ms instead of {:.3f}, {}, from its first GPU work to the end of the last: {}\n",
        ms(report.what_if_span), ms(report.replayed_span), percent(whole), why);
  for (const std::string& c : report.changes) out += "  changed  " + c + "\n";
  return out;
}

std::string held_out_text(const ReplayReport& report) {
  const StepMedians m = medians(report.held_out);
  if (m.steps == 0) return "each step predicted from the others: no rank has three steps\n";
  return fmt::format("each step predicted from the others: median error {:.2f} %, worst {:.2f} % of {}\n",
                     100 * m.median_error, 100 * m.worst_error, counted(m.steps, "step"));
}

std::string parts_line(std::string_view what, const StepParts& p) {
  const double window = std::max(1.0, static_cast<double>(p.window));
  const auto part = [&](std::int64_t ps) {
    return fmt::format("{:>10.3f} {:>5.1f}%", ms(ps), 100 * static_cast<double>(ps) / window);
  };
  return fmt::format("{:<9}{:>10.3f} {} {} {} {}\n", what, ms(p.window), part(p.compute), part(p.comm), part(p.exposed),
                     part(p.idle));
}

std::string parts_text(const ReplayReport& report) {
  std::string out = fmt::format("\n{:<9}{:>10} {:>17} {:>17} {:>17} {:>17}\n", "ms/step", "window", "compute", "comm",
                                "exposed comm", "idle");
  out += parts_line("replayed", mean_parts(report.replayed));
  if (!report.what_if.empty()) out += parts_line("what-if", mean_parts(report.what_if));
  return out;
}

std::string step_table(const ReplayReport& report) {
  std::string out = fmt::format("\n{:<6}{:<24}{:>13}{:>13}{:>10}{}\n", "rank", "step", "measured ms", "replayed ms",
                                "error", report.what_if.empty() ? "" : fmt::format("{:>13}", "what-if ms"));
  for (std::size_t i = 0; i < std::min(kMostStepLines, report.replayed.size()); ++i) {
    const StepResult& r = report.replayed[i];
    out += fmt::format("{:<6}{:<24}{:>13}{:>13}{:>10}{}\n", r.rank, printable(r.name, 22), ms_text(r.measured),
                       ms_text(r.replayed), r.measured > 0 ? percent(r.error()) : "-",
                       report.what_if.empty() ? "" : fmt::format("{:>13}", ms_text(report.what_if[i].replayed)));
  }
  if (report.replayed.size() > kMostStepLines)
    out += fmt::format("... and {} in --csv\n", counted(report.replayed.size() - kMostStepLines, "more step"));
  return out;
}

std::string program_text(const ReplayGraph& graph) {
  const ReplayCounts& c = graph.counts;
  std::string out =
      fmt::format("\nprogram  {}, {} with a launch record, {} between streams, {} for the device, {} between threads\n",
                  counted(c.kernels, "kernel or copy", "kernels and copies"), c.launched,
                  counted(c.dependencies, "wait"), counted(c.host_waits, "host wait"), counted(c.handoffs, "hand-off"));
  if (c.joined > 0) out += fmt::format("         {} matched across ranks\n", counted(c.joined, "collective kernel"));
  if (c.room_waits > 0)
    out += fmt::format("         {} waited for room in the device's full queue of launches\n",
                       counted(c.room_waits, "call"));
  if (c.unseen_room_waits > 0)
    out += fmt::format(
        "         {} took longer than usual with a full queue of launches, without the end of a kernel; kept as the "
        "host's time\n",
        counted(c.unseen_room_waits, "call"));
  if (c.unexplained > 0)
    out += fmt::format("         {} started late for no reason visible in the trace; the delay is kept\n",
                       counted(c.unexplained, "kernel"));
  return out;
}

std::vector<std::string> notes_of(const ReplayGraph& graph) {
  std::vector<std::string> notes;
  if (std::string verdict = traces::verdict_of(*graph.job); verdict != "complete")
    notes.push_back("the trace is " + std::move(verdict));
  notes.insert(notes.end(), graph.assumptions.begin(), graph.assumptions.end());
  const auto take = [&](const traces::TraceNotes& n, const std::string& who) {
    for (const std::string& a : n.assumptions) notes.push_back(who + a);
    for (const auto& d : n.dropped) notes.push_back(fmt::format("{}not read: {} ({})", who, d.what, d.count));
  };
  take(graph.job->notes, "");
  for (const traces::TraceRank& r : graph.job->ranks)
    take(r.notes, graph.ranks.size() == 1 ? "" : fmt::format("rank {}: ", r.rank));
  return notes;
}

std::string assumptions_text(const ReplayGraph& graph) {
  const auto notes = notes_of(graph);
  std::string out;
  for (std::size_t i = 0; i < std::min(kMostNotes, notes.size()); ++i)
    out += (i == 0 ? "assumes  - " : "         - ") + printable(notes[i], 160) + "\n";
  if (notes.size() > kMostNotes)
    out += fmt::format("         - and {} in --json\n", counted(notes.size() - kMostNotes, "more note"));
  return out;
}

nlohmann::json parts_json(const StepParts& p) {
  return {{"window_ms", ms(p.window)},
          {"compute_ms", ms(p.compute)},
          {"comm_ms", ms(p.comm)},
          {"exposed_comm_ms", ms(p.exposed)},
          {"idle_ms", ms(p.idle)}};
}

nlohmann::json results_json(const std::vector<StepResult>& results) {
  nlohmann::json out = nlohmann::json::array();
  for (const StepResult& r : results) {
    nlohmann::json row{{"rank", r.rank},
                       {"step", printable(r.name)},
                       {"number", r.number},
                       {"basis", std::string(name_of(r.basis))},
                       {"replayed_ms", ms(r.replayed)}};
    row["measured_ms"] = r.measured > 0 ? nlohmann::json(ms(r.measured)) : nlohmann::json();
    row["parts"] = parts_json(r.parts);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string replay_text(const ReplayReport& report) {
  std::string out = first_line(report);
  if (!report.what_if.empty()) out += what_if_line(report);
  if (report.wants_held_out) out += held_out_text(report);
  return out + parts_text(report) + step_table(report) + program_text(*report.graph) + assumptions_text(*report.graph);
}

/// The rows are those of the what-if where there is one.
std::string replay_csv(const ReplayReport& report) {
  std::string out =
      csv_line({"rank", "step", "measured_ms", "replayed_ms", "compute_ms", "comm_ms", "exposed_comm_ms", "idle_ms"});
  const auto number = [](std::int64_t ps) { return fmt::format("{:.6f}", ms(ps)); };
  for (const StepResult& r : report.what_if.empty() ? report.replayed : report.what_if) {
    out += csv_line({std::to_string(r.rank), std::to_string(r.number), r.measured > 0 ? number(r.measured) : "",
                     number(r.replayed), number(r.parts.compute), number(r.parts.comm), number(r.parts.exposed),
                     number(r.parts.idle)});
  }
  return out;
}

std::string replay_json(const ReplayReport& report) {
  const StepMedians m = medians(report.replayed);
  const ReplayCounts& c = report.graph->counts;
  nlohmann::json out;
  out["replayed_ms"] = ms(m.replayed);
  out["measured_ms"] = m.measured > 0 ? nlohmann::json(ms(m.measured)) : nlohmann::json();
  out["median_error"] = m.median_error;
  out["worst_error"] = m.worst_error;
  out["steps"] = results_json(report.replayed);
  if (!report.what_if.empty()) {
    out["what_if_ms"] = ms(medians(report.what_if).replayed);
    out["what_if_steps"] = results_json(report.what_if);
    out["replayed_span_ms"] = ms(report.replayed_span);
    out["what_if_span_ms"] = ms(report.what_if_span);
    out["changes"] = report.changes;
  }
  if (report.wants_held_out) out["held_out_steps"] = results_json(report.held_out);
  out["program"] = {
      {"kernels", c.kernels},         {"launched", c.launched},     {"stream_waits", c.dependencies},
      {"host_waits", c.host_waits},   {"hand_overs", c.handoffs},   {"joined", c.joined},
      {"unexplained", c.unexplained}, {"room_waits", c.room_waits}, {"unseen_room_waits", c.unseen_room_waits}};
  out["assumptions"] = notes_of(*report.graph);
  out["missing"] = traces::missing_parts(*report.graph->job);
  out["digest"] = fmt::format("{:016x}", report.digest);
  return json_text(out, 2) + "\n";
}

}  // namespace distsim::replay
