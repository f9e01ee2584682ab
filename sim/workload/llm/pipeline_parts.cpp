#include "sim/workload/llm/pipeline_parts.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace distsim::workload {
namespace {

enum class Way : std::uint8_t { forward, backward, both };

std::string_view way_name(Way way) {
  switch (way) {
    case Way::forward:
      return "pipeline.forward";
    case Way::backward:
      return "pipeline.backward";
    case Way::both:
      return "pipeline.both_ways";
  }
  return "";
}

}  // namespace

std::optional<std::uint32_t> PipelineParts::table_of(const Stages& takes_part) {
  if (std::find(takes_part.begin(), takes_part.end(), true) == takes_part.end()) return {};
  if (std::find(takes_part.begin(), takes_part.end(), false) == takes_part.end()) return graph::Task::kUniform;
  const auto [it, is_new] = tables_.try_emplace(takes_part);
  if (is_new) {
    std::vector<std::uint32_t> table(std::size_t{stages_} * width_);
    for (std::size_t r = 0; r < table.size(); ++r) table[r] = takes_part[r / width_] ? 0 : 1;
    it->second = it_.table_of(std::move(table));
  }
  return it->second;
}

bool PipelineParts::crosses_nodes(std::uint32_t boundary) const {
  const std::uint32_t from = boundary * width_, to = (boundary + 1) % stages_ * width_;
  for (std::uint32_t i = 0; i < width_; ++i) {
    if ((from + i) / gpus_per_node_ != (to + i) / gpus_per_node_) return true;
  }
  return false;
}

/// A stage's two boundaries use different streams, so that it sends and receives at once; where the number of stages
/// is odd, the way back to the first stage needs a third one.
graph::Stream PipelineParts::stream_of(std::uint32_t boundary) const {
  const bool third = stages_ % 2 == 1 && boundary + 1 == stages_;
  return graph::Stream::p2p.lane(third ? 2 : static_cast<std::uint8_t>(boundary % 2));
}

const PipelineParts::Pairs& PipelineParts::pairs_of(const Boundaries& boundaries) {
  const auto [it, is_new] = pairs_.try_emplace(boundaries);
  if (!is_new) return it->second;
  graph::Partition groups;
  groups.listed_offsets = {0};
  Stages takes_part(stages_, false);
  const auto close = [&] { groups.listed_offsets.push_back(static_cast<std::uint32_t>(groups.listed_members.size())); };
  for (const std::uint32_t b : boundaries) {
    const std::uint32_t next = (b + 1) % stages_;
    takes_part[b] = takes_part[next] = true;
    for (std::uint32_t i = 0; i < width_; ++i) {
      groups.listed_members.push_back(std::min(b, next) * width_ + i);
      groups.listed_members.push_back(std::max(b, next) * width_ + i);
      close();
    }
  }
  for (std::uint32_t r = 0; r < stages_ * width_; ++r) {
    if (takes_part[r / width_]) continue;
    groups.listed_members.push_back(r);
    close();
  }
  it->second = {it_.add_partition(groups), *table_of(takes_part)};
  return it->second;
}

std::vector<TaskId> PipelineParts::exchange(const PipelineShape& shape, std::span<const StageTurn> wave,
                                            std::int64_t bytes, Ways ways) {
  std::vector<bool> up(stages_, false), down(stages_, false);  // by boundary
  for (std::uint32_t s = 0; s < stages_; ++s) {
    for (const StagePass& pass : wave[s]) {
      const std::uint32_t chunk = pass.chunk * stages_ + s;
      if (ways.backward && pass.backward && chunk > 0) down[(s + stages_ - 1) % stages_] = true;
      if (ways.forward && !pass.backward && chunk < shape.last_chunk()) up[s] = true;
    }
  }
  std::map<std::tuple<graph::Stream, Way, bool>, Boundaries> sets;
  for (std::uint32_t b = 0; b < stages_; ++b) {
    if (!up[b] && !down[b]) continue;
    const Way way = up[b] && down[b] ? Way::both : up[b] ? Way::forward : Way::backward;
    sets[{stream_of(b), way, crosses_nodes(b)}].push_back(b);
  }
  std::vector<TaskId> sent;
  for (const auto& [key, boundaries] : sets) {
    const auto& [stream, way, crosses] = key;
    const Pairs& pairs = pairs_of(boundaries);
    const graph::Collective op{graph::CollectiveKind::send_recv, bytes, it_.numerics().activation, {}, {}};
    sent.push_back(it_.add_between_stages(way_name(way), stream,
                                          way == Way::backward ? graph::Phase::backward : graph::Phase::forward, op,
                                          pairs.groups, pairs.table));
  }
  return sent;
}

TaskId PipelineParts::sum_of_ends(std::string_view name, std::int64_t bytes, graph::DType dtype) {
  const Pairs& ends = pairs_of(stages_ == 2 ? Boundaries{0} : Boundaries{stages_ - 1});
  return it_.add_between_stages(name, kReplicaStream, graph::Phase::gradient_sync,
                                {graph::CollectiveKind::all_reduce, bytes, dtype, {}, {}}, ends.groups, ends.table);
}

}  // namespace distsim::workload
