#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/output.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/profile/profile.hpp"
#include "sim/profile/profile_in_pieces.hpp"
#include "sim/replay/doubt.hpp"
#include "sim/report/html/page.hpp"
#include "sim/report/profile/profile_report.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::app {
namespace {

struct ProfileFlags {
  std::vector<std::string> traces;
  std::string csv, json, html, table = "steps", steps, unprofiled, record_cost, host_stacks;
  std::uint32_t rank = 0;
  bool rank_given = false, stream = false;
  std::uint32_t top = 10;
  int width = 120;
};

Result<std::uint32_t> shown_rank(const ProfileFlags& f, const traces::TraceJob& job) {
  if (!f.rank_given) return 0u;
  for (std::uint32_t i = 0; i < job.ranks.size(); ++i) {
    if (job.ranks[i].rank == f.rank) return i;
  }
  std::string known;
  for (std::size_t i = 0; i < std::min<std::size_t>(job.ranks.size(), 16); ++i)
    known += (i > 0 ? ", " : "") + std::to_string(job.ranks[i].rank);
  return Error{"found " + std::to_string(f.rank) + ", expected a rank of the trace: " + known +
                   (job.ranks.size() > 16 ? ", ..." : ""),
               "--rank", ""};
}

using Profiled = std::pair<traces::TraceJob, profile::Profile>;

struct Longest {
  double seconds;
  const char* text;
};
constexpr Longest kLongestStep{1e6, "1000000 s"};
constexpr Longest kCostliestRecord{1e-3, "1 ms"};  // profilers take from 0.3 to 10 us for a record

/// A flag's time in ns; 0: not given.
Result<std::int64_t> time_flag(const char* flag, const std::string& text, const Longest& longest) {
  if (text.empty()) return 0;
  const auto seconds = parse_quantity(text, Dimension::seconds);
  if (!seconds) return Error{std::string(flag) + ": " + seconds.error().what, "", seconds.error().hint};
  if (*seconds >= 1e-9 && *seconds <= longest.seconds) return std::llround(*seconds * 1e9);
  return Error{std::string(flag) + ": found " + in_quotes(text) + ", expected a time from 1 ns to " + longest.text, "",
               ""};
}

Result<profile::ProfileOptions> profiler_flags(const ProfileFlags& f) {
  profile::ProfileOptions options;
  TRY_ASSIGN(options.unprofiled_ns, time_flag("--unprofiled", f.unprofiled, kLongestStep));
  TRY_ASSIGN(options.record_ns, time_flag("--record-cost", f.record_cost, kCostliestRecord));
  return options;
}

Result<Profiled> profile_in_memory(const ProfileFlags& f, const traces::TraceOptions& options) {
  TRY_ASSIGN(const profile::ProfileOptions profiler, profiler_flags(f));
  TRY_ASSIGN(traces::TraceJob job, traces::read_traces(f.traces, options));
  TRY_ASSIGN(profile::Profile profile, profile::make_profile(job, profiler));
  return Profiled(std::move(job), std::move(profile));
}

Result<Profiled> profile_in_slices(const ProfileFlags& f, const traces::TraceOptions& options) {
  auto pieces = profile::profile_in_pieces(f.traces, options);
  if (!pieces) return Error{"--stream: " + pieces.error().what, pieces.error().where, pieces.error().hint};
  return Profiled(std::move(pieces->job), std::move(pieces->profile));
}

/// Whether the trace lacks what a cost of recording, if one was given, is taken off; then that is named.
bool name_idle_cost(const profile::Profile& profile, const CLI::App& command) {
  const auto none = [&](auto has) { return std::ranges::none_of(profile.ranks, has); };
  const bool unmarked = none([](const profile::RankProfile& r) { return r.steps_marked; });
  if (unmarked) name_unheeded(command, {"--unprofiled"}, "no iteration is marked");
  const bool no_ops = none(profile::has_overheads);
  const char* const because = "the trace has no ops of the host";
  if (no_ops && !unmarked) name_unheeded(command, {"--unprofiled"}, because);
  if (no_ops) name_unheeded(command, {"--record-cost"}, because);
  return command.count("--unprofiled") > 0 ? unmarked || no_ops : no_ops && command.count("--record-cost") > 0;
}

/// What is known besides the trace, where the one table that is written is the same without it.
void name_idle_sources(const ProfileFlags& f, const traces::TraceJob& job, const profile::Profile& profile,
                       report::ProfileTable table, const CLI::App& command, bool cost_is_named) {
  if (f.host_stacks.empty() && f.unprofiled.empty() && f.record_cost.empty()) return;
  auto without = profile::make_profile(job, profile::ProfileOptions{});
  if (without && report::profile_csv(job, *without, table) == report::profile_csv(job, profile, table)) {
    constexpr const char* kSame = "the table is the same";
    name_unheeded(command, {"--host-stacks"}, kSame);
    if (!cost_is_named) name_unheeded(command, {"--unprofiled", "--record-cost"}, kSame);
  }
}

/// The components that the page of distsim serve shows traces with, over the profile.
std::string profile_page(const traces::TraceJob& job, const profile::Profile& profile) {
  constexpr std::size_t kMostPageBytes = 600'000;  // with script and style sheet below 1 MB
  const std::string title = "Profile of " + counted(profile.ranks.size(), "rank");
  return report::page_html(
      {title, "{\"kind\":\"profile\",\"profile\":" + report::profile_page_json(job, profile, kMostPageBytes) + "}",
       report::profile_text(job, profile, {})});
}

Result<void> profile(const ProfileFlags& f, const CLI::App& command) {
  const std::vector<std::pair<std::string, std::string>> outputs{
      {"--csv", f.csv}, {"--json", f.json}, {"--html", f.html}};
  traces::note_folders(f.traces);
  TRY(check_outputs(outputs));
  TRY_ASSIGN(const report::ProfileTable table, report::parse_profile_table(f.table));
  traces::TraceOptions options;
  options.step_pattern = f.steps;
  TRY_ASSIGN(auto profiled, f.stream ? profile_in_slices(f, options) : profile_in_memory(f, options));
  auto& [job, profile] = profiled;
  profile.doubt = replay::doubt_of(job, profile);
  if (!f.host_stacks.empty()) {
    TRY_ASSIGN(profile.host, traces::read_host_stacks(f.host_stacks));
  }
  TRY_ASSIGN(const std::uint32_t rank, shown_rank(f, job));
  if (takes_stdout(outputs)) name_unheeded(command, {"--top", "--width", "--rank"}, "the text is not printed");
  if (f.csv.empty()) name_unheeded(command, {"--table"}, "it is the table of --csv");
  const bool cost_is_named = name_idle_cost(profile, command);
  if (takes_stdout(outputs) && f.json.empty() && f.html.empty())
    name_idle_sources(f, job, profile, table, command, cost_is_named);
  return write_and_print({text_file("--csv", f.csv, [&] { return report::profile_csv(job, profile, table); }),
                          text_file("--json", f.json, [&] { return report::profile_json(job, profile); }),
                          text_file("--html", f.html, [&] { return profile_page(job, profile); })},
                         [&] {
                           return report::profile_text(job, profile, {f.width, f.top, rank});
                         });
}

void declare_profile(CLI::App& self, Action& action) {
  auto f = std::make_shared<ProfileFlags>();
  self.add_option("traces", f->traces, "Trace files, folders or patterns: the ranks of one job")->required();
  self.add_option("--csv", f->csv, "Write one table as CSV; - is standard output")->check(refuse_empty);
  self.add_option(
      "--table", f->table,
      "Table for --csv: steps (the default), tree, ops, kernels, collectives, ranks, overheads, variants, gpu, host");
  self.add_option("--json", f->json, "Write everything as JSON; - is standard output")->check(refuse_empty);
  self.add_option("--html", f->html, "Write a page with charts and tables; - is standard output")->check(refuse_empty);
  self.add_option(
      "--steps", f->steps,
      "Regular expression of the annotations that mark an iteration; default: ProfilerStep#N, otherwise Optimizer.step");
  self.add_flag("--stream", f->stream,
                "Read one large PyTorch trace in slices of a million records (or one step), in constant memory");
  self.add_option("--host-stacks", f->host_stacks,
                  "Stacks of the host recorded beside the trace: py-spy (raw or speedscope), or the table of cProfile")
      ->check(refuse_empty);
  CLI::Option* stream = self.get_option("--stream");
  CLI::Option* unprofiled =
      self.add_option("--unprofiled", f->unprofiled,
                      "Iteration time measured without the profiler (\"2.21 ms\"): tells what recording costs")
          ->check(refuse_empty)
          ->excludes(stream);
  self.add_option("--record-cost", f->record_cost,
                  "What the profiler adds to each host record (\"2 us\"), to be taken off the host overheads")
      ->check(refuse_empty)
      ->excludes(stream)
      ->excludes(unprofiled);
  self.add_option("--rank", f->rank, "Rank whose tree, ops and kernels are shown")->each([f](const std::string&) {
    f->rank_given = true;
  });
  self.add_option("--top", f->top, "Rows per table")->check(CLI::Range(1u, 10000u));
  self.add_option("--width", f->width, "Width of the text output, in columns")->check(CLI::Range(100, 400));
  self.callback([f, &self, &action] { action = [f, &self] { return profile(*f, self); }; });
}

constexpr Refusal kProfileRefuses[] = {
    {"", "traces: missing"},
    {"no_such_trace.json", "no_such_trace.json"},
};

}  // namespace

const Command profile_command{
    .name = "profile",
    .description =
        "Break down the iterations of a trace: PyTorch (Kineto, execution trace), Nsight Systems, nvprof, HugeCTR",
    .refuses = kProfileRefuses,
    .declare = declare_profile,
};

}  // namespace distsim::app
