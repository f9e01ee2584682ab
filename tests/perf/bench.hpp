// What the benchmarks share: a benchmark that errs must fail, so that nobody takes the time of a refusal for the time
// of the work.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::perf {

/// Ends the benchmark with the error of a result, if it holds one: `if (failed(state, result)) break;` in the loop.
template <class T>
bool failed(benchmark::State& state, const Result<T>& result) {
  if (result.ok()) return false;
  state.SkipWithError(result.error().text().c_str());
  return true;
}

/// Google Benchmark up to 1.7 says `error_occurred`, later versions `skipped`.
template <class Run>
bool has_error(const Run& run) {
  if constexpr (requires { run.error_occurred; })
    return run.error_occurred;
  else
    return static_cast<int>(run.skipped) != 0;
}

/// The usual table, and how many of its rows are errors.
class CountingReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) errors_ += has_error(run) ? 1 : 0;
    ConsoleReporter::ReportRuns(runs);
  }
  int errors() const { return errors_; }

 private:
  int errors_ = 0;
};

/// The body of main(). Exit codes: 0; 1 if a benchmark failed or none ran; 2 for a bad command line. `argument` takes
/// an optional argument that is not a flag of Google Benchmark; null: there is none.
inline int run_benchmarks(int argc, char** argv, std::string* argument = nullptr) {
  benchmark::Initialize(&argc, argv);
  if (argument != nullptr && argc == 2 && argv[1][0] != '-') {
    *argument = argv[1];
    --argc;
  }
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  CountingReporter reporter;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  if (ran == 0) std::fprintf(stderr, "%s: no benchmark was run\n", argv[0]);
  return ran == 0 || reporter.errors() > 0 ? 1 : 0;
}

}  // namespace distsim::perf
