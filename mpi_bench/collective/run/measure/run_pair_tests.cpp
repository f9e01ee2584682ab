// Latency and bandwidth of pairs of ranks, as OSU's osu_latency and osu_bw define them: half a round trip, and a window
// of messages one way with one short answer.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "mpi_bench/collective/output/curve_output.hpp"
#include "mpi_bench/collective/ranks/clock_sync.hpp"
#include "mpi_bench/collective/run/measure/report.hpp"
#include "mpi_bench/collective/run/measure/run.hpp"
#include "mpi_bench/common/alpha_beta.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

constexpr int kWindow = 16;
constexpr std::uint64_t kWindowBytes = 64u << 20;  // a window is no longer than this, but at least one message
constexpr double kSettleSeconds = 1, kSteady = 0.05;
constexpr int kLeastTurns = 4;

struct Pair {
  int first = 0, second = 1;
};

class PairRun {
 public:
  PairRun(const RunContext& c, Backend& backend)
      : c_(c), backend_(backend), link_(*backend.pairs()), report_(c.options, c.ranks, c.chosen, 1, c.flags) {}

  Result<Outcome> all() {
    report_.introduce(backend_);
    report_.comment("distsim collective_bench, pairs of ranks");
    report_.comment("backend " + backend_.name() + ": " + backend_.library() + " (" + c_.chosen.why + ")");
    for (const PairTest test : c_.options.selected.pair_tests) {
      TRY_ASSIGN(const Outcome outcome, test == PairTest::matrix ? matrix() : sweep(test));
      if (outcome != Outcome::finished) return outcome;
    }
    TRY(c_.ranks.agree(report_.save(false)));
    return Outcome::finished;
  }

 private:
  bool in(const Pair& p) const { return c_.ranks.rank() == p.first || c_.ranks.rank() == p.second; }
  int peer(const Pair& p) const { return c_.ranks.rank() == p.first ? p.second : p.first; }

  /// A failure in the middle leaves the other side waiting.
  void must(const Result<void>& result) {
    if (!result.ok()) c_.ranks.abort(result.error().text());
  }

  double round_trip_half(const Pair& p, std::uint64_t bytes) {
    const double start = steady_seconds();
    if (c_.ranks.rank() == p.first) {
      must(link_.send(peer(p), bytes));
      must(link_.receive(peer(p), bytes));
    } else {
      must(link_.receive(peer(p), bytes));
      must(link_.send(peer(p), bytes));
    }
    pulse().call_done();
    return (steady_seconds() - start) / 2;
  }

  double window_share(const Pair& p, std::uint64_t bytes) {
    const int window =
        static_cast<int>(std::clamp<std::uint64_t>(kWindowBytes / std::max<std::uint64_t>(1, bytes), 1, kWindow));
    const double start = steady_seconds();
    for (int i = 0; i < window; ++i)
      must(c_.ranks.rank() == p.first ? link_.send(peer(p), bytes) : link_.receive(peer(p), bytes));
    must(c_.ranks.rank() == p.first ? link_.receive(peer(p), 1) : link_.send(peer(p), 1));
    pulse().call_done();
    return (steady_seconds() - start) / window;
  }

  /// The same messages until they are no longer faster than those before: TCP has then left its slow start, and a
  /// shaper's bucket is empty. Both ranks of the pair take the same number of turns, because the first tells the second
  /// whether there is another.
  template <class Once>
  void settle(const Pair& p, const Once& once) {
    const double start = steady_seconds();
    double before = std::numeric_limits<double>::infinity();
    for (int turn = 1;; ++turn) {
      const double now = once();
      const bool steady = turn >= kLeastTurns && now > (1 - kSteady) * before;
      before = std::min(before, now);
      if (!another(p, !steady && steady_seconds() - start < kSettleSeconds)) return;
    }
  }

  /// The first rank's wish, told to the second.
  bool another(const Pair& p, bool wish) {
    std::byte word{static_cast<unsigned char>(wish ? 1 : 0)};
    if (c_.ranks.rank() == p.first) {
      must(backend_.write(Backend::Buffer::send, 0, {&word, 1}));
      must(link_.send(peer(p), 1));
    } else {
      must(link_.receive(peer(p), 1));
      must(backend_.read(Backend::Buffer::receive, 0, {&word, 1}));
    }
    return word != std::byte{0};
  }

  /// Samples of rank `first`, in microseconds; the others wait.
  std::vector<double> samples(const Pair& p, PairTest test, std::uint64_t bytes) {
    std::vector<double> mine;
    if (in(p)) {
      const auto once = [&] { return test == PairTest::latency ? round_trip_half(p, bytes) : window_share(p, bytes); };
      if (c_.options.timing.warmup > 0) settle(p, once);
      for (int i = 0; i < c_.options.timing.warmup; ++i) once();
      for (int i = 0; i < c_.options.timing.iterations; ++i) mine.push_back(once() * 1e6);
    }
    if (c_.ranks.rank() != p.first) mine.clear();
    const std::string all =
        c_.ranks.gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double)})[p.first];
    std::vector<double> theirs(all.size() / sizeof(double));
    std::copy_n(all.data(), theirs.size() * sizeof(double), reinterpret_cast<char*>(theirs.data()));
    return theirs;
  }

  Result<Outcome> sweep(PairTest test) {
    const Pair pair{0, 1};
    const bool latency = test == PairTest::latency;
    report_.comment(latency ? "latency: half a round trip between rank 0 and rank 1"
                            : "bandwidth: a window of messages from rank 0 to rank 1, then a byte back");
    char head[160];
    std::snprintf(head, sizeof head, "%10s  %12s  %12s  %12s  %12s  %10s", "size (B)", "median (us)", "p5 (us)",
                  "p95 (us)", "min (us)", "GB/s");
    report_.comment(head);
    std::vector<SizeTime> points;
    if (latency) report_.begin_pair_curve(c_.ranks.node_of()[0] == c_.ranks.node_of()[1] ? 1 : 2, backend_);
    for (const std::uint64_t bytes : sweep_sizes(c_.options.sizes)) {
      if (c_.ranks.any(c_.interrupted())) return Outcome::interrupted;
      c_.watchdog.doing(std::string(latency ? "latency" : "bandwidth") + " of " + std::to_string(bytes) +
                        " bytes between rank 0 and rank 1");
      TRY(c_.ranks.agree(backend_.allocate(std::max<std::uint64_t>(1, bytes), std::max<std::uint64_t>(1, bytes))));
      const Summary s = summarize(samples(pair, test, bytes));
      points.push_back({static_cast<double>(bytes), s.p10 * 1e-6});  // what disturbs a message can only make it later
      char line[160];
      std::snprintf(line, sizeof line, "%12llu  %12.2f  %12.2f  %12.2f  %12.2f  %10.3f",
                    static_cast<unsigned long long>(bytes), s.median, s.p5, s.p95, s.min,
                    static_cast<double>(bytes) / s.median / 1e3);
      report_.line(line);
      if (latency) TRY(c_.ranks.agree(report_.add_pair(bytes, s)));
    }
    print_fit(points);
    return Outcome::finished;
  }

  void print_fit(const std::vector<SizeTime>& points) {
    const auto fit = fit_alpha_beta(points);
    if (!fit.ok()) return;
    char text[160];
    std::snprintf(text, sizeof text, "fit: alpha %.2f us, beta %.4f GB/s, largest deviation %.0f %%",
                  fit->alpha_s * 1e6, fit->beta_bytes_per_s / 1e9, 100 * fit->worst);
    report_.comment(text);
    if (fit->bytes_share < 0.5)
      report_.comment("beta is uncertain: the largest size is mostly latency; use a larger -e");
    if (fit->latency_share < 0.5)
      report_.comment("alpha is uncertain: the smallest size is mostly transfer; use a smaller -b");
  }

  /// One pair after another, so that none disturbs another.
  Result<Outcome> matrix() {
    const std::uint64_t bytes = std::max<std::uint64_t>(1, c_.options.sizes.max_bytes);
    TRY(c_.ranks.agree(backend_.allocate(bytes, bytes)));
    report_.comment("matrix: GB/s from row to column, " + std::to_string(bytes) +
                    " bytes per message, one pair at a time");
    for (int from = 0; from < c_.ranks.size(); ++from) {
      char cell[32];
      std::snprintf(cell, sizeof cell, "%6d ", from);
      std::string line = cell;
      for (int to = 0; to < c_.ranks.size(); ++to) {
        if (c_.ranks.any(c_.interrupted())) return Outcome::interrupted;
        c_.watchdog.doing("bandwidth from rank " + std::to_string(from) + " to rank " + std::to_string(to));
        const double us = from == to ? 0 : summarize(samples({from, to}, PairTest::bandwidth, bytes)).median;
        std::snprintf(cell, sizeof cell, " %8.3f", from == to ? 0 : static_cast<double>(bytes) / us / 1e3);
        line += from == to ? "        -" : cell;
      }
      report_.line(line);
    }
    return Outcome::finished;
  }

  const RunContext& c_;
  Backend& backend_;
  PointToPoint& link_;
  RunReport report_;
};

}  // namespace

Result<Outcome> run_pair_tests(const RunContext& c) {
  if (c.ranks.size() < 2) return Error{"found 1 rank, expected 2 or more", "--pair-tests", ""};
  TRY_ASSIGN(const Grouping everybody, groups_of({}, c.ranks.node_of()));
  const Team team = team_of(everybody, c.ranks);
  auto backend = make_backend(c.chosen, c.options, c.ranks, team);
  TRY(c.ranks.agree(backend.ok() ? Result<void>() : Result<void>(backend.error())));
  if ((*backend)->pairs() == nullptr)
    return Error{"the " + (*backend)->name() + " backend has no point-to-point messages", "--pair-tests", ""};
  return PairRun(c, **backend).all();
}

}  // namespace distsim::bench
