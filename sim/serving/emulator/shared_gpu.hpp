// Pieces of work that a GPU executes at the same time.
//
// Work is a sequence of parts, its layers. A part p keeps a share sm(p) of the SMs, mem(p) of the memory bandwidth and
// launch(p) of the host's launching thread busy where it runs alone. Beside others
//     speed(p) = 1 / max(1, sum of sm over all that runs, if sm(p) > 0, and likewise of mem and of launch),
// so work that does not compete for the same resource overlaps without loss, and n pieces that each keep all SMs busy
// share them as in processor sharing, at 1/n. Speeds are integers in units of 2^-32 and progress is exact in them, so an
// end does not depend on when progress was looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

__extension__ using Wide = __int128;

class SharedGpu {
 public:
  bool empty() const { return jobs_.empty(); }
  std::uint32_t version() const { return version_; }

  /// A part of a piece of work: its time alone.
  struct Part {
    std::int64_t alone_ps = 0;
    Demand demand;
  };

  void add(std::int64_t now_ps, std::uint32_t work, std::int64_t alone_ps, const Demand& demand) {
    advance(now_ps);
    jobs_.push_back({work, Wide{alone_ps} << kBits, 0, demand, {}});
    set_speeds();
  }
  /// Precondition: not empty.
  void add(std::int64_t now_ps, std::uint32_t work, std::vector<Part> parts) {
    advance(now_ps);
    Job job{work, Wide{parts.front().alone_ps} << kBits, 0, parts.front().demand, {}};
    job.rest.assign(parts.rbegin(), parts.rend() - 1);
    jobs_.push_back(std::move(job));
    set_speeds();
  }

  /// Takes out what is done at this time and appends it to `done`.
  void take_done(std::int64_t now_ps, std::vector<std::uint32_t>& done) {
    advance(now_ps);
    std::erase_if(jobs_, [&](Job& job) {
      while (job.left <= 0 && !job.rest.empty()) {
        job.left += Wide{job.rest.back().alone_ps} << kBits;
        job.demand = job.rest.back().demand;
        job.rest.pop_back();
      }
      if (job.left > 0) return false;
      done.push_back(job.work);
      return true;
    });
    set_speeds();
  }

  /// When the first part is done. Precondition: not empty.
  std::int64_t next_end_ps() const {
    Wide least = Wide{1} << 120;
    for (const Job& job : jobs_) least = std::min(least, (std::max(job.left, Wide{0}) + job.speed - 1) / job.speed);
    return at_ps_ + static_cast<std::int64_t>(least);
  }

 private:
  static constexpr int kBits = 32;
  struct Job {
    std::uint32_t work = 0;
    Wide left = 0;  ///< ps x 2^32 at full speed
    std::int64_t speed = 0;
    Demand demand;
    std::vector<Part> rest;  ///< after this one, the next one last
  };

  void advance(std::int64_t now_ps) {
    for (Job& job : jobs_) job.left -= Wide{now_ps - at_ps_} * job.speed;
    at_ps_ = now_ps;
  }
  void set_speeds() {
    ++version_;
    Demand sum{0, 0, 0};
    for (const Job& job : jobs_) {
      sum.sm += job.demand.sm;
      sum.memory += job.demand.memory;
      sum.launch += job.demand.launch;
    }
    for (Job& job : jobs_) {
      const Demand& d = job.demand;
      const double slower =
          std::max({1.0, d.sm > 0 ? sum.sm : 0.0, d.memory > 0 ? sum.memory : 0.0, d.launch > 0 ? sum.launch : 0.0});
      job.speed = std::max<std::int64_t>(1, static_cast<std::int64_t>(0x1p32 / slower));
    }
  }

  std::vector<Job> jobs_;
  std::int64_t at_ps_ = 0;
  std::uint32_t version_ = 0;
};

}  // namespace distsim::serving
