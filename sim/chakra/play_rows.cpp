// Ranks that all do the same: one program over rank vectors, whose cost hardly grows with their number.
#include <algorithm>

#include "sim/chakra/chakra_parts.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/verify.hpp"

namespace distsim::chakra {
namespace {

/// The times of one node on all ranks.
Result<engine::Row> work_row(const ChakraJob& job, std::uint32_t n) {
  const traces::ChakraSet& set = job.set;
  const traces::ChakraNode& node = set.graphs[0].nodes[n];
  TRY_ASSIGN(const std::int64_t first, job.work.of(node, set.ps_of(0, n)));
  bool uniform = true;
  for (std::uint32_t r = 1; r < set.ranks.size() && uniform; ++r) uniform = set.ps_of(r, n) == set.ps_of(0, n);
  if (uniform) return engine::Row(first);
  std::vector<std::int64_t> values(set.ranks.size());
  for (std::uint32_t r = 0; r < values.size(); ++r) {
    TRY_ASSIGN(values[r], job.work.of(node, set.ps_of(r, n)));
  }
  return engine::Row(std::move(values));
}

Result<engine::Program> program_of(const ChakraJob& job) {
  const traces::ChakraGraph& graph = job.set.graphs[0];
  engine::Program program;
  program.ranks = static_cast<std::uint32_t>(job.set.ranks.size());
  program.groups.push_back({program.ranks, 1, {}, {}});
  TRY_ASSIGN(program.streams, count_streams(job.set, job.calls));
  StreamNumbers streams;
  std::vector<std::size_t> next_call(job.calls.communicators().size(), 0);
  std::vector<StepId> waits;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const traces::ChakraNode& node = graph.nodes[n];
    waits.clear();
    for (const std::uint32_t dep : graph.deps_of(n)) waits.emplace_back(dep);
    if (is_collective(node)) {
      const std::uint32_t c = job.calls.communicator_of(0, node);
      const ChakraCall& call = job.calls.communicators()[c].calls[next_call[c]++];
      program.add({streams.of(node, c), engine::Row(call.cost.mean.ps()), 0}, waits);
    } else {
      TRY_ASSIGN(engine::Row row, work_row(job, n));
      program.add({streams.of(node, 0), std::move(row), engine::Step::kNoGroup}, waits);
    }
  }
  return program;
}

bool uniform(const engine::Timeline& t) {
  const auto all = [](const auto& rows) {
    return std::all_of(rows.begin(), rows.end(), [](const engine::Row& row) { return row.uniform(); });
  };
  return all(t.ready) && all(t.start) && all(t.end);
}

}  // namespace

Result<ChakraPlay> play_rows(const ChakraJob& job) {
  TRY_ASSIGN(const engine::Program program, program_of(job));
  TRY_ASSIGN(const engine::Timeline timeline, engine::evaluate_rows(program));
  TRY(engine::verify(program, timeline));
  ChakraPlay out;
  out.rows = true;
  out.makespan = timeline.makespan;
  out.digest = timeline.digest;
  out.steps = std::uint64_t{program.ranks} * program.steps.size();
  for (std::uint32_t r = 0; r < (uniform(timeline) ? 1 : program.ranks); ++r) {
    out.ranks.push_back(breakdown(job.set.graphs[0], timeline.makespan.ps(), [&](std::uint32_t n) {
      const StepId s(n);
      return engine::StepTimes{timeline.ready[s].at(r), timeline.start[s].at(r), timeline.end[s].at(r)};
    }));
  }
  return out;
}

}  // namespace distsim::chakra
