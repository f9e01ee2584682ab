#include "sim/serving/load/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <random>

#include "base/check.hpp"
#include "sim/serving/load/draws.hpp"
#include "sim/serving/load/longest_run.hpp"

namespace distsim::serving {
namespace {

constexpr double kPsPerSecond = 1e12;

/// Gaps of one stream, in seconds.
class Gaps {
 public:
  /// At this share of the load's rates; states last as long whatever the share.
  Gaps(const Load& load, std::uint64_t seed, double share) : load_(load), random_(seed), share_(share) {
    if (load.kind == LoadKind::bursts) left_s_ = exponential(random_, load.bursts[0].seconds);
  }
  double next() {
    switch (load_.kind) {
      case LoadKind::constant:
        return 1 / load_.rate_per_s / share_;
      case LoadKind::gamma:
        return gamma_of_mean_one(random_, 1 / (load_.cv * load_.cv)) / load_.rate_per_s / share_;
      case LoadKind::bursts:
        return next_of_bursts();
      default:
        return exponential(random_, 1 / load_.rate_per_s) / share_;
    }
  }

 private:
  /// Exponential gaps have no memory: at a change of state the rest is drawn anew.
  double next_of_bursts() {
    double gap = 0;
    while (gap < kLongestS) {  // after that no run goes on
      const BurstState& state = load_.bursts[state_];
      const double rate = state.rate_per_s * share_;
      const double here = rate > 0 ? exponential(random_, 1 / rate) : left_s_;
      if (here < left_s_) {
        left_s_ -= here;
        return gap + here;
      }
      gap += left_s_;
      state_ = (state_ + 1) % load_.bursts.size();
      left_s_ = exponential(random_, load_.bursts[state_].seconds);
    }
    return gap;
  }

  static constexpr double kLongestS = static_cast<double>(kLongestPs) / kPsPerSecond;
  const Load& load_;
  Random random_;
  double share_;
  std::size_t state_ = 0;
  double left_s_ = 0;
};

class Stream : public Arrivals {
 public:
  /// `share` of the rate; its requests are of `model`, or drawn from the mix.
  Stream(const Load& load, std::uint64_t seed, double share = 1, std::uint32_t model = 0xFFFFFFFFu)
      : load_(load), gaps_(load, seed, share), model_(model) {}

  /// Times are sums of rounded gaps, which loses nothing however long the run is. One that comes after the longest run is
  /// handed out, too, so that it is not lost unseen.
  bool next(TraceRow& out) override {
    if (load_.requests > 0 && sent_ == load_.requests) return false;
    time_ps_ = later(time_ps_, bounded_ps(gaps_.next() * kPsPerSecond));
    if (load_.duration_ps > 0 && time_ps_ > load_.duration_ps) return false;
    ++sent_;
    out = {time_ps_, model_};
    return true;
  }

 private:
  const Load& load_;
  Gaps gaps_;
  std::uint32_t model_;
  std::uint64_t sent_ = 0;
  std::int64_t time_ps_ = 0;
};

/// Several streams in one; of equal times the first stream comes first.
class Overlay : public Arrivals {
 public:
  explicit Overlay(const Load& load) {
    const auto models = static_cast<std::uint32_t>(load.model_shares.size());
    for (std::uint32_t i = 0; i < load.streams * std::max(1u, models); ++i) {
      const std::uint64_t seed = seed_for(load.seed, 16 + i);
      if (models == 0)
        streams_.emplace_back(load, seed);
      else if (load.model_shares[i % models] > 0)
        streams_.emplace_back(load, seed, load.model_shares[i % models], i % models);
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) refill(i);
  }
  bool next(TraceRow& out) override {
    if (heads_.empty()) return false;
    const Head first = heads_.top();
    heads_.pop();
    out = first.row;
    refill(first.stream);
    return true;
  }

 private:
  struct Head {
    TraceRow row;
    std::size_t stream = 0;
    bool operator<(const Head& o) const {  // the first is on top
      return row.time_ps != o.row.time_ps ? row.time_ps > o.row.time_ps : stream > o.stream;
    }
  };
  void refill(std::size_t i) {
    TraceRow row;
    if (streams_[i].next(row)) heads_.push({row, i});
  }
  std::vector<Stream> streams_;
  std::priority_queue<Head> heads_;
};

/// LoadGen's schedule of the server scenario. Its numbers are those of std::mt19937 and of libstdc++'s
/// exponential_distribution<double>, which are written out here, as the latter is not the same in every library.
class LoadGenSchedule : public Arrivals {
 public:
  explicit LoadGenSchedule(const Load& load)
      : load_(load), draws_(static_cast<std::mt19937::result_type>(load.schedule_seed)) {}
  bool next(TraceRow& out) override {
    if (load_.requests > 0 && sent_ == load_.requests) return false;
    if (load_.duration_ps > 0 && time_ns_ * 1000 > load_.duration_ps) return false;
    ++sent_;
    out = {};
    out.time_ps = time_ns_ * 1000;
    const double low = static_cast<double>(draws_()), high = static_cast<double>(draws_());
    const double u = std::min((low + high * 0x1p32) * 0x1p-64, std::nextafter(1.0, 0.0));
    const double seconds = -std::log(1 - u) / load_.rate_per_s;
    const std::int64_t left = 2 * kLongestPs / 1000 - time_ns_;
    time_ns_ += static_cast<std::int64_t>(std::min(seconds * 1e9, static_cast<double>(left)));
    return true;
  }

 private:
  const Load& load_;
  std::mt19937 draws_;
  std::uint64_t sent_ = 0;
  std::int64_t time_ns_ = 0;
};

/// Times that are known: of a trace, or all at 0.
class Listed : public Arrivals {
 public:
  explicit Listed(const Load& load) : load_(load) {}
  bool next(TraceRow& out) override {
    if (load_.requests > 0 && sent_ == load_.requests) return false;
    if (load_.kind == LoadKind::trace) {
      if (sent_ == load_.trace.size()) return false;
      out = load_.trace[sent_];
      if (load_.duration_ps > 0 && out.time_ps > load_.duration_ps) return false;
    } else {
      out = {};
    }
    ++sent_;
    return true;
  }

 private:
  const Load& load_;
  std::uint64_t sent_ = 0;
};

}  // namespace

double offered_rate(const Load& load) {
  if (load.is_closed() || load.kind == LoadKind::offline) return 0;
  if (load.kind == LoadKind::trace) {
    if (load.trace.size() < 2 || load.trace.back().time_ps <= load.trace.front().time_ps) return 0;
    return static_cast<double>(load.trace.size() - 1) /
           (static_cast<double>(load.trace.back().time_ps - load.trace.front().time_ps) / kPsPerSecond);
  }
  if (load.kind != LoadKind::bursts) return load.rate_per_s * load.streams;
  double sent = 0, seconds = 0;
  for (const BurstState& state : load.bursts) {
    sent += state.rate_per_s * state.seconds;
    seconds += state.seconds;
  }
  return sent / seconds * load.streams;
}

double expected_requests(const Load& load) {
  const auto requests = static_cast<double>(load.requests);
  if (load.kind == LoadKind::trace) return static_cast<double>(load.trace.size());
  if (load.is_closed() || load.kind == LoadKind::offline) return requests;
  const double sent = requests * load.streams * static_cast<double>(std::max<std::size_t>(1, load.model_shares.size()));
  const double within = offered_rate(load) * static_cast<double>(load.duration_ps) / kPsPerSecond;
  return sent > 0 && within > 0 ? std::min(sent, within) : std::max(sent, within);
}

std::uint64_t seed_for(std::uint64_t seed, std::uint64_t use) {
  Random random(seed ^ (use + 1) * 0xD1342543DE82EF95ull);
  return random.next();
}

std::unique_ptr<Arrivals> open_arrivals(const Load& load) {
  CHECK(!load.is_closed());
  if (load.kind == LoadKind::trace || load.kind == LoadKind::offline) return std::make_unique<Listed>(load);
  if (load.has_schedule_seed) return std::make_unique<LoadGenSchedule>(load);
  if (load.streams > 1 || !load.model_shares.empty()) return std::make_unique<Overlay>(load);
  return std::make_unique<Stream>(load, seed_for(load.seed, 16));
}

}  // namespace distsim::serving
