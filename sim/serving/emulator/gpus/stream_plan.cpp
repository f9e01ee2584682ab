#include "sim/serving/emulator/gpus/stream_plan.hpp"

#include <algorithm>
#include <utility>

namespace distsim::serving {
namespace {

/// What a layer keeps busy.
Demand demand_of(const Scenario& s, std::uint32_t kind, std::uint32_t model, std::uint32_t batch, std::uint32_t layer) {
  const Demand* own = s.demands(kind, model, batch);
  return own != nullptr ? own[layer] : s.models[model].demand;
}

/// By layer of the block, those of it after which it starts, on so many streams.
StreamPlan::Order order_on(const LayerGraph& graph, const LayerGraph::Block& block,
                           const std::vector<std::int64_t>& times, std::uint32_t streams) {
  StreamPlan::Order order(block.end - block.begin);
  std::vector<std::int64_t> free_at(streams, 0), done(order.size(), 0);
  std::vector<std::uint32_t> last(streams, block.end);
  for (std::uint32_t l = block.begin; l < block.end; ++l) {
    std::vector<std::uint32_t>& after = order[l - block.begin];
    std::int64_t ready = 0;
    for (const LayerGraph::Need& need : graph.needs(l)) {
      if (need.layer < block.begin) continue;
      after.push_back(need.layer);
      ready = std::max(ready, done[need.layer - block.begin]);
    }
    std::uint32_t best = 0;
    for (std::uint32_t k = 1; k < streams; ++k) {
      if (std::max(free_at[k], ready) < std::max(free_at[best], ready)) best = k;
    }
    if (last[best] != block.end && std::ranges::find(after, last[best]) == after.end()) after.push_back(last[best]);
    last[best] = l;
    free_at[best] = done[l - block.begin] = std::max(free_at[best], ready) + times[l - block.begin];
  }
  return order;
}

/// Layers from `first` on, as parts that start in an order; numbers of parts count from `offset`.
void add_parts(std::vector<SharedGpu::Part>& parts, const StreamPlan::Order& order, std::uint32_t first,
               std::uint32_t offset) {
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    parts[offset + i].waits += static_cast<std::uint32_t>(order[i].size());
    for (const std::uint32_t l : order[i]) parts[offset + l - first].next.push_back(offset + i);
  }
}

std::int64_t time_alone(std::vector<SharedGpu::Part> parts) {
  SharedGpu gpu;
  std::vector<std::uint32_t> done;
  std::int64_t now = 0;
  gpu.add(now, 0, std::move(parts));
  while (!gpu.empty()) {
    now = gpu.next_end_ps();
    gpu.take_done(now, done);
  }
  return now;
}

}  // namespace

void plan_streams(Scenario& s, std::uint32_t kind, std::uint32_t model, std::uint32_t streams) {
  const Model& m = s.models[model];
  const bool shared =
      std::ranges::any_of(s.gpus, [&](const Gpu& g) { return g.kind == kind && g.execution == Execution::shared; });
  if (m.graph.is_chain() || streams < 2 || (shared && m.sm_limit < 1)) return;
  StreamPlan plan;
  bool gains = false;
  for (std::uint32_t batch = 1; batch <= m.max_batch; ++batch) {
    std::vector<std::int64_t> saved(m.layers + 1, 0);
    for (const LayerGraph::Block& block : m.graph.blocks()) {
      std::vector<std::int64_t> times;
      std::vector<SharedGpu::Part> plain;
      std::int64_t best_time = s.serial_ps(kind, model, block.begin, block.end, batch);
      for (std::uint32_t l = block.begin; l < block.end; ++l) {
        times.push_back(s.serial_ps(kind, model, l, l + 1, batch));
        plain.push_back({times.back(), demand_of(s, kind, model, batch, l), 0, {}});
      }
      StreamPlan::Order best;
      for (std::uint32_t k = 2; k <= std::min<std::uint32_t>(streams, block.end - block.begin); ++k) {
        StreamPlan::Order order = order_on(m.graph, block, times, k);
        std::vector<SharedGpu::Part> parts = plain;
        add_parts(parts, order, block.begin, 0);
        const std::int64_t time = time_alone(std::move(parts));
        if (time >= best_time) continue;
        saved[block.end] += best_time - time;
        best_time = time;
        best = std::move(order);
      }
      gains = gains || !best.empty();
      plan.orders.push_back(std::move(best));
    }
    for (std::uint32_t l = 0; l < m.layers; ++l) saved[l + 1] += saved[l];
    plan.saved.insert(plan.saved.end(), saved.begin(), saved.end());
  }
  if (gains) s.set_streams(kind, model, std::move(plan));
}

std::vector<SharedGpu::Part> parts_of_layers(const Scenario& s, std::uint32_t kind, std::uint32_t model,
                                             std::uint32_t begin, std::uint32_t end, std::uint32_t batch,
                                             const std::vector<std::int64_t>& times) {
  const LayerGraph& graph = s.models[model].graph;
  std::vector<SharedGpu::Part> parts;
  std::vector<std::uint32_t> ends;  // parts that what comes next waits for
  bool in_chain = false;            // the last part is of a chain
  const auto follow = [&](std::uint32_t part) {
    parts[part].waits = static_cast<std::uint32_t>(ends.size());
    for (const std::uint32_t e : ends) parts[e].next.push_back(part);
  };
  std::size_t block = 0;
  for (std::uint32_t l = begin; l < end;) {
    while (block < graph.blocks().size() && graph.blocks()[block].begin < l) ++block;
    const bool whole =
        block < graph.blocks().size() && graph.blocks()[block].begin == l && graph.blocks()[block].end <= end;
    const StreamPlan::Order* order = whole ? s.order(kind, model, batch, block) : nullptr;
    if (order == nullptr) {
      const Demand demand = demand_of(s, kind, model, batch, l);
      const std::int64_t time = times[l++ - begin];
      if (in_chain && parts.back().demand == demand) {
        parts.back().alone_ps += time;
        continue;
      }
      parts.push_back({time, demand, 0, {}});
      follow(static_cast<std::uint32_t>(parts.size() - 1));
      ends = {static_cast<std::uint32_t>(parts.size() - 1)};
      in_chain = true;
      continue;
    }
    const auto offset = static_cast<std::uint32_t>(parts.size());
    for (const std::uint32_t first = l; l < first + order->size(); ++l)
      parts.push_back({times[l - begin], demand_of(s, kind, model, batch, l), 0, {}});
    add_parts(parts, *order, graph.blocks()[block].begin, offset);
    for (std::uint32_t p = offset; p < parts.size(); ++p) {
      if ((*order)[p - offset].empty()) follow(p);
    }
    ends.clear();
    for (std::uint32_t p = offset; p < parts.size(); ++p) {
      if (parts[p].next.empty()) ends.push_back(p);
    }
    in_chain = false;
  }
  return parts;
}

}  // namespace distsim::serving
