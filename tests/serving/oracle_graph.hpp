// Graphs of layers, streams and stages for the oracle, from their definitions.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving::test {

__extension__ using Wide = __int128;
using Needs = std::vector<std::vector<LayerGraph::Need>>;

/// Joints, blocks and strands as emulator/layer_graph.hpp defines them, by what can be reached from where.
class OracleGraph {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};
  using Range = std::pair<std::uint32_t, std::uint32_t>;

  explicit OracleGraph(const Needs& needs) : needs_(needs), count_(static_cast<std::uint32_t>(needs.size())) {
    reaches_.assign(count_, std::vector<char>(count_, 0));
    for (std::uint32_t l = 0; l < count_; ++l) {
      for (const LayerGraph::Need& n : needs[l]) {
        for (std::uint32_t i = 0; i <= n.layer; ++i) {
          if (i == n.layer || reaches_[i][n.layer] != 0) reaches_[i][l] = 1;
        }
      }
    }
    std::uint32_t begin = 0;
    for (std::uint32_t p = 1; p <= count_; ++p) {
      if (!is_joint(p)) continue;
      for (std::uint32_t l = begin; l < p; ++l) block_of_.emplace_back(begin, p);
      if (p - begin > 1) blocks_.emplace_back(begin, p);
      begin = p;
    }
    for (std::uint32_t l = 0; l < count_; ++l) {
      if (l > 0 && goes_on(l))
        strands_.back().second = l + 1;
      else
        strands_.emplace_back(l, l + 1);
    }
  }

  bool is_chain() const { return blocks_.empty(); }
  const std::vector<Range>& blocks() const { return blocks_; }
  const std::vector<Range>& strands() const { return strands_; }
  bool needs(std::uint32_t l, std::uint32_t other) const {
    return std::ranges::any_of(needs_[l], [&](const LayerGraph::Need& n) { return n.layer == other; });
  }

  /// Strands that a strand needs, and the bytes that each hands to it.
  std::vector<std::pair<std::size_t, std::int64_t>> sources(std::size_t strand) const {
    std::vector<std::pair<std::size_t, std::int64_t>> out;
    for (std::size_t k = 0; k < strand; ++k) {
      bool any = false;
      std::int64_t bytes = 0;
      for (std::uint32_t from = strands_[k].first; from < strands_[k].second; ++from) {
        std::int64_t most = 0;
        for (std::uint32_t l = strands_[strand].first; l < strands_[strand].second; ++l) {
          for (const LayerGraph::Need& n : needs_[l]) {
            if (n.layer != from) continue;
            any = true;
            most = std::max(most, n.bytes);
          }
        }
        bytes += most;
      }
      if (any) out.emplace_back(k, bytes);
    }
    return out;
  }

 private:
  bool is_joint(std::uint32_t p) const {
    if (p == 0 || p == count_) return true;
    for (std::uint32_t l = 0; l < count_; ++l) {
      if (l < p - 1 && reaches_[l][p - 1] == 0) return false;
      if (l >= p && reaches_[p - 1][l] == 0) return false;
    }
    return true;
  }
  bool goes_on(std::uint32_t l) const {
    const auto [begin, end] = block_of_[l];
    if (end - begin == 1) return true;
    if (l == begin || !needs(l, l - 1)) return false;
    for (std::uint32_t other = begin; other < end; ++other) {
      if (other != l && needs(other, l - 1)) return false;
      if (other < l - 1 && needs(l, other)) return false;
    }
    return true;
  }

  Needs needs_;
  std::uint32_t count_;
  std::vector<std::vector<char>> reaches_;
  std::vector<Range> blocks_, strands_, block_of_;
};

// ---- parts that are executed beside each other

struct OraclePart {
  std::int64_t alone = 0;
  Demand demand;
  std::vector<std::size_t> after;
  Wide left = 0;  ///< 2^-32 ps
  std::int64_t speed = 0, ended = -1;
  bool started = false, over = false;
};

inline bool all_over(const std::vector<OraclePart>& parts) {
  return std::ranges::all_of(parts, [](const OraclePart& p) { return p.over; });
}

/// What waits for nothing more starts, at the fraction of a picosecond at which the last that it waited for ended.
inline bool start_parts(std::vector<OraclePart>& parts, std::int64_t now) {
  bool any = false;
  for (OraclePart& p : parts) {
    if (p.started || !std::ranges::all_of(p.after, [&](std::size_t a) { return parts[a].over; })) continue;
    Wide early = 0;
    bool at_this_moment = false;
    for (const std::size_t a : p.after) {
      if (parts[a].ended != now) continue;
      early = at_this_moment ? std::max(early, parts[a].left) : parts[a].left;
      at_this_moment = true;
    }
    p.left = (static_cast<Wide>(p.alone) << 32) + early;
    p.started = any = true;
  }
  return any;
}
inline void end_parts(std::vector<OraclePart>& parts, std::int64_t now) {
  for (bool again = true; again;) {
    again = false;
    for (OraclePart& p : parts) {
      if (!p.started || p.over || p.left > 0) continue;
      p.over = again = true;
      p.ended = now;
    }
    again = start_parts(parts, now) || again;
  }
}
inline void share_out(const std::vector<OraclePart*>& running) {
  double sm = 0, memory = 0, launch = 0;
  for (const OraclePart* p : running) {
    sm += p->demand.sm;
    memory += p->demand.memory;
    launch += p->demand.launch;
  }
  for (OraclePart* p : running) {
    double slower = 1;
    if (p->demand.sm > 0) slower = std::max(slower, sm);
    if (p->demand.memory > 0) slower = std::max(slower, memory);
    if (p->demand.launch > 0) slower = std::max(slower, launch);
    p->speed = static_cast<std::int64_t>(4294967296.0 / slower);
  }
}
inline std::int64_t first_end(const std::vector<OraclePart>& parts, std::int64_t now) {
  std::int64_t first = kNever;
  for (const OraclePart& p : parts) {
    if (!p.started || p.over) continue;
    std::int64_t wait = static_cast<std::int64_t>(p.left / p.speed);
    while (p.left - static_cast<Wide>(wait) * p.speed > 0) ++wait;
    first = std::min(first, now + wait);
  }
  return first;
}
/// All parts on a GPU of their own.
inline std::int64_t play_alone_from_zero(std::vector<OraclePart> parts) {
  std::int64_t now = 0;
  start_parts(parts, now);
  for (;;) {
    std::vector<OraclePart*> running;
    for (OraclePart& p : parts) {
      if (p.started && !p.over) running.push_back(&p);
    }
    if (running.empty()) return now;
    share_out(running);
    const std::int64_t next = first_end(parts, now);
    for (OraclePart* p : running) p->left -= static_cast<Wide>(next - now) * p->speed;
    now = next;
    end_parts(parts, now);
  }
}

/// Of 1, 2, ... streams the least number with which the block is done first: for each of its layers those after which it
/// starts. Empty: one stream.
inline std::vector<std::vector<std::size_t>> best_order(const OracleGraph& graph, std::uint32_t first,
                                                        const std::vector<OraclePart>& block, std::uint32_t streams) {
  std::vector<std::vector<std::size_t>> best;
  std::int64_t best_time = 0;
  for (const OraclePart& p : block) best_time += p.alone;
  for (std::uint32_t k = 2; k <= streams && k <= block.size(); ++k) {
    std::vector<std::vector<std::size_t>> on_stream(k);
    std::vector<std::int64_t> ends(block.size(), 0);
    std::vector<OraclePart> parts = block;
    for (std::uint32_t l = 0; l < block.size(); ++l) {
      parts[l].after.clear();
      for (std::uint32_t other = 0; other < l; ++other) {
        if (graph.needs(first + l, first + other)) parts[l].after.push_back(other);
      }
      std::size_t stream = 0;
      std::int64_t least = kNever;
      for (std::size_t i = 0; i < k; ++i) {
        std::int64_t start = on_stream[i].empty() ? 0 : ends[on_stream[i].back()];
        for (const std::size_t a : parts[l].after) start = std::max(start, ends[a]);
        if (start >= least) continue;
        least = start;
        stream = i;
      }
      if (!on_stream[stream].empty()) parts[l].after.push_back(on_stream[stream].back());
      on_stream[stream].push_back(l);
      ends[l] = least + block[l].alone;
    }
    const std::int64_t time = play_alone_from_zero(parts);
    if (time >= best_time) continue;
    best_time = time;
    best.clear();
    for (const OraclePart& p : parts) best.push_back(p.after);
  }
  return best;
}

// ---- stages

/// Of all ways to cut layers into stages, the least time of the slowest stage; each stage then has as many layers as it can
/// have.
inline std::vector<std::uint32_t> fullest_cuts(const std::vector<std::int64_t>& times, std::uint32_t stages) {
  const std::function<std::int64_t(std::size_t, std::uint32_t)> slowest = [&](std::size_t from, std::uint32_t left) {
    std::int64_t best = kNever, stage = 0;
    for (std::size_t end = from; end <= times.size(); ++end) {
      if (left == 1 ? end == times.size() : true)
        best = std::min(best, left == 1 ? stage : std::max(stage, slowest(end, left - 1)));
      if (end < times.size()) stage += times[end];
    }
    return best;
  };
  const std::int64_t most = slowest(0, stages);
  std::vector<std::uint32_t> cuts{0};
  std::uint32_t at = 0;
  for (std::uint32_t k = 0; k < stages; ++k) {
    for (std::int64_t stage = 0; at < times.size() && stage + times[at] <= most; ++at) stage += times[at];
    cuts.push_back(at);
  }
  return cuts;
}

}  // namespace distsim::serving::test
