// Pieces of work that a GPU executes at the same time.
//
// Work consists of parts, its layers. A part starts when the parts that it waits for are done: in a chain it follows the
// one before, branches of a graph are executed beside each other. A part p keeps a share sm(p) of the SMs, mem(p) of the
// memory bandwidth and launch(p) of the host's launching thread busy where it runs alone. Beside others
//     speed(p) = 1 / max(1, sum of sm over all that runs, if sm(p) > 0, and likewise of mem and of launch),
// so work that does not compete for the same resource overlaps without loss, and n pieces that each keep all SMs busy
// share them as in processor sharing, at 1/n. Speeds are integers in units of 2^-32 and progress is exact in them, so an
// end does not depend on when progress was looked at: what a part ends before a whole picosecond is taken off the parts
// that wait for it, of several that end at one moment the least.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

__extension__ using Wide = __int128;

class SharedGpu {
 public:
  bool empty() const { return runs_.empty(); }
  /// Time of whole resources that was used up to now.
  Demand used_until(std::int64_t now_ps) const {
    const auto passed = static_cast<double>(now_ps - at_ps_);
    return {used_.sm + passed * rate_.sm, used_.memory + passed * rate_.memory, used_.launch + passed * rate_.launch};
  }
  std::uint32_t version() const { return version_; }

  /// A part of a piece of work: its time alone.
  struct Part {
    std::int64_t alone_ps = 0;
    Demand demand;
    std::uint32_t waits = 0;          ///< for so many other parts
    std::vector<std::uint32_t> next;  ///< parts that wait for this one
  };

  void add(std::int64_t now_ps, std::uint32_t work, std::int64_t alone_ps, const Demand& demand) {
    advance(now_ps);
    runs_.push_back({work, 0, Wide{alone_ps} << kBits, 0, demand, nullptr});
    set_speeds();
  }
  /// Precondition: some parts, of which each waits for parts before it.
  void add(std::int64_t now_ps, std::uint32_t work, std::vector<Part> parts) {
    advance(now_ps);
    auto job = std::make_shared<Job>();
    job->parts = std::move(parts);
    job->open = job->parts.size();
    for (std::uint32_t p = 0; p < job->parts.size(); ++p) {
      const Part& part = job->parts[p];
      if (part.waits == 0) runs_.push_back({work, p, Wide{part.alone_ps} << kBits, 0, part.demand, job});
    }
    set_speeds();
  }

  /// Takes out what is done at this time and appends the work of which nothing is left to `done`.
  void take_done(std::int64_t now_ps, std::vector<std::uint32_t>& done) {
    advance(now_ps);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      while (runs_[i].left <= 0 && !runs_[i].over) end_part(i, now_ps, done);
    }
    std::erase_if(runs_, [](const Run& run) { return run.over; });
    set_speeds();
  }

  /// When the first part is done. Precondition: not empty.
  std::int64_t next_end_ps() const {
    Wide least = Wide{1} << 120;
    for (const Run& run : runs_) least = std::min(least, (std::max(run.left, Wide{0}) + run.speed - 1) / run.speed);
    return at_ps_ + static_cast<std::int64_t>(std::min(least, Wide{kLongestPs}));
  }

 private:
  static constexpr int kBits = 32;
  struct Job {
    std::vector<Part> parts;
    std::size_t open = 0;  ///< parts that are not done
    std::vector<std::pair<std::int64_t, Wide>>
        late;  ///< by part, where any waits for several: when the last ended, left
  };
  /// A part that is executed.
  struct Run {
    std::uint32_t work = 0, part = 0;
    Wide left = 0;  ///< ps x 2^32 at full speed
    std::int64_t speed = 0;
    Demand demand;
    std::shared_ptr<Job> job;  ///< null: the only part
    bool over = false;
  };

  /// The first of the parts that can start now takes the place of the one that is done, the others come last.
  void end_part(std::size_t at, std::int64_t now_ps, std::vector<std::uint32_t>& done) {
    const std::shared_ptr<Job> job = runs_[at].job;
    const std::uint32_t work = runs_[at].work;
    const Wide left = runs_[at].left;
    bool taken = false;
    if (job != nullptr) {
      for (const std::uint32_t next : job->parts[runs_[at].part].next) {
        const Wide rest = rest_for(*job, next, now_ps, left);
        Part& part = job->parts[next];
        if (--part.waits > 0) continue;
        Run run{work, next, (Wide{part.alone_ps} << kBits) + rest, 0, part.demand, job};
        if (taken)
          runs_.push_back(std::move(run));
        else
          runs_[at] = std::move(run);
        taken = true;
      }
    }
    if (!taken) runs_[at].over = true;
    if (job == nullptr || --job->open == 0) done.push_back(work);
  }
  static Wide rest_for(Job& job, std::uint32_t part, std::int64_t now_ps, Wide left) {
    if (job.parts[part].waits == 1 && job.late.empty()) return left;
    if (job.late.empty()) job.late.assign(job.parts.size(), {-1, 0});
    std::pair<std::int64_t, Wide>& late = job.late[part];
    late = {now_ps, late.first == now_ps ? std::max(late.second, left) : left};
    return late.second;
  }

  void advance(std::int64_t now_ps) {
    for (Run& run : runs_) run.left -= Wide{now_ps - at_ps_} * run.speed;
    used_ = used_until(now_ps);
    at_ps_ = now_ps;
  }
  void set_speeds() {
    ++version_;
    Demand sum{0, 0, 0};
    for (const Run& run : runs_) {
      sum.sm += run.demand.sm;
      sum.memory += run.demand.memory;
      sum.launch += run.demand.launch;
    }
    rate_ = {0, 0, 0};
    for (Run& run : runs_) {
      const Demand& d = run.demand;
      const double slower =
          std::max({1.0, d.sm > 0 ? sum.sm : 0.0, d.memory > 0 ? sum.memory : 0.0, d.launch > 0 ? sum.launch : 0.0});
      run.speed = std::max<std::int64_t>(1, static_cast<std::int64_t>(0x1p32 / slower));
      const double speed = static_cast<double>(run.speed) * 0x1p-32;
      rate_.sm += d.sm * speed;
      rate_.memory += d.memory * speed;
      rate_.launch += d.launch * speed;
    }
  }

  std::vector<Run> runs_;
  std::int64_t at_ps_ = 0;
  Demand rate_{0, 0, 0}, used_{0, 0, 0};  ///< parts of resources that are busy now; their times up to at_ps_
  std::uint32_t version_ = 0;
};

}  // namespace distsim::serving
