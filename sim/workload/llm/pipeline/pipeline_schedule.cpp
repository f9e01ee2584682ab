#include "sim/workload/llm/pipeline/pipeline_schedule.hpp"

#include <algorithm>
#include <deque>

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
StagePass nth_pass(const PipelineShape& shape, std::int64_t k, Way way) {
  const std::int64_t round = std::int64_t{shape.stages} * shape.virtual_stages;
  if (shape.virtual_stages == 1) return {way, 0, k};
  const auto chunk = static_cast<std::uint32_t>(k % round / shape.stages);
  return {way, way == Way::forward ? chunk : shape.virtual_stages - 1 - chunk,
          k / round * shape.stages + k % shape.stages};
}

/// Forward passes ahead, then one of each way in turn. Of a split backward pass the weights come `stage` micro-batches late.
std::vector<StagePass> one_after_the_other(const PipelineShape& shape, std::uint32_t stage) {
  const std::int64_t all = shape.micro_batches * shape.virtual_stages, first = warm_up(shape, stage);
  const bool pairs = shape.schedule == PipelineSchedule::interleaved;
  std::vector<StagePass> out;
  out.reserve(static_cast<std::size_t>(3 * all));
  for (std::int64_t k = 0; k < first; ++k) out.push_back(nth_pass(shape, k, Way::forward));
  for (std::int64_t k = 0; k < all; ++k) {
    if (first + k < all) {
      out.push_back(nth_pass(shape, first + k, Way::forward));
      out.back().with_next = pairs;
    }
    out.push_back(nth_pass(shape, k, shape.splits_backward() ? Way::inputs : Way::backward));
    if (shape.splits_backward() && k >= stage) out.push_back({Way::weights, 0, k - stage});
  }
  for (std::int64_t k = std::max<std::int64_t>(0, all - stage); shape.splits_backward() && k < all; ++k)
    out.push_back({Way::weights, 0, k});
  return out;
}

/// Writes down what a stage of a pipeline runs into which micro-batches enter at both ends. `near` is the direction whose
/// first position is closer.
class BothWays {
 public:
  BothWays(const PipelineShape& shape, std::uint32_t stage)
      : half_(shape.micro_batches / 2),
        inner_(std::min(stage, shape.stages - 1 - stage)),  // stages between this one and the nearer end
        outer_(shape.stages / 2 - 1 - inner_),              // and the middle
        swapped_(stage >= shape.stages / 2) {
    out_.reserve(static_cast<std::size_t>(3 * shape.micro_batches));
  }

  std::vector<StagePass> run(const PipelineShape& shape) && {
    for (std::int64_t i = 0; i < 2 * outer_; ++i) forward(kNear);
    for (std::int64_t i = 0; i <= inner_; ++i) forward(kNear), forward(kFar);
    for (std::int64_t i = 0; i < outer_; ++i) inputs(kFar), weights(), forward(kFar);
    const std::int64_t steady = half_ - shape.stages + inner_ + 1;
    for (std::int64_t i = 0; i < steady; ++i) {
      const bool apart = i == 0 && outer_ == 0;  // the middle stages have nothing of each other yet
      forward(kNear, !apart), backward(kFar);
      forward(kFar, true), backward(kNear);
    }
    for (std::int64_t i = 0; i < outer_; ++i) backward(kFar), forward(kFar, true), backward(kNear);
    end();
    return std::move(out_);
  }

 private:
  enum Direction : std::uint32_t { kNear, kFar };

  /// The second half of the last passes leave their weights to where the stage would wait.
  void end() {
    const std::int64_t passes = 2 * (inner_ + 1), whole = inner_ + 1;
    for (std::int64_t i = 0; i < passes; ++i) {
      const Direction direction = i % 2 == 0 ? kFar : kNear;
      i < whole ? backward(direction) : inputs(direction);
    }
    for (std::int64_t i = 0; i < outer_; ++i) weights(), inputs(kNear);
    while (!later_.empty()) weights();
  }

  StagePass next(std::int64_t (&counts)[2], Way way, Direction direction) {
    const std::uint32_t chunk = swapped_ ? 1 - direction : direction;
    return {way, chunk, counts[direction]++ + (chunk == 0 ? 0 : half_)};
  }
  void forward(Direction direction, bool paired = false) {
    out_.push_back(next(forward_, Way::forward, direction));
    out_.back().with_next = paired;
  }
  void backward(Direction direction) { out_.push_back(next(backward_, Way::backward, direction)); }
  void inputs(Direction direction) {
    out_.push_back(next(backward_, Way::inputs, direction));
    later_.push_back(out_.back());
    later_.back().way = Way::weights;
  }
  void weights() {
    out_.push_back(later_.front());
    later_.pop_front();
  }

  const std::int64_t half_, inner_, outer_;
  const bool swapped_;
  std::int64_t forward_[2] = {0, 0}, backward_[2] = {0, 0};
  std::vector<StagePass> out_;
  std::deque<StagePass> later_;
};

/// Which passes have been run, by direction, position and micro-batch.
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
    if (pass.way != Way::weights)
      done_[index(hands_back(pass.way), shape_.position(stage, pass.chunk), pass.micro_batch)] = true;
  }

 private:
  bool can_run(const StagePass& pass, std::uint32_t stage, const StagePass* before) const {
    const std::uint32_t at = shape_.position(stage, pass.chunk);
    if (pass.way == Way::weights) return true;  // after the stage's own gradients of inputs
    if (pass.way == Way::forward) return at == 0 || done_[index(false, at - 1, pass.micro_batch)];
    const bool just_run = before != nullptr && before->chunk == pass.chunk && before->micro_batch == pass.micro_batch;
    return (just_run || done_[index(false, at, pass.micro_batch)]) &&
           (at == shape_.last_position() || done_[index(true, at + 1, pass.micro_batch)]);
  }
  std::size_t index(bool backward, std::uint32_t position, std::int64_t micro_batch) const {
    return ((backward ? 1 : 0) * std::size_t{shape_.last_position() + 1} + position) *
               static_cast<std::size_t>(shape_.micro_batches) +
           static_cast<std::size_t>(micro_batch);
  }
  const PipelineShape& shape_;
  std::vector<bool> done_;
};

}  // namespace

std::vector<StagePass> passes_of(const PipelineShape& shape, std::uint32_t stage) {
  return shape.both_ways() ? BothWays(shape, stage).run(shape) : one_after_the_other(shape, stage);
}

void for_each_wave(const PipelineShape& shape, const std::function<void(std::span<const StageTurn>)>& visit) {
  std::vector<std::vector<StagePass>> passes;
  for (std::uint32_t s = 0; s < shape.stages; ++s) passes.push_back(passes_of(shape, s));
  std::vector<std::size_t> next(shape.stages, 0);
  std::vector<StageTurn> wave(shape.stages);
  const auto turn_of = [&](std::uint32_t s) {
    if (next[s] >= passes[s].size()) return StageTurn();
    return StageTurn(passes[s]).subspan(next[s], passes[s][next[s]].with_next ? 2 : 1);
  };
  const auto ended = [&](std::uint32_t s) { return next[s] >= passes[s].size(); };
  Done done(shape);
  for (std::uint32_t running = 0; running < shape.stages;) {
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
    while (running < shape.stages && ended(running)) ++running;
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
    if (pass.way == Way::inputs) continue;
    held += pass.way == Way::forward ? bytes_of_chunk[pass.chunk] : -bytes_of_chunk[pass.chunk];
    most = std::max(most, held);
  }
  return most;
}

double ideal_bubble(const PipelineShape& shape) {
  const double p = shape.stages, m = static_cast<double>(shape.micro_batches);
  if (shape.both_ways()) return (p - 2) / (3 * m + p - 2);
  if (shape.splits_backward()) return (p - 1) / (3 * m + p - 1);
  return (p - 1) / (m * shape.virtual_stages + p - 1);
}

}  // namespace distsim::workload
