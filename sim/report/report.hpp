// Report: the results of a prediction, computed from a simulated program. Text, JSON, CSV, HTML and timeline are
// written from it.
//
// Definitions (all in integer picoseconds)
//   iteration    The steady-state period: (end of the last iteration) - (end of the one before), the end of an
//                iteration being the latest end of its device steps over all ranks. With one iteration played it is
//                that iteration's end. Both ends are the window on every rank.
//   cycle        The critical cycle: a chain of steps, each starting the moment its predecessor ends, that leads from a
//                step to the same step of the next iteration on the same rank in exactly one period. It is what sets
//                the period: no step outside it does. See critical_cycle.hpp.
//   replay       The same program with some durations set to zero (sim/report/replays.hpp), and its period.
//   exposed_comm What communication costs: iteration - period of the replay in which all collectives take no time.
//                Of one collective: the same with only that one at zero. Several may hide each other, so that these
//                need not add up to the whole.
//   silent       The replay without communication. What is not exposed_comm is split by what happens in its window:
//   compute      Union of the intervals in which a device step that is no collective runs, on whichever stream.
//   waiting      At a collective for its last member, while no compute runs: the cost of stragglers, not of the
//                network. Stages of a pipeline that wait for each other (Task::between_stages) are idle instead: the
//                pipeline's bubble.
//   host_bound   None of these, and the next compute step's launch has not yet ended on the host, or the host still
//                prepares what a stream waits for (input.per_sample, input.decode_rate).
//   idle         The rest. On every rank compute + exposed_comm + waiting + host_bound + idle = iteration, exactly; so
//                do the means over ranks. Where the replay is not shorter (exposed_comm = 0) the played window itself
//                is split, and a transfer without compute counts as what else the rank does: host_bound or idle.
//   folding      A step of the last iteration may start before the window (a fast rank, a prefetching copy). In a
//                training loop the next iteration's twin of that step would then run inside the window, one period
//                later; such parts are therefore shifted by whole periods into the window.
//   comm         Union of the transfers [start, end) of collectives in the program as played. Waiting for the last
//                member, [ready, start), is not transfer.
//   hidden_comm  The part of comm while compute runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "sim/engine/program/program.hpp"
#include "sim/engine/timeline/timeline.hpp"
#include "sim/graph/assumption.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/report/busy.hpp"

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

struct Report;
/// Samples and floating-point operations per second, and their shares of the peak, from `context` and the iteration.
void fill_rates(Report& report, double gpus);

/// Facts that the report repeats or divides by.
struct ReportContext {
  std::string title, system, device, model, framework;
  std::uint32_t nodes = 1, gpus_per_node = 1;
  double samples = 0, model_flops = 0;             ///< per iteration over all ranks
  double repeated_flops = 0;                       ///< besides these, what the backward pass computes again
  double peak_flops = 0;                           ///< of one GPU for the model's precision
  std::vector<std::int64_t> memory_per_rank;       ///< bytes; one entry where all are equal
  std::vector<std::int64_t> activations_per_rank;  ///< the part of it that activations take at most
  std::int64_t memory_capacity = 0;
  double tokens_per_sample = 0;  ///< 0: samples are not sequences
  /// Of language models: what a rank holds, in bytes; the first and the last rank that hold the most and the least.
  struct Memory {
    std::uint32_t rank = 0;
    std::vector<std::pair<std::string, std::int64_t>> kinds;
  };
  std::vector<Memory> memory;
  std::vector<graph::Assumption> assumptions;
  std::string placement;     ///< in words, also of what the experiment says
  std::string table_places;  ///< the part of it that was worked out: which ranks have which tables
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

/// What can limit an iteration. A step of the program belongs to one of the first five:
///   host_loop  launches, the framework's work per step, other work of the host thread
///   network    collectives and messages between ranks
///   compute    kernels bound by arithmetic (graph::Bound) or by their latency, and kernels whose time is given
///   memory     kernels bound by the GPU's memory, copies
///   input      preparing the samples on the host, and copying them to the GPU
/// waiting_for_rank: kernels that one rank takes longer for than the others.
enum class Resource : std::uint8_t { host_loop, network, compute, memory, input, waiting_for_rank };
inline constexpr std::size_t kResources = 6;
/// "host loop", "network", "waiting for a rank".
std::string_view name_of(Resource resource);

/// What sets the period.
struct Limiter {
  Resource resource = Resource::compute;
  std::uint32_t rank = 0;  ///< of waiting_for_rank
  bool operator==(const Limiter&) const = default;
};
/// "host loop", "waiting for rank 17".
std::string text_of(const Limiter& limiter);
/// The same, and "" where nothing takes time.
std::string text_of(const std::optional<Limiter>& limiter);

/// What one resource has to do with the period.
struct ResourceTime {
  Duration
      on_cycle;  ///< time of its steps on the critical cycle. Of waiting_for_rank: what the kernels of that rank on
                 ///< the cycle take longer than on the mean of the ranks that run them
  /// Period of the replay in which its steps take no time; of waiting_for_rank: in which every rank takes the mean. The
  /// iteration where it was not replayed, as for resources that are not on the cycle.
  Duration without;
  std::optional<Limiter> next;  ///< what limits that replay; none where it takes no time
};

struct Limits {
  std::array<ResourceTime, kResources> of_resource{};  ///< by Resource
  std::uint32_t waiting_rank = 0;                      ///< of waiting_for_rank
  std::optional<Limiter>
      limited_by;  ///< a straggler, or the resource with most time on the cycle; none where there is no time
  std::optional<Limiter> runner_up;  ///< what would limit the iteration if limited_by took no time
  Duration slack;                    ///< how much shorter the iteration would then be
  const ResourceTime& operator[](Resource r) const { return of_resource[static_cast<std::size_t>(r)]; }
  ResourceTime& operator[](Resource r) { return of_resource[static_cast<std::size_t>(r)]; }
};

/// Kernels on the cycle that take this share of the iteration longer than on the mean rank make their rank the limiter,
/// whatever else is on the cycle: mending one rank is cheaper than speeding up all. Chosen.
inline constexpr double kStragglerShare = 0.2;

/// What is replayed.
enum class Detail : std::uint8_t {
  figures,      ///< only what the parts of the iteration need: no runner-up, collectives without their exposed time
  report,       ///< and the limiter, and each collective
  every_limit,  ///< and each resource on the cycle, as folding needs: what limits can change with the micro-steps
};

/// Fills in limited_by, runner_up and slack from the rest.
void decide(Limits& limits, Duration iteration);

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
  Duration total;           ///< transfer, mean over ranks
  Duration exposed;  ///< what the iteration would be shorter by if these calls took no time. At most the sum of their
      ///< times, each on the rank where it takes longest; more than `total` where only some ranks take part
  Duration
      waiting;  ///< in the silent replay, mean over ranks: for the last member while no compute runs. Where several
                ///< wait at once, the first to arrive is charged, so that the column sums to Report::waiting
  double busbw = 0;  ///< bytes/s: bytes x factor / total; factor 2(n-1)/n for all_reduce, (n-1)/n for all_gather,
                     ///< reduce_scatter, all_to_all, else 1
  graph::Basis basis = graph::Basis::analytic;
  std::string source;  ///< of the least trusted call
};

/// A part of the critical cycle. `start` counts from where the cycle begins, at the boundary of an iteration.
/// Consecutive launches on the host are one entry.
struct CriticalStep {
  std::string name;
  graph::Stream stream = graph::Stream::compute;
  std::uint32_t rank = 0;
  Duration start, time;
  std::string kind;                   ///< for people: op kind ("gemm", "all_reduce"), or "host"
  std::optional<graph::Phase> phase;  ///< of a device step, or of preparing input; none: the host loop
  graph::Basis basis = graph::Basis::analytic;
  std::uint32_t steps = 1;  ///< steps merged into this entry
  bool on_host() const { return !phase; }
};

/// Share of the critical cycle's time; host steps count as analytic.
struct BasisShare {
  graph::Basis basis = graph::Basis::analytic;
  double share = 0;
};

struct RankTime {
  Duration compute, comm, hidden_comm, exposed_comm, waiting, host_bound, idle;
  bool operator==(const RankTime&) const = default;
};

/// One op kind and basis on the critical cycle: its time there and how far its costs' own ranges reach.
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
  /// low and high: the spreads of the critical cycle's costs. Errors of one op kind and basis (a class) are partly
  /// shared, kSharedError; those of different classes are independent: half-width^2 = sum over classes of
  /// kSharedError (sum of w)^2 + (1 - kSharedError) sum of w^2, where w is the width of one shape of the class, each
  /// way. Host time carries kHostSpread. What the framework's profile does not know (`uncertainty`) is one more class,
  /// of the whole iteration. That another path could become critical is not counted.
  Duration iteration, low, high;
  double samples_per_second = 0, achieved_flops_per_gpu = 0, mfu = 0;
  /// With what is computed again: hardware FLOP/s and their utilization (arXiv 2205.05198).
  double hardware_flops_per_gpu = 0, hfu = 0;
  /// Means over ranks: compute + exposed_comm + waiting + host_bound + idle = iteration.
  Duration compute, comm, hidden_comm, exposed_comm, waiting, host_bound, idle;
  std::vector<OpKindTime> ops;              ///< longest first
  std::vector<CollectiveTime> collectives;  ///< longest transfer first
  Limits limits;
  /// In order of time; the times sum to `iteration` exactly.
  std::vector<CriticalStep> critical_path;
  /// Whether critical_path is the critical cycle. Otherwise the iterations played have not settled into a rhythm (or
  /// only one was played), and it is the chain that leads back through the window from the end of the last.
  bool cycle_closed = false;
  Duration cycle_start;  ///< from the start of the window to the first step of critical_path; less than a period
  std::vector<BasisShare> bases;     ///< largest first
  std::vector<UncertainTerm> terms;  ///< of the critical cycle, longest first; the times sum to about `iteration`
  std::uint32_t rank_count = 1;
  std::vector<RankTime> ranks;                       ///< per rank; one entry where all are equal
  std::uint32_t slowest_rank = 0, fastest_rank = 0;  ///< by compute time; the lowest such rank
  std::uint64_t digest = 0;
  TrialTimes trials;
  Busy busy{};

  const RankTime& rank(std::uint32_t r) const { return ranks.size() == 1 ? ranks.front() : ranks[r]; }
};

/// Share of the variance of an op model's error that all shapes of one op have in common on one GPU and library; the
/// rest differs from shape to shape. Measured on the public op measurements (data_sources.md), 20 us and longer: 0.46
/// for matrix products of 38 combinations of GPU, pass, type and framework that the models did not learn from, 0.34
/// for convolutions of 40, 0.33 for pointwise ops of 133.
inline constexpr double kSharedError = 0.4;

/// Relative spread of host times (framework calls, launches), for which no cost model states one: the same call varies
/// about that much between hosts of one kind. An assumption of ours.
inline constexpr double kHostSpread = 0.25;

/// Cost: a few plays of the program with one rank for each role (sim/engine/program/roles.hpp), and two sweeps for each
/// role.
Report analyse(const Played& played, ReportContext context, Detail detail = Detail::report);

/// At most about 45 lines of at most `width` columns, ASCII but for the user's own names; `colour` adds ANSI colours to
/// the bar.
std::string to_text(const Report& report, int width = 100, bool colour = false);

/// JSON with the schema of docs/report_schema.md.
std::string to_json(const Report& report);

/// The main figures as fields of a CSV line (base/text/csv.hpp): names with units, and the values of one report.
std::vector<std::string> csv_columns();
std::vector<std::string> csv_values(const Report& report);

}  // namespace distsim::report
