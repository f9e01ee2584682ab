// The machines of the oracle: what a piece of work takes on a GPU, the stages of a pipeline, links and memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle_graph.hpp"
#include "scenarios.hpp"

namespace distsim::serving::test {

struct OracleWork {
  std::uint32_t gpu = 0, model = 0, begin_layer = 0, layers = 0;
  std::vector<std::size_t> tasks;
  std::int64_t ready = 0, alone = 0, first_free = -1, end = -1;
  std::vector<OraclePart> parts;  ///< shared
  bool has_room = false, is_ready = false, started = false, slot_free = false, over = false;
};

struct OracleResult {
  std::vector<std::int64_t> answers;  ///< by request
  std::uint64_t moves = 0, batches = 0, loads = 0, evictions = 0;
};

/// What the oracle is told of a scenario beside it.
struct OracleSetup {
  std::vector<Needs> needs;            ///< by model; empty: a chain
  std::vector<std::uint32_t> streams;  ///< by kind
};

class OracleMachines {
 protected:
  OracleMachines(const Scenario& s, const OracleSetup& setup) : s_(s), setup_(setup) {
    for (const Needs& needs : setup.needs) graphs_.emplace_back(needs);
    link_free_.assign(s.links.size(), 0);
    used_.assign(s.gpus.size(), std::vector<std::uint64_t>(s.models.size(), 0));
    loaded_.assign(s.gpus.size(), std::vector<std::int64_t>(s.models.size(), 0));
    left_stage_.resize(s.gpus.size());
  }

  bool shared(std::uint32_t g) const { return s_.gpus[g].execution == Execution::shared; }
  bool piped(std::uint32_t g) const { return s_.gpus[g].execution == Execution::pipeline; }
  Demand demand_of(const OracleWork& w, std::uint32_t layer) const {
    const Demand* own = s_.demands(s_.gpus[w.gpu].kind, w.model, static_cast<std::uint32_t>(w.tasks.size()));
    return own != nullptr ? own[layer] : s_.models[w.model].demand;
  }
  /// Layers [begin, end) of a piece of work as parts that wait for each other.
  std::vector<OraclePart> parts_of(const OracleWork& w, std::uint32_t begin, std::uint32_t end) const {
    std::vector<OraclePart> parts;
    const std::uint32_t kind = s_.gpus[w.gpu].kind;
    for (std::uint32_t l = begin; l < end; ++l) {
      OraclePart part;
      part.alone = s_.serial_ps(kind, w.model, l, l + 1, static_cast<std::uint32_t>(w.tasks.size()));
      part.demand = demand_of(w, l);
      for (std::uint32_t before = begin; before < l; ++before) part.after.push_back(before - begin);
      parts.push_back(part);
    }
    if (graphs_[w.model].is_chain()) return parts;
    for (const auto& [first, last] : graphs_[w.model].blocks()) {
      if (first < begin || last > end) continue;
      const std::vector<OraclePart> block(parts.begin() + (first - begin), parts.begin() + (last - begin));
      const std::vector<std::vector<std::size_t>> order =
          best_order(graphs_[w.model], first, block, setup_.streams[kind]);
      if (order.empty()) continue;
      for (std::uint32_t l = first; l < last; ++l) {
        std::vector<std::size_t>& after = parts[l - begin].after;
        after.clear();
        for (std::uint32_t before = begin; before < first; ++before) after.push_back(before - begin);
        for (const std::size_t p : order[l - first]) after.push_back(first - begin + p);
      }
    }
    return parts;
  }
  /// Layers [begin, end) on a GPU of their own, block by block.
  std::int64_t play_alone(const OracleWork& w, std::uint32_t begin, std::uint32_t end) const {
    std::int64_t total = 0;
    const std::uint32_t kind = s_.gpus[w.gpu].kind;
    std::vector<OraclePart> parts = parts_of(w, begin, end);
    for (const OraclePart& p : parts) total += p.alone;
    for (const auto& [first, last] : graphs_[w.model].blocks()) {
      if (first < begin || last > end) continue;
      std::vector<OraclePart> block(parts.begin() + (first - begin), parts.begin() + (last - begin));
      const auto order = best_order(graphs_[w.model], first, block, setup_.streams[kind]);
      if (order.empty()) continue;
      for (const OraclePart& p : block) total -= p.alone;
      for (std::size_t i = 0; i < block.size(); ++i) block[i].after = order[i];
      total += play_alone_from_zero(block);
    }
    return total;
  }

  // ---- pipelines

  /// Of all cuts one with the least slowest stage, where each stage has as many layers as it can have.
  std::vector<std::uint32_t> cuts_of(std::uint32_t g, std::uint32_t model) const {
    std::vector<std::int64_t> times;
    for (std::uint32_t l = 0; l < s_.models[model].layers; ++l)
      times.push_back(s_.serial_ps(s_.gpus[g].kind, model, l, l + 1, 1));
    return fullest_cuts(times, s_.gpus[g].stages);
  }
  /// Each stage is entered when the one before is left, its data is there, and all pieces before have left it.
  void enter_stages(OracleWork& w) {
    const std::vector<std::uint32_t> cuts = cuts_of(w.gpu, w.model);
    const auto batch = static_cast<std::uint32_t>(w.tasks.size());
    const Gpu& gpu = s_.gpus[w.gpu];
    std::vector<std::vector<std::int64_t>>& left = left_stage_[w.gpu];
    left.resize(gpu.stages);
    std::int64_t at = now_;
    for (std::uint32_t k = 0; k < gpu.stages; ++k) {
      std::int64_t time = 0;
      bool any = false, more = false;
      std::uint32_t last = 0;
      for (std::uint32_t l = w.begin_layer; l < w.begin_layer + w.layers; ++l) {
        more = more || l >= cuts[k + 1];
        if (l < cuts[k] || l >= cuts[k + 1]) continue;
        any = true;
        last = l;
        time += s_.serial_ps(gpu.kind, w.model, l, l + 1, batch);
      }
      if (any) {
        for (const std::int64_t before : left[k]) at = std::max(at, before);
        at += time;
        left[k].push_back(at);
        const Model& m = s_.models[w.model];
        const std::int64_t bytes = (m.state_after.empty() ? m.state_bytes : m.state_after[last]) * batch;
        if (more && bytes > 0) at += time_of({gpu.peer_out, gpu.peer_in}, bytes);
      }
      if (k > 0) continue;
      w.first_free = now_;  // also where it has nothing to do there
      for (const std::int64_t before : left[0]) w.first_free = std::max(w.first_free, before);
    }
    w.end = at;
  }

  // ---- links and memory

  std::int64_t time_of(const std::vector<std::uint32_t>& links, std::int64_t bytes) const {
    double slowest = 1e300;
    std::int64_t latency = 0;
    for (const std::uint32_t l : links) {
      slowest = std::min(slowest, s_.links[l].bytes_per_s);
      latency += s_.links[l].latency_ps;
    }
    return latency + std::llround(static_cast<double>(bytes) / slowest * 1e12);
  }
  std::int64_t copy(std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
    std::vector<std::uint32_t> links;
    const auto& gpus = s_.gpus;
    if (from == kHost)
      links = {gpus[to].host_in};
    else if (to == kHost)
      links = {gpus[from].host_out};
    else if (gpus[from].box != gpus[to].box)
      links = {gpus[from].host_out, gpus[from].box_out, gpus[to].box_in, gpus[to].host_in};
    else if (gpus[from].peers && gpus[to].peers)
      links = {gpus[from].peer_out, gpus[to].peer_in};
    else
      links = {gpus[from].host_out, gpus[to].host_in};
    std::int64_t start = now_;
    for (const std::uint32_t l : links) start = std::max(start, link_free_[l]);
    const std::int64_t end = start + time_of(links, bytes);
    for (const std::uint32_t l : links) link_free_[l] = end;
    return end;
  }
  /// Bytes of weights that pieces of work on a GPU use, beside those of `model`; of streamed ones each piece has its own.
  std::int64_t in_use(std::uint32_t g, std::uint32_t model) const {
    std::int64_t sum = 0;
    std::vector<char> counted(s_.models.size(), 0);
    for (const OracleWork& w : works_) {
      if (w.over || !w.has_room || w.gpu != g) continue;
      if (s_.residency == Residency::cached && (w.model == model || counted[w.model] != 0)) continue;
      counted[w.model] = 1;
      sum += s_.models[w.model].weight_bytes;
    }
    return sum;
  }
  bool uses(std::uint32_t g, std::size_t model) const {
    return std::ranges::any_of(
        works_, [&](const OracleWork& w) { return !w.over && w.has_room && w.gpu == g && w.model == model; });
  }
  /// Whether a model's weights are there, or room can be made for them.
  bool room(std::uint32_t g, std::uint32_t m) const {
    if (s_.residency == Residency::resident || (s_.residency == Residency::cached && used_[g][m] > 0)) return true;
    return in_use(g, m) + s_.models[m].weight_bytes <= s_.gpus[g].memory_bytes;
  }
  /// Precondition: room.
  bool must_load(std::uint32_t g, std::uint32_t m) {
    if (s_.residency == Residency::resident || s_.models[m].weight_bytes == 0) return false;
    if (s_.residency == Residency::streamed) return true;
    const bool there = used_[g][m] > 0;
    used_[g][m] = ++clock_;
    for (;;) {
      std::int64_t sum = 0;
      std::size_t oldest = s_.models.size();
      for (std::size_t k = 0; k < s_.models.size(); ++k) {
        if (used_[g][k] == 0) continue;
        sum += s_.models[k].weight_bytes;
        if (k == m || uses(g, k)) continue;
        if (oldest == s_.models.size() || used_[g][k] < used_[g][oldest]) oldest = k;
      }
      if (sum <= s_.gpus[g].memory_bytes) return !there;
      used_[g][oldest] = 0;
      ++result_.evictions;
    }
  }

  const Scenario& s_;
  const OracleSetup& setup_;
  std::vector<OracleGraph> graphs_;
  std::vector<OracleWork> works_;
  std::vector<std::vector<std::int64_t>> loaded_;  ///< by GPU and model: when its weights came, or will come
  std::int64_t now_ = -1;
  OracleResult result_;

 private:
  std::vector<std::int64_t> link_free_;
  std::vector<std::vector<std::vector<std::int64_t>>> left_stage_;  ///< by GPU and stage: when pieces left it
  std::vector<std::vector<std::uint64_t>> used_;
  std::uint64_t clock_ = 0;
};

}  // namespace distsim::serving::test
