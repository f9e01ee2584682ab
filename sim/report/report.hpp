// Report: the results of a prediction, computed from a simulated program. Text, JSON, CSV, HTML and timeline are
// written from it.
//
// Definitions (all in integer picoseconds)
//   iteration    The steady-state period: (end of the last iteration) - (end of the one before), the end of an
//   iteration
//                being the latest end of its device steps over all ranks. With one iteration played it is that
//                iteration's end. Both ends are the window on every rank.
//   folding      A step of the last iteration may start before the window (a fast rank, a prefetching copy). In a
//                training loop the next iteration's twin of that step would then run inside the window, one period
//                later; such parts are therefore shifted by whole periods into the window.
//   compute      Union of the intervals in which a device step that is no collective runs, on whichever stream.
//   comm         Union of the transfers [start, end) of collectives. Waiting for the last member, [ready, start), is
//   not
//                transfer.
//   hidden_comm  The part of comm while compute runs.
//   exposed_comm The part of comm while no compute runs: comm = exposed_comm + hidden_comm, exactly.
//   waiting      In a collective for its last member, while neither compute nor a transfer runs: the cost of
//   stragglers,
//                not of the network. Stages of a pipeline that wait for each other (Task::between_stages) are idle
//                instead: the pipeline's bubble.
//   host_bound   None of these, and the next compute step's launch has not yet ended on the host.
//   idle         The rest. On every rank compute + exposed_comm + waiting + host_bound + idle = iteration, exactly; so
//                do the means over ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/engine/program/program.hpp"
#include "sim/engine/timeline/timeline.hpp"
#include "sim/graph/assumption.hpp"
#include "sim/graph/costed_graph.hpp"

namespace distsim::report {

/// What a step of the program represents.
enum class StepRole : std::uint8_t { host_dispatch, device, host_work, step_overhead };
struct StepOrigin {
  TaskId task;  ///< invalid for step_overhead
  StepRole role = StepRole::device;
  std::uint16_t iteration = 0;
};

/// A played program with all that is needed to read it. Several iterations are played so that the host can run ahead;
/// the report is about the last one. Stream ids are those of enum Stream.
struct Played {
  const graph::CostedGraph* costed = nullptr;
  const engine::Program* program = nullptr;
  const IdVector<StepId, StepOrigin>* origins = nullptr;
  const engine::Timeline* timeline = nullptr;
  std::uint16_t iterations = 1;
};

/// Facts that the report repeats or divides by.
struct ReportContext {
  std::string title, system, device, model, framework;
  std::uint32_t nodes = 1, gpus_per_node = 1;
  double samples = 0, model_flops = 0;             ///< per iteration over all ranks
  double peak_flops = 0;                           ///< of one GPU for the model's precision
  std::vector<std::int64_t> memory_per_rank;       ///< bytes; one entry where all are equal
  std::vector<std::int64_t> activations_per_rank;  ///< the part of it that activations take at most
  std::int64_t memory_capacity = 0;
  std::vector<graph::Assumption> assumptions;
  std::string placement;
  /// Of the framework's profile: half-width of [low, high] over the iteration, in addition to the spreads of the costs.
  double uncertainty = 0;
};

/// All steps of one op kind in an iteration; mean over ranks. tflops is useful work over the time of the steps (0 for
/// copies).
struct OpKindTime {
  std::string kind;
  Duration time;
  std::uint32_t kernels = 0;
  double tflops = 0;
};

/// Collectives of one kind, group size and name (digits aside: "grad bucket 0" .. "grad bucket 11" are one entry with
/// calls = 12).
struct CollectiveTime {
  /// bytes: size column of nccl-tests, summed over the calls. Of an uneven all_to_all_v: that of an even one in which
  /// every member moves as many bytes as the busiest sender or receiver, whichever is more.
  std::string name, kind;
  std::int64_t bytes = 0;
  std::uint32_t group_size = 0;
  std::uint32_t calls =
      1;  ///< of a rank: the mean, where only some take part in a call; bytes are those of so many calls
  bool equal_calls = true;  ///< all calls are of one size
  /// Mean over ranks: transfer; the part of it that no compute covers; waiting for the last member while neither
  /// compute nor a transfer runs. Where several are exposed (or wait) at once, the first to start (to arrive) is
  /// charged, so that the columns sum to exposed_comm and waiting.
  Duration total, exposed, waiting;
  double busbw = 0;  ///< bytes/s: bytes x factor / total; factor 2(n-1)/n for all_reduce, (n-1)/n for all_gather,
                     ///< reduce_scatter, all_to_all, else 1
  graph::Basis basis = graph::Basis::analytic;
  std::string source;  ///< of the least trusted call
};

/// A part of the critical path. `start` counts from the beginning of the window. Consecutive launches on the host are
/// one entry.
struct CriticalStep {
  std::string name;
  graph::Stream stream = graph::Stream::compute;
  std::uint32_t rank = 0;
  Duration start, time;
  std::string kind;                   ///< for people: op kind ("gemm", "all_reduce"), or "host"
  std::optional<graph::Phase> phase;  ///< of a device step; none: the host's own time
  graph::Basis basis = graph::Basis::analytic;
  std::uint32_t steps = 1;  ///< steps merged into this entry
  bool on_host() const { return !phase; }
};

/// Share of the critical path's time; host steps count as analytic.
struct BasisShare {
  graph::Basis basis = graph::Basis::analytic;
  double share = 0;
};

struct RankTime {
  Duration compute, comm, hidden_comm, exposed_comm, waiting, host_bound, idle;
  bool operator==(const RankTime&) const = default;
};

/// One op kind and basis on the critical path: its time there and how far its costs' own ranges reach.
struct UncertainTerm {
  std::string kind;
  graph::Basis basis = graph::Basis::analytic;
  Duration time, below, above;
};

/// Nearest-rank percentiles of the iteration over trials with randomized costs and rank speeds (sim/study/trials.hpp).
struct TrialTimes {
  std::uint32_t trials = 0;  ///< 0: none were asked for
  std::uint64_t seed = 0;
  Duration p10, p50, p90, p99;
};

struct Report {
  ReportContext context;
  /// low and high: the spreads of the critical path's costs; errors of one op kind and basis are taken as fully
  /// correlated (they share a model), different ones as independent: half-width = sqrt(sum over classes of (sum of the
  /// class's spreads)^2), each way. Host time carries kHostSpread. The framework's `uncertainty` is one more class, of
  /// the whole iteration. That another path could become critical is not counted.
  Duration iteration, low, high;
  double samples_per_second = 0, achieved_flops_per_gpu = 0, mfu = 0;
  /// Means over ranks: compute + exposed_comm + waiting + host_bound + idle = iteration, and exposed_comm + hidden_comm
  /// = comm.
  Duration compute, comm, hidden_comm, exposed_comm, waiting, host_bound, idle;
  std::vector<OpKindTime> ops;              ///< longest first
  std::vector<CollectiveTime> collectives;  ///< longest transfer first
  std::vector<CriticalStep> critical_path;  ///< in order of time; the times sum to `iteration` exactly
  std::vector<BasisShare> bases;            ///< largest first
  std::vector<UncertainTerm> terms;         ///< of the critical path, longest first; the times sum to about `iteration`
  std::uint32_t rank_count = 1;
  std::vector<RankTime> ranks;                       ///< per rank; one entry where all are equal
  std::uint32_t slowest_rank = 0, fastest_rank = 0;  ///< by compute time; the lowest such rank
  std::uint64_t digest = 0;
  TrialTimes trials;

  const RankTime& rank(std::uint32_t r) const { return ranks.size() == 1 ? ranks.front() : ranks[r]; }
};

/// Relative spread of host times (framework calls, launches), for which no cost model states one: the same call varies
/// about that much between hosts of one kind. An assumption of ours.
inline constexpr double kHostSpread = 0.25;

/// Cost: O(steps) where all ranks are equal, else one sweep per class of ranks with equal times, and one pass over the
/// rows that differ.
Report analyse(const Played& played, ReportContext context);

/// At most about 45 lines of at most `width` columns, ASCII but for the user's own names; `colour` adds ANSI colours to
/// the bar.
std::string to_text(const Report& report, int width = 100, bool colour = false);

/// JSON with the schema of docs/report_schema.md.
std::string to_json(const Report& report);

/// The main figures as fields of a CSV line (base/text/csv.hpp): names with units, and the values of one report.
std::vector<std::string> csv_columns();
std::vector<std::string> csv_values(const Report& report);

}  // namespace distsim::report
