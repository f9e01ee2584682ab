// collective_bench: mpirun -n N collective_bench [nccl-tests flags].
// Exit codes: 0 done, 1 a wrong element or a library failure, 2 a refused command line or environment, 130 interrupted.
#include <csignal>
#include <cstdio>

#include "base/file.hpp"
#include "mpi_bench/collective/run/report.hpp"

namespace distsim::bench {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_signal(int) { interrupted = 1; }

/// mpirun passes an interrupt on as SIGTERM.
void catch_signals() {
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

/// All ranks must run the same thing: the texts of all are compared before anything else is done.
Result<void> same_everywhere(const Ranks& ranks, const Result<CommandLine>& line) {
  TRY(ranks.agree(line.ok() ? Result<void>() : Result<void>(line.error())));
  const auto texts = ranks.gather(canonical_text(line->options));
  for (int r = 1; r < ranks.size(); ++r) {
    const std::string difference = first_difference(texts[r], texts[0]);
    if (!difference.empty()) return Error{"rank " + std::to_string(r) + " was started otherwise than rank 0: " + difference, "", ""};
  }
  return {};
}

Result<void> check_surroundings(const Ranks& ranks, const Options& options) {
  if (!options.all_roots && options.root >= ranks.size())
    return Error{"found " + std::to_string(options.root) + ", expected a rank below " + std::to_string(ranks.size()), "-r", ""};
  if (ranks.rank() != 0) return {};
  if (!options.out.empty()) TRY(check_writable(options.out));
  if (!options.json.empty()) TRY(check_writable(options.json));
  return {};
}

std::vector<Sweep> sweeps_of(const CollectiveCase& what, const Options& options, int ranks) {
  std::vector<Sweep> sweeps;
  const int first_root = options.all_roots ? 0 : options.root, last_root = options.all_roots && what.rooted ? ranks - 1 : first_root;
  for (DataType type : options.types) {
    for (RedOp op : options.ops) {
      if (!what.reduces && op != options.ops.front()) continue;
      for (int root = first_root; root <= last_root; ++root) sweeps.push_back({.what = &what, .type = type, .op = op, .root = root});
    }
  }
  return sweeps;
}

/// Rough share of the time, for the progress line: a latency and a bandwidth term.
double work_of(std::uint64_t bytes) { return 1e5 + static_cast<double>(bytes); }

double total_work(const Options& options, int ranks) {
  double sweep_work = 0, total = 0;
  for (std::uint64_t bytes : sweep_sizes(options)) sweep_work += work_of(bytes);
  for (const CollectiveCase* what : options.collectives) total += sweep_work * static_cast<double>(sweeps_of(*what, options, ranks).size());
  return total;
}

class Run {
 public:
  Run(const Options& options, const Ranks& ranks, ChosenBackend& chosen)
      : options_(options), ranks_(ranks), backend_(*chosen.backend), report_(options, ranks, chosen, total_work(options, ranks.size())) {}

  Result<Outcome> all() {
    for (const CollectiveCase* what : options_.collectives) {
      report_.begin_table(*what);
      TRY_ASSIGN(const Outcome outcome, table(*what));
      report_.end_table(outcome);
      if (outcome != Outcome::finished) return outcome;
    }
    TRY(ranks_.agree(report_.save(false)));
    return Outcome::finished;
  }

 private:
  Result<Outcome> table(const CollectiveCase& what) {
    std::optional<DataType> left_out;
    for (const Sweep& sweep : sweeps_of(what, options_, ranks_.size())) {
      const Result<void> supported = backend_.supports(what, sweep.type, sweep.op);
      if (!supported.ok() && options_.types.size() == 1) return supported.error();
      if (!supported.ok()) {
        if (left_out != sweep.type) report_.comment("left out: " + supported.error().text());
        left_out = sweep.type;
        continue;
      }
      TRY_ASSIGN(const Outcome outcome, sizes(sweep));
      if (outcome != Outcome::finished) return outcome;
    }
    return Outcome::finished;
  }

  Result<Outcome> sizes(const Sweep& sweep) {
    report_.begin_curve(sweep);
    for (std::uint64_t bytes : sweep_sizes(options_)) {
      if (ranks_.any(interrupted != 0)) return Outcome::interrupted;
      report_.announce(*sweep.what, bytes);
      TRY_ASSIGN(const MeasuredRow measured, measure_row(backend_, ranks_, options_, sweep, bytes));
      if (measured.fault) {
        report_.add_wrong(measured);
        return Outcome::wrong;
      }
      TRY(ranks_.agree(report_.add(measured.row, work_of(bytes))));
    }
    return Outcome::finished;
  }

  const Options& options_;
  const Ranks& ranks_;
  Backend& backend_;
  RunReport report_;
};

Result<Outcome> run(const Ranks& ranks, const Result<CommandLine>& line) {
  TRY(same_everywhere(ranks, line));
  const Options& options = line->options;
  TRY(ranks.agree(check_surroundings(ranks, options)));
  TRY_ASSIGN(ChosenBackend chosen, choose_backend(options, ranks));
  return Run(options, ranks, chosen).all();
}

int exit_code(const Ranks& ranks, const Result<Outcome>& outcome) {
  if (!outcome.ok()) {
    if (ranks.rank() == 0) std::fprintf(stderr, "collective_bench: %s\n", outcome.error().text().c_str());
    return 2;
  }
  if (*outcome == Outcome::wrong) return 1;
  return *outcome == Outcome::interrupted ? 130 : 0;
}

}  // namespace
}  // namespace distsim::bench

int main(int argc, char** argv) {
  using namespace distsim::bench;
  const auto line = parse_command_line(argc, argv);
  if (line.ok() && line->print) {
    std::fputs(line->print->c_str(), stdout);
    return 0;
  }
  Ranks ranks(&argc, &argv);
  catch_signals();
  return exit_code(ranks, run(ranks, line));
}
