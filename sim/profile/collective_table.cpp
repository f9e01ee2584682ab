#include "sim/profile/collective_table.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/median.hpp"
#include "traces/ranks/step_numbers.hpp"

namespace distsim::profile {
namespace {

constexpr double kStragglerShare = 0.5;  // of all waiting that one rank causes, over its fair share ...
constexpr double kStragglerWait = 0.01;  // ... which must be at least this share of the time of its steps

using Key = std::tuple<graph::CollectiveKind, bool, std::uint32_t, std::int64_t, bool>;

/// Those whose time is known and those of which it is not are apart.
Key key_of(const traces::TraceCollective& c, bool timed) { return {c.kind, c.kind_known, c.group, c.bytes, timed}; }

std::int64_t start_of(const traces::TraceRank& r, const traces::TraceCollective& c) {
  return c.device_record != traces::kNone ? r.device_records[c.device_record].start_ns
                                          : r.host_records[c.host_record].start_ns;
}
std::int64_t duration_of(const traces::TraceRank& r, const traces::TraceCollective& c) {
  return c.device_record != traces::kNone ? r.device_records[c.device_record].duration_ns
                                          : r.host_records[c.host_record].duration_ns;
}

std::string group_text(const traces::TraceJob& job, std::uint32_t group) {
  if (group == traces::kNone) return "";
  const traces::TraceGroup& g = job.groups[group];
  std::string text = g.name;
  if (!g.description.empty() && g.description != g.name) text += text.empty() ? g.description : " " + g.description;
  if (g.ranks.empty() || g.ranks.size() > 8) return text;
  text += text.empty() ? "[" : " [";
  for (std::size_t i = 0; i < g.ranks.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(g.ranks[i]);
  return text + "]";
}

struct Building {
  CollectiveSummary summary;
  std::vector<std::int64_t> skews;
};

class Table {
 public:
  Table(const traces::TraceJob& job, Profile& out) : job_(job), out_(out) {}

  void build() {
    for (const traces::TraceRank& rank : job_.ranks) out_.standing.push_back({rank.rank});
    for (const traces::CollectiveMatch& m : job_.matches) match(m);
    for (const traces::TraceRank& rank : job_.ranks) {
      for (const traces::TraceCollective& c : rank.collectives) alone(rank, c);
    }
    finish_summaries();
    finish_standing();
  }

 private:
  Building& entry(const traces::TraceCollective& c, bool timed) {
    Building& b = rows_[key_of(c, timed)];
    if (b.summary.kind.empty()) {
      b.summary.kind = c.kind_known ? std::string(graph::name_of(c.kind)) : "unknown";
      b.summary.group = group_text(job_, c.group);
      b.summary.group_size = c.group != traces::kNone ? job_.groups[c.group].size : job_.world_size;
      b.summary.bytes = c.bytes;
    }
    return b;
  }

  void match(const traces::CollectiveMatch& m) {
    struct Arrival {
      std::int64_t start;
      std::uint32_t rank;
    };
    std::vector<Arrival> arrivals;
    std::int64_t shortest = INT64_MAX;
    const bool timed = std::ranges::all_of(m.members, [&](const traces::CollectiveMatch::Member& member) {
      return job_.ranks[member.rank].collectives[member.collective].timed;
    });
    Building& b = entry(job_.ranks[m.members.front().rank].collectives[m.members.front().collective], timed);
    ++b.summary.calls;
    b.summary.ranks_seen = std::max(b.summary.ranks_seen, static_cast<std::uint32_t>(m.members.size()));
    if (!timed) return;
    for (const traces::CollectiveMatch::Member& member : m.members) {
      const traces::TraceRank& rank = job_.ranks[member.rank];
      const traces::TraceCollective& c = rank.collectives[member.collective];
      const std::int64_t duration = duration_of(rank, c);
      arrivals.push_back({start_of(rank, c), member.rank});
      shortest = std::min(shortest, duration);
      b.summary.total_duration += duration;
      ++b.summary.records;
    }
    for (const traces::CollectiveMatch::Member& member : m.members) {
      const traces::TraceRank& rank = job_.ranks[member.rank];
      out_.standing[member.rank].waited += duration_of(rank, rank.collectives[member.collective]) - shortest;
    }
    std::ranges::stable_sort(arrivals, {}, &Arrival::start);
    const std::int64_t alone = arrivals.back().start - arrivals[arrivals.size() - 2].start;
    if (alone > 0) {  // of ranks that arrive at once, none is the last
      RankStanding& last = out_.standing[arrivals.back().rank];
      ++last.last_arrivals;
      last.made_others_wait += alone;
    }
    b.summary.transfer = std::max<std::int64_t>(0, b.summary.transfer) + shortest;
    b.skews.push_back(arrivals.back().start - arrivals.front().start);
  }

  void alone(const traces::TraceRank& rank, const traces::TraceCollective& c) {
    if (c.match != traces::kNone) return;
    Building& b = entry(c, c.timed);
    ++b.summary.calls;
    b.summary.ranks_seen = std::max(b.summary.ranks_seen, 1u);
    if (!c.timed) return;
    ++b.summary.records;
    b.summary.total_duration += duration_of(rank, c);
  }

  void finish_summaries() {
    for (auto& [key, b] : rows_) {
      CollectiveSummary& s = b.summary;
      s.transfers = b.skews.size();
      if (!b.skews.empty()) {
        s.skew_max = std::ranges::max(b.skews);
        s.skew_median = median(std::move(b.skews));
      }
      const std::uint32_t ranks = s.group_size > 0 ? s.group_size : s.ranks_seen;
      const std::int64_t time = s.transfer >= 0 ? s.transfer : s.records > 0 ? s.total_duration : 0;
      const double moved = static_cast<double>(s.bytes) *
                           static_cast<double>(s.transfer >= 0 ? s.transfers : static_cast<std::uint64_t>(s.records));
      if (s.bytes > 0 && time > 0 && ranks > 1 && std::get<1>(key))
        s.busbw = moved / (static_cast<double>(time) * 1e-9) * graph::busbw_factor(std::get<0>(key), ranks);
      out_.collectives.push_back(s);
    }
    std::ranges::stable_sort(out_.collectives, comes_first);
  }

  void finish_standing() {
    if (job_.ranks.size() < 2) {
      out_.standing.clear();
      return;
    }
    std::vector<double> span;
    for (const RankProfile& r : out_.ranks) {
      double wall = 0;
      for (const StepProfile& s : r.steps) wall += static_cast<double>(s.split.wall);
      span.push_back(wall);
    }
    compare_compute();
    double caused = 0;
    for (const RankStanding& s : out_.standing) caused += static_cast<double>(s.made_others_wait);
    for (std::size_t i = 0; i < out_.standing.size(); ++i) {
      RankStanding& s = out_.standing[i];
      const double fair = caused / static_cast<double>(out_.standing.size());
      const double own = static_cast<double>(s.made_others_wait);
      s.straggler =
          !job_.ranks[i].clock_is_open && own > fair * (1 + kStragglerShare) && own > kStragglerWait * span[i];
    }
  }

  /// Of each rank, by which steps of others it is compared with. Numbers tell which are one iteration; where no rank has any, the
  /// mean step stands for all, of ranks that mark steps or of ranks that do not.
  std::vector<std::map<std::int64_t, double>> compute_by_step() const {
    const auto is_numbered = [](const traces::TraceRank& r) { return traces::has_numbered_steps(r); };
    const auto is_marked = [](const RankProfile& r) { return r.steps_marked; };
    const bool numbered = std::ranges::any_of(job_.ranks, is_numbered),
               marked = std::ranges::any_of(out_.ranks, is_marked);
    std::vector<std::map<std::int64_t, double>> out(out_.ranks.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const RankProfile& rank = out_.ranks[i];
      if (numbered ? !is_numbered(job_.ranks[i]) : is_marked(rank) != marked) continue;
      for (const StepProfile& s : rank.steps)
        out[i][numbered ? s.step.number : 0] += static_cast<double>(s.split.compute);
      if (!numbered && !rank.steps.empty()) out[i][0] /= static_cast<double>(rank.steps.size());
    }
    return out;
  }

  void compare_compute() {
    struct Sum {
      double compute = 0;
      std::size_t ranks = 0;
    };
    const std::vector<std::map<std::int64_t, double>> compute = compute_by_step();
    std::map<std::int64_t, Sum> all;
    for (const auto& of_rank : compute) {
      for (const auto& [step, time] : of_rank) all[step].compute += time, ++all[step].ranks;
    }
    for (std::size_t i = 0; i < out_.standing.size(); ++i) {
      double own = 0, mean = 0;
      bool shares = false;
      for (const auto& [step, time] : compute[i]) {
        const Sum& sum = all.at(step);
        if (sum.ranks < 2) continue;
        shares = true;
        own += time, mean += sum.compute / static_cast<double>(sum.ranks);
      }
      if (shares) out_.standing[i].compute_excess = mean > 0 ? own / mean - 1 : 0;
    }
  }

  const traces::TraceJob& job_;
  Profile& out_;
  std::map<Key, Building> rows_;
};

}  // namespace

bool comes_first(const CollectiveSummary& a, const CollectiveSummary& b) {
  if (a.total_duration != b.total_duration) return a.total_duration > b.total_duration;
  return std::tie(a.kind, a.group, a.group_size, a.bytes) < std::tie(b.kind, b.group, b.group_size, b.bytes);
}

void profile_collectives(const traces::TraceJob& job, Profile& out) { Table(job, out).build(); }

}  // namespace distsim::profile
