#include "sim/workload/llm/pipeline_schedule.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace distsim::workload {
namespace {

/// Forward passes of a stage before its first backward pass.
std::int64_t warm_up(const PipelineShape& shape, std::uint32_t stage) {
  const std::int64_t after = shape.stages - 1 - stage;
  switch (shape.schedule) {
    case PipelineSchedule::gpipe:
      return shape.micro_batches;
    case PipelineSchedule::automatic:
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zero_bubble:
    case PipelineSchedule::dualpipe:
      return std::min(after, shape.micro_batches);
    case PipelineSchedule::interleaved:
      return std::min(2 * after + std::int64_t{shape.virtual_stages - 1} * shape.stages,
                      shape.micro_batches * shape.virtual_stages);
  }
  CHECK(false) << "schedule " << static_cast<int>(shape.schedule);
  return 0;
}

/// The k-th forward or backward pass of any stage: `stages` micro-batches go through a chunk, then through the next;
/// backward the last chunk comes first.
StagePass nth_pass(const PipelineShape& shape, std::int64_t k, bool backward) {
  const std::int64_t round = std::int64_t{shape.stages} * shape.virtual_stages;
  if (shape.virtual_stages == 1) return {backward, 0, k};
  const auto chunk = static_cast<std::uint32_t>(k % round / shape.stages);
  return {backward, backward ? shape.virtual_stages - 1 - chunk : chunk, k / round * shape.stages + k % shape.stages};
}

/// Which passes have been run, by direction, chunk of the model and micro-batch.
class Done {
 public:
  explicit Done(const PipelineShape& shape)
      : shape_(shape),
        done_(2 * std::size_t{shape.stages} * shape.virtual_stages * static_cast<std::size_t>(shape.micro_batches)) {}

  /// Has everything that the turn needs been run, but what it runs itself?
  bool can_run(StageTurn turn, std::uint32_t stage) const {
    return can_run(turn.front(), stage, nullptr) && (turn.size() == 1 || can_run(turn.back(), stage, &turn.front()));
  }
  void run(const StagePass& pass, std::uint32_t stage) {
    done_[index(pass.backward, pass.chunk * shape_.stages + stage, pass.micro_batch)] = true;
  }

 private:
  bool can_run(const StagePass& pass, std::uint32_t stage, const StagePass* before) const {
    const std::uint32_t chunk = pass.chunk * shape_.stages + stage;
    if (!pass.backward) return chunk == 0 || done_[index(false, chunk - 1, pass.micro_batch)];
    const bool just_run = before != nullptr && before->chunk == pass.chunk && before->micro_batch == pass.micro_batch;
    return (just_run || done_[index(false, chunk, pass.micro_batch)]) &&
           (chunk == shape_.last_chunk() || done_[index(true, chunk + 1, pass.micro_batch)]);
  }
  std::size_t index(bool backward, std::uint32_t chunk, std::int64_t micro_batch) const {
    return ((backward ? 1 : 0) * std::size_t{shape_.last_chunk() + 1} + chunk) *
               static_cast<std::size_t>(shape_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }
  const PipelineShape& shape_;
  std::vector<bool> done_;
};

}  // namespace

std::vector<StagePass> passes_of(const PipelineShape& shape, std::uint32_t stage) {
  const std::int64_t all = shape.micro_batches * shape.virtual_stages, first = warm_up(shape, stage);
  std::vector<StagePass> out;
  out.reserve(static_cast<std::size_t>(2 * all));
  for (std::int64_t k = 0; k < first; ++k) out.push_back(nth_pass(shape, k, false));
  for (std::int64_t k = first; k < all; ++k) {
    out.push_back(nth_pass(shape, k, false));
    out.push_back(nth_pass(shape, k - first, true));
  }
  for (std::int64_t k = all - first; k < all; ++k) out.push_back(nth_pass(shape, k, true));
  return out;
}

void for_each_wave(const PipelineShape& shape, const std::function<void(std::span<const StageTurn>)>& visit) {
  std::vector<std::vector<StagePass>> passes;
  for (std::uint32_t s = 0; s < shape.stages; ++s) passes.push_back(passes_of(shape, s));
  std::vector<std::size_t> next(shape.stages, 0);
  std::vector<StageTurn> wave(shape.stages);
  const auto turn_of = [&](std::uint32_t s) {
    if (next[s] >= passes[s].size()) return StageTurn();
    const bool steady = static_cast<std::int64_t>(next[s]) >= warm_up(shape, s) && !passes[s][next[s]].backward;
    return StageTurn(passes[s]).subspan(next[s], steady && shape.schedule == PipelineSchedule::interleaved ? 2 : 1);
  };
  Done done(shape);
  while (next[0] < passes[0].size()) {  // the first stage ends last
    bool any = false;
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      const StageTurn turn = turn_of(s);
      wave[s] = !turn.empty() && done.can_run(turn, s) ? turn : StageTurn();
      any = any || !wave[s].empty();
    }
    CHECK(any) << "no stage can proceed";
    visit(wave);
    for (std::uint32_t s = 0; s < shape.stages; ++s) {
      for (const StagePass& pass : wave[s]) done.run(pass, s);
      next[s] += wave[s].size();
    }
  }
}

std::int64_t most_held(const PipelineShape& whole, std::uint32_t stage, std::span<const std::int64_t> bytes_of_chunk) {
  // All but gpipe hold most by the end of the round after the warm-up, which takes two at most; later ones are like it.
  constexpr std::int64_t kRounds = 3;
  PipelineShape shape = whole;
  if (shape.schedule != PipelineSchedule::gpipe)
    shape.micro_batches = std::min(shape.micro_batches, kRounds * shape.stages);
  std::int64_t held = 0, most = 0;
  for (const StagePass& pass : passes_of(shape, stage)) {
    held += pass.backward ? -bytes_of_chunk[pass.chunk] : bytes_of_chunk[pass.chunk];
    most = std::max(most, held);
  }
  return most;
}

double ideal_bubble(const PipelineShape& shape) {
  const double others = shape.stages - 1.0;
  return others / (static_cast<double>(shape.micro_batches) * shape.virtual_stages + others);
}

}  // namespace distsim::workload
