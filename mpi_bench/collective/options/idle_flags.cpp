#include "mpi_bench/collective/options/idle_flags.hpp"

#include <algorithm>
#include <string_view>

#include "base/check.hpp"

namespace distsim::bench {
namespace {

enum Reader : unsigned { kFlags = 1, kPlan = 2, kPairs = 4, kOverhead = 8 };
constexpr unsigned kCollectives = kFlags | kPlan, kCalls = kCollectives | kOverhead,
                   kSizes = kFlags | kPairs | kOverhead, kFiles = kCollectives | kPairs, kAll = kCalls | kPairs;

struct Given {
  const Options& options;
  const StartFacts& facts;
};

/// The order is that of measure() in main.cpp.
Reader reader_of(const Selection& s) {
  if (s.overhead) return kOverhead;
  if (!s.pair_tests.empty()) return kPairs;
  return s.plan.empty() ? kFlags : kPlan;
}

const char* why_not_read(Reader reader) {
  switch (reader) {
    case kOverhead:
      return "--overhead only compares two loops";
    case kPairs:
      return "--pair-tests measures messages between two ranks, no collectives";
    case kPlan:
      return "the plan says what is measured";
    case kFlags:
      break;
  }
  return "the flags say what is measured";
}

bool any_case(const Given& run, bool CollectiveCase::*has) {
  const Selection& s = run.options.selected;
  if (reader_of(s) == kPlan) return std::ranges::any_of(s.planned, [&](const PlannedCurve& p) { return p.what->*has; });
  return std::ranges::any_of(s.collectives, [&](const CollectiveCase* c) { return c->*has; });
}

/// Empty where the flag has an effect.
using Why = std::string_view;

Why needs_reduction(const Given& run) {
  return any_case(run, &CollectiveCase::reduces) ? "" : "no measured collective reduces";
}
Why needs_root(const Given& run) {
  return any_case(run, &CollectiveCase::rooted) ? "" : "no measured collective has a root";
}
Why needs_uneven(const Given& run) {
  return any_case(run, &CollectiveCase::uneven) ? "" : "no measured collective has uneven sizes";
}

Why needs_sweep(const Given& run) {
  const auto& tests = run.options.selected.pair_tests;
  const bool matrix = reader_of(run.options.selected) == kPairs &&
                      std::ranges::all_of(tests, [](PairTest t) { return t == PairTest::matrix; });
  return matrix ? "the matrix is measured with messages of -e bytes" : "";
}
Why needs_step(const Given& run) { return run.options.sizes.step_factor > 1 ? "-f says the sizes" : needs_sweep(run); }

Why needs_relative_error(const Given& run) {
  const bool read = run.options.selected.overhead || run.options.timing.relative_error > 0;
  return read ? "" : "it limits --relative-error, which is off";
}
Why needs_check(const Given& run) { return run.options.check ? "" : "-c is 0"; }
Why needs_out(const Given& run) { return run.options.files.out.empty() ? "no curve file is written (--out)" : ""; }
Why needs_nccl(const Given& run) {
  return run.facts.backend == BackendChoice::nccl ? "" : "only the nccl backend can return before a call is done";
}
Why needs_tcp(const Given& run) {
  return run.facts.backend == BackendChoice::tcp ? "" : "only the tcp backend opens connections of its own";
}
Why needs_own_start(const Given& run) { return run.facts.started_by_mpi ? "the ranks meet through MPI" : ""; }

struct Rule {
  std::string_view flag;
  unsigned readers;  ///< of Reader
  Why (*needs)(const Given&) = nullptr;
};

constexpr Rule kRules[] = {
    {"-b", kSizes, needs_sweep},
    {"-e", kSizes},
    {"-i", kSizes, needs_step},
    {"-f", kSizes, needs_sweep},
    {"--collectives", kFlags | kOverhead},
    {"-d", kFlags | kOverhead},
    {"-o", kCalls, needs_reduction},
    {"-r", kCalls, needs_root},
    {"--imbalance", kCalls, needs_uneven},
    {"--groups", kFlags},
    {"--pair-tests", kPairs},
    {"--plan", kPlan},
    {"--config", kPlan},
    {"--overhead", kOverhead},
    {"-n", kFiles},
    {"-w", kFiles},
    {"-c", kCollectives},
    {"-a", kCollectives},
    {"-G", kCalls},
    {"-m", kAll},
    {"-z", kCalls, needs_nccl},
    {"--relative-error", kCollectives},
    {"--max-seconds", kCalls, needs_relative_error},
    {"--load", kCollectives},
    {"--beside", kCollectives},
    {"--out", kFiles},
    {"-J", kFiles},
    {"--stats", kCollectives},
    {"--system", kFiles, needs_out},
    {"--curve-time", kCollectives, needs_out},
    {"--topology", kFiles, needs_out},
    {"--hash-hosts", kFiles, needs_out},
    {"--backend", kAll},
    {"-t", kAll},
    {"-g", kAll},
    {"--streams", kAll, needs_tcp},
    {"--hosts", kAll},
    {"--rank", kAll},
    {"--port", kAll, needs_own_start},
    {"--stall-limit", kAll},
    {"--inject-fault", kCollectives, needs_check},
    {"--inject-stall", kCollectives},
};

Why why_idle(const Rule& rule, const Given& run) {
  const Reader reader = reader_of(run.options.selected);
  if ((rule.readers & reader) == 0) return why_not_read(reader);
  return rule.needs == nullptr ? Why() : rule.needs(run);
}

}  // namespace

std::vector<std::string> idle_flags(const CommandLine& line, const StartFacts& facts) {
  std::vector<std::string> remarks;
  for (const std::string& flag : line.given) {
    const auto rule = std::ranges::find(kRules, flag, &Rule::flag);
    CHECK(rule != std::end(kRules));
    const Why why = why_idle(*rule, {line.options, facts});
    if (!why.empty()) remarks.push_back(flag + ": no effect, " + std::string(why));
  }
  return remarks;
}

}  // namespace distsim::bench
