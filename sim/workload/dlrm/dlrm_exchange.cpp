// How pooled vectors and their gradients travel between owners and samples.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/workload/dlrm/dlrm_emission.hpp"
#include "sim/workload/dlrm/embedding_ops.hpp"

namespace distsim::workload {
namespace {

// What an exchange through host memory costs besides the copies down and up. Fitted to the eight-GPU and four-node runs
// of Wide and Deep (DLPerf, five series); that CPU copies and threads taking turns are behind it is a guess.
constexpr double kHostCopyBytesPerSecond = 10e9;  // what leaves and enters a node, between the buffers of GPUs and NIC
constexpr double kHostTurnSeconds = 150e-6;       // per GPU of a node

/// Bytes that an exchange within groups moves between ranks, over all of them.
std::int64_t moved_bytes(const graph::Collective& c, std::uint32_t group, std::uint32_t ranks) {
  if (c.send_bytes.empty()) return c.bytes * (group - 1) * (ranks / group);
  return std::accumulate(c.send_bytes.begin(), c.send_bytes.end(), std::int64_t{0});
}

graph::Partition node_groups(const ClusterShape& c) { return graph::Partition::strided(c.gpus_per_node, 1); }
graph::Partition rail_groups(const ClusterShape& c) { return graph::Partition::strided(c.nodes, c.gpus_per_node); }

graph::DType wire_dtype(const DlrmPlan& plan) { return exchange_dtype(plan.spec, plan.numerics); }

graph::Collective hybrid_exchange(const DlrmPlan& plan, const SampleSplit& split) {
  const double vectors = static_cast<double>(split.total()) / plan.ranks() * plan.hybrid->infrequent_ids;
  return uniform_exchange(rounded(vectors) * plan.hybrid->dim * plan.exchanged_element_bytes(), wire_dtype(plan));
}

std::string_view name_of(Direction direction) {
  return direction == Direction::owners_to_samples ? "embedding.exchange" : "embedding.exchange.dgrad";
}

/// An exchange of vectors within groups of ranks.
struct Exchange {
  std::string name;
  graph::Collective collective;
  graph::Partition groups;
};

TaskId add_collective_of(DlrmEmission& e, Exchange x) {
  return e.it.add_collective(x.name, e.it.exchange_stream(), graph::Phase::exchange, std::move(x.collective), x.groups);
}

Duration turns_on_host(const DlrmPlan& plan, const Exchange& x) {
  const ClusterShape& cluster = plan.cluster;
  const bool leaves_nodes = cluster.nodes > 1 && x.groups != node_groups(cluster);
  const double leaving =
      leaves_nodes ? 2.0 * static_cast<double>(moved_bytes(x.collective, x.groups.size, plan.ranks())) / cluster.nodes
                   : 0;
  const double seconds = leaving / kHostCopyBytesPerSecond + kHostTurnSeconds * cluster.gpus_per_node;
  return Duration::picoseconds(rounded(seconds * 1e12));
}

/// Down to host memory, across, up again.
TaskId add_through_host(DlrmEmission& e, Exchange x) {
  const graph::Stream stream = e.it.exchange_stream();
  const std::int64_t bytes = x.collective.bytes;
  const std::string name = x.name;
  e.it.add(name + ".to_host", {stream, graph::Phase::exchange, {1, 1}}, {graph::Copy{graph::CopyKind::d2h, bytes}},
           graph::Task::kUniform, {e.it.last_compute()});
  e.it.add(name + ".on_host", {stream, graph::Phase::exchange, {0, 0}}, {graph::HostWork{turns_on_host(e.plan, x)}});
  add_collective_of(e, std::move(x));
  return e.it.add(name + ".from_host", {stream, graph::Phase::exchange, {1, 1}},
                  {graph::Copy{graph::CopyKind::h2d, bytes}});
}

TaskId add_on_its_path(DlrmEmission& e, Exchange x) {
  return through_host(e.plan) ? add_through_host(e, std::move(x)) : add_collective_of(e, std::move(x));
}

/// An op of Horovod under TensorFlow. Its background thread looks for work once a cycle, half a cycle after a tensor is
/// ready on average; how much arrives is known only then, so that the executor has no node to launch that depends on it
/// until it has ended.
TaskId add_by_horovod(DlrmEmission& e, Exchange x) {
  const graph::Stream stream = e.it.exchange_stream();
  const Duration cycle = e.plan.framework.gradients.fusion_cycle;
  const std::string name = x.name;
  e.it.add(name + ".cycle", {stream, graph::Phase::exchange, {0, 0}},
           {graph::HostWork{Duration::picoseconds(cycle.ps() / 2)}}, graph::Task::kUniform, {e.it.last_compute()});
  add_on_its_path(e, std::move(x));
  return e.it.add(name + ".callback", {stream, graph::Phase::exchange, {0, 0}, true}, {graph::HostWork{Duration{}}});
}

/// As the framework carries it.
TaskId add_exchange_of(DlrmEmission& e, Exchange x) {
  return by_horovod(e.plan) ? add_by_horovod(e, std::move(x)) : add_on_its_path(e, std::move(x));
}

TaskId add_over_all(DlrmEmission& e, const std::string& name, graph::Collective collective) {
  return add_exchange_of(e, {name, std::move(collective), e.it.world()});
}

/// What is exchanged within nodes and along rails, in the order of the direction.
TaskId add_in_two_steps(DlrmEmission& e, const std::string& inside, const std::string& across, RailExchange parts,
                        Direction direction) {
  Exchange first{inside, std::move(parts.inside), node_groups(e.plan.cluster)},
      second{across, std::move(parts.across), rail_groups(e.plan.cluster)};
  if (direction == Direction::samples_to_owners) std::swap(first, second);
  add_exchange_of(e, std::move(first));
  return add_exchange_of(e, std::move(second));
}

TaskId add_by_rails(DlrmEmission& e, const SampleSplit& split, const Placement& placement, Direction direction) {
  const DlrmPlan& plan = e.plan;
  RailExchange parts = plan.hybrid
                           ? RailExchange{hybrid_exchange(plan, split), hybrid_exchange(plan, split)}
                           : rail_exchange(placement, split, plan.cluster.gpus_per_node, wire_dtype(plan), direction);
  const std::string name(name_of(direction));
  return add_in_two_steps(e, name + ".in_node", name, std::move(parts), direction);
}

/// What ranks have besides tables.
Placement without_tables_of(const Placement& placement) {
  Placement out;
  out.set_of_rank = placement.set_of_rank;
  for (const ShardSet& set : placement.sets) {
    ShardSet& bare = out.sets.emplace_back();
    bare.width = bare.width_besides = set.width_besides;
  }
  return out;
}

TaskId add_exchange_of_placement(DlrmEmission& e, const SampleSplit& split, const Placement& placement,
                                 Direction direction) {
  const DlrmPlan& plan = e.plan;
  if (!placement.any_exchanged()) return {};
  if (plan.by_rails) return add_by_rails(e, split, placement, direction);
  const std::string name(name_of(direction));
  if (plan.hybrid) return add_over_all(e, name, hybrid_exchange(plan, split));
  const graph::DType dtype = wire_dtype(plan);
  TaskId last;
  const bool pairs = placement.any(Meeting::pairs);
  if (pairs) last = add_over_all(e, name, pooled_exchange(placement, split, dtype, direction));
  if (placement.any(Meeting::everywhere))
    last = add_over_all(e, pairs ? name + ".rows" : name, row_wise_exchange(placement, split, dtype, direction));
  if (placement.any(Meeting::in_node))
    last =
        add_in_two_steps(e, name + ".in_node", name + ".across",
                         node_rows_exchange(placement, split, plan.cluster.gpus_per_node, dtype, direction), direction);
  return last;
}

/// Adds up what the GPUs of a node looked up of the same table, for the samples of one rail.
void add_sum_in_node(DlrmEmission& e, const SampleSplit& split) {
  const ClusterShape& cluster = e.plan.cluster;
  const std::vector<std::int64_t> widths = e.plan.placement.node_row_widths(cluster.gpus_per_node);
  const std::int64_t elements = split.largest() * cluster.nodes * *std::max_element(widths.begin(), widths.end());
  if (elements == 0) return;
  const auto parts = static_cast<double>(cluster.gpus_per_node);
  e.it.add("embedding.sum_in_node", {graph::Stream::compute, graph::Phase::forward, {1, 1}},
           {graph::Elementwise{elements, parts, 1, parts, wire_dtype(e.plan)}});
}

/// Elements of a sample that arrive as partial sums, beyond those that are left when each vector is whole.
std::int64_t partial_width(const DlrmPlan& plan) {
  if (!plan.by_rails) return plan.placement.partial_width();
  const std::vector<std::int64_t> widths = plan.placement.node_widths(plan.cluster.gpus_per_node);
  std::int64_t width = std::accumulate(widths.begin(), widths.end(), std::int64_t{0}) - plan.shape.embedding_width;
  for (const ShardSet& set : plan.placement.sets) width -= set.width_besides;  // of one rank: a set of its own
  for (const std::uint32_t t : plan.placement.replicated)
    width += plan.placement.tables[t].dim * plan.placement.tables[t].features;
  return width;
}

void add_cuts(DlrmEmission& e, const SampleSplit& split, const char* name, graph::Phase phase) {
  const DlrmShape& shape = e.plan.shape;
  std::vector<graph::Op> ops;
  for (const std::int64_t size : split.sizes())
    ops.push_back(graph::Concat{size * shape.embedding_width * e.plan.exchanged_element_bytes(), shape.vectors});
  const std::uint16_t calls = capped(shape.vectors);
  e.it.add(name, {graph::Stream::compute, phase, {calls, calls}}, std::move(ops), e.it.table_of(split));
}

void add_row_slice_sums(DlrmEmission& e, const SampleSplit& split, std::int64_t partial) {
  std::vector<graph::Op> sums;
  for (const std::int64_t size : split.sizes())
    sums.push_back(graph::Elementwise{size * partial, 2, 1, 1, wire_dtype(e.plan)});
  e.it.add("embedding.sum_row_slices", {graph::Stream::compute, graph::Phase::forward, {1, 1}}, std::move(sums),
           e.it.table_of(split));
}

}  // namespace

bool by_horovod(const DlrmPlan& plan) {
  return plan.framework.gradients.sync == GradientSync::fusion_buffer && plan.ranks() > 1;
}

bool through_host(const DlrmPlan& plan) { return plan.tables().exchange_through_host && plan.ranks() > 1; }

TaskId add_exchange(DlrmEmission& e, const SampleSplit& split, Direction direction) {
  const DlrmPlan& plan = e.plan;
  if (plan.frozen() && direction == Direction::samples_to_owners)
    return add_exchange_of_placement(e, split, without_tables_of(plan.placement), direction);
  return add_exchange_of_placement(e, split, plan.placement, direction);
}

void add_unpacking(DlrmEmission& e, const SampleSplit& split, const char* name, graph::Phase phase) {
  const DlrmPlan& plan = e.plan;
  if (plan.ranks() == 1 || !plan.placement.any_sharded() || plan.hybrid) return;
  const bool forward = phase == graph::Phase::forward;
  if (!forward && plan.frozen()) return;
  if (plan.by_rails && forward) add_sum_in_node(e, split);
  if (!plan.framework.embedding.table_batched) add_cuts(e, split, name, phase);
  const std::int64_t partial = partial_width(plan);
  if (partial > 0 && forward) add_row_slice_sums(e, split, partial);
}

}  // namespace distsim::workload
