#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/output.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/report/html/page.hpp"
#include "sim/serving/online/online.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/fingerprint.hpp"
#include "sim/serving/spec/price_store.hpp"
#include "sim/study/points/progress.hpp"
#include "traces/timeline/timeline_writer.hpp"

namespace distsim::app {
namespace {

struct ServingFlags {
  std::string config, csv, json, html, timeline;
  std::vector<std::string> sets;
  unsigned jobs = 0;
  bool online = false;
};

Result<void> write_serving(const ServingFlags& flags, const serving::Comparison& c) {
  std::vector<std::string> notes;
  const auto page = [&] {
    return report::page_html({c.experiment->title, serving::comparison_page_json(c), serving::comparison_text(c)});
  };
  TRY(write_output_files(
      {{"--csv", flags.csv, [&](FilesTogether& files) { return files.write(flags.csv, serving::comparison_csv(c)); }},
       {"--json", flags.json,
        [&](FilesTogether& files) { return files.write(flags.json, serving::comparison_json(c)); }},
       {"--html", flags.html, [&](FilesTogether& files) { return files.write(flags.html, page()); }},
       {"--timeline", flags.timeline, [&](FilesTogether& files) -> Result<void> {
          TRY_ASSIGN(notes, serving::write_timeline(c, flags.timeline, files));
          return {};
        }}}));
  for (const std::string& note : notes) remark(note);
  return {};
}

/// How many of the requests of all runs have come: a long run shows that it goes on.
class RequestsProgress {
 public:
  explicit RequestsProgress(const serving::Experiment& e)
      : runs_(e.policies.size() * e.rates_per_s.size()), passes_(e.find_warm_up ? 2 : 1) {
    bool all_known = true;
    for (const double rate : e.rates_per_s) {
      const double requests = serving::expected_requests(serving::load_at(e, rate));
      all_known = all_known && requests >= 1;
      total_ += static_cast<std::size_t>(std::min(requests, 1e15)) * e.policies.size();
    }
    if (!all_known) total_ = 0;
    progress_.emplace("serving", total_, 0, "requests");
  }
  /// By the thread that plays a run. Where a warm-up is looked for, it is played twice.
  void sent(std::uint64_t requests) {
    const std::lock_guard lock(mutex_);
    played_ += requests;
    show();
  }
  void run_done() {
    const std::lock_guard lock(mutex_);
    ++done_;
    show();
  }

 private:
  void show() {
    const std::size_t sent = played_ / passes_;
    progress_->show(total_ > 0 ? std::min(sent, total_) : sent,
                    runs_ > 1 ? std::to_string(done_) + " of " + std::to_string(runs_) + " runs done" : "");
  }

  std::mutex mutex_;
  std::size_t runs_, passes_, total_ = 0, played_ = 0, done_ = 0;
  std::optional<study::StudyProgress> progress_;
};

Result<void> run_serving(const ServingFlags& flags) {
  const std::vector<std::pair<std::string, std::string>> outputs{
      {"--csv", flags.csv}, {"--json", flags.json}, {"--html", flags.html}, {"--timeline", flags.timeline}};
  TRY(check_outputs(outputs));
  if (!flags.timeline.empty()) TRY(traces::check_timeline_path("--timeline", flags.timeline));
  serving::PriceStore prices;
  TRY_ASSIGN(serving::Experiment experiment, serving::load_experiment(flags.config, flags.sets, &prices));
  TRY(check_outputs(outputs));
  for (const std::string& line : serving::without_effect(flags.config, flags.sets, &prices)) remark(line);
  const EarlyEnd early;
  serving::Comparison found;
  {
    RequestsProgress progress(experiment);
    experiment.run.on_sent = [&](std::uint64_t requests) { progress.sent(requests); };
    const unsigned jobs = flags.jobs > 0 ? flags.jobs : std::max(1u, std::thread::hardware_concurrency());
    found = serving::compare_policies(experiment, jobs, [&] { progress.run_done(); });
    experiment.run.on_sent = nullptr;
  }
  if (end_asked()) return Error{"interrupted before all runs were done", "", ""};
  const Result<void> written = write_serving(flags, found);
  if (takes_stdout(outputs)) {  // load above capacity is an answer, and one that is easily overlooked in a file
    for (const std::string& line : serving::overloads_of(found)) remark(line);
  } else {
    TRY(print(serving::comparison_text(found)));
  }
  TRY(written);
  return serving::failed_points(found);
}

/// Requests as lines of the standard input, decisions as lines of the standard output.
Result<void> run_online(const ServingFlags& flags) {
  TRY_ASSIGN(const serving::Experiment experiment, serving::load_experiment(flags.config, flags.sets));
  for (const std::string& line : serving::without_effect_online(flags.config, flags.sets)) remark(line);
  const EarlyEnd early;
  const std::unique_ptr<std::istream> in = standard_input();
  TRY_ASSIGN(const serving::RunResult result, serving::serve_online(experiment, *in, "standard input", std::cout));
  if (!std::cout) return Error{"standard output: cannot be written", "", ""};
  remark(counted(result.sent, "request") + ", " + counted(result.batches, "assignment") + ", " +
         counted(result.all.violations, "violation"));
  return {};
}

void declare_serving(CLI::App& self, Action& action) {
  auto flags = std::make_shared<ServingFlags>();
  self.add_option("--config", flags->config, "Serving experiment (docs/serving.md)")->required()->check(refuse_empty);
  self.add_option("--set", flags->sets, "KEY=VALUE: override any key, e.g. load.rate_per_s=200; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--jobs", flags->jobs, "Threads; default: all cores")->check(CLI::Range(1u, 4096u));
  self.add_option("--csv", flags->csv, "Write one CSV row per policy, rate and model; - is standard output")
      ->check(refuse_empty);
  self.add_option("--json", flags->json, "Write everything as JSON; - is standard output")->check(refuse_empty);
  self.add_option("--html", flags->html, "Write a page with the table and curves; - is standard output")
      ->check(refuse_empty);
  self.add_option("--timeline", flags->timeline,
                  "Write what each GPU executes at the first rate, for Perfetto: .pftrace or .json, also .gz")
      ->check(refuse_empty);
  CLI::Option* online = self.add_flag(
      "--online", flags->online,
      "Decide as requests come: lines TIME or TIME,MODEL on standard input, decisions as JSON lines on standard output");
  for (const char* other : {"--csv", "--json", "--html", "--timeline", "--jobs"}) online->excludes(other);
  self.callback(
      [flags, &action] { action = [flags] { return flags->online ? run_online(*flags) : run_serving(*flags); }; });
}

constexpr Refusal kServingRefuses[] = {
    {"", "--config: missing"},
    {"--config no_such.yaml", "no_such.yaml"},
    {"--config configs/dgx_a100_4node.yaml", "model: found a section of a training experiment"},
    {"--config configs/serving/two_gpus.yaml --set load.rate_per_s=-1", "load.rate_per_s"},
    {"--config configs/serving/two_gpus.yaml --set policies=[fifi]", "fifo"},
    {"--config configs/serving/two_gpus.yaml --set batching.size=0", "batching.size"},
    {"--config configs/serving/two_gpus.yaml --csv - --json -", "-"},
    {"--config configs/serving/two_gpus.yaml --timeline x.txt", "--timeline"},
    {"--config configs/serving/two_gpus.yaml --online --csv x.csv", "--online"},
    {"--config configs/serving/two_gpus.yaml --online", "policies"},
    {"--config configs/serving/two_gpus.yaml --set policies=[no_such.so]", "no_such.so"},
};

}  // namespace

const Command serving_command{
    .name = "serving",
    .description =
        "Emulate inference serving: requests, scheduling policies and batches on several GPUs, latency tails",
    .refuses = kServingRefuses,
    .declare = declare_serving,
};

}  // namespace distsim::app
