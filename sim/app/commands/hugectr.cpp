// distsim hugectr: the workflow of HugeCTR's inline profiler: what to measure, what was measured, and how runs compare.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "base/output.hpp"
#include "base/text/printable.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/report/html/page.hpp"
#include "traces/hugectr/hugectr_charts.hpp"
#include "traces/hugectr/hugectr_text.hpp"

namespace distsim::app {
namespace {

using FlagAndPath = std::pair<std::string, std::string>;

struct HugectrFlags {
  std::string events, out = "-", svg, json, csv, html, format = "auto";
  std::vector<std::string> results, runs;
  std::uint32_t warmup = 10, repeat = 50;
};

/// prof.events for the releases, prof.schedule for the versions before; by the name of the output, unless said.
bool wants_events(const HugectrFlags& f) {
  return f.format == "events" || (f.format == "auto" && f.out.ends_with("prof.events"));
}

/// When the profiler has seen all it was asked for, and stops.
void say_when_recording_stops(const HugectrFlags& f, std::size_t events) {
  const std::uint64_t last = f.warmup + std::uint64_t{f.repeat} * events;
  if (wants_events(f))
    remark(
        fmt::format("the profiler stops once every event of every stream was timed: after at least {} iterations with "
                    "PROFILING_WARMUP_ITERS={} and PROFILING_REPEAT_TIMES_PER_EVENT={}",
                    last, f.warmup, f.repeat));
  else
    remark(fmt::format("the profiler stops once every event was timed: after iteration {}", last));
}

Result<void> write_schedule(const HugectrFlags& f, const CLI::App& command) {
  if (wants_events(f))
    name_unheeded(command, {"--warmup", "--repeat"},
                  "prof.events holds no such numbers; set them in the environment of the run, as said below");
  TRY(check_outputs({{"--out", f.out}}));
  TRY_ASSIGN(const std::vector<traces::HugectrEvent> events, traces::read_hugectr_events(f.events));
  TRY(write_file_atomically(f.out, wants_events(f) ? traces::hugectr_events_text(events)
                                                   : traces::hugectr_schedule_text(events, f.warmup, f.repeat)));
  say_when_recording_stops(f, events.size());
  return {};
}

/// The results of one run.
struct RunResults {
  std::vector<traces::HugectrHost> hosts;
  traces::HugectrJob job;
};

Result<RunResults> read_results(const std::vector<std::string>& files, const std::string& events_file) {
  std::vector<traces::HugectrEvent> events;
  if (!events_file.empty()) {
    TRY_ASSIGN(events, traces::read_hugectr_events(events_file));
  }
  RunResults results;
  for (const std::string& file : files) {
    TRY_ASSIGN(traces::HugectrHost host, traces::read_hugectr_profile(file, events));
    results.hosts.push_back(std::move(host));
    auto alone = traces::check_hugectr_hosts(results.hosts);
    if (!alone) return Error{alone.error().what, printable(file, 300), ""};
  }
  results.job = traces::merge_hugectr_hosts(results.hosts, events);
  return results;
}

/// What the text has below its tables, where the text is not printed.
void say_notes(const RunResults& r) {
  for (const std::string& note : r.job.notes) remark(note);
}

/// Without the text and the chart.
std::string tables_of(const RunResults& r) {
  return traces::hugectr_timeline_json(r.hosts) + traces::hugectr_job_csv(r.job);
}

Result<void> write_timeline(const HugectrFlags& f, const CLI::App& command) {
  const std::vector<std::pair<std::string, std::string>> outputs{
      {"--json", f.json}, {"--svg", f.svg}, {"--csv", f.csv}};
  TRY(check_outputs(outputs));
  TRY_ASSIGN(const RunResults results, read_results(f.results, f.events));
  if (takes_stdout(outputs) && f.svg.empty()) {
    const auto unnamed = read_results(f.results, "");
    if (unnamed && tables_of(results) == tables_of(*unnamed))
      name_unheeded(command, {"--events"}, "what is written is the same");
  }
  if (takes_stdout(outputs)) say_notes(results);
  return write_and_print({text_file("--json", f.json, [&] { return traces::hugectr_timeline_json(results.hosts); }),
                          text_file("--svg", f.svg, [&] { return traces::hugectr_timeline_svg(results.hosts); }),
                          text_file("--csv", f.csv, [&] { return traces::hugectr_job_csv(results.job); })},
                         [&] { return traces::hugectr_job_text(results.hosts, results.job); });
}

/// "NAME=FILE,FILE": a run and the results of its hosts.
Result<traces::HugectrRun> read_run(const std::string& text, const std::string& events) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Error{"--run: found " + in_quotes(text) + ", expected NAME=FILE[,FILE]", "", ""};
  }
  std::vector<std::string> files;
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    files.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  TRY_ASSIGN(RunResults results, read_results(files, events));
  return traces::HugectrRun{text.substr(0, equals), std::move(results.job)};
}

Result<std::vector<traces::HugectrRun>> read_runs(const HugectrFlags& f, const std::string& events) {
  std::vector<traces::HugectrRun> runs;
  for (const std::string& text : f.runs) {
    TRY_ASSIGN(traces::HugectrRun run, read_run(text, events));
    for (const traces::HugectrRun& before : runs) {
      if (before.name == run.name) return Error{"--run: found two runs named " + in_quotes(run.name), "", ""};
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

/// The files that are asked for, with what they hold.
std::vector<std::pair<FlagAndPath, std::string>> scaling_files(const HugectrFlags& f,
                                                               const std::vector<traces::HugectrRun>& runs) {
  std::vector<std::pair<FlagAndPath, std::string>> files;
  if (!f.csv.empty()) files.emplace_back(FlagAndPath("--csv", f.csv), traces::hugectr_scaling_csv(runs));
  if (!f.svg.empty()) files.emplace_back(FlagAndPath("--svg", f.svg), traces::hugectr_scaling_svg(runs));
  if (!f.html.empty())
    files.emplace_back(
        FlagAndPath("--html", f.html),
        report::page_html({"HugeCTR runs", traces::hugectr_scaling_json(runs), traces::hugectr_scaling_text(runs)}));
  return files;
}

Result<void> write_scaling(const HugectrFlags& f, const CLI::App& command) {
  const std::vector<std::pair<std::string, std::string>> outputs{
      {"--csv", f.csv}, {"--svg", f.svg}, {"--html", f.html}};
  TRY(check_outputs(outputs));
  TRY_ASSIGN(const std::vector<traces::HugectrRun> runs, read_runs(f, f.events));
  const auto files = scaling_files(f, runs);
  if (takes_stdout(outputs)) {  // the summary would say which events were not seen
    const auto unnamed = read_runs(f, "");
    if (unnamed && files == scaling_files(f, *unnamed))
      name_unheeded(command, {"--events"}, "what is written is the same");
  }
  std::vector<OutputFile> written;
  for (const auto& [output, text] : files)
    written.push_back(text_file(output.first, output.second, [&text = text] { return text; }));
  return write_and_print(written, [&] { return traces::hugectr_scaling_text(runs); });
}

void add_events(CLI::App* sub, const std::shared_ptr<HugectrFlags>& f) {
  sub->add_option("--events", f->events,
                  "Event list that supplies layer names for results without them (v3.1 and later)")
      ->check(refuse_empty);
}

void declare_hugectr(CLI::App& self, Action& action) {
  self.require_subcommand(1);
  auto f = std::make_shared<HugectrFlags>();

  CLI::App* schedule = self.add_subcommand("schedule", "Write prof.schedule or prof.events from a list of events");
  schedule
      ->add_option("events", f->events,
                   "YAML or JSON: {layer: {forward_events: [..], backward_events: [..]}}, layers in forward order")
      ->required();
  schedule
      ->add_option("--out", f->out,
                   "Output file, to be placed in the profiler's PROFILING_DIR; - is standard output (default)")
      ->check(refuse_empty);
  schedule
      ->add_option("--format", f->format, "schedule (early 2021), events (v3.1 to v3.7), auto: from the name of --out")
      ->check(CLI::IsMember({"auto", "schedule", "events"}));
  schedule->add_option("--warmup", f->warmup, "Iterations before the first measurement (default 10)")
      ->check(CLI::Range(0u, 1'000'000u));
  schedule->add_option("--repeat", f->repeat, "Measurements per event (default 50)")->check(CLI::Range(1u, 10'000u));
  schedule->callback([f, schedule, &action] { action = [f, schedule] { return write_schedule(*f, *schedule); }; });

  CLI::App* timeline =
      self.add_subcommand("timeline", "Merge the results of a run's hosts, write their timeline, or chart it");
  timeline->add_option("results", f->results, "HOST.prof.json, one per host")->required();
  timeline->add_option("--json", f->json, "Write the parsed results; - is standard output")->check(refuse_empty);
  timeline->add_option("--svg", f->svg, "Write the timeline chart")->check(refuse_empty);
  timeline->add_option("--csv", f->csv, "Write the events of all hosts as one table; - is standard output")
      ->check(refuse_empty);
  add_events(timeline, f);
  timeline->callback([f, timeline, &action] { action = [f, timeline] { return write_timeline(*f, *timeline); }; });

  CLI::App* scaling =
      self.add_subcommand("scaling", "Bars of several runs: iteration time, mean and maximum of the measured events");
  scaling->add_option("--run", f->runs, "NAME=FILE[,FILE]: a run and its hosts' results; may be repeated")
      ->required()
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  scaling->add_option("--svg", f->svg, "Write the scaling chart")->check(refuse_empty);
  scaling->add_option("--csv", f->csv, "Write the underlying table; - is standard output")->check(refuse_empty);
  scaling->add_option("--html", f->html, "Write a page with the chart and the table")->check(refuse_empty);
  add_events(scaling, f);
  scaling->callback([f, scaling, &action] { action = [f, scaling] { return write_scaling(*f, *scaling); }; });
}

constexpr Refusal kHugectrRefuses[] = {
    {"", "found no command"},
    {"timeline no_such.prof.json", "no_such.prof.json"},
};

}  // namespace

const Command hugectr_command{
    .name = "hugectr",
    .description = "HugeCTR's inline profiler: write its schedule, read and chart its results",
    .refuses = kHugectrRefuses,
    .declare = declare_hugectr,
};

}  // namespace distsim::app
