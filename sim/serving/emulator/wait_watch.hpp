// Whether a policy leaves a request waiting for nothing.
//
// Where the experiment bounds waits, every request is looked at. Where it does not, the request that has waited longest is:
// its policy is refused when each GPU that may execute it has been without any work, in all, for kTimes times the longest
// that a model takes in its largest batch with what is fetched for it, and of our batching policies the delay of batches.
// Queues above capacity grow without that, as their GPUs work. static_batching, which waits for full batches however long
// that takes, has no such bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/serving/emulator/links.hpp"
#include "sim/serving/emulator/request.hpp"
#include "sim/serving/policies/eligibility.hpp"

namespace distsim::serving {

class WaitWatch {
 public:
  static constexpr std::int64_t kTimes = 1000;

  WaitWatch(const Scenario& s, const PolicyEntry& entry, const PolicyOptions& options, std::int64_t max_wait_ps)
      : max_wait_ps_(max_wait_ps),
        // A library may not heed the placement, and so keep a request for a GPU that is not of it.
        eligible_(s, entry.factory == nullptr ? options : PolicyOptions{}),
        idle_ps_(s.gpus.size(), 0) {
    if (max_wait_ps != kNever || entry.waits_for_full_batches) return;
    max_idle_ps_ = bounded_ps(static_cast<double>(kTimes) * static_cast<double>(longest_ps(s, entry, options)));
    if (entry.batches) max_idle_ps_ = later(max_idle_ps_, options.delay_ps);
  }

  /// A GPU takes its only piece of work, or has none left.
  void works(std::uint32_t gpu, std::int64_t now_ps) { idle_ps_[gpu] += now_ps; }
  void rests(std::uint32_t gpu, std::int64_t now_ps) { idle_ps_[gpu] -= now_ps; }

  /// Whether to look now: so seldom that looking at all requests and GPUs costs little, and often beside the bound.
  bool is_due(std::int64_t now_ps, std::size_t requests) { return --until_asked_ == 0 && looks_now(now_ps, requests); }
  std::int64_t max_idle_ps() const { return max_idle_ps_; }

  /// The request that waits too long by one of the bounds; null: none.
  /// `used_slots`: by GPU.
  const Request* too_long(const RequestPool& pool, const std::vector<std::uint32_t>& used_slots, std::int64_t now_ps) {
    const Request* oldest = nullptr;
    for (RequestSlot slot = 0; slot < pool.size(); ++slot) {
      const Request& r = pool[slot];
      if (!r.waiting) continue;
      if (oldest == nullptr || r.waiting_since_ps < oldest->waiting_since_ps ||
          (r.waiting_since_ps == oldest->waiting_since_ps && r.number < oldest->number))
        oldest = &r;
    }
    if (oldest == nullptr) return nullptr;
    if (max_wait_ps_ != kNever) return now_ps - oldest->waiting_since_ps > max_wait_ps_ ? oldest : nullptr;
    if (oldest->number != number_ || oldest->waiting_since_ps != since_ps_) {
      number_ = oldest->number;
      since_ps_ = oldest->waiting_since_ps;
      before_ps_ = idle_until(used_slots, now_ps);
      return nullptr;
    }
    const std::vector<std::int64_t> idle = idle_until(used_slots, now_ps);
    for (std::uint32_t g = 0; g < idle.size(); ++g) {
      if (eligible_(oldest->model, g) && idle[g] - before_ps_[g] <= max_idle_ps_) return nullptr;
    }
    return oldest;
  }

 private:
  static std::int64_t longest_ps(const Scenario& s, const PolicyEntry& entry, const PolicyOptions& options) {
    std::int64_t longest = 0;
    for (std::uint32_t m = 0; m < s.models.size(); ++m) {
      for (std::uint32_t g = 0; g < s.gpus.size(); ++g) {
        const Model& model = s.models[m];
        if (!s.runs_on(s.gpus[g].kind, m)) continue;
        const std::int64_t bytes =
            later(s.residency == Residency::resident ? 0 : model.weight_bytes, model.input_bytes);
        longest = std::max(
            longest, later(s.time_ps(s.gpus[g].kind, m, 0, model.layers, entry.largest_batch(options, model.max_batch)),
                           bytes > 0 ? transfer_ps(s, route_of(s, kHost, g), bytes) : 0));
      }
    }
    return longest;
  }
  bool looks_now(std::int64_t now_ps, std::size_t requests) {
    until_asked_ = kRounds;
    rounds_ += kRounds;
    if (rounds_ < std::max(requests, idle_ps_.size())) return false;
    if (rounds_ < 64 * kRounds && now_ps - looked_at_ps_ < std::min(max_wait_ps_, max_idle_ps_)) return false;
    rounds_ = 0;
    looked_at_ps_ = now_ps;
    return max_wait_ps_ != kNever || max_idle_ps_ != kNever;
  }
  std::vector<std::int64_t> idle_until(const std::vector<std::uint32_t>& used_slots, std::int64_t now_ps) const {
    std::vector<std::int64_t> out = idle_ps_;
    for (std::size_t g = 0; g < out.size(); ++g) out[g] += used_slots[g] == 0 ? now_ps : 0;
    return out;
  }

  static constexpr std::uint64_t kRounds = 64;
  std::int64_t max_wait_ps_, max_idle_ps_ = kNever;
  Eligibility eligible_;
  std::vector<std::int64_t> idle_ps_;  ///< by GPU: idle time, of those that are idle now less the time
  std::uint64_t until_asked_ = kRounds, rounds_ = 0, number_ = ~std::uint64_t{0};
  std::int64_t looked_at_ps_ = 0, since_ps_ = -1;
  std::vector<std::int64_t> before_ps_;  ///< by GPU: idle time when the oldest was first seen
};

}  // namespace distsim::serving
