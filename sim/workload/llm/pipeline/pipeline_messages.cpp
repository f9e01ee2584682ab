#include "sim/workload/llm/pipeline/pipeline_messages.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace distsim::workload {
namespace {

constexpr std::uint8_t kUp = 1, kDown = 2;  // over a boundary: to the next stage, and back

enum class MessageWay : std::uint8_t { forward, backward, both };

std::string_view way_name(MessageWay way) {
  switch (way) {
    case MessageWay::forward:
      return "pipeline.forward";
    case MessageWay::backward:
      return "pipeline.backward";
    case MessageWay::both:
      return "pipeline.both_ways";
  }
  return "";
}

}  // namespace

std::uint32_t PipelineMessages::table_of(const std::vector<bool>& takes_part) {
  if (std::find(takes_part.begin(), takes_part.end(), false) == takes_part.end()) return graph::Task::kUniform;
  std::vector<std::uint32_t> variant;
  for (const bool takes : takes_part) variant.push_back(takes ? 0 : 1);
  return table_of(variant);
}

std::uint32_t PipelineMessages::table_of(const std::vector<std::uint32_t>& of_stage) {
  const auto [it, is_new] = tables_.try_emplace(of_stage);
  if (is_new) it->second = graph_.add_rank_table(of_stage);
  return it->second;
}

bool PipelineMessages::crosses_nodes(std::uint32_t boundary) const {
  const std::uint32_t width = grid_.alike();
  if (width >= gpus_per_node_) return true;
  for (std::uint32_t time = 0; time < grid_.repeats(); ++time) {
    const std::uint32_t from = grid_.run_of(boundary, time) * width,
                        to = grid_.run_of((boundary + 1) % stages_, time) * width;
    for (std::uint32_t i = 0; i < width; ++i) {
      if ((from + i) / gpus_per_node_ != (to + i) / gpus_per_node_) return true;
    }
  }
  return false;
}

/// A stage's two boundaries use different streams, so that it sends and receives at once; where the number of stages
/// is odd, the way back to the first stage needs a third one.
graph::Stream PipelineMessages::stream_of(std::uint32_t boundary) const {
  const bool third = stages_ % 2 == 1 && boundary + 1 == stages_;
  return graph::Stream::p2p.lane(third ? 2 : static_cast<std::uint8_t>(boundary % 2));
}

PipelineMessages::Pairs PipelineMessages::make_pairs(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& stages) {
  graph::Partition groups;
  groups.each = grid_.alike();
  groups.listed_offsets = {0};
  std::vector<bool> takes_part(stages_, false);
  const auto close = [&] { groups.listed_offsets.push_back(static_cast<std::uint32_t>(groups.listed_members.size())); };
  for (const auto& [a, b] : stages) takes_part[a] = takes_part[b] = true;
  for (std::uint32_t time = 0; time < grid_.repeats(); ++time) {
    for (const auto& [a, b] : stages) {
      groups.listed_members.push_back(grid_.run_of(std::min(a, b), time));
      groups.listed_members.push_back(grid_.run_of(std::max(a, b), time));
      close();
    }
    for (std::uint32_t s = 0; s < stages_; ++s) {
      if (takes_part[s]) continue;
      groups.listed_members.push_back(grid_.run_of(s, time));
      close();
    }
  }
  return {graph_.add_partition(groups), table_of(takes_part)};
}

const PipelineMessages::Pairs& PipelineMessages::pairs_of(const Boundaries& boundaries) {
  const auto [it, is_new] = pairs_.try_emplace(boundaries);
  if (!is_new) return it->second;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stages;
  for (const std::uint32_t b : boundaries) stages.emplace_back(b, (b + 1) % stages_);
  return it->second = make_pairs(stages);
}

std::vector<TaskId> PipelineMessages::exchange(const PipelineShape& shape, std::span<const StageTurn> wave,
                                               const graph::Collective& message, Ways ways,
                                               std::span<const TaskId> deps) {
  std::vector<std::uint8_t> sent_over(stages_, 0);  // by boundary
  for (std::uint32_t s = 0; s < stages_; ++s) {
    for (const StagePass& pass : wave[s]) {
      const std::uint32_t at = shape.position(s, pass.chunk);
      if (ways.backward && hands_back(pass.way) && at > 0) sent_over[(s + stages_ - 1) % stages_] |= kDown;
      if (ways.forward && pass.way == Way::forward && at < shape.last_position()) sent_over[s] |= kUp;
    }
  }
  const auto [known, is_new] = sent_.try_emplace({message.bytes, std::move(sent_over)});
  if (is_new) return known->second = send_first(known->first.second, message, deps);
  std::vector<TaskId> sent;
  sent.reserve(known->second.size());
  for (const TaskId like : known->second) sent.push_back(graph_.add_like(like, deps));
  return sent;
}

std::vector<TaskId> PipelineMessages::send_first(const std::vector<std::uint8_t>& ways,
                                                 const graph::Collective& message, std::span<const TaskId> deps) {
  std::map<std::tuple<graph::Stream, MessageWay, bool>, Boundaries> sets;
  for (std::uint32_t b = 0; b < stages_; ++b) {
    if (ways[b] == 0) continue;
    const MessageWay way = ways[b] == (kUp | kDown) ? MessageWay::both
                           : ways[b] == kUp         ? MessageWay::forward
                                                    : MessageWay::backward;
    sets[{stream_of(b), way, crosses_nodes(b)}].push_back(b);
  }
  std::vector<TaskId> sent;
  for (const auto& [key, boundaries] : sets) {
    const auto& [stream, way, crosses] = key;
    const Pairs& pairs = pairs_of(boundaries);
    graph::TaskGraphBuilder::Options options{
        stream, way == MessageWay::backward ? graph::Phase::backward : graph::Phase::forward, {1, 1}};
    options.skipped_where_absent = pairs.table != graph::Task::kUniform;
    options.between_stages = true;
    sent.push_back(graph_.add_collective(way_name(way), options, message, pairs.groups, deps, pairs.table));
  }
  return sent;
}

TaskId PipelineMessages::send(std::uint32_t boundary, Way way, bool to_both, const graph::Collective& message,
                              std::span<const TaskId> deps) {
  const bool back = hands_back(way);
  const auto [known, is_new] = sent_alone_.try_emplace({boundary, back, to_both});
  if (!is_new) return graph_.add_like(known->second, deps);
  const Pairs& pairs = pairs_of({boundary});
  graph::TaskGraphBuilder::Options options{
      stream_of(boundary), back ? graph::Phase::backward : graph::Phase::forward, {1, 1}};
  options.skipped_where_absent = pairs.table != graph::Task::kUniform;
  options.between_stages = true;
  const MessageWay name = to_both ? MessageWay::both : back ? MessageWay::backward : MessageWay::forward;
  return known->second = graph_.add_collective(way_name(name), options, message, pairs.groups, deps, pairs.table);
}

TaskId PipelineMessages::sum_of_two(std::string_view name, graph::Stream stream, const graph::Collective& sum,
                                    std::pair<std::uint32_t, std::uint32_t> stages, std::span<const TaskId> deps) {
  const Pairs pairs = make_pairs({stages});
  graph::TaskGraphBuilder::Options options{stream, graph::Phase::gradient_sync, {1, 1}};
  options.skipped_where_absent = pairs.table != graph::Task::kUniform;
  options.between_stages = true;
  return graph_.add_collective(name, options, sum, pairs.groups, deps, pairs.table);
}

TaskId PipelineMessages::sum_of_ends(std::string_view name, graph::Stream stream, const graph::Collective& sum,
                                     std::span<const TaskId> deps) {
  return sum_of_two(name, stream, sum, {0, stages_ - 1}, deps);
}

}  // namespace distsim::workload
