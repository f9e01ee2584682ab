#include <unistd.h>

#include "mpi_bench/collective/plan/plan.hpp"
#include "mpi_bench/collective/run/measure/report.hpp"
#include "mpi_bench/collective/run/measure/run.hpp"

namespace distsim::bench {
namespace {

/// Rough share of the time, for the progress line: a latency and a bandwidth term.
double work_of(std::uint64_t bytes) { return 1e5 + static_cast<double>(bytes); }

std::vector<Sweep> sweeps_of(const PlannedCurve& curve, const Options& options, int ranks) {
  std::vector<Sweep> sweeps;
  const bool all_roots = options.selected.all_roots && curve.what->rooted;
  const int first_root = options.selected.all_roots ? 0 : options.selected.root,
            last_root = all_roots ? ranks - 1 : first_root;
  for (RedOp op : options.selected.ops) {
    if (!curve.what->reduces && op != options.selected.ops.front()) continue;
    for (int root = first_root; root <= last_root; ++root)
      sweeps.push_back({.what = curve.what, .type = curve.type, .op = op, .root = root});
  }
  return sweeps;
}

double total_work(const Schedule& schedule, const Options& options) {
  double total = 0;
  for (const Measurement& m : schedule.measurements) {
    double sizes = 0;
    for (std::uint64_t bytes : m.curve.sizes) sizes += work_of(bytes);
    total += sizes * static_cast<double>(sweeps_of(m.curve, options, m.grouping.ranks).size());
  }
  return total;
}

class Run {
 public:
  Run(const RunContext& context, Schedule schedule)
      : c_(context),
        schedule_(std::move(schedule)),
        report_(c_.options, c_.ranks, c_.chosen, total_work(schedule_, c_.options), c_.flags) {}

  Result<Outcome> all() {
    for (const std::string& remark : schedule_.remarks) report_.comment(remark);
    for (std::size_t i = 0; i < at_.size(); ++i) {
      TRY(gather_team(i));
      const PlannedCurve& planned = at_[i].curve;
      if (at_.size() == 1) TRY(backend_->supports(*planned.what, planned.type, c_.options.selected.ops.front()));
      if (begins_table(i)) report_.begin_table(*planned.what, *backend_, team_);
      TRY_ASSIGN(const Outcome outcome, curve(planned));
      if (outcome != Outcome::finished || i + 1 == at_.size() || begins_table(i + 1)) report_.end_table(outcome);
      if (outcome != Outcome::finished) return outcome;
    }
    TRY(c_.ranks.agree(report_.save(false)));
    return Outcome::finished;
  }

 private:
  /// Types of one collective over one group share a table, as in nccl-tests.
  bool begins_table(std::size_t i) const {
    return i == 0 || at_[i].curve.what != at_[i - 1].curve.what || !(at_[i].grouping == at_[i - 1].grouping);
  }

  /// A new backend where the groups differ from those of the curve before.
  Result<void> gather_team(std::size_t i) {
    const Grouping& grouping = at_[i].grouping;
    if (i > 0 && grouping == at_[i - 1].grouping) return {};
    c_.watchdog.doing("connecting the groups " + grouping.name);
    backend_.reset();
    team_ = team_of(grouping, c_.ranks);
    auto made = make_backend(c_.chosen, c_.options, c_.ranks, team_);
    TRY(c_.ranks.agree(made.ok() ? Result<void>() : Result<void>(made.error())));
    backend_ = std::move(made).value();
    if (i == 0) report_.introduce(*backend_);
    return {};
  }

  Result<Outcome> curve(const PlannedCurve& curve) {
    for (const Sweep& sweep : sweeps_of(curve, c_.options, team_.ranks)) {
      const Result<void> supported = backend_->supports(*sweep.what, sweep.type, sweep.op);
      if (!supported.ok()) {
        report_.comment("left out: " + supported.error().text());
        return Outcome::finished;
      }
      TRY_ASSIGN(const Outcome outcome, sizes(sweep, curve.sizes));
      if (outcome != Outcome::finished) return outcome;
    }
    return Outcome::finished;
  }

  Result<Outcome> sizes(const Sweep& sweep, const std::vector<std::uint64_t>& sizes) {
    report_.begin_curve(sweep, *backend_, team_);
    const Surroundings surroundings{c_.ranks, team_, c_.options, *backend_, c_.watchdog, c_.clock, c_.interrupted};
    for (std::uint64_t bytes : sizes) {
      if (c_.ranks.any(c_.interrupted())) return Outcome::interrupted;
      stall_if_told();
      report_.announce(*sweep.what, bytes);
      TRY_ASSIGN(const MeasuredRow measured, measure_row(surroundings, sweep, bytes));
      if (measured.interrupted) return Outcome::interrupted;
      if (measured.fault) {
        report_.add_wrong(measured);
        return Outcome::wrong;
      }
      TRY(c_.ranks.agree(report_.add(measured.row, work_of(bytes))));
    }
    return Outcome::finished;
  }

  /// Tests: a rank that lives and does nothing.
  void stall_if_told() {
    const auto& stall = c_.options.injected.stall;
    while (stall && stall->first == c_.ranks.rank() && stall->second == rows_) ::pause();
    ++rows_;
  }

  const RunContext& c_;
  const Schedule schedule_;
  const std::vector<Measurement>& at_ = schedule_.measurements;
  RunReport report_;
  Team team_;
  std::unique_ptr<Backend> backend_;
  std::uint64_t rows_ = 0;
};

Result<void> check_roots(const Options& options, const Schedule& schedule) {
  for (const Measurement& m : schedule.measurements) {
    if (!options.selected.all_roots && options.selected.root >= m.grouping.ranks)
      return Error{"found " + std::to_string(options.selected.root) + ", expected a rank below " +
                       std::to_string(m.grouping.ranks),
                   "-r", ""};
  }
  return {};
}

}  // namespace

std::vector<PlannedCurve> planned_curves(const Options& options) {
  if (!options.selected.planned.empty()) return options.selected.planned;
  std::vector<PlannedCurve> curves;
  for (const GroupRequest& group : options.selected.groups) {
    for (const CollectiveCase* what : options.selected.collectives) {
      for (DataType type : options.selected.types) curves.push_back({what, type, group, sweep_sizes(options.sizes)});
    }
  }
  return curves;
}

Result<Outcome> run_collectives(const RunContext& context) {
  auto schedule = schedule_of(planned_curves(context.options), context.ranks.node_of());
  if (!schedule.ok() && !context.options.selected.planned.empty())
    return Error{schedule.error().what, "--plan", "start as many ranks as the plan needs"};
  if (!schedule.ok()) return schedule.error();
  TRY(check_roots(context.options, *schedule));
  return Run(context, std::move(schedule).value()).all();
}

}  // namespace distsim::bench
