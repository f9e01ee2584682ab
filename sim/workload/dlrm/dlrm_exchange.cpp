// How pooled vectors and their gradients travel between owners and samples.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/workload/dlrm/dlrm_iteration.hpp"

namespace distsim::workload {
namespace {

/// Bytes that an exchange moves between ranks, over all of them.
std::int64_t moved_bytes(const graph::Collective& c, std::uint32_t ranks) {
  if (c.send_bytes.empty()) return c.bytes * (ranks - 1);
  return std::accumulate(c.send_bytes.begin(), c.send_bytes.end(), std::int64_t{0});
}

// What an exchange through host memory costs beside the copies down and up. Fitted on the eight-GPU and four-node runs
// of Wide and Deep (DLPerf, five series); that CPU copies and threads taking turns are behind it is a guess.
constexpr double kHostCopyBytesPerSecond =
    10e9;  // of what leaves and enters a node, by CPU between the buffers of GPUs and NIC
constexpr double kHostTurnSeconds = 150e-6;  // for each GPU of a node

}  // namespace

std::int64_t DlrmIteration::hybrid_bytes(const SampleSplit& split) const {
  const double vectors = static_cast<double>(split.total()) / it_.ranks() * hybrid_->infrequent_ids;
  return rounded(vectors) * hybrid_->dim * graph::size_of(exchange_dtype(spec_, it_.numerics()));
}

TaskId DlrmIteration::send_pooled(const SampleSplit& split, Direction direction) {
  if (!placement_.any_sharded()) return {};
  if (by_rails()) return send_by_rails(split, direction);
  const graph::DType dtype = exchange_dtype(spec_, it_.numerics());
  graph::Collective exchange =
      hybrid_ ? uniform_exchange(hybrid_bytes(split), dtype) : pooled_exchange(placement_, split, dtype, direction);
  return staged(direction == Direction::owners_to_samples ? "embedding.exchange" : "embedding.exchange.dgrad",
                std::move(exchange));
}

/// Through host memory where the model says so: down, across, up again.
TaskId DlrmIteration::staged(const std::string& name, graph::Collective collective) {
  const graph::Stream stream = it_.exchange_stream();
  if (!spec_.exchange_through_host || it_.ranks() == 1)
    return it_.add_collective(name, stream, graph::Phase::exchange, std::move(collective), it_.world());
  const std::int64_t bytes = collective.bytes;
  it_.add(name + ".to_host", {stream, graph::Phase::exchange, {1, 1}}, {graph::Copy{graph::CopyKind::d2h, bytes}},
          graph::Task::kUniform, {it_.last_compute()});
  const double leaving = nodes_ > 1 ? 2.0 * static_cast<double>(moved_bytes(collective, it_.ranks())) / nodes_ : 0;
  const double seconds = leaving / kHostCopyBytesPerSecond + kHostTurnSeconds * gpus_per_node_;
  it_.add(name + ".on_host", {stream, graph::Phase::exchange, {0, 0}},
          {graph::HostWork{Duration::picoseconds(rounded(seconds * 1e12))}});
  it_.add_collective(name, stream, graph::Phase::exchange, std::move(collective), it_.world());
  return it_.add(name + ".from_host", {stream, graph::Phase::exchange, {1, 1}},
                 {graph::Copy{graph::CopyKind::h2d, bytes}});
}

TaskId DlrmIteration::send_by_rails(const SampleSplit& split, Direction direction) {
  const graph::DType dtype = exchange_dtype(spec_, it_.numerics());
  const graph::Partition node = graph::Partition::strided(gpus_per_node_, 1),
                         rail = graph::Partition::strided(nodes_, gpus_per_node_);
  RailExchange e =
      hybrid_ ? RailExchange{uniform_exchange(hybrid_bytes(split), dtype), uniform_exchange(hybrid_bytes(split), dtype)}
              : rail_exchange(placement_, split, gpus_per_node_, dtype, direction);
  const graph::Stream stream = it_.exchange_stream();
  if (direction == Direction::owners_to_samples) {
    it_.add_collective("embedding.exchange.in_node", stream, graph::Phase::exchange, std::move(e.inside), node);
    return it_.add_collective("embedding.exchange", stream, graph::Phase::exchange, std::move(e.across), rail);
  }
  it_.add_collective("embedding.exchange.dgrad", stream, graph::Phase::exchange, std::move(e.across), rail);
  return it_.add_collective("embedding.exchange.dgrad.in_node", stream, graph::Phase::exchange, std::move(e.inside),
                            node);
}

/// Adds up what the GPUs of a node looked up of the same table, for the samples of one rail.
void DlrmIteration::sum_in_node(const SampleSplit& split) {
  const std::vector<std::int64_t> widths = placement_.node_widths(gpus_per_node_);
  const std::int64_t elements = split.largest() * nodes_ * *std::max_element(widths.begin(), widths.end());
  if (elements == 0) return;
  it_.add("embedding.sum_in_node", {graph::Stream::compute, graph::Phase::forward, {1, 1}},
          {graph::Elementwise{elements, static_cast<double>(gpus_per_node_), 1, static_cast<double>(gpus_per_node_),
                              exchange_dtype(spec_, it_.numerics())}});
}

std::int64_t DlrmIteration::vectors_received() const {
  if (!by_rails()) return placement_.sharded_width();
  const std::vector<std::int64_t> widths = placement_.node_widths(gpus_per_node_);
  return std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
}

/// Frameworks that go table by table cut the received buffer into a tensor for each vector (and join them again
/// backward). Partial sums of row slices that came by all-to-all are added up here too.
void DlrmIteration::unpack(const SampleSplit& split, const char* name, graph::Phase phase) {
  if (it_.ranks() == 1 || !placement_.any_sharded() || hybrid_) return;
  if (by_rails() && phase == graph::Phase::forward) sum_in_node(split);
  const std::int64_t element = graph::size_of(exchange_dtype(spec_, it_.numerics()));
  const std::int64_t width = placement_.row_wise_everywhere ? 0 : vectors_received();
  if (!it_.framework().embedding.table_batched) {
    std::vector<graph::Op> ops;
    for (const std::int64_t size : split.sizes())
      ops.push_back(graph::Concat{size * shape_.embedding_width * element, shape_.vectors});
    const auto calls = static_cast<std::uint16_t>(std::min<std::int64_t>(shape_.vectors, 0xFFFF));
    it_.add(name, {graph::Stream::compute, phase, {calls, calls}}, std::move(ops), it_.table_of(split));
  }
  const std::int64_t replicated = [&] {
    std::int64_t sum = 0;
    for (const std::uint32_t t : placement_.replicated) sum += placement_.tables[t].dim * placement_.tables[t].features;
    return sum;
  }();
  const std::int64_t partial =
      width - (shape_.embedding_width - replicated) - (lone_bottom() ? shape_.bottom_width : 0);
  if (partial <= 0 || phase != graph::Phase::forward) return;
  std::vector<graph::Op> sums;
  for (const std::int64_t size : split.sizes()) {
    sums.push_back(graph::Elementwise{size * partial, 2, 1, 1, exchange_dtype(spec_, it_.numerics())});
  }
  it_.add("embedding.sum_row_slices", {graph::Stream::compute, phase, {1, 1}}, std::move(sums), it_.table_of(split));
}

}  // namespace distsim::workload
