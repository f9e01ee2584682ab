// Transfers over links. A transfer occupies every link of its route from its start to its end,
//     end = start + sum of latencies + bytes / slowest bandwidth,
// and starts when all of them are free: a copy engine works at one copy at a time, in the order they were asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

class Route {
 public:
  void add(std::uint32_t link) { links_[size_++] = link; }
  const std::uint32_t* begin() const { return links_; }
  const std::uint32_t* end() const { return links_ + size_; }

 private:
  std::uint32_t links_[4] = {};
  std::uint32_t size_ = 0;
};

/// From one place to another, either of them kHost. Precondition: different places.
inline Route route_of(const Scenario& s, std::uint32_t from, std::uint32_t to) {
  Route route;
  if (from == kHost) {
    route.add(s.gpus[to].host_in);
  } else if (to == kHost) {
    route.add(s.gpus[from].host_out);
  } else if (s.gpus[from].box == s.gpus[to].box) {
    const bool direct = s.gpus[from].peers && s.gpus[to].peers;
    route.add(direct ? s.gpus[from].peer_out : s.gpus[from].host_out);
    route.add(direct ? s.gpus[to].peer_in : s.gpus[to].host_in);
  } else {
    for (const std::uint32_t link :
         {s.gpus[from].host_out, s.gpus[from].box_out, s.gpus[to].box_in, s.gpus[to].host_in})
      route.add(link);
  }
  return route;
}

inline std::int64_t transfer_ps(const Scenario& s, const Route& route, std::int64_t bytes) {
  std::int64_t latency = 0;
  double slowest = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : route) {
    latency += s.links[link].latency_ps;
    slowest = std::min(slowest, s.links[link].bytes_per_s);
  }
  return latency + bounded_ps(static_cast<double>(bytes) / slowest * 1e12);
}

class Links {
 public:
  /// `keeps`: busy_until() will be asked.
  Links(const Scenario& s, bool keeps)
      : scenario_(s), free_at_(s.links.size(), 0), busy_ps_(s.links.size(), 0), keeps_(keeps) {}

  /// End of a transfer that is asked for now. Times of calls never decrease.
  std::int64_t transfer(std::int64_t now_ps, std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
    const Route route = route_of(scenario_, from, to);
    std::int64_t start = now_ps;
    for (const std::uint32_t link : route) start = std::max(start, free_at_[link]);
    const std::int64_t end = later(start, transfer_ps(scenario_, route, bytes));
    for (const std::uint32_t link : route) {
      free_at_[link] = end;
      busy_ps_[link] += end - start;
      if (keeps_) keep({link, start, end}, now_ps);
    }
    return end;
  }
  /// What transfers would end at that are not asked for: those of a trial queue after what is asked for, and each other.
  class Trial {
   public:
    explicit Trial(const Links& links) : links_(links) {}
    void start() { later_.clear(); }
    std::int64_t transfer(std::int64_t now_ps, std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
      const Route route = route_of(links_.scenario_, from, to);
      std::int64_t begin = now_ps;
      for (const std::uint32_t link : route) begin = std::max(begin, free_at(link));
      const std::int64_t end = later(begin, transfer_ps(links_.scenario_, route, bytes));
      for (const std::uint32_t link : route) later_.push_back({link, end});
      return end;
    }

   private:
    std::int64_t free_at(std::uint32_t link) const {
      for (auto it = later_.rbegin(); it != later_.rend(); ++it)
        if (it->first == link) return it->second;
      return links_.free_at_[link];
    }
    const Links& links_;
    std::vector<std::pair<std::uint32_t, std::int64_t>> later_;
  };
  /// By link: time with a transfer on it, those that are asked for included.
  const std::vector<std::int64_t>& busy_ps() const { return busy_ps_; }
  /// The same up to now. Once, with `keeps`.
  std::vector<std::int64_t> busy_until(std::int64_t now_ps) {
    std::vector<std::int64_t> out = busy_ps_;
    for (const Transfer& t : kept_) out[t.link] -= std::max<std::int64_t>(0, t.end_ps - std::max(t.start_ps, now_ps));
    keeps_ = false;
    kept_.clear();
    return out;
  }

 private:
  struct Transfer {
    std::uint32_t link = 0;
    std::int64_t start_ps = 0, end_ps = 0;
  };
  /// Those that are over are dropped when the list has doubled.
  void keep(const Transfer& transfer, std::int64_t now_ps) {
    if (kept_.size() >= most_kept_) {
      std::erase_if(kept_, [&](const Transfer& t) { return t.end_ps <= now_ps; });
      most_kept_ = std::max<std::size_t>(64, 2 * kept_.size());
    }
    kept_.push_back(transfer);
  }

  const Scenario& scenario_;
  std::vector<std::int64_t> free_at_, busy_ps_;
  bool keeps_;
  std::vector<Transfer> kept_;
  std::size_t most_kept_ = 64;
};

}  // namespace distsim::serving
