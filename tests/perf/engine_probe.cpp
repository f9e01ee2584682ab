// One run of each evaluator on a fixed program, for counting instructions (tests/perf/instructions_test.py). Prints the
// digest, so that nothing is left out.
#include <cstdio>
#include <string_view>

#include "base/random.hpp"
#include "sim/engine/events/contended_evaluator.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::perf {
namespace {

/// Two streams that wait for each other, durations of every rank its own, a join in ten steps.
engine::Program two_streams(std::uint32_t ranks, std::uint32_t steps) {
  Random random(1);
  engine::Program p;
  p.ranks = ranks;
  p.streams = 2;
  p.groups = {{ranks, 1, {}, {}}, {8, 1, {}, {}}, {ranks / 8, 8, {}, {}}};
  for (std::uint32_t s = 0; s < steps; ++s) {
    std::vector<std::int64_t> values(ranks);
    for (auto& v : values) v = 1'000'000 + static_cast<std::int64_t>(random.below(16'384));
    const StepId wait(s == 0 ? 0 : s - 1);
    p.add({StreamId(s % 2), engine::Row(std::move(values)), s % 10 == 9 ? s / 10 % 3 : engine::Step::kNoGroup},
          std::span(&wait, s == 0 ? 0u : 1u));
  }
  return p;
}

/// Every rank sends to every other at once; messages of four sizes.
std::uint64_t play_all_to_all(std::uint32_t ranks) {
  engine::IrregularProgram p{ranks, ranks - 1};
  engine::Contention c;
  c.capacities.assign(2 * ranks, 1.0);
  for (std::uint32_t from = 0; from < ranks; ++from) {
    for (std::uint32_t i = 1; i < ranks; ++i) {
      const engine::Contention::Demand demands[] = {{from, 1}, {ranks + (from + i) % ranks, 1}};
      c.add(demands);
      p.add({RankId(from), StreamId(i - 1), 1'000'000 + std::int64_t{i % 4} * 1'000});
    }
  }
  return engine::evaluate_contended(p, c)->digest;
}

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) {
  using namespace distsim;
  using namespace distsim::perf;
  const std::string_view what = argc == 2 ? argv[1] : "";
  std::uint64_t digest = 0;
  if (what == "rows")
    digest = engine::evaluate_rows(two_streams(4'096, 220))->digest;
  else if (what == "lists")
    digest = engine::evaluate_irregular(*engine::expand(two_streams(256, 220)))->digest;
  else if (what == "events")
    digest = play_all_to_all(64);
  else
    return std::fprintf(stderr, "usage: engine_probe rows|lists|events\n"), 2;
  std::printf("%016llx\n", static_cast<unsigned long long>(digest));
}
