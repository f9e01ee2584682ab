// collective_bench: mpirun -n N collective_bench [nccl-tests flags].
// Exit codes: 0 done, 1 a wrong element or a library failure, 2 a refused command line or environment, 3 a rank died or
// stalled or the system refused a thread or a file, 130 interrupted.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/file.hpp"
#include "base/output.hpp"
#include "base/system/program.hpp"
#include "base/system/signals.hpp"
#include "mpi_bench/collective/options/idle_flags.hpp"
#include "mpi_bench/collective/output/machine_facts.hpp"
#include "mpi_bench/collective/plan/plan.hpp"
#include "mpi_bench/collective/run/launch.hpp"
#include "mpi_bench/collective/run/measure/run.hpp"

namespace distsim::bench {
namespace {

constexpr int kInterruptedExit = 130;

/// Past stdio, whose lock a thread may hold for ever that writes where nobody reads; nothing is said there.
void say_if_heard(std::string_view text) {
  pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0) (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

/// mpirun gives its ranks a second after a signal. Where the orderly end does not come in time, as on a machine with
/// far more ranks than cores, the run ends without it: the files of the last finished size are on disk, marked partial.
class HastyEnd {
 public:
  explicit HastyEnd(bool speaks) : thread_([this, speaks] { watch(speaks); }) {}
  ~HastyEnd() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }

 private:
  static constexpr auto kLook = std::chrono::milliseconds(100);
  static constexpr int kLooks = 7;

  void watch(bool speaks) {
    std::unique_lock lock(mutex_);
    for (int left = kLooks; left > 0;) {
      if (ended_.wait_for(lock, kLook, [this] { return over_; })) return;
      if (end_asked()) --left;
    }
    if (speaks) say_if_heard("# Interrupted: the table is partial\n");  // every row was flushed when it was printed
    end_at_once(kInterruptedExit);
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the others
};

/// All ranks must run the same program with the same flags: the texts of all are compared before anything else is done.
Result<void> same_everywhere(const Ranks& ranks, const Result<CommandLine>& line) {
  TRY(ranks.agree(line.ok() ? Result<void>() : Result<void>(line.error())));
  const auto texts = ranks.gather(canonical_text(*line, program_fingerprint()));
  for (int r = 1; r < ranks.size(); ++r) {
    const std::string difference = first_difference(texts[r], texts[0]);
    if (!difference.empty())
      return Error{"rank " + std::to_string(r) + " was started with different flags than rank 0: " + difference, "",
                   ""};
  }
  return {};
}

Result<void> check_files(const Ranks& ranks, const Options& options) {
  if (ranks.rank() != 0) return {};
  if (!options.files.topology.empty()) {
    const auto text = read_file(options.files.topology, 256 * 1024);
    if (!text.ok()) return text.error();
  }
  if (!options.selected.config.empty()) note_input(options.selected.config);  // `distsim curves plan` reads it
  return check_outputs({{"--out", options.files.out}, {"-J", options.files.json}});
}

/// Until the watchdog runs: a rank that never comes must not hold the others for ever.
class StartGuard {
 public:
  explicit StartGuard(double stall_limit_s) {
    if (stall_limit_s <= 0) return;
    const double limit_s = std::max(stall_limit_s, kLeastStartSeconds);
    std::thread([limit_s, done = done_] {
      std::this_thread::sleep_for(std::chrono::duration<double>(limit_s));
      if (done->load()) return;
      std::fprintf(stderr, "collective_bench: not all ranks have connected within %g s: one is missing or stopped\n",
                   limit_s);
      end_at_once(kStalledExit);
    }).detach();
  }
  void all_here() { done_->store(true); }

 private:
  const std::shared_ptr<std::atomic<bool>> done_ = std::make_shared<std::atomic<bool>>(false);
};

Result<Outcome> measure(const RunContext& context) {
  if (context.options.selected.overhead) return run_overhead(context);
  return context.options.selected.pair_tests.empty() ? run_collectives(context) : run_pair_tests(context);
}

Result<Outcome> run(const ProcessRanks& ranks, const Result<CommandLine>& line, const std::string& flags,
                    StartGuard& guard) {
  TRY(same_everywhere(ranks, line));
  const Options& options = line->options;
  TRY(ranks.agree(check_files(ranks, options)));
  TRY_ASSIGN(const ChosenBackend chosen, choose_backend(options, ranks));
  if (ranks.rank() == 0) {
    if (const std::string& said = options.selected.plan_remarks; !said.empty())
      std::fprintf(stderr, "%s\n", said.c_str());
    for (const std::string& remark : idle_flags(*line, {chosen.kind, ranks.carrier() == "MPI"}))
      std::fprintf(stderr, "collective_bench: %s\n", remark.c_str());
  }
  const auto watchdog = Watchdog::start(ranks, options.stall_limit_s, options.lanes.lanes());
  guard.all_here();
  const RunContext context{options, ranks, chosen, *watchdog, synchronise_clock(ranks), end_asked, flags};
  return options.lanes.lanes() > 1 ? run_lanes(context, measure) : measure(context);
}

/// `apart`: each rank was started by itself and has an error output of its own, where mpirun has one for all.
int exit_code(const Ranks& ranks, bool apart, const Result<Outcome>& outcome) {
  if (!outcome.ok()) {
    if (ranks.rank() == 0 || apart) std::fprintf(stderr, "collective_bench: %s\n", outcome.error().text().c_str());
    return 2;
  }
  if (*outcome == Outcome::wrong) return 1;
  return *outcome == Outcome::interrupted ? kInterruptedExit : 0;
}

int end_code(const Result<void>& end) {
  if (end.ok()) return 0;
  std::fprintf(stderr, "collective_bench: %s\n", end.error().text().c_str());
  return 2;
}

Result<CommandLine> command_line(int argc, char** argv) {
  TRY_ASSIGN(CommandLine line, parse_command_line(argc, argv));
  if (line.print || line.options.selected.plan.empty()) return line;
  TRY_ASSIGN(LoadedPlan plan, load_plan(line.options));
  line.options.selected.planned = std::move(plan.curves);
  line.options.selected.plan_remarks = std::move(plan.remarks);
  return line;
}

std::string joined(int argc, char** argv) {
  std::string text;
  for (int i = 1; i < argc; ++i) text += (i == 1 ? "" : " ") + std::string(argv[i]);
  return text;
}

int run_bench(int argc, char** argv) {
  protect_inputs();
  const std::string flags = joined(argc, argv);
  const auto line = command_line(argc, argv);
  if (line.ok() && line->print) {
    return end_code(print(*line->print));
  }
  StartGuard guard(line.ok() ? line->options.stall_limit_s : 0);
  const auto ranks = start_ranks(line.ok() ? line->options : Options{}, &argc, &argv);
  if (!ranks.ok()) {
    const int code = end_code(ranks.error());
    return is_of_the_machines(ranks.error()) ? kStalledExit : code;
  }
  const EarlyEnd early;  // mpirun passes an interrupt on as SIGTERM
  const HastyEnd hasty((*ranks)->rank() == 0);
  const bool apart = line.ok() && line->options.backend == BackendChoice::tcp;
  const int code = exit_code(**ranks, apart, run(**ranks, line, flags, guard));
  return code == 0 && (*ranks)->rank() == 0 ? end_code(check_printed()) : code;
}

}  // namespace
}  // namespace distsim::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a rank that has gone is an error of the write
  return distsim::run_program({"collective_bench", "use a smaller -e or fewer ranks per node"},
                              [&] { return distsim::bench::run_bench(argc, argv); });
}
