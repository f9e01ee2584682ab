#include "sim/study/plan/layouts/layout_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "sim/workload/specs/step_mode.hpp"

namespace distsim::study {
namespace {

using graph::CollectiveKind;
using workload::LlmPlan;
using workload::mode_of;
using workload::ParallelSpec;
using workload::PipelineSchedule;
using workload::Recompute;
using workload::RecomputeKind;
using workload::StateSplit;
using workload::StepMode;

/// What rounding of durations to picoseconds can take from a sum.
constexpr double kRounding = 1 - 1e-6;
/// Rounds of micro-batches that the shorter of the two plays has, of which longer iterations are made.
constexpr std::int64_t kFewestRounds = 3;
/// Kinds of chunks with as many blocks, away from the ends of the model: dense blocks and experts mixed.
constexpr double kKindsOfChunks = 1;

/// Blocks of each chunk; empty where the division is left to the predictor.
std::vector<std::int64_t> blocks_of_chunks(const ParallelSpec& p, std::int64_t layers) {
  if (!p.stage_layers.empty()) return p.stage_layers;
  const std::int64_t n = p.pipeline * p.virtual_stages;
  if (layers % n != 0) return {};
  return std::vector<std::int64_t>(static_cast<std::size_t>(n), layers / n);
}

/// Of each chunk, how many of its first blocks are computed again.
std::vector<std::int64_t> repeated_blocks(const ParallelSpec& p, const std::vector<std::int64_t>& blocks) {
  const Recompute& r = p.recompute;
  if (r.kind == RecomputeKind::none || r.kind == RecomputeKind::automatic || r.kind == RecomputeKind::every_second)
    return std::vector<std::int64_t>(blocks.size(), 0);
  return r.layers == 0 ? blocks : workload::recomputed_blocks(p, blocks);
}

/// `t` without what runs beside the kernels of another micro-batch.
LayerTimes without_wires(LayerTimes t) {
  for (std::size_t i = 0; i < t.forward.size(); ++i) {
    t.forward[i] -= t.forward_wires[i];
    t.backward[i] -= t.backward_wires[i];
    t.backward_again[i] -= t.backward_wires[i];
  }
  t.head_forward -= t.end_forward_wires;  // of both ends; a stage of dualpipe with one of them has the other, too
  t.head_backward -= t.end_wires;
  return t;
}

struct ChunkSeconds {
  double forward = 0, backward = 0;
};

ChunkSeconds seconds_of_chunk(const LayerTimes& t, std::int64_t first, std::int64_t blocks, std::int64_t again,
                              bool is_first, bool is_last) {
  const auto a = static_cast<std::size_t>(first), middle = static_cast<std::size_t>(first + again),
             b = static_cast<std::size_t>(first + blocks);
  ChunkSeconds out{t.forward[b] - t.forward[a],
                   t.backward_again[middle] - t.backward_again[a] + t.backward[b] - t.backward[middle]};
  if (is_first) out.forward += t.embedding_forward, out.backward += t.embedding_backward;
  if (is_last) out.forward += t.head_forward, out.backward += t.head_backward;
  return out;
}

/// Longest chain through one stage. `fills`: it waits for the first micro-batch, and the first stage for the last one on its
/// way back. Without a way back nothing does: the first stage goes on with the next iteration.
double longest_stage(const std::vector<ChunkSeconds>& chunks, std::size_t stages, double micro_steps, bool fills) {
  double longest = 0, before = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    double work = 0;
    for (std::size_t c = s; c < chunks.size(); c += stages) work += chunks[c].forward + chunks[c].backward;
    longest = std::max(longest, before + micro_steps * work);
    if (fills) before += chunks[s].forward + chunks[s].backward;
  }
  return longest;
}

/// Whether a stage has done all of its work when the first stage has the last micro-batch back. Where gradients of weights are
/// computed apart, a stage does those of the last micro-batches while the first one already goes on.
bool empties(PipelineSchedule schedule) {
  return schedule != PipelineSchedule::zero_bubble && schedule != PipelineSchedule::dualpipe;
}

/// Under dualpipe a stage has a chunk of either way, and each takes half of the micro-batches; a forward pass of one way runs beside
/// a backward pass of the other.
double longest_stage_both_ways(const std::vector<ChunkSeconds>& chunks, double micro_steps) {
  double longest = 0;
  for (std::size_t s = 0; s < chunks.size(); ++s) {
    const ChunkSeconds &down = chunks[s], &up = chunks[chunks.size() - 1 - s];
    longest = std::max(longest, down.forward + down.backward + up.forward + up.backward);
  }
  return std::floor(micro_steps / 2) * longest;
}

double longest_chain(const LayerTimes& of_parts, const ParallelSpec& p, double micro_steps, bool fills) {
  LayerTimes apart;
  const LayerTimes& times = p.schedule == PipelineSchedule::dualpipe ? (apart = without_wires(of_parts)) : of_parts;
  const auto layers = static_cast<std::int64_t>(times.forward.size()) - 1;
  const std::vector<std::int64_t> blocks = blocks_of_chunks(p, layers);
  if (blocks.empty()) {  // the mean of the stages
    const ChunkSeconds all = seconds_of_chunk(times, 0, layers, 0, true, true);
    return micro_steps * (all.forward + all.backward) / static_cast<double>(p.pipeline) * kRounding;
  }
  const std::vector<std::int64_t> again = repeated_blocks(p, blocks);
  std::vector<ChunkSeconds> chunks;
  std::int64_t first = 0;
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    if (first + blocks[c] > layers) return 0;  // refused by the predictor
    chunks.push_back(seconds_of_chunk(times, first, blocks[c], again[c], c == 0, c + 1 == blocks.size()));
    first += blocks[c];
  }
  if (chunks.size() < static_cast<std::size_t>(p.pipeline)) return 0;
  if (p.schedule == PipelineSchedule::dualpipe) return longest_stage_both_ways(chunks, micro_steps) * kRounding;
  return longest_stage(chunks, static_cast<std::size_t>(p.pipeline), micro_steps, fills) * kRounding;
}

}  // namespace

/// How a layout shares weights among replicas.
struct LayoutBound::Exchanged {
  std::uint32_t tensor = 1, group = 1, replicas = 1, expert_stride = 1, expert_replicas = 1;
  graph::DType dtype = graph::DType::fp32;
  workload::RankGrid grid;
};

LayoutBound::LayoutBound(const config::Experiment& experiment, const LayoutSpace& space,
                         std::shared_ptr<const pipeline::CostModels> models)
    : experiment_(experiment),
      space_(space),
      pricer_(experiment, std::move(models)),
      parameters_(parameters_of(workload::as_run<workload::LlmSpec>(space.model())).all) {}

/// Share of the optimizer in the kernel time of what is played, at most, where no replica shares it. A wave of a pipeline
/// counts each kind of chunk with one part in as many as there are kinds.
Result<double> LayoutBound::optimizer_share(const LlmPlan& settled, const ParallelSpec& p, std::int64_t micro_steps,
                                            const std::vector<std::int64_t>& blocks, double kernels) {
  if (mode_of(space_.model()) != StepMode::train) return 0.0;
  const std::int64_t expert_split = settled.expert * settled.expert_tensor;
  const auto split = static_cast<double>(settled.spec.experts > 0 ? std::min<std::int64_t>(settled.tensor, expert_split)
                                                                  : settled.tensor);
  const auto layers = static_cast<double>(space_.block_weights().size());
  const double of_stage =
      blocks.empty() ? 1 : static_cast<double>(*std::ranges::max_element(blocks) * p.virtual_stages) / layers;
  const double ends = 2 * double(settled.spec.vocabulary) * double(settled.spec.hidden) / parameters_;
  TRY_ASSIGN(const LayerPricer::UpdateSeconds of_update,
             pricer_.update(std::llround(parameters_ / split * std::min(1.0, of_stage + ends))));
  const double update = of_update.norm + of_update.step;
  const bool pipelined = p.pipeline > 1;
  const std::set<std::int64_t> sizes(blocks.begin(), blocks.end());
  const double kinds = pipelined ? static_cast<double>(sizes.size()) * kKindsOfChunks + 3 : 1;
  const double played = double(pipelined ? std::min(micro_steps, kFewestRounds * p.pipeline) : micro_steps);
  const double compute = played * kernels / double(p.pipeline) / kinds;
  return update / (update + compute);
}

std::int64_t LayoutBound::micro_steps_of(const ParallelSpec& p) const {
  const std::int64_t round = std::int64_t{batching_of(p, space_.cluster().ranks()).replicas} * p.micro_batch;
  return std::max<std::int64_t>(1, space_.batch() / round);
}

Result<const LayerTimes*> LayoutBound::times_of(const LlmPlan& settled, const ParallelSpec& p, std::int64_t casts,
                                                bool sums) {
  const std::int64_t micro_steps = micro_steps_of(p);
  const std::vector<std::int64_t> blocks =
      blocks_of_chunks(p, static_cast<std::int64_t>(space_.block_weights().size()));
  TRY_ASSIGN(LayerPricer::Parts * parts, pricer_.parts(settled, p, micro_steps, casts, sums));
  TRY_ASSIGN(const double share, optimizer_share(settled, p, micro_steps, blocks, LayerPricer::kernel_seconds(*parts)));
  return pricer_.times(*parts, share);
}

/// Where replicas share the weights, each micro-step has its own, and whole gradients may be summed nowhere where they
/// share those; the least of what the levels of sharding make.
Result<double> LayoutBound::of_shape(const LlmPlan& settled, const ParallelSpec& p) {
  const std::int64_t replicas = std::int64_t{batching_of(p, space_.cluster().ranks()).replicas} * p.context;
  std::set<std::pair<std::int64_t, bool>> ways;
  for (const StateSplit level : space_.levels(replicas)) {
    const StateSplit settled_level = level == StateSplit::automatic ? experiment_.framework.parallel.shard : level;
    const bool splits = replicas > 1 && p.pipeline == 1;
    const std::int64_t casts = splits && settled_level == StateSplit::weights ? 1 : micro_steps_of(p);
    ways.emplace(casts, casts > 1 && !(splits && settled_level >= StateSplit::gradients));
  }
  const bool fills = mode_of(space_.model()) != StepMode::inference && empties(p.schedule);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [casts, sums] : ways) {
    TRY_ASSIGN(const LayerTimes* times, times_of(settled, p, casts, sums));
    least = std::min(least, longest_chain(*times, p, static_cast<double>(micro_steps_of(p)), fills));
  }
  return least;
}

Result<double> LayoutBound::over_replicas(const Exchanged& x, CollectiveKind kind, double dense, double expert) {
  double sum = 0;
  const auto add = [&](CollectiveKind of, double bytes, std::uint32_t size, std::uint32_t stride) -> Result<void> {
    if (size < 2 || bytes < 1) return {};
    TRY_ASSIGN(const double seconds,
               pricer_.collective(of, std::llround(bytes), x.dtype, x.grid.first_group(size, stride)));
    sum += seconds;
    return {};
  };
  TRY(add(kind, dense, x.group, x.tensor));
  if (x.group < x.replicas && kind != CollectiveKind::all_gather)
    TRY(add(CollectiveKind::all_reduce, kind == CollectiveKind::reduce_scatter ? dense / x.group : dense,
            x.replicas / x.group, x.tensor * x.group));
  TRY(add(kind, expert, x.expert_replicas, x.expert_stride));
  return sum;
}

/// Without an optimizer neither norm nor update is run, and what it holds split is gathered by no one; weights that are
/// split themselves may come while the iteration before still computes. A forward pass alone has no gradients either.
Result<double> LayoutBound::of_replicas(const LlmPlan& plan, const ParallelSpec& layout) {
  const StepMode mode = mode_of(space_.model());
  if (mode == StepMode::inference) return 0.0;
  const workload::FrameworkSpec& f = experiment_.framework;
  const std::uint32_t replicas = plan.replicas();
  const bool split = plan.splits(StateSplit::optimizer);
  const auto given = static_cast<std::uint32_t>(std::clamp<std::int64_t>(layout.shard_group, 0, replicas));
  const Exchanged x{plan.tensor,
                    given == 0 || !split ? replicas : given,
                    replicas,
                    plan.expert * plan.expert_tensor,
                    plan.expert_replicas(),
                    plan.numerics.gradient,
                    plan.grid};
  double dense = 0, expert = 0, largest = 0;  // trained
  for (std::uint32_t c = 0; c < plan.pipeline.virtual_stages; ++c) {
    const workload::PartWork& w = plan.chunk_of_stage(0, c).work;
    dense += w.trained_dense, expert += w.trained_expert;
  }
  for (const workload::LlmChunk& kind : plan.kinds) largest = std::max(largest, kind.work.trained());
  const double groups = static_cast<double>(replicas) / x.group;
  const double expert_owners = std::max(1.0, plan.expert_replicas() / groups);
  const double updated = dense / (split ? x.group : 1) + expert / (split ? expert_owners : 1);
  LayerPricer::UpdateSeconds update;
  if (mode == StepMode::train) {
    TRY_ASSIGN(update, pricer_.update(std::llround(updated)));
  }
  double sum = update.norm + update.step;
  if (plan.gathers_each_pass()) return sum * kRounding;
  const double bucket = static_cast<double>(f.gradients.bucket_size.value()) / 4;
  const auto open = [&](bool overlaps, double parameters) {
    return overlaps ? 1 / std::max(1.0, std::ceil(parameters / bucket)) : 1.0;
  };
  if (split && mode == StepMode::train) {
    const bool narrow = plan.numerics.scaling != graph::Scaling::none && f.parallel.fp8_parameters;
    const double width = !plan.numerics.mixed ? 4 : narrow ? 1 : 2;
    const bool overlaps = is_on(layout.overlap_parameters, f.parallel.overlap_parameters);
    const workload::SharedWeights gathers = gathered_weights(plan, 0);
    TRY_ASSIGN(const double gathered,
               over_replicas(x, CollectiveKind::all_gather, gathers.dense * width * open(overlaps, gathers.dense),
                             gathers.expert * width * open(overlaps, gathers.expert)));
    sum = update.norm + std::max(update.step, gathered);  // nothing holds the gather back until the update is done
  }
  const workload::PartWork& last = plan.chunk_of_stage(0, 0).work;
  const double bytes = static_cast<double>(graph::size_of(plan.numerics.gradient)) *
                       open(is_on(layout.overlap_gradients, f.gradients.overlap), largest);
  TRY_ASSIGN(const double reduced, over_replicas(x, split ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
                                                 last.trained_dense * bytes, last.trained_expert * bytes));
  // Gradients go while the last collectives of the backward pass do.
  TRY_ASSIGN(const LayerTimes* times, times_of(plan, layout, 1, false));
  const std::vector<std::int64_t> blocks =
      blocks_of_chunks(layout, static_cast<std::int64_t>(space_.block_weights().size()));
  const double beside =
      times->end_wires + (blocks.empty()
                              ? times->backward_wires.back()
                              : times->backward_wires[static_cast<std::size_t>(std::min<std::int64_t>(
                                    blocks.front(), static_cast<std::int64_t>(times->backward_wires.size()) - 1))]);
  return (sum + std::max(0.0, reduced - beside)) * kRounding;
}

}  // namespace distsim::study
