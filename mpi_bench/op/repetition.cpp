#include "mpi_bench/op/repetition.hpp"

namespace distsim::bench {

Result<Repetitions> repeat(const RepetitionLimits& limits, int launches,
                           const std::function<Result<double>()>& sample) {
  constexpr int kLookEvery = 10;
  std::vector<double> samples;
  double spent = 0;
  Repetitions result;
  for (;;) {
    TRY_ASSIGN(const double seconds, sample());
    samples.push_back(seconds);
    spent += seconds * launches;
    const int count = static_cast<int>(samples.size());
    const bool at_limit =
        count >= limits.max_repetitions || (count >= limits.min_repetitions && spent >= limits.max_seconds);
    const bool look = count >= limits.min_repetitions && (count - limits.min_repetitions) % kLookEvery == 0;
    if (!at_limit && !look) continue;
    result.seconds = summarize(samples);
    result.relative_error = relative_error_of_median(result.seconds);
    result.reached = result.relative_error <= limits.relative_error;
    if (result.reached || at_limit) return result;
  }
}

}  // namespace distsim::bench
