// When requests come. Open loads come whatever happens; closed ones when an answer is back with its client.
//
//   constant   gaps of 1/rate
//   poisson    exponential gaps of mean 1/rate
//   gamma      gamma gaps of mean 1/rate and a given coefficient of variation
//   bursts     Markov-modulated Poisson: states of their own rates and exponential lengths, one after the other, round
//   trace      arrival times of a file
//   closed     clients that send a query, wait for its answer, think for an exponential time, and send the next
// and the scenarios of MLPerf Inference's LoadGen (docs/serving.md):
//   server         poisson; with a schedule seed the very times of LoadGen (loadgen.cc, GenerateQueries): the first at 0, gaps
//                  -ln(1 - u) / rate in whole nanoseconds, u from two draws of std::mt19937
//   offline        all samples in one query at time 0
//   single_stream  closed: one client without thinking time, a sample a query
//   multi_stream   the same with several samples a query
//
// Draws depend on the seed alone: gaps, models and service times come from streams of their own, so that every policy
// meets the same requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::serving {

enum class LoadKind : std::uint8_t {
  poisson,
  constant,
  gamma,
  bursts,
  trace,
  closed,
  server,
  offline,
  single_stream,
  multi_stream
};

struct BurstState {
  double rate_per_s = 0;
  double seconds = 0;  ///< mean length
};

struct TraceRow {
  std::int64_t time_ps = 0;
  std::uint32_t model = 0xFFFFFFFFu;  ///< no model: drawn from the mix
  bool tick = false;                  ///< no request: time passes
};

struct Load {
  LoadKind kind = LoadKind::poisson;
  double rate_per_s = 0;  ///< of all models together
  double cv = 1;          ///< of gamma gaps
  std::vector<BurstState> bursts;
  std::vector<TraceRow> trace;
  std::uint64_t requests = 0;    ///< how many to send, of each stream; 0: no limit
  std::int64_t duration_ps = 0;  ///< none comes later; 0: no limit
  std::uint32_t streams = 1;     ///< open loads: independent streams laid over each other
  /// Open loads: where not empty, each model has a stream of its own with this share of the rate; they sum to 1.
  std::vector<double> model_shares;
  std::uint32_t clients = 1;  ///< closed loads
  double think_s = 0;         ///< mean
  std::uint32_t samples = 1;  ///< requests of a query
  std::uint64_t seed = 1;
  bool has_schedule_seed = false;
  std::uint64_t schedule_seed = 0;  ///< of kind server: schedule_rng_seed of LoadGen

  bool is_closed() const {
    return kind == LoadKind::closed || kind == LoadKind::single_stream || kind == LoadKind::multi_stream;
  }
};

/// Rate at which requests are sent, over a long time; 0 where answers decide it or all come at once.
double offered_rate(const Load& load);

/// Requests that come in all, about; 0: not known before.
double expected_requests(const Load& load);

/// A seed for one use of a load's seed.
std::uint64_t seed_for(std::uint64_t seed, std::uint64_t use);

/// Times in ascending order.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  /// The next request; false after the last one.
  virtual bool next(TraceRow& out) = 0;
};

/// Precondition: an open load, checked.
std::unique_ptr<Arrivals> open_arrivals(const Load& load);

}  // namespace distsim::serving
