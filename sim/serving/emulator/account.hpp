// What is counted while an emulation goes on: answers, and what becomes of them at its end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/serving/emulator/overload.hpp"
#include "sim/serving/emulator/request.hpp"
#include "sim/serving/emulator/scenario.hpp"
#include "sim/serving/emulator/work.hpp"
#include "sim/serving/load/arrivals.hpp"
#include "sim/serving/results/tally.hpp"

namespace distsim::serving {

class Account {
 public:
  Account(const Scenario& s, std::uint64_t warm_up, bool drops_late, const Capacity& capacity)
      : s_(s), overload_(capacity), kept_(capacity), drops_late_(drops_late) {
    result_.models.resize(s.models.size());
    result_.classes.resize(s.classes.size());
    result_.joules.assign(s.gpus.size(), 0);
    result_.shares.resize(s.models.size());
    result_.warm_up = warm_up;
    if (s.has_demands()) result_.resources.resize(s.gpus.size());
    const auto shared = [](const Gpu& gpu) { return gpu.execution == Execution::shared; };
    if (std::ranges::any_of(s.gpus, shared)) on_shared_ps_.assign(s.gpus.size() * s.models.size(), 0);
  }

  RunResult& result() { return result_; }
  const RunResult& result() const { return result_; }
  std::int64_t last_answer_ps() const { return last_answer_ps_; }
  std::uint64_t in_system() const { return result_.sent - answered_; }

  /// Whether the request that comes next is the first that counts.
  bool begins_to_count() const { return result_.sent == result_.warm_up; }
  /// What was busy before the first request that counts.
  void begin_to_count(std::int64_t now_ps, std::vector<std::int64_t> busy_ps, std::vector<std::int64_t> link_busy_ps,
                      std::vector<Demand> used_ps) {
    result_.first_counted_ps = now_ps;
    counts_ = true;
    first_order_ = assigned_;
    used_before_ps_ = std::move(used_ps);
    result_.moves = result_.batches = 0;
    for (RunResult::Share& share : result_.shares) share.moves = share.batches = 0;
    busy_before_ps_ = std::move(busy_ps);
    link_busy_before_ps_ = std::move(link_busy_ps);
  }
  /// A number for a request that comes now.
  std::uint64_t sent() { return result_.sent++; }
  /// It waits for a GPU. `may_be_dropped`: where it would be late.
  void admitted(const Request& r, bool may_be_dropped) {
    overload_.arrival(r.arrival_ps, r.model, r.factor, in_system());
    if (drops_late_ && !may_be_dropped) kept_.arrival(r.arrival_ps, r.model, r.factor, in_system());
  }
  const Overload& overload() const { return overload_; }

  /// A number for a piece of work that is assigned.
  std::uint64_t assigned(std::uint32_t model) {
    ++result_.shares[model].batches;
    ++result_.batches;
    return assigned_++;
  }
  void moved(std::uint32_t model) {
    ++result_.moves;
    ++result_.shares[model].moves;
  }
  void executed(const Work& work, std::int64_t now_ps) {
    const Gpu& gpu = s_.gpus[work.gpu];
    const double counted = gpu.execution == Execution::pipeline ? counted_if_piped(work) : counted_part(work, now_ps);
    if (gpu.execution == Execution::shared)
      on_shared_ps_[work.gpu * s_.models.size() + work.model] += counted * static_cast<double>(now_ps - work.start_ps);
    else
      result_.shares[work.model].executing_ps += counted * static_cast<double>(work.alone_ps) / gpu.stages;
    result_.joules[work.gpu] +=
        work.factor * s_.joules(gpu, work.model, work.begin_layer, work.end_layer(), work.batch());
    if (result_.resources.empty()) return;
    if (gpu.execution == Execution::shared) return;  // they count themselves
    const Demand busy = s_.busy_ps(gpu.kind, work.model, work.begin_layer, work.end_layer(), work.batch());
    ResourceTime& sum = result_.resources[work.gpu];
    const std::int64_t plain = s_.time_ps(gpu.kind, work.model, work.begin_layer, work.end_layer(), work.batch());
    const double part =
        plain > 0 ? counted * static_cast<double>(work.alone_ps) / static_cast<double>(plain) / gpu.stages : 0;
    sum.sm_ps += busy.sm * part;
    sum.memory_ps += busy.memory * part;
    sum.launch_ps += busy.launch * part;
  }
  void answered(const Request& r, std::int64_t now_ps, std::int64_t at_ps, bool dropped) {
    ++answered_;
    last_answer_ps_ = std::max(last_answer_ps_, at_ps);
    if (dropped) ++result_.dropped;
    if (r.number < result_.warm_up) return;
    count(result_.all, r, now_ps, at_ps, dropped);
    count(result_.models[r.model], r, now_ps, at_ps, dropped);
    if (!result_.classes.empty()) count(result_.classes[r.service_class], r, now_ps, at_ps, dropped);
  }

  /// `occupied_ps`: by GPU, with no slot or no time left for more. `used_ps`: of shared GPUs.
  RunResult finish(const Load& load, std::uint64_t evictions, const std::vector<std::int64_t>& busy_ps,
                   const std::vector<std::int64_t>& link_busy_ps, const std::vector<Demand>& used_ps,
                   const std::vector<std::int64_t>& occupied_ps) {
    result_.evictions = evictions;
    result_.makespan_ps = last_answer_ps_;
    result_.busy_ps = since(busy_ps, busy_before_ps_);
    result_.link_busy_ps = since(link_busy_ps, link_busy_before_ps_);
    if (!on_shared_ps_.empty()) share_out();
    if (!result_.resources.empty()) count_used(used_ps);
    const double seconds = static_cast<double>(last_answer_ps_) * 1e-12;
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) {
      const Gpu& gpu = s_.gpus[g];
      // What runs at the same time draws no more than the GPU's busy power, together.
      if (overlaps(gpu) && gpu.busy_watts > gpu.idle_watts)
        result_.joules[g] =
            std::min(result_.joules[g], (gpu.busy_watts - gpu.idle_watts) * static_cast<double>(busy_ps[g]) * 1e-12);
      result_.joules[g] += gpu.stages * gpu.idle_watts * seconds;  // of a group of GPUs, all of them
    }
    result_.suggested_warm_up =
        result_.all.latency_ms.warm_up(s_.residency == Residency::cached);  // weights are loaded first
    if (result_.makespan_ps > 0) result_.served_per_s = static_cast<double>(result_.sent - result_.dropped) / seconds;
    if (!load.is_closed() && load.kind != LoadKind::offline) judge(load, occupied_ps);
    return std::move(result_);
  }

 private:
  static constexpr double kMsPerPs = 1e-9;

  /// Whether a GPU executes pieces of work, or branches of one, at the same time.
  bool overlaps(const Gpu& gpu) const {
    if (gpu.execution != Execution::serial) return gpu.execution == Execution::shared;
    for (std::uint32_t m = 0; m < s_.models.size(); ++m) {
      if (s_.branches(gpu.kind, m)) return true;
    }
    return false;
  }
  /// Of the time of a piece of work that ends now, the part within the span.
  double counted_part(const Work& work, std::int64_t now_ps) const {
    if (!counts_) return 0;
    if (work.start_ps >= result_.first_counted_ps) return 1;
    return static_cast<double>(now_ps - result_.first_counted_ps) / static_cast<double>(now_ps - work.start_ps);
  }
  /// A pipeline's stages are busy from the moment that work enters: all of it, or nothing.
  double counted_if_piped(const Work& work) const {
    const bool before = work.start_ps < result_.first_counted_ps ||
                        (work.start_ps == result_.first_counted_ps && work.order < first_order_);
    return counts_ && !before ? 1 : 0;
  }
  /// Of shared GPUs, where work that the span cuts does not progress evenly.
  void count_used(const std::vector<Demand>& used_ps) {
    for (std::size_t g = 0; g < used_ps.size(); ++g) {
      if (s_.gpus[g].execution != Execution::shared) continue;
      const Demand before = g < used_before_ps_.size() ? used_before_ps_[g] : Demand{0, 0, 0};
      result_.resources[g] = {used_ps[g].sm - before.sm, used_ps[g].memory - before.memory,
                              used_ps[g].launch - before.launch};
    }
  }
  /// The time in which shared GPUs execute, to the models.
  void share_out() {
    const std::size_t models = s_.models.size();
    for (std::size_t g = 0; g < s_.gpus.size(); ++g) {
      const auto begin = on_shared_ps_.begin() + static_cast<std::ptrdiff_t>(g * models);
      const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(models), 0.0);
      for (std::size_t m = 0; m < models && sum > 0; ++m)
        result_.shares[m].executing_ps += static_cast<double>(result_.busy_ps[g]) * on_shared_ps_[g * models + m] / sum;
    }
  }
  static std::vector<std::int64_t> since(std::vector<std::int64_t> all, const std::vector<std::int64_t>& before) {
    for (std::size_t i = 0; i < before.size(); ++i) all[i] -= before[i];
    return all;
  }

  /// What would be late and can be dropped waits for a bounded time: an overload is one of the requests that are kept.
  void judge(const Load& load, const std::vector<std::int64_t>& occupied_ps) {
    const Overload& judged = drops_late_ ? kept_ : overload_;
    const double most = overload_.capacity().rate_per_s;
    const double share = overload_.asked_s() > 0 ? judged.asked_s() / overload_.asked_s() : 0;
    const bool behind = judged.ends_behind(), grows = overload_.grows(), traced = load.kind == LoadKind::trace;
    const double rate = share * (traced ? overload_.rate_per_s() : offered_rate(load));
    result_.unstable = grows || (rate > most && (behind || !traced));
    if (!result_.unstable) {
      result_.overload = judged.longest();
      return;
    }
    const std::int64_t longest = *std::ranges::max_element(occupied_ps);
    const bool measured = (grows || behind) && longest > 0;
    result_.saturates_per_s =
        measured ? std::min(most, static_cast<double>(result_.sent) / (static_cast<double>(longest) * 1e-12)) : most;
  }

  static void count(Tally& tally, const Request& r, std::int64_t now_ps, std::int64_t at_ps, bool dropped) {
    ++tally.requests;
    if (dropped || at_ps > r.deadline_ps) ++tally.violations;
    if (dropped) {
      ++tally.dropped;
      return;
    }
    tally.latency_ps.add(at_ps - r.arrival_ps);
    tally.latency_ms.add(static_cast<double>(at_ps - r.arrival_ps) * kMsPerPs);
    tally.waited_ms += static_cast<double>(r.waited_ps) * kMsPerPs;
    tally.fetched_ms += static_cast<double>(r.moved_ps) * kMsPerPs;
    tally.executed_ms += static_cast<double>(r.served_ps) * kMsPerPs;
    tally.returned_ms += static_cast<double>(at_ps - now_ps) * kMsPerPs;
  }

  const Scenario& s_;
  RunResult result_;
  Overload overload_;
  Overload kept_;  ///< of requests that cannot be dropped, where late ones are
  bool drops_late_ = false;
  bool counts_ = false;
  std::vector<double> on_shared_ps_;  ///< by GPU and model: of each piece of work its time on a shared GPU
  std::vector<std::int64_t> busy_before_ps_, link_busy_before_ps_;
  std::vector<Demand> used_before_ps_;
  std::uint64_t answered_ = 0, assigned_ = 0, first_order_ = 0;
  std::int64_t last_answer_ps_ = 0;
};

}  // namespace distsim::serving
