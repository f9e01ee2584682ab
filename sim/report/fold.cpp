#include "sim/report/fold.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "base/text/counted.hpp"

namespace distsim::report {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;  // 1281 h of picoseconds: sums of two such times are still times

std::int64_t extended(std::int64_t shorter, std::int64_t longer, std::int64_t more) {
  const WideTime value = WideTime(longer) + (WideTime(longer) - shorter) * more;
  return static_cast<std::int64_t>(std::clamp<WideTime>(value, 0, kMost));
}

/// The linear law for one figure, at most kMost.
class Extension {
 public:
  explicit Extension(std::int64_t more) : more_(more) {}
  Duration operator()(Duration shorter, Duration longer) const {
    return Duration::picoseconds(extended(shorter.ps(), longer.ps(), more_));
  }
  std::uint32_t operator()(std::uint32_t shorter, std::uint32_t longer) const {
    return static_cast<std::uint32_t>(std::min<std::int64_t>(UINT32_MAX, extended(shorter, longer, more_)));
  }
  /// Bytes.
  std::int64_t operator()(std::int64_t shorter, std::int64_t longer) const { return extended(shorter, longer, more_); }

 private:
  std::int64_t more_;
};

Result<void> check_time(std::int64_t shorter, std::int64_t longer, std::int64_t more) {
  if (extended(shorter, longer, more) < kMost) return {};
  return Error{"found an iteration of more than 1281 h, expected a shorter one", "",
               "fewer micro-steps, samples or layers, or more GPUs"};
}

/// Host time and idle time of what is left of a rank's iteration. The law holds for their sum; which of the two a stage of a
/// pipeline spends may change with the number of micro-steps, so where the law makes one of them negative, the shares of the
/// longer play are kept.
void split_rest(const RankTime& longer, Duration rest, RankTime& out) {
  out.idle = rest - out.host_bound;
  const Duration played = longer.host_bound + longer.idle;
  if (rest < Duration() || (out.host_bound > Duration() && out.idle >= Duration()) || played <= Duration()) return;
  const double share = longer.host_bound.seconds() / played.seconds();
  out.host_bound = Duration::picoseconds(std::llround(share * static_cast<double>(rest.ps())));
  out.idle = rest - out.host_bound;
}

/// Extends the parts of a rank's iteration. What clamping at zero has moved is taken from idle time, then from the next
/// parts.
void extend_parts(const RankTime& shorter, const RankTime& longer, const Extension& extend, Duration iteration,
                  RankTime& out) {
  out.compute = extend(shorter.compute, longer.compute);
  out.hidden_comm = extend(shorter.hidden_comm, longer.hidden_comm);
  out.exposed_comm = extend(shorter.exposed_comm, longer.exposed_comm);
  out.waiting = extend(shorter.waiting, longer.waiting);
  out.host_bound = extend(shorter.host_bound, longer.host_bound);
  split_rest(longer, iteration - out.compute - out.exposed_comm - out.waiting, out);
  Duration* const taking[] = {&out.idle, &out.host_bound, &out.waiting, &out.compute, &out.exposed_comm};
  for (std::size_t i = 0; i + 1 < std::size(taking) && *taking[i] < Duration(); ++i) {
    *taking[i + 1] += *taking[i];
    *taking[i] = Duration();
  }
  out.comm = extend(shorter.comm, longer.comm);
  out.hidden_comm = std::min(out.hidden_comm, out.comm);
}

/// Means over the ranks, the slowest and the fastest of them: of the extended ranks, whose parts may have been clamped.
void summarize_ranks(Report& out) {
  if (out.ranks.empty()) return;
  WideTime compute = 0, exposed = 0, waiting = 0, host = 0, comm = 0, hidden = 0;
  for (const RankTime& t : out.ranks) {
    compute += t.compute.ps();
    exposed += t.exposed_comm.ps();
    waiting += t.waiting.ps();
    host += t.host_bound.ps();
    comm += t.comm.ps();
    hidden += t.hidden_comm.ps();
  }
  const auto mean = [n = out.ranks.size()](WideTime sum) {
    return Duration::picoseconds(static_cast<std::int64_t>(sum / static_cast<WideTime>(n)));
  };
  // Rounded as sums, so that the parts add up to the iteration.
  out.exposed_comm = mean(exposed);
  out.compute = mean(exposed + compute) - out.exposed_comm;
  out.waiting = mean(exposed + compute + waiting) - out.exposed_comm - out.compute;
  out.host_bound = mean(exposed + compute + waiting + host) - out.exposed_comm - out.compute - out.waiting;
  out.idle = out.iteration - out.exposed_comm - out.compute - out.waiting - out.host_bound;
  out.comm = mean(comm);
  out.hidden_comm = mean(hidden);
  if (out.ranks.size() < 2) return;
  const auto by_compute = [](const RankTime& a, const RankTime& b) { return a.compute < b.compute; };
  const auto number = [&](auto rank) { return static_cast<std::uint32_t>(rank - out.ranks.begin()); };
  out.slowest_rank = number(std::max_element(out.ranks.begin(), out.ranks.end(), by_compute));
  out.fastest_rank = number(std::min_element(out.ranks.begin(), out.ranks.end(), by_compute));
}

/// Seconds of all resources together, which is the cycle: what a slow rank takes longer for is part of the others.
double cycle_of(const Limits& limits) {
  double sum = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(Resource::waiting_for_rank); ++r)
    sum += limits.of_resource[r].on_cycle.seconds();
  return sum;
}

/// What limits the iteration can change with its length: one all_reduce at the end weighs less after more micro-steps. Where
/// the cycles of the two lead through different steps, of several that are as long, no law connects their parts: the shares
/// of the longer one are kept.
void extend_limits(const Limits& shorter, const Extension& extend, Duration iteration, Limits& limits) {
  const Limits longer = limits;
  for (std::size_t r = 0; r < kResources; ++r) {
    ResourceTime& of = limits.of_resource[r];
    of.on_cycle = extend(shorter.of_resource[r].on_cycle, of.on_cycle);
    of.without = std::min(iteration, extend(shorter.of_resource[r].without, of.without));
  }
  const double whole = cycle_of(limits), part = cycle_of(longer);
  if (part > 0 && std::abs(whole - iteration.seconds()) > 1e-9 * iteration.seconds()) {
    for (std::size_t r = 0; r < kResources; ++r) {
      const double share = longer.of_resource[r].on_cycle.seconds() / part;
      limits.of_resource[r].on_cycle = Duration::picoseconds(std::llround(share * static_cast<double>(iteration.ps())));
    }
  }
  decide(limits, iteration);
}

void extend_ops(const Report& shorter, const Extension& extend, std::vector<OpKindTime>& ops) {
  for (OpKindTime& op : ops) {
    const auto before =
        std::find_if(shorter.ops.begin(), shorter.ops.end(), [&](const auto& o) { return o.kind == op.kind; });
    if (before == shorter.ops.end()) continue;
    op.time = extend(before->time, op.time);
    op.kernels = extend(before->kernels, op.kernels);
  }
  std::stable_sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
}

void extend_collectives(const Report& shorter, const Extension& extend, std::vector<CollectiveTime>& rows) {
  for (CollectiveTime& row : rows) {
    const auto before =
        std::find_if(shorter.collectives.begin(), shorter.collectives.end(), [&](const CollectiveTime& c) {
          return c.name == row.name && c.kind == row.kind && c.group_size == row.group_size;
        });
    if (before == shorter.collectives.end()) continue;
    row.calls = extend(before->calls, row.calls);
    row.bytes = extend(before->bytes, row.bytes);
    row.total = extend(before->total, row.total);
    row.exposed = extend(before->exposed, row.exposed);
    row.waiting = extend(before->waiting, row.waiting);
  }
}

void extend_terms(const Report& shorter, const Extension& extend, std::vector<UncertainTerm>& terms) {
  for (UncertainTerm& term : terms) {
    const auto before = std::find_if(shorter.terms.begin(), shorter.terms.end(),
                                     [&](const auto& t) { return t.kind == term.kind && t.basis == term.basis; });
    if (before == shorter.terms.end()) continue;
    term.time = extend(before->time, term.time);
    term.below = extend(before->below, term.below);
    term.above = extend(before->above, term.above);
  }
}

/// The micro-steps that were not simulated come first on the critical cycle, as one entry.
void extend_path(Duration added, std::int64_t more, bool alike, std::vector<CriticalStep>& path) {
  for (CriticalStep& step : path) step.start += added;
  CriticalStep folded;
  folded.name = counted(static_cast<std::uint64_t>(more), "more micro-step") + ", " + (more == 1 ? "" : "each ") +
                (alike ? "like the last one simulated" : "like those simulated");
  if (!path.empty()) folded.stream = path.front().stream;
  folded.time = added;
  folded.kind = "micro_step";
  folded.phase = graph::Phase::forward;
  folded.steps = static_cast<std::uint32_t>(std::min<std::int64_t>(more, 0xFFFFFFFF));
  path.insert(path.begin(), std::move(folded));
}

bool grows_with_work(Duration added, const Busy& shorter, const Busy& longer) {
  constexpr double kSlack = 0.998;  // kernels lose to transfers at other moments, and times are rounded
  for (std::size_t i = 0; i < longer.size(); ++i) {
    if (static_cast<double>(added.ps()) < kSlack * static_cast<double>((longer[i] - shorter[i]).ps())) return false;
  }
  return true;
}

/// The iteration of the whole: by the linear law, and no less than its busiest stream works.
template <class Of>
Duration whole_iteration(const Of& shorter, const Of& longer, const Extension& extend) {
  Duration out = extend(shorter.iteration, longer.iteration);
  for (std::size_t i = 0; i < longer.busy.size(); ++i) out = std::max(out, extend(shorter.busy[i], longer.busy[i]));
  return out;
}

}  // namespace

bool is_linear(const Report& shorter, const Report& longer) {
  return grows_with_work(longer.iteration - shorter.iteration, shorter.busy, longer.busy);
}

bool is_linear(const Brief& shorter, const Brief& longer) {
  return grows_with_work(longer.iteration - shorter.iteration, shorter.busy, longer.busy);
}

bool lacks_replay(const Report& shorter, const Report& longer, std::int64_t more) {
  const Extension extend(more);
  Limits limits = longer.limits;
  extend_limits(shorter.limits, extend, whole_iteration(shorter, longer, extend), limits);
  if (!limits.limited_by || limits.limited_by->resource == Resource::network) return false;  // always replayed
  const auto replayed = [&](const Limits& of) {
    return of.limited_by && of.limited_by->resource == limits.limited_by->resource;
  };
  return !replayed(shorter.limits) || !replayed(longer.limits);
}

Result<void> check_foldable(const Report& shorter, const Report& longer, std::int64_t more) {
  TRY(check_time(shorter.iteration.ps(), longer.iteration.ps(), more));
  TRY(check_time(shorter.high.ps(), longer.high.ps(), more));
  // What a rank does at once, on several streams, may sum to more than the iteration.
  for (const auto part : {&Report::compute, &Report::comm, &Report::host_bound})
    TRY(check_time((shorter.*part).ps(), (longer.*part).ps(), more));
  return {};
}

Result<void> check_foldable(const Brief& shorter, const Brief& longer, std::int64_t more) {
  return check_time(shorter.iteration.ps(), longer.iteration.ps(), more);
}

Brief fold_micro_steps(const Brief& shorter, const Brief& longer, std::int64_t more) {
  const Extension extend(more);
  Brief out{whole_iteration(shorter, longer, extend), longer.limits, longer.busy};
  extend_limits(shorter.limits, extend, out.iteration, out.limits);
  return out;
}

Report fold_micro_steps(const Report& shorter, const Report& longer, std::int64_t more, ReportContext context,
                        std::int64_t block) {
  const Extension extend(more);
  Report out = longer;
  out.context = std::move(context);
  out.iteration = whole_iteration(shorter, longer, extend);
  out.low = out.iteration - extend(shorter.iteration - shorter.low, longer.iteration - longer.low);
  out.high = out.iteration + extend(shorter.high - shorter.iteration, longer.high - longer.iteration);
  // One entry stands for all ranks where they are alike.
  if (out.ranks.size() == 1) out.ranks.resize(shorter.ranks.size(), longer.ranks.front());
  for (std::size_t r = 0; r < out.ranks.size(); ++r) {
    const RankTime before = shorter.ranks.size() == 1 ? shorter.ranks.front() : shorter.ranks[r];
    const RankTime last = out.ranks[r];
    extend_parts(before, last, extend, out.iteration, out.ranks[r]);
  }
  summarize_ranks(out);
  extend_ops(shorter, extend, out.ops);
  extend_collectives(shorter, extend, out.collectives);
  extend_terms(shorter, extend, out.terms);
  extend_limits(shorter.limits, extend, out.iteration, out.limits);
  extend_path(out.iteration - longer.iteration, more * block, block == 1, out.critical_path);

  fill_rates(out, double(out.context.nodes) * out.context.gpus_per_node);
  return out;
}

}  // namespace distsim::report
