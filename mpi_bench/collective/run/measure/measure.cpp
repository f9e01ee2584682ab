#include "mpi_bench/collective/run/measure/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mpi_bench/collective/backend/host_loop.hpp"
#include "mpi_bench/collective/run/measure/must.hpp"
#include "mpi_bench/collective/verify/verify.hpp"

namespace distsim::bench {
namespace {

// So often a run looks whether it was interrupted: mpirun gives its ranks a second to end. The first round is shorter,
// as a few calls tell little of how long many will take on a busy machine.
constexpr double kRoundSeconds = 0.25, kFirstRoundSeconds = 0.1;
constexpr int kMostSamples = 100'000;
constexpr double kShortCall = 1e-3;

std::string call_text(const Call& call) {
  return std::string(call.what->name) + " of " + std::to_string(call.layout->bytes) + " bytes, " +
         (call.in_place ? "in-place" : "out-of-place");
}

std::string fault_text(const Call& call, int rank, const Check& check) {
  const std::size_t e = info_of(call.type).size;
  return call_text(call) + ": rank " + std::to_string(rank) + ", element " + std::to_string(check.first_element) +
         " (byte " + std::to_string(check.first_element * e) + " of the receive buffer): found " + check.found +
         ", expected " + check.expected + "; " + std::to_string(check.wrong) + " wrong on this rank";
}

std::string packed(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

std::vector<double> unpacked(const std::string& bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

/// Timed rounds of one call, on all ranks.
class CallTiming {
 public:
  CallTiming(const Surroundings& s, const Call& call) : s_(s), call_(call) {}

  /// Nothing where the run was interrupted.
  std::optional<Measured> measure() {
    s_.watchdog.doing(call_text(call_) + ", timing");
    if (s_.team.active) must(s_.ranks, fill_buffers(s_.backend, call_));
    warm_up();
    start_load();
    bool more = true;
    while (more && !stopped_) more = round();
    if (s_.team.active) must(s_.ranks, s_.backend.stop_load());
    if (stopped_) return std::nullopt;
    return result();
  }

 private:
  /// The warm-up says how long a call takes; where that is short, a few calls more say it better. All ranks must choose
  /// the same loop.
  void warm_up() {
    CallEstimate call;
    if (s_.team.active && s_.options.timing.warmup > 0)
      call.mean_s = must(s_.ranks, s_.backend.time(call_, {s_.options.timing.warmup, 1})).mean_s;
    call.mean_s = call.quickest_s = s_.ranks.max({call.mean_s}).front();
    if (s_.options.timing.warmup > 0 && call.mean_s < kShortCall) {
      if (s_.team.active) call = must(s_.ranks, call_estimate(s_.backend, call_));
      const std::vector<double> slowest = s_.ranks.max({call.quickest_s, call.mean_s});
      call = {slowest[0], slowest[1]};
    }
    calls_each_ = s_.options.timing.warmup > 0
                      ? std::stoi(s_.ranks.from_root(std::to_string(calls_each_for(call.quickest_s))))
                      : 1;
    set_round(kFirstRoundSeconds, call.mean_s * calls_each_);
  }

  /// So many samples as take that long; all of them where nothing is known of a sample.
  void set_round(double round_s, double sample_s) {
    const double round = sample_s > 0 ? round_s / sample_s : s_.options.timing.iterations;
    round_ = static_cast<int>(std::clamp(round, 1.0, static_cast<double>(s_.options.timing.iterations)));
  }

  void start_load() {
    if (s_.options.load.kind == LoadKind::none) return;
    const std::uint64_t bytes = s_.options.load.kind == LoadKind::collective ? s_.options.load.bytes : 0;
    if (s_.team.active) must(s_.ranks, s_.backend.start_load(bytes));
  }

  /// Runs and gathers one round; whether another is wanted.
  bool round() {
    const int samples = std::min(round_, kMostSamples - static_cast<int>(slowest_.size()));
    s_.ranks.barrier();
    const double entered = steady_seconds() - s_.clock.ahead_s;
    LoopTimes times;
    if (s_.team.active) times = must(s_.ranks, s_.backend.time(call_, {samples, calls_each_}));
    gather(times, entered, samples);
    return !stopped_ && wanted();
  }

  /// A message of each rank: interrupted, elapsed, entered, mean, samples...; idle ranks have no samples.
  void gather(const LoopTimes& times, double entered, int samples) {
    std::vector<double> mine = {s_.interrupted() ? 1.0 : 0.0, steady_seconds() - start_, entered, times.mean_s};
    mine.insert(mine.end(), times.each_s.begin(), times.each_s.end());
    const auto all = s_.ranks.gather(packed(mine));
    std::vector<double> slowest(times_length(all), 0);
    double first = 1e300, last = -1e300;
    means_.resize(all.size());
    each_.resize(all.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      const std::vector<double> theirs = unpacked(all[r]);
      stopped_ |= theirs[0] != 0;
      if (r == 0) {
        if (rounds_ > 0)
          set_round(kRoundSeconds,
                    (theirs[1] - elapsed_) / samples);  // rank 0's time, so that all ranks choose the same
        elapsed_ = theirs[1];
      }
      if (theirs.size() == 4) continue;
      first = std::min(first, theirs[2]);
      last = std::max(last, theirs[2]);
      means_[r] += theirs[3] * samples;
      each_[r].insert(each_[r].end(), theirs.begin() + 4, theirs.end());
      for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], theirs[4 + i]);
    }
    if (rounds_++ == 0) arrival_us_ = (last - first) * 1e6;
    samples_ += samples;
    for (const double seconds : slowest) slowest_.push_back(seconds * 1e6);
  }

  static std::size_t times_length(const std::vector<std::string>& all) {
    std::size_t longest = 0;
    for (const std::string& bytes : all) longest = std::max(longest, bytes.size() / sizeof(double) - 4);
    return longest;
  }

  bool wanted() {
    if (samples_ < s_.options.timing.iterations) {
      round_ = std::min(round_, s_.options.timing.iterations - samples_);
      return true;
    }
    if (s_.options.timing.relative_error <= 0 || elapsed_ > s_.options.timing.max_seconds ||
        static_cast<int>(slowest_.size()) >= kMostSamples)
      return false;
    return relative_error_of_median(summarize(slowest_)) > s_.options.timing.relative_error;
  }

  Measured result() const {
    std::vector<double> means, medians;
    RankSpread spread{.arrival_us = arrival_us_};
    double slowest = -1;
    for (std::size_t r = 0; r < each_.size(); ++r) {
      if (each_[r].empty()) continue;
      means.push_back(means_[r] / samples_);
      medians.push_back(summarize(each_[r]).median * 1e6);
      if (medians.back() > slowest) {
        slowest = medians.back();
        spread.slowest = static_cast<int>(r);
      }
    }
    spread.medians = summarize(medians);
    Measured m = measured_from(call_.layout->bytes, reported(means), call_.what->bus_factor(call_.shape.ranks));
    m.iterations = summarize(slowest_);
    m.calls_each = calls_each_;
    m.ranks = spread;
    m.noisy = is_noisy(m.iterations);
    return m;
  }

  /// -a
  double reported(const std::vector<double>& means) const {
    const Summary s = summarize(means);
    switch (s_.options.timing.report) {
      case Report::rank0:
        return means.front();
      case Report::average:
        return s.mean;
      case Report::minimum:
        return s.min;
      case Report::maximum:
        return s.max;
    }
    return s.mean;
  }

  const Surroundings& s_;
  const Call& call_;
  int calls_each_ = 1, round_ = 1, samples_ = 0, rounds_ = 0;
  const double start_ = steady_seconds();
  double elapsed_ = 0, arrival_us_ = 0;
  bool stopped_ = false;
  std::vector<double> slowest_, means_;    ///< microseconds of each sample; sums by rank
  std::vector<std::vector<double>> each_;  ///< seconds, by rank
};

/// Number of wrong elements over all ranks; the first rank's fault goes to `fault`.
std::uint64_t verify(const Surroundings& s, const Call& call, std::optional<std::string>& fault) {
  s.watchdog.doing(call_text(call) + ", verifying");
  Check check;
  if (s.team.active) must(s.ranks, fill_buffers(s.backend, call));
  s.ranks.barrier();
  if (s.team.active) {
    must(s.ranks, s.backend.run(call));
    const auto& damage = s.options.injected.fault;
    if (damage && damage->first == s.ranks.rank()) must(s.ranks, damage_element(s.backend, call, damage->second));
    check = must(s.ranks, check_buffers(s.backend, call));
  }
  const std::uint64_t wrong = s.ranks.sum(check.wrong);
  if (wrong == 0 || fault) return wrong;
  for (const std::string& text : s.ranks.gather(check.wrong > 0 ? fault_text(call, s.ranks.rank(), check) : "")) {
    if (!text.empty() && !fault) fault = text;
  }
  return wrong;
}

Result<void> prepare(const Surroundings& s, const Call& call) {
  s.watchdog.doing(call_text(call) + ", preparing");
  TRY(s.ranks.agree(s.backend.fits(call)));
  const std::size_t e = info_of(call.type).size;
  const Layout& l = *call.layout;
  return s.ranks.agree(s.backend.allocate(l.send_count * e, std::max(l.recv_count, l.in_place_count()) * e));
}

Row empty_row(const Sweep& sweep, const Layout& layout) {
  return {.bytes = layout.bytes,
          .count = layout.count,
          .type = std::string(info_of(sweep.type).name),
          .redop = std::string(sweep.what->reduces ? name_of(sweep.op) : "none"),
          .root = sweep.what->rooted ? sweep.root : -1};
}

}  // namespace

Result<CallEstimate> call_estimate(Backend& backend, const Call& call) {
  constexpr int kTries = 5, kCalls = 10;
  CallEstimate estimate{.quickest_s = std::numeric_limits<double>::infinity()};
  for (int i = 0; i < kTries; ++i) {
    TRY_ASSIGN(const double seconds, backend.time_bare(call, kCalls));
    estimate.quickest_s = std::min(estimate.quickest_s, seconds / kCalls);
    estimate.mean_s += seconds / kCalls / kTries;
  }
  return estimate;
}

int calls_each_for(double seconds_a_call) {
  static const double sample_s = [] {
    constexpr int kTries = 5;
    double least = 1;
    for (int i = 0; i < kTries; ++i)
      least = std::min(least, timed_loop({.samples = 1000}, [] { return Result<void>(); })->mean_s);
    return least;
  }();
  // The clock also waits for the loads and stores that a call has left in flight, which costs several times the reading
  // itself; and the first estimate of a call may be too long.
  constexpr double kShare = 0.001;
  constexpr int kMost = 1000;
  if (!(seconds_a_call > 0)) return kMost;
  return static_cast<int>(std::clamp(std::ceil(sample_s / kShare / seconds_a_call), 1.0, static_cast<double>(kMost)));
}

Result<MeasuredRow> measure_row(const Surroundings& s, const Sweep& sweep, std::uint64_t size_bytes) {
  // An idle rank goes through the motions with the layout of a first member, so that all ranks agree on what is
  // printed.
  const Shape shape{.ranks = s.team.ranks,
                    .rank = s.team.active ? s.team.index : 0,
                    .root = sweep.root,
                    .imbalance = s.options.selected.imbalance};
  const Layout layout = layout_of(*sweep.what, size_bytes, info_of(sweep.type).size, shape);
  MeasuredRow result{.row = empty_row(sweep, layout)};
  for (const bool in_place : {false, true}) {
    const InPlace how = s.backend.in_place(sweep.what->kind);
    if (in_place && how == InPlace::unsupported) continue;
    const Call call{.what = sweep.what,
                    .type = sweep.type,
                    .op = sweep.op,
                    .shape = shape,
                    .layout = &layout,
                    .in_place = in_place};
    TRY(prepare(s, call));
    std::optional<Measured> measured = CallTiming(s, call).measure();
    if (!measured) {
      result.interrupted = true;
      return result;
    }
    if (s.options.check && !(in_place && how == InPlace::timed_only)) measured->wrong = verify(s, call, result.fault);
    (in_place ? result.row.in_place : result.row.out_of_place) = std::move(measured);
  }
  return result;
}

}  // namespace distsim::bench
