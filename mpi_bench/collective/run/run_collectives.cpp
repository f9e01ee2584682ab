#include <unistd.h>

#include "mpi_bench/collective/run/report.hpp"
#include "mpi_bench/collective/run/run.hpp"

namespace distsim::bench {
namespace {

/// Rough share of the time, for the progress line: a latency and a bandwidth term.
double work_of(std::uint64_t bytes) { return 1e5 + static_cast<double>(bytes); }

std::vector<Sweep> sweeps_of(const PlannedCurve& curve, const Options& options, int ranks) {
  std::vector<Sweep> sweeps;
  const bool all_roots = options.all_roots && curve.what->rooted;
  const int first_root = options.all_roots ? 0 : options.root, last_root = all_roots ? ranks - 1 : first_root;
  for (RedOp op : options.ops) {
    if (!curve.what->reduces && op != options.ops.front()) continue;
    for (int root = first_root; root <= last_root; ++root) sweeps.push_back({.what = curve.what, .type = curve.type, .op = op, .root = root});
  }
  return sweeps;
}

double total_work(const std::vector<PlannedCurve>& curves, const Options& options, const std::vector<Grouping>& groupings) {
  double total = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    double sizes = 0;
    for (std::uint64_t bytes : curves[i].sizes) sizes += work_of(bytes);
    total += sizes * static_cast<double>(sweeps_of(curves[i], options, groupings[i].ranks).size());
  }
  return total;
}

class Run {
 public:
  Run(const RunContext& context, std::vector<PlannedCurve> curves, std::vector<Grouping> groupings)
      : c_(context), curves_(std::move(curves)), groupings_(std::move(groupings)),
        report_(c_.options, c_.ranks, c_.chosen, total_work(curves_, c_.options, groupings_), c_.flags) {}

  Result<Outcome> all() {
    clock_ = synchronise_clock(c_.ranks);
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      TRY(gather_team(i));
      if (curves_.size() == 1) TRY(backend_->supports(*curves_[i].what, curves_[i].type, c_.options.ops.front()));
      if (begins_table(i)) report_.begin_table(*curves_[i].what, *backend_, team_);
      TRY_ASSIGN(const Outcome outcome, curve(curves_[i]));
      if (outcome != Outcome::finished || i + 1 == curves_.size() || begins_table(i + 1)) report_.end_table(outcome);
      if (outcome != Outcome::finished) return outcome;
    }
    TRY(c_.ranks.agree(report_.save(false)));
    return Outcome::finished;
  }

 private:
  /// Types of one collective over one group stand in one table, as in nccl-tests.
  bool begins_table(std::size_t i) const {
    return i == 0 || curves_[i].what != curves_[i - 1].what || !(groupings_[i] == groupings_[i - 1]);
  }

  /// A new backend where the groups differ from those of the curve before.
  Result<void> gather_team(std::size_t i) {
    if (i > 0 && groupings_[i] == groupings_[i - 1]) return {};
    c_.watchdog.doing("connecting the groups " + groupings_[i].name);
    backend_.reset();
    team_ = team_of(groupings_[i], c_.ranks);
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
    const Surroundings surroundings{c_.ranks, team_, c_.options, *backend_, c_.watchdog, clock_, c_.interrupted};
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
    const auto& stall = c_.options.stall;
    while (stall && stall->first == c_.ranks.rank() && stall->second == rows_) ::pause();
    ++rows_;
  }

  const RunContext& c_;
  const std::vector<PlannedCurve> curves_;
  const std::vector<Grouping> groupings_;
  RunReport report_;
  Team team_;
  std::unique_ptr<Backend> backend_;
  ClockOffset clock_;
  std::uint64_t rows_ = 0;
};

Result<void> check_roots(const Options& options, const std::vector<Grouping>& groupings) {
  for (const Grouping& g : groupings) {
    if (!options.all_roots && options.root >= g.ranks)
      return Error{"found " + std::to_string(options.root) + ", expected a rank below " + std::to_string(g.ranks), "-r", ""};
  }
  return {};
}

}  // namespace

std::vector<PlannedCurve> planned_curves(const Options& options) {
  if (!options.planned.empty()) return options.planned;
  std::vector<PlannedCurve> curves;
  for (const GroupRequest& group : options.groups) {
    for (const CollectiveCase* what : options.collectives) {
      for (DataType type : options.types) curves.push_back({what, type, group, sweep_sizes(options)});
    }
  }
  return curves;
}

Result<Outcome> run_collectives(const RunContext& context) {
  std::vector<PlannedCurve> curves = planned_curves(context.options);
  std::vector<Grouping> groupings;
  for (const PlannedCurve& curve : curves) {
    TRY_ASSIGN(Grouping grouping, groups_of(curve.group, context.ranks.node_of()));
    groupings.push_back(std::move(grouping));
  }
  TRY(check_roots(context.options, groupings));
  return Run(context, std::move(curves), std::move(groupings)).all();
}

}  // namespace distsim::bench
