// distsim hugectr: the workflow of HugeCTR's inline profiler: what to measure, what was measured, and how runs compare.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/output.hpp"
#include "base/text/printable.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "traces/hugectr/hugectr_charts.hpp"

namespace distsim::app {
namespace {

struct HugectrFlags {
  std::string events, out = "-", svg, json, csv, format = "auto";
  std::vector<std::string> results, runs;
  std::uint32_t warmup = 10, repeat = 50;
};

/// prof.events for the releases, prof.schedule for the versions before; by the name of the output, unless said.
bool wants_events(const HugectrFlags& f) {
  return f.format == "events" || (f.format == "auto" && f.out.ends_with("prof.events"));
}

Result<void> write_schedule(const HugectrFlags& f, const CLI::App& command) {
  if (wants_events(f)) name_unheeded(command, {"--warmup", "--repeat"}, "the format events has no such numbers");
  TRY(check_outputs({{"--out", f.out}}));
  TRY_ASSIGN(const std::vector<traces::HugectrEvent> events, traces::read_hugectr_events(f.events));
  return write_file_atomically(f.out, wants_events(f) ? traces::hugectr_events_text(events)
                                                      : traces::hugectr_schedule_text(events, f.warmup, f.repeat));
}

Result<std::vector<traces::HugectrHost>> read_hosts(const std::vector<std::string>& files,
                                                    const std::string& events_file) {
  std::vector<traces::HugectrEvent> events;
  if (!events_file.empty()) {
    TRY_ASSIGN(events, traces::read_hugectr_events(events_file));
  }
  std::vector<traces::HugectrHost> hosts;
  for (const std::string& file : files) {
    TRY_ASSIGN(traces::HugectrHost host, traces::read_hugectr_profile(file, events));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::string hosts_text(const std::vector<traces::HugectrHost>& hosts) {
  std::string out;
  for (const traces::HugectrHost& h : hosts) {
    std::size_t events = 0, streams = 0;
    for (const auto& [device, by_stream] : h.timeline) {
      for (const auto& [stream, list] : by_stream) events += list.size(), ++streams;
    }
    out += printable(h.host_name) + ": iteration mean " + std::to_string(h.avg_iter_time_ms) + " ms, median " +
           std::to_string(h.median_iter_time_ms) + " ms; " + std::to_string(events) + " events on " +
           std::to_string(h.timeline.size()) + " devices, " + std::to_string(streams) + " streams\n";
  }
  return out;
}

Result<void> write_timeline(const HugectrFlags& f) {
  TRY(check_outputs({{"--json", f.json}, {"--svg", f.svg}}));
  TRY_ASSIGN(const std::vector<traces::HugectrHost> hosts, read_hosts(f.results, f.events));
  TRY(check_outputs({{"--json", f.json}, {"--svg", f.svg}}));
  if (!f.json.empty()) TRY(write_file_atomically(f.json, traces::hugectr_timeline_json(hosts)));
  if (!f.svg.empty()) TRY(write_file_atomically(f.svg, traces::hugectr_timeline_svg(hosts)));
  return takes_stdout({{"--json", f.json}, {"--svg", f.svg}}) ? Result<void>() : print(hosts_text(hosts));
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
  TRY_ASSIGN(const std::vector<traces::HugectrHost> hosts, read_hosts(files, events));
  return traces::hugectr_run(text.substr(0, equals), hosts);
}

Result<void> write_scaling(const HugectrFlags& f) {
  TRY(check_outputs({{"--csv", f.csv}, {"--svg", f.svg}}));
  std::vector<traces::HugectrRun> runs;
  for (const std::string& text : f.runs) {
    TRY_ASSIGN(traces::HugectrRun run, read_run(text, f.events));
    runs.push_back(std::move(run));
  }
  TRY(check_outputs({{"--csv", f.csv}, {"--svg", f.svg}}));
  if (!f.csv.empty()) TRY(write_file_atomically(f.csv, traces::hugectr_scaling_csv(runs)));
  if (!f.svg.empty()) TRY(write_file_atomically(f.svg, traces::hugectr_scaling_svg(runs)));
  return takes_stdout({{"--csv", f.csv}, {"--svg", f.svg}}) || !f.csv.empty() || !f.svg.empty()
             ? Result<void>()
             : print(traces::hugectr_scaling_csv(runs));
}

void add_events(CLI::App* sub, const std::shared_ptr<HugectrFlags>& f) {
  sub->add_option("--events", f->events,
                  "Event list that supplies layer names for results without them (v3.1 and later)")
      ->check(refuse_empty);
}

void declare(CLI::App& self, Action& action) {
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
      self.add_subcommand("timeline", "Convert results to avg_iter_time_ms and a timeline, or chart them");
  timeline->add_option("results", f->results, "HOST.prof.json, one per host")->required();
  timeline->add_option("--json", f->json, "Write the parsed results; - is standard output")->check(refuse_empty);
  timeline->add_option("--svg", f->svg, "Write the timeline chart")->check(refuse_empty);
  add_events(timeline, f);
  timeline->callback([f, &action] { action = [f] { return write_timeline(*f); }; });

  CLI::App* scaling =
      self.add_subcommand("scaling", "Compare runs: iteration time, mean and maximum of the measured events");
  scaling->add_option("--run", f->runs, "NAME=FILE[,FILE]: a run and its hosts' results; may be repeated")
      ->required()
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  scaling->add_option("--svg", f->svg, "Write the scaling chart")->check(refuse_empty);
  scaling->add_option("--csv", f->csv, "Write the underlying table; - is standard output")->check(refuse_empty);
  add_events(scaling, f);
  scaling->callback([f, &action] { action = [f] { return write_scaling(*f); }; });
}

constexpr Refusal kRefuses[] = {
    {"", "subcommand"},
    {"timeline no_such.prof.json", "no_such.prof.json"},
};

}  // namespace

const Command hugectr_command{
    .name = "hugectr",
    .description = "HugeCTR's inline profiler: write its schedule, read and chart its results",
    .refuses = kRefuses,
    .declare = declare,
};

}  // namespace distsim::app
