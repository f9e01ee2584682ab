// TaskGraph: what one iteration does, SPMD first. A task is one op on every rank of the job; where ranks
// differ, it has several op variants and a table of which rank runs which. Times are not here (see CostedGraph).
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "sim/graph/op.hpp"

namespace distsim::graph {

/// What a stream carries: p2p are the messages between the stages of a pipeline, loader the work of processes of the
/// host that prepare input, beside the thread that launches.
enum class StreamKind : std::uint8_t { host, compute, comm, copy, p2p, loader };

/// The queue of a rank that a task runs on. Every stream is FIFO; the host thread launches the others' tasks. What is
/// not to wait for each other takes another lane: communicators of their own, a stage's two neighbours.
class Stream {
 public:
  static const Stream host, compute, comm, copy, p2p, loader;  ///< lane 0 of each

  constexpr explicit Stream(StreamKind kind, std::uint8_t lane = 0) : kind_(kind), lane_(lane) {}
  /// From number().
  constexpr explicit Stream(std::uint32_t number);

  /// The `lane`-th stream of the same kind.
  constexpr Stream lane(std::uint8_t lane) const { return Stream(kind_, lane); }
  constexpr StreamKind kind() const { return kind_; }
  constexpr std::uint8_t lane() const { return lane_; }
  /// 0 .. kStreamCount - 1, by kind, then lane: the stream's id in a Program.
  constexpr std::uint32_t number() const;
  template <std::integral T>
  constexpr explicit operator T() const {
    return static_cast<T>(number());
  }
  constexpr auto operator<=>(const Stream&) const = default;

 private:
  StreamKind kind_;
  std::uint8_t lane_;
};
inline constexpr Stream Stream::host{StreamKind::host};
inline constexpr Stream Stream::compute{StreamKind::compute};
inline constexpr Stream Stream::comm{StreamKind::comm};
inline constexpr Stream Stream::copy{StreamKind::copy};
inline constexpr Stream Stream::p2p{StreamKind::p2p};
inline constexpr Stream Stream::loader{StreamKind::loader};

/// Lanes by kind.
inline constexpr std::array<std::uint8_t, 6> kLanes{1, 1, 2, 1, 3, 2};
inline constexpr std::uint32_t kStreamCount = std::accumulate(kLanes.begin(), kLanes.end(), 0u);

constexpr std::uint32_t Stream::number() const {
  return std::accumulate(kLanes.begin(), kLanes.begin() + static_cast<std::ptrdiff_t>(kind_), std::uint32_t{lane_});
}
constexpr Stream::Stream(std::uint32_t number) : kind_(StreamKind::host), lane_(0) {
  std::size_t kind = 0;
  while (number >= kLanes[kind]) number -= kLanes[kind++];
  kind_ = static_cast<StreamKind>(kind);
  lane_ = static_cast<std::uint8_t>(number);
}

/// "compute", "comm"; from the second lane on with its number: "comm2".
std::string_view name_of(Stream stream);

enum class Phase : std::uint8_t { input, forward, backward, exchange, gradient_sync, optimizer, other };
std::string_view name_of(Phase phase);

/// How the ranks of the job fall into groups for a collective. Rank r of group g sits at `first(g) + i*stride`.
///   world:   one group of all ranks            strided(size, stride): consecutive blocks, members `stride` apart
///   per_node: size = gpus per node, stride 1   rails: size = nodes, stride = gpus per node
struct Partition {
  std::uint32_t size = 1;    ///< ranks of a group
  std::uint32_t stride = 1;  ///< distance between neighbours in a group
  std::vector<std::uint32_t> listed_offsets,
      listed_members;  ///< CSR list of groups; when not empty it overrides size and stride
  std::uint32_t each =
      1;  ///< the list is of blocks of so many neighbouring ranks, and stands for `each` groups a line:
          ///< of the i-th ranks of its blocks
  auto operator<=>(const Partition&) const = default;
  bool operator==(const Partition&) const = default;
  static Partition strided(std::uint32_t size, std::uint32_t stride) { return {size, stride, {}, {}}; }
};

/// The same groups, listed rank by rank where blocks are listed.
Partition listed_by_rank(const Partition& partition);

/// What the host must do to launch a task: calls into the framework and kernel launches. The framework profile turns
/// them into time.
struct Dispatch {
  std::uint32_t framework_ops = 1;
  std::uint32_t kernels = 1;
};

/// An op of a Sequence, and how many times it runs there.
struct SequencePart {
  OpId op;
  double times = 1;
};

struct Task {
  NameId name;
  Stream stream = Stream::compute;
  Phase phase = Phase::forward;
  OpId first_op;  ///< its variants are first_op .. first_op + variants - 1 in TaskGraph::ops
  std::uint32_t variants = 1;
  std::uint32_t rank_table = kUniform;  ///< index into TaskGraph::rank_tables, or kUniform
  PartitionId partition;                ///< groups of a Collective; invalid otherwise
  Dispatch dispatch;
  bool blocks_host = false;           ///< the host waits until this task has finished (a synchronising copy, .item())
  bool skipped_where_absent = false;  ///< ranks whose op is Absent do not launch it either: the task is another stage's
  bool between_stages =
      false;  ///< stages of a pipeline meet here: waiting for each other is the pipeline's bubble, idle time
  static constexpr std::uint32_t kUniform = 0xFFFFFFFFu;
};

struct TaskGraph {
  std::uint32_t ranks = 1;
  std::uint32_t alike = 1;       ///< ranks k * alike .. (k + 1) * alike - 1 run the same variants of every task
  std::uint32_t repeats = 1;     ///< times that the ranks fall into parts, of which each runs what the first one does
  IdVector<TaskId, Task> tasks;  ///< in launch order; dependencies point backwards
  std::vector<std::uint32_t> dep_offsets{
      0};  ///< CSR: dependencies of task t are deps[dep_offsets[t] .. dep_offsets[t+1])
  std::vector<TaskId> deps;
  IdVector<OpId, Op> ops;
  std::vector<std::vector<std::uint32_t>>
      rank_tables;  ///< variant of ranks k * alike .. (k + 1) * alike - 1, by k; of the first of the parts that repeat
  std::vector<std::vector<SequencePart>> sequences;  ///< by Sequence::index
  IdVector<PartitionId, Partition> partitions;
  IdVector<NameId, std::string> names;

  std::span<const TaskId> dependencies(TaskId t) const {
    return {deps.data() + dep_offsets[t.value()], deps.data() + dep_offsets[t.value() + 1]};
  }
  std::uint32_t variant_of(TaskId t, std::uint32_t rank) const {
    const Task& task = tasks[t];
    return task.rank_table == Task::kUniform ? 0 : variant_of_table(task.rank_table, rank);
  }
  std::uint32_t variant_of_table(std::uint32_t table, std::uint32_t rank) const {
    return rank_tables[table][rank / alike % rank_tables[table].size()];
  }
};

/// The first thing that is wrong: no ranks, groups that do not divide them, variants or tables that do not agree,
/// dependencies that do not point backwards, ranks that are said to be alike and are not, a group of a collective that
/// takes part in part.
Result<void> check(const TaskGraph& graph);

/// Builds a TaskGraph and keeps its invariants: dependencies point to earlier tasks, collectives have a partition that
/// divides the ranks, variants and tables agree. `finish` checks them.
class TaskGraphBuilder {
 public:
  /// `alike` neighbouring ranks do the same, and so does each of `repeats` parts of all ranks; divide `ranks`.
  explicit TaskGraphBuilder(std::uint32_t ranks, std::uint32_t alike = 1, std::uint32_t repeats = 1);

  struct Options {
    Stream stream = Stream::compute;
    Phase phase = Phase::forward;
    Dispatch dispatch{};
    bool blocks_host = false;
    bool skipped_where_absent = false;
    bool between_stages = false;
  };

  /// Ops of a sequence, each with how many times it runs; equal ops should be given once. To be used in any number of
  /// tasks.
  Sequence add_sequence(std::span<const std::pair<Op, double>> parts);
  /// One op, the same on all ranks.
  TaskId add(std::string_view name, const Options& options, Op op, std::span<const TaskId> deps = {});
  /// A table of ranks for add_per_rank: the k-th `alike` ranks run variant `variant_of_place[k]`. Equal tables are stored
  /// once.
  std::uint32_t add_rank_table(std::vector<std::uint32_t> variant_of_place);
  /// Ranks differ: they run variants[table[place]], by a table that is already there.
  TaskId add_per_rank(std::string_view name, const Options& options, std::vector<Op> variants, std::uint32_t rank_table,
                      std::span<const TaskId> deps = {});
  /// The same with the table itself.
  TaskId add_per_rank(std::string_view name, const Options& options, std::vector<Op> variants,
                      std::vector<std::uint32_t> variant_of_rank, std::span<const TaskId> deps = {});
  /// Groups for add_collective. Equal ones are stored once.
  PartitionId add_partition(const Partition& partition);
  /// A collective over every group of the partition; with a table of ranks, over only those groups whose members it
  /// gives 0 (the others' it gives 1).
  TaskId add_collective(std::string_view name, const Options& options, Collective collective, PartitionId partition,
                        std::span<const TaskId> deps = {}, std::uint32_t rank_table = Task::kUniform);
  TaskId add_collective(std::string_view name, const Options& options, Collective collective,
                        const Partition& partition, std::span<const TaskId> deps = {}) {
    return add_collective(name, options, std::move(collective), add_partition(partition), deps);
  }

  /// Adds a task like an earlier one, whose ops it shares, after other dependencies.
  TaskId add_like(TaskId earlier, std::span<const TaskId> deps);
  /// Adds copies of tasks [first, last). They share the ops of the originals; dependencies among them move along,
  /// dependencies on earlier tasks stay.
  void repeat(TaskId first, TaskId last);
  /// The id that the next task will have.
  TaskId end_id() const { return graph_.tasks.end_id(); }

  Result<TaskGraph> finish() &&;

 private:
  TaskId push(std::string_view name, const Options& options, std::vector<Op> variants, std::span<const TaskId> deps);
  NameId intern(std::string_view name);
  TaskGraph graph_;
  std::unordered_map<std::string, NameId> name_ids_;
};

}  // namespace distsim::graph
