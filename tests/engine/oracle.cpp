#include "oracle.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

namespace distsim::engine {
namespace {

using Node = std::pair<std::size_t, std::uint32_t>;  // step, rank

/// Group of every rank, as a list of its members.
std::vector<std::vector<std::uint32_t>> members_by_rank(const Groups& g, std::uint32_t ranks) {
  std::vector<std::vector<std::uint32_t>> groups;
  if (!g.offsets.empty()) {
    for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
      groups.emplace_back(g.members.begin() + g.offsets[i], g.members.begin() + g.offsets[i + 1]);
    }
  } else {
    std::set<std::uint32_t> placed;
    for (std::uint32_t first = 0; first < ranks; ++first) {
      if (placed.count(first)) continue;
      std::vector<std::uint32_t> members;
      for (std::uint32_t i = 0; i < g.size; ++i) members.push_back(first + i * g.stride);
      placed.insert(members.begin(), members.end());
      groups.push_back(members);
    }
  }
  std::vector<std::vector<std::uint32_t>> by_rank(ranks);
  for (const auto& members : groups) {
    for (std::uint32_t rank : members) by_rank[rank] = members;
  }
  return by_rank;
}

class EventLoop {
 public:
  explicit EventLoop(const Program& p) : p_(p) {
    const std::vector<std::vector<std::int64_t>> blank(p.steps.size(), std::vector<std::int64_t>(p.ranks, -1));
    s_.ready = s_.start = s_.end = blank;
    for (const Groups& g : p.groups) groups_.push_back(members_by_rank(g, p.ranks));
    link();
  }

  Schedule run() {
    for (const auto& [node, count] : unmet_) {
      if (count == 0) now_ready(node, 0);
    }
    while (!queue_.empty()) {
      const auto [time, step, rank] = queue_.top();
      queue_.pop();
      s_.makespan = std::max(s_.makespan, time);
      for (const Node& next : successors_[{step, rank}]) {
        if (--unmet_[next] == 0) now_ready(next, time);
      }
    }
    return s_;
  }

 private:
  void link() {
    for (std::uint32_t rank = 0; rank < p_.ranks; ++rank) {
      std::map<std::uint32_t, std::size_t> last_of_stream;
      for (std::size_t s = 0; s < p_.steps.size(); ++s) {
        const StepId id(static_cast<std::uint32_t>(s));
        std::set<std::size_t> before;
        for (StepId w : p_.waits_of(id)) before.insert(w.value());
        const auto last = last_of_stream.find(p_.steps[id].stream.value());
        const bool on_stream = p_.steps[id].stream.valid();
        if (on_stream && last != last_of_stream.end()) before.insert(last->second);
        for (std::size_t b : before) successors_[{b, rank}].push_back({s, rank});
        unmet_[{s, rank}] = before.size();
        if (on_stream) last_of_stream[p_.steps[id].stream.value()] = s;
      }
    }
  }
  void now_ready(Node node, std::int64_t time) {
    const auto [s, rank] = node;
    s_.ready[s][rank] = time;
    const Step& step = p_.steps[StepId(static_cast<std::uint32_t>(s))];
    if (step.group == Step::kNoGroup) return begin(s, rank, time);
    const auto& members = groups_[step.group][rank];
    const bool all_here =
        std::all_of(members.begin(), members.end(), [&, s = s](std::uint32_t m) { return s_.ready[s][m] >= 0; });
    if (!all_here) return;
    for (std::uint32_t m : members) begin(s, m, time);
  }
  void begin(std::size_t s, std::uint32_t rank, std::int64_t time) {
    s_.start[s][rank] = time;
    s_.end[s][rank] = time + p_.steps[StepId(static_cast<std::uint32_t>(s))].duration.at(rank);
    queue_.push({s_.end[s][rank], s, rank});
  }

  using Event = std::tuple<std::int64_t, std::size_t, std::uint32_t>;
  const Program& p_;
  Schedule s_;
  std::vector<std::vector<std::vector<std::uint32_t>>> groups_;
  std::map<Node, std::vector<Node>> successors_;
  std::map<Node, std::size_t> unmet_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
};

}  // namespace

Schedule play_by_events(const Program& program) { return EventLoop(program).run(); }

}  // namespace distsim::engine
