#include "sim/study/plan/layouts/layout_space.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/workload/specs/step_mode.hpp"

namespace distsim::study {
namespace {

using workload::ContextExchange;
using workload::ParallelSpec;
using workload::PipelineSchedule;
using workload::RankOrder;
using workload::Recompute;
using workload::RecomputeKind;
using workload::StateSplit;

constexpr std::int64_t kLargestMicroBatch = 16, kRecomputeSteps = 4;

/// Chunks, each as full as `most` allows; nothing where they do not suffice.
std::vector<std::int64_t> chunks_within(const std::vector<double>& weights, std::int64_t chunks, double first,
                                        double last, double most) {
  std::vector<std::int64_t> out;
  std::size_t next = 0;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const std::size_t later = static_cast<std::size_t>(chunks - 1 - c);  // a block for each of them
    double sum = (c == 0 ? first : 0) + (c + 1 == chunks ? last : 0);
    std::int64_t taken = 0;
    while (next + later < weights.size() && (taken == 0 || sum + weights[next] <= most)) {
      sum += weights[next++];
      ++taken;
    }
    if (taken == 0 || sum > most) return {};
    out.push_back(taken);
  }
  return next == weights.size() ? out : std::vector<std::int64_t>();
}

template <class T>
void add_own(std::vector<T>& offered, const T& own) {
  if (std::ranges::find(offered, own) == offered.end()) offered.push_back(own);
}

bool has_flash(const workload::FrameworkSpec& f) { return f.kernels.attention == workload::AttentionKernels::flash; }

}  // namespace

std::vector<std::int64_t> balanced_chunks(const std::vector<double>& weights, std::int64_t chunks, double first,
                                          double last) {
  if (chunks < 1 || static_cast<std::size_t>(chunks) > weights.size()) return {};
  double low = 0, high = std::accumulate(weights.begin(), weights.end(), first + last);
  high += high * 1e-9;
  std::vector<std::int64_t> best = chunks_within(weights, chunks, first, last, high);
  constexpr int kHalvings = 40;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    if (auto found = chunks_within(weights, chunks, first, last, middle); !found.empty()) {
      best = std::move(found);
      high = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

LayoutSpace::LayoutSpace(workload::ModelSpec base, workload::FrameworkSpec framework, workload::ClusterShape cluster,
                         std::int64_t batch, LayoutOffer offer, HeldValues held)
    : base_(std::move(base)),
      own_(base_.parallel),
      framework_(std::move(framework)),
      cluster_(cluster),
      batch_(batch),
      offer_(std::move(offer)),
      held_(std::move(held)) {
  ParallelSpec& p = base_.parallel;
  p.stage_layers.clear();
  if (p.offload == workload::Offload::automatic) {
    // What is left open may move more or less of another layout.
    add_own(offloads_, workload::Offload::none);
    const bool may_move = framework_.parallel.offloads != workload::Offload::none;
    if (may_move) add_own(offloads_, p.offload);
    p.offload = workload::Offload::none;
  } else {
    add_own(offloads_, p.offload);
  }
  const auto spec = workload::as_run<workload::LlmSpec>(base_);
  const ParallelSpec whole;
  const workload::LlmShape shape{
      .spec = spec, .parallel = whole, .framework = framework_, .numerics = numerics_of(base_.precision, framework_)};
  const Recompute none{RecomputeKind::none, 0, {}};
  std::map<workload::BlockKind, double> known;
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    workload::BlockKind kind = block_kind(spec, i);
    const auto [it, is_new] = known.try_emplace(kind, 0);
    if (is_new) it->second = block_work(shape, kind, none, false).forward_flops;
    block_weights_.push_back(it->second);
  }
  embedding_weight_ = embedding_work(shape).forward_flops;
  head_weight_ = head_work(shape).forward_flops * static_cast<double>(1 + spec.mtp_layers);
  if (spec.mtp_layers > 0 && !block_weights_.empty())
    head_weight_ += block_weights_.back() * static_cast<double>(spec.mtp_layers);
  for (std::int64_t n = 0; offer_.splits.stage_layers && n <= spec.layers; ++n)
    balanced_.push_back(balanced_chunks(block_weights_, n, embedding_weight_, head_weight_));
}

const std::vector<ParallelSpec>* LayoutSpace::held(std::string_view key) const {
  const auto it = held_.find(key);
  return it == held_.end() ? nullptr : &it->second;
}

template <class T>
std::vector<T> LayoutSpace::values(std::string_view key, T P::*member, std::vector<T> otherwise) const {
  const std::vector<P>* given = held(key);
  if (given == nullptr) return otherwise;
  std::vector<T> out;
  out.reserve(given->size());
  for (const P& p : *given) out.push_back(p.*member);
  return out;
}

/// Divisors, or 1 alone where a framework has none, and the experiment's own.
std::vector<std::int64_t> LayoutSpace::degrees(std::int64_t of, std::int64_t most, bool offered,
                                               std::int64_t own) const {
  std::vector<std::int64_t> out{1};
  for (std::int64_t d = 2; offered && d <= std::min(of, most); ++d) {
    if (of % d == 0) out.push_back(d);
  }
  if (own > 1 && own <= most && of % own == 0) add_own(out, own);
  return out;
}

double LayoutSpace::below_grid() const {
  constexpr std::string_view kOfGrid[] = {"tensor", "context", "pipeline", "expert"};
  double product = 1;
  for (const auto& [key, list] : held_) {
    if (std::ranges::find(kOfGrid, key) == std::end(kOfGrid)) product *= static_cast<double>(list.size());
  }
  return product;
}

std::vector<ParallelSpec> LayoutSpace::grids(SpaceCounts& counts) const {
  const auto& spec = base_.as<workload::LlmSpec>();
  const std::int64_t gpus = cluster_.ranks();
  const OfferedSplits& can = offer_.splits;
  const auto tensors = values("tensor", &P::tensor, degrees(gpus, spec.heads, can.tensor, own_.tensor));
  const auto contexts = values("context", &P::context, degrees(gpus, spec.sequence, can.context, own_.context));
  const auto pipelines = values("pipeline", &P::pipeline, degrees(gpus, spec.layers, can.pipeline, own_.pipeline));
  const auto size = [](const auto& list) { return static_cast<double>(list.size()); };
  const double below = below_grid();
  const auto skip = [&](double combinations) {
    counts.considered += combinations * below;
    counts.undivided += combinations * below;
  };
  std::vector<P> out;
  for (const std::int64_t t : tensors) {
    if (gpus % t != 0) {
      skip(size(contexts) * size(pipelines));
      continue;
    }
    for (const std::int64_t c : contexts) {
      if (gpus / t % c != 0) {
        skip(size(pipelines));
        continue;
      }
      for (const std::int64_t p : pipelines) {
        if (gpus / t / c % p != 0) {
          skip(1);
          continue;
        }
        P grid = base_.parallel;
        grid.tensor = t;
        grid.context = c;
        grid.pipeline = p;
        grid.order = usual_order();
        add_experts(grid, out, counts);
      }
    }
  }
  return out;
}

void LayoutSpace::add_experts(const P& grid, std::vector<P>& out, SpaceCounts& counts) const {
  const auto& spec = base_.as<workload::LlmSpec>();
  const std::int64_t places = cluster_.ranks() / grid.pipeline;
  const auto experts = values(
      "expert", &P::expert,
      degrees(spec.experts, places, offer_.splits.expert && spec.experts > 0, spec.experts > 0 ? own_.expert : 1));
  for (const std::int64_t e : experts) {
    if (e > 1 && (spec.experts % e != 0 || places % e != 0)) {
      counts.considered += below_grid();
      counts.undivided += below_grid();
      continue;
    }
    std::vector<std::int64_t> splits{e > 1 ? 1 : 0};
    if (e > 1 && grid.tensor > 1 && offer_.splits.expert_tensor) splits.push_back(grid.tensor);
    if (e == own_.expert && own_.expert_tensor > 0 && grid.tensor % own_.expert_tensor == 0)
      add_own(splits, own_.expert_tensor);
    std::vector<P> alike;  // one of those that split experts in the same way
    for (const std::int64_t et : values("expert_tensor", &P::expert_tensor, splits)) {
      if (et > 1 && grid.tensor % et != 0) {
        counts.considered += below_grid();
        counts.undivided += below_grid();
        continue;
      }
      P next = grid;
      next.expert = e;
      next.expert_tensor = et;
      const auto same = std::ranges::find_if(alike, [&](const P& one) { return splits_experts_alike(one, next); });
      if (same == alike.end())
        alike.push_back(next);
      else if (et == own_.expert_tensor)
        *same = next;
    }
    for (const P& next : alike) add_exchanges(next, out);
  }
}

bool LayoutSpace::splits_experts_alike(const P& a, const P& b) const {
  if (base_.as<workload::LlmSpec>().experts == 0) return true;
  return a.expert == b.expert && workload::settled_expert_tensor(a) == workload::settled_expert_tensor(b);
}

void LayoutSpace::add_exchanges(P grid, std::vector<P>& out) const {
  std::vector<bool> sequence{false};
  if (grid.tensor > 1 && (offer_.splits.sequence_parallel || own_.sequence_parallel)) sequence.push_back(true);
  sequence = grid.tensor > 1 || held("sequence_parallel") != nullptr
                 ? values("sequence_parallel", &P::sequence_parallel, sequence)
                 : std::vector<bool>{false};
  std::vector<ContextExchange> exchanges{grid.context_exchange};
  if (grid.context > 1 && !offer_.context_exchange.empty()) exchanges = offer_.context_exchange;
  if (grid.context > 1 && own_.context > 1) add_own(exchanges, own_.context_exchange);
  if (grid.context > 1) exchanges = values("context_exchange", &P::context_exchange, exchanges);
  for (const bool s : sequence) {
    for (const ContextExchange x : exchanges) {
      grid.sequence_parallel = s;
      grid.context_exchange = x;
      for (const auto overlap_tensor : values("overlap_tensor", &P::overlap_tensor, {grid.overlap_tensor})) {
        for (const auto overlap_expert : values("overlap_expert", &P::overlap_expert, {grid.overlap_expert})) {
          for (const auto& dispatch : values("expert_dispatch", &P::expert_dispatch, {grid.expert_dispatch})) {
            out.push_back(grid);
            out.back().overlap_tensor = overlap_tensor;
            out.back().overlap_expert = overlap_expert;
            out.back().expert_dispatch = dispatch;
          }
        }
      }
    }
  }
}

std::vector<ParallelSpec> LayoutSpace::shapes(const P& grid) const {
  const std::int64_t replicas = batching_of(grid, cluster_.ranks()).replicas;
  std::vector<std::int64_t> sizes;
  for (std::int64_t m = 1; m <= kLargestMicroBatch && replicas * m <= batch_; m *= 2) sizes.push_back(m);
  if (own_.states_micro_batch && replicas * own_.micro_batch <= batch_) add_own(sizes, own_.micro_batch);
  std::vector<P> out;
  for (const std::int64_t m : values("micro_batch", &P::micro_batch, sizes)) {
    P shape = grid;
    shape.micro_batch = m;
    shape.states_micro_batch = true;
    add_stages(shape, out);
  }
  return out;
}

/// Several chunks of a stage are interleaved; of a single one there are more ways.
std::vector<PipelineSchedule> LayoutSpace::schedules(const P& shape) const {
  if (shape.virtual_stages > 1) return values("schedule", &P::schedule, {PipelineSchedule::interleaved});
  std::vector<PipelineSchedule> all{PipelineSchedule::one_f_one_b};
  const bool of_one_chunk =
      own_.schedule != PipelineSchedule::automatic && own_.schedule != PipelineSchedule::interleaved;
  if (shape.pipeline > 1 && of_one_chunk) add_own(all, own_.schedule);
  return values("schedule", &P::schedule, all);
}

void LayoutSpace::add_stages(const P& shape, std::vector<P>& out) const {
  const auto layers = static_cast<std::int64_t>(block_weights_.size());
  const bool uneven = offer_.splits.stage_layers;
  std::vector<std::int64_t> chunks{1};
  for (std::int64_t v = 2; shape.pipeline > 1 && offer_.splits.virtual_stages && v * shape.pipeline <= layers; ++v) {
    if (layers % (v * shape.pipeline) == 0 || (uneven && (layers + 2) % (v * shape.pipeline) == 0)) chunks.push_back(v);
  }
  const bool as_own = shape.pipeline > 1 && shape.pipeline == own_.pipeline;
  if (as_own) add_own(chunks, own_.virtual_stages);
  for (const std::int64_t v : values("virtual_stages", &P::virtual_stages, chunks)) {
    P next = shape;
    next.virtual_stages = v;
    for (const PipelineSchedule s : schedules(next)) {
      next.schedule = s;
      if (const auto* given = held("stage_layers")) {
        for (const P& p : *given) {
          next.stage_layers = p.stage_layers;
          add_recomputation(next, out);
        }
        continue;
      }
      const std::int64_t n = v * shape.pipeline;
      const std::vector<std::int64_t> balanced =
          uneven && n > 1 && n <= layers ? balanced_[static_cast<std::size_t>(n)] : std::vector<std::int64_t>();
      const bool even = n > 0 && layers % n == 0;
      std::vector<std::vector<std::int64_t>> cuts;  // an empty one is even
      const auto add = [&](const std::vector<std::int64_t>& cut) {
        const bool as_even = even && std::ranges::all_of(cut, [&](auto b) { return b == layers / n; });
        add_own(cuts, as_even ? std::vector<std::int64_t>() : cut);
      };
      if (even || balanced.empty()) add({});
      if (!balanced.empty()) add(balanced);
      if (as_own && v == own_.virtual_stages && !own_.stage_layers.empty()) add(own_.stage_layers);
      for (std::vector<std::int64_t>& cut : cuts) {
        next.stage_layers = std::move(cut);
        add_recomputation(next, out);
      }
    }
  }
}

void LayoutSpace::add_recomputation(const P& shape, std::vector<P>& out) const {
  std::vector<Recompute> ways;
  for (const RecomputeKind kind : offer_.recompute) {
    if (kind == RecomputeKind::core_attention && has_flash(framework_)) continue;  // keeps no scores
    ways.push_back({kind, 0, {}});
  }
  const std::int64_t chunk =
      shape.stage_layers.empty()
          ? (static_cast<std::int64_t>(block_weights_.size()) + shape.pipeline * shape.virtual_stages - 1) /
                std::max<std::int64_t>(1, shape.pipeline * shape.virtual_stages)
          : *std::ranges::max_element(shape.stage_layers);
  // The first blocks of each chunk are computed again, as many in each.
  std::int64_t before = 0;
  for (std::int64_t i = 1; offer_.some_layers && i < kRecomputeSteps; ++i) {
    const std::int64_t n = (chunk * i + kRecomputeSteps - 1) / kRecomputeSteps;
    if (n > before && n < chunk) ways.push_back({RecomputeKind::full, n * shape.virtual_stages, {}});
    before = n;
  }
  const RecomputeKind own = own_.recompute.kind;
  const bool is_new =
      std::ranges::none_of(ways, [&](const Recompute& r) { return text_of(r) == text_of(own_.recompute); });
  const bool has_effect = own != RecomputeKind::core_attention || !has_flash(framework_);
  if (own != RecomputeKind::automatic && is_new && has_effect) ways.push_back(own_.recompute);
  for (const Recompute& r : values("recompute", &P::recompute, ways)) {
    out.push_back(shape);
    out.back().recompute = r;
  }
}

std::vector<StateSplit> LayoutSpace::levels(std::int64_t replicas) const {
  std::vector<StateSplit> all{StateSplit::none};
  if (replicas > 1) {
    all = offer_.shard;
    add_own(all, own_.shard == StateSplit::automatic ? framework_.parallel.shard : own_.shard);
  }
  return values("shard", &P::shard, all);
}

/// Of what makes no difference to it; with any other experts may be too far apart.
RankOrder LayoutSpace::usual_order() const {
  const std::vector<RankOrder> all =
      values("order", &P::order, offer_.order.empty() ? std::vector{base_.parallel.order} : offer_.order);
  const RankOrder first = RankOrder::tp_cp_ep_dp_pp;
  return std::ranges::find(all, first) != all.end() ? first : all.front();
}

std::vector<RankOrder> LayoutSpace::orders(const P& shape) const {
  if (shape.pipeline == 1 || batching_of(shape, cluster_.ranks()).replicas == 1) return {usual_order()};
  const std::int64_t experts = shape.expert * std::max<std::int64_t>(1, shape.expert_tensor);
  const bool together = shape.expert == 1 || shape.tensor * shape.context % experts == 0;
  const bool networked = cluster_.ranks() > std::max(cluster_.gpus_per_node, cluster_.gpus_per_domain);
  const bool offered = together && networked && !offer_.order.empty();
  return values("order", &P::order, offered ? offer_.order : std::vector{usual_order()});
}

std::vector<ParallelSpec> LayoutSpace::layouts(const P& shape) const {
  std::vector<P> out;
  P next = shape;
  for (const RankOrder order : orders(shape)) {
    next.order = order;
    add_levels(next, out);
  }
  return out;
}

void LayoutSpace::add_levels(const P& shape, std::vector<P>& out) const {
  const std::int64_t replicas = std::int64_t{batching_of(shape, cluster_.ranks()).replicas} * shape.context;
  for (const StateSplit level : levels(replicas)) {
    P next = shape;
    next.shard = level;
    for (const auto g : values("overlap_gradients", &P::overlap_gradients, {next.overlap_gradients})) {
      for (const auto w : values("overlap_parameters", &P::overlap_parameters, {next.overlap_parameters})) {
        for (const auto p : values("overlap_pipeline", &P::overlap_pipeline, {next.overlap_pipeline})) {
          for (const auto f : values("prefetch", &P::prefetch, {next.prefetch})) {
            for (const auto o : values("offload", &P::offload, offloads_)) {
              next.overlap_gradients = g;
              next.overlap_parameters = w;
              next.overlap_pipeline = p;
              next.prefetch = f;
              next.offload = o;
              add_groups(next, out);
            }
          }
        }
      }
    }
  }
}

void LayoutSpace::add_groups(const P& layout, std::vector<P>& out) const {
  const std::int64_t replicas = std::int64_t{batching_of(layout, cluster_.ranks()).replicas} * layout.context;
  std::vector<std::int64_t> groups{0};
  const std::int64_t of_node = std::max<std::int64_t>(1, cluster_.gpus_per_node / layout.tensor);
  if (offer_.shard_group && layout.shard > StateSplit::none) {
    for (const std::int64_t g : {of_node, 4 * of_node}) {
      if (g > 1 && g < replicas && replicas % g == 0) groups.push_back(g);
    }
  }
  const std::int64_t own = own_.shard_group;
  if (layout.shard > StateSplit::none && own > 0 && own < replicas && replicas % own == 0) add_own(groups, own);
  for (const std::int64_t g : values("shard_group", &P::shard_group, groups)) {
    out.push_back(layout);
    out.back().shard_group = g;
  }
}

bool can_replan_as(const workload::LlmPlan& plan, const ParallelSpec& layout) {
  return plan.parallel.offload == workload::Offload::none && layout.offload == workload::Offload::none;
}

bool replan_as(workload::LlmPlan& plan, const ParallelSpec& layout) {
  const std::uint32_t replicas = plan.replicas();
  const bool whole = layout.shard_group == 0 || layout.shard_group >= replicas;
  if (!whole && replicas % layout.shard_group != 0) return false;
  plan.parallel.shard = layout.shard == workload::StateSplit::automatic ? plan.framework.parallel.shard : layout.shard;
  const bool splits = plan.splits(workload::StateSplit::optimizer);
  plan.shard_group = whole || !splits ? replicas : static_cast<std::uint32_t>(layout.shard_group);
  plan.parallel.shard_group = layout.shard_group;
  plan.parallel.prefetch = layout.prefetch;
  plan.parallel.offload = layout.offload;
  plan.parallel.order = layout.order;
  plan.grid = workload::RankGrid(plan.tensor * plan.context, plan.stages, plan.data, layout.order);
  workload::settle_scatter(plan);
  return plan.spec.experts == 0 || plan.grid.keeps_together(plan.expert * plan.expert_tensor);
}

}  // namespace distsim::study
