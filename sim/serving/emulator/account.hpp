// What is counted while an emulation goes on: answers, and what becomes of them at its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/serving/emulator/backlog.hpp"
#include "sim/serving/emulator/request.hpp"
#include "sim/serving/emulator/scenario.hpp"
#include "sim/serving/emulator/work.hpp"
#include "sim/serving/load/arrivals.hpp"
#include "sim/serving/results/tally.hpp"

namespace distsim::serving {

class Account {
 public:
  Account(const Scenario& s, std::uint64_t warm_up) : s_(s) {
    result_.models.resize(s.models.size());
    result_.classes.resize(s.classes.size());
    result_.joules.assign(s.gpus.size(), 0);
    result_.shares.resize(s.models.size());
    result_.warm_up = warm_up;
    if (s.has_demands()) result_.resources.resize(s.gpus.size());
  }

  RunResult& result() { return result_; }
  const RunResult& result() const { return result_; }
  std::uint64_t in_system() const { return result_.sent - answered_; }

  /// A number for a request that comes now.
  std::uint64_t sent(std::int64_t now_ps) {
    if (result_.sent == result_.warm_up) result_.first_counted_ps = now_ps;
    return result_.sent++;
  }
  /// It waits for a GPU.
  void admitted() { backlog_.arrival(result_.sent, in_system()); }

  /// A number for a piece of work that is assigned.
  std::uint64_t assigned(std::uint32_t model) {
    ++result_.shares[model].batches;
    return result_.batches++;
  }
  void moved(std::uint32_t model) {
    ++result_.moves;
    ++result_.shares[model].moves;
  }
  void executed(const Work& work) {
    const Gpu& gpu = s_.gpus[work.gpu];
    result_.shares[work.model].executing_ps += work.alone_ps / gpu.stages;
    result_.joules[work.gpu] +=
        work.factor * s_.joules(gpu, work.model, work.begin_layer, work.end_layer(), work.batch());
    if (result_.resources.empty()) return;
    const Demand busy = s_.busy_ps(gpu.kind, work.model, work.begin_layer, work.end_layer(), work.batch());
    ResourceTime& sum = result_.resources[work.gpu];
    const double part = work.factor / gpu.stages;
    sum.sm_ps += busy.sm * part;
    sum.memory_ps += busy.memory * part;
    sum.launch_ps += busy.launch * part;
  }
  void answered(const Request& r, std::int64_t now_ps, std::int64_t at_ps, bool dropped) {
    ++answered_;
    last_answer_ps_ = std::max(last_answer_ps_, at_ps);
    if (r.number < result_.warm_up) return;
    count(result_.all, r, now_ps, at_ps, dropped);
    count(result_.models[r.model], r, now_ps, at_ps, dropped);
    if (!result_.classes.empty()) count(result_.classes[r.service_class], r, now_ps, at_ps, dropped);
  }

  RunResult finish(const Load& load, std::uint64_t evictions, const std::vector<std::int64_t>& busy_ps,
                   const std::vector<std::int64_t>& link_busy_ps) {
    result_.evictions = evictions;
    result_.link_busy_ps = link_busy_ps;
    result_.makespan_ps = last_answer_ps_;
    result_.busy_ps = busy_ps;
    const double seconds = static_cast<double>(last_answer_ps_) * 1e-12;
    for (std::uint32_t g = 0; g < s_.gpus.size(); ++g) result_.joules[g] += s_.gpus[g].idle_watts * seconds;
    result_.unstable = !load.is_closed() && load.kind != LoadKind::offline && backlog_.grows();
    result_.suggested_warm_up = result_.all.latency_ms.warm_up();
    if (result_.makespan_ps > 0) result_.served_per_s = static_cast<double>(result_.sent) / seconds;
    return std::move(result_);
  }

 private:
  static constexpr double kMsPerPs = 1e-9;

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
  Backlog backlog_;
  std::uint64_t answered_ = 0;
  std::int64_t last_answer_ps_ = 0;
};

}  // namespace distsim::serving
