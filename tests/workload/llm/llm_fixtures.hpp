// Small language models, and what their graphs exchange.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/workload/llm/llm_spec.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {

/// Blocks of width 64, 4 heads, 32 tokens, 128 words; 16 bit; micro-batches of 4.
inline ModelSpec small_llm(std::int64_t layers, std::int64_t batch) {
  ModelSpec m;
  m.name = "small";
  m.family = find_family("llm");
  m.global_batch = batch;
  m.precision = Precision::bf16;
  m.optimizer = graph::OptimizerKind::adam;
  LlmSpec& s = m.as<LlmSpec>();
  s.layers = layers;
  s.hidden = 64;
  s.heads = 4;
  s.sequence = 32;
  s.vocabulary = 128;
  s.bias = LlmBias::all;
  s.tied_embeddings = true;
  m.parallel.micro_batch = 4;
  m.parallel.recompute.kind = RecomputeKind::none;
  return m;
}
constexpr std::int64_t kActivations = 4 * 32 * 64 * 2;  // micro-batch x tokens x width x 2 bytes

inline Result<Workload> build_llm(const ModelSpec& m, std::uint32_t nodes = 2, const FrameworkSpec& framework = {}) {
  return build_workload(m, framework, {nodes, 8, Bytes(80'000'000'000)});
}
inline Workload built_llm(const ModelSpec& m, std::uint32_t nodes = 2, const FrameworkSpec& framework = {}) {
  auto w = build_llm(m, nodes, framework);
  EXPECT_TRUE(w.ok()) << w.error().text();
  return *std::move(w);
}

/// That `m`, changed, is refused with a text that contains `message`.
template <class Change>
void expect_refused(ModelSpec m, Change change, const std::string& message) {
  change(m);
  const auto w = build_llm(m);
  ASSERT_FALSE(w.ok()) << message;
  EXPECT_NE(w.error().text().find(message), std::string::npos) << w.error().text();
}

inline bool takes_part(const graph::TaskGraph& g, TaskId t, std::uint32_t rank) {
  return !std::holds_alternative<graph::Absent>(g.ops[OpId(g.tasks[t].first_op.value() + g.variant_of(t, rank))]);
}

/// Calls visit(task, members) for every group of more than one that takes part in a collective.
template <class Visit>
void for_each_group(const graph::TaskGraph& g, Visit visit) {
  for (TaskId t(0); t < g.tasks.end_id(); t = TaskId(t.value() + 1)) {
    if (!g.tasks[t].partition.valid()) continue;
    const graph::Partition p = graph::listed_by_rank(g.partitions[g.tasks[t].partition]);
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    for (std::uint32_t r = 0; r < g.ranks && p.listed_offsets.empty(); ++r)
      groups[r / (p.size * p.stride) * p.stride + r % p.stride].push_back(r);
    for (std::uint32_t i = 0; i + 1 < p.listed_offsets.size(); ++i)
      groups[i].assign(p.listed_members.begin() + p.listed_offsets[i],
                       p.listed_members.begin() + p.listed_offsets[i + 1]);
    for (const auto& [number, members] : groups) {
      if (members.size() > 1 && takes_part(g, t, members.front())) visit(g.tasks[t], members);
    }
  }
}

/// Bytes that rank 0 exchanges in an iteration, by name of the task.
inline std::map<std::string, std::int64_t> bytes_of_first_rank(const Workload& w) {
  std::map<std::string, std::int64_t> out;
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (members.front() != 0) return;
    const auto& c = std::get<graph::Collective>(w.graph.ops[task.first_op]);
    out[w.graph.names[task.name]] += c.bytes * c.times;
  });
  return out;
}

}  // namespace distsim::workload
