#include "sim/study/plan/layouts/layer_times.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::study {
namespace {

using workload::Axis;
using workload::LlmShape;
using workload::LlmSpec;
using workload::ParallelSpec;
using workload::PartWork;
using workload::PassWork;
using workload::Recompute;
using workload::RecomputeKind;

/// Shares of the optimizer that are told apart.
constexpr std::array<double, 14> kShares{0.001, 0.002, 0.004, 0.008, 0.015, 0.025, 0.04,
                                         0.06,  0.09,  0.13,  0.2,   0.3,   0.5,   1};

std::size_t class_of_share(double share) {
  return static_cast<std::size_t>(std::ranges::lower_bound(kShares, std::min(share, 1.0)) - kShares.begin());
}

workload::RankGroup group_of_axis(const LlmShape& s, Axis axis) {
  const auto group = [](std::int64_t size, std::int64_t stride) {
    return workload::RankGroup{static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(stride)};
  };
  switch (axis) {
    case Axis::tensor:
      return group(s.tensor, 1);
    case Axis::context:
      return group(s.context, s.tensor);
    case Axis::expert:
      return group(s.expert, s.expert_tensor);
    case Axis::expert_tensor:
      break;
  }
  return group(s.expert_tensor, 1);
}

/// Kernel time by what it keeps busy.
struct BusyTime {
  double seconds = 0;
  topology::UnitsBusy busy;
  void add(const graph::Cost& cost, double times) {
    const double t = cost.mean.seconds() * times;
    seconds += t;
    busy.matrix += t * cost.busy.matrix;
    busy.vector += t * cost.busy.vector;
    busy.memory += t * cost.busy.memory;
  }
  void add(const BusyTime& o, double times) {
    seconds += o.seconds * times;
    busy.matrix += o.busy.matrix * times;
    busy.vector += o.busy.vector * times;
    busy.memory += o.busy.memory * times;
  }
  topology::UnitsBusy shares() const {
    if (seconds <= 0) return {};
    return {busy.matrix / seconds, busy.vector / seconds, busy.memory / seconds};
  }
};

}  // namespace

/// A kind of block or an end of the model: forward, then backward.
struct LayerPricer::Part {
  std::array<std::vector<double>, 2> times;  ///< how often each op runs
  std::array<std::size_t, 2> first{};        ///< number of the first op
  std::array<double, 2> kernels{};           ///< that the host launches
  std::array<double, 2> wires{};             ///< seconds of collectives
};

/// What is priced together.
struct LayerPricer::Parts {
  std::vector<Part> blocks;  ///< kinds of blocks, each plain and then with what is computed again
  std::vector<std::size_t> kind_of_block;
  Part embedding, head;
  graph::CostedGraph costed;
  double kernels = 0;  ///< seconds of a micro-batch, plain
  std::array<std::optional<LayerTimes>, kShares.size()> times;

  Result<void> add(Part& part, std::size_t way, const PassWork& pass, const pipeline::CostModels& models) {
    part.first[way] = costed.graph.ops.size();
    part.kernels[way] = pass.kernels;
    for (const auto& [op, n] : pass.ops) {
      TRY_ASSIGN(const graph::Cost cost, models.op_prices->of(op, models.ops));
      costed.graph.ops.push_back(op);
      costed.costs.push_back(cost);
      part.times[way].push_back(n);
    }
    return {};
  }
  BusyTime busy(const Part& part, std::size_t way) const {
    BusyTime out;
    for (std::size_t i = 0; i < part.times[way].size(); ++i)
      out.add(costed.costs[OpId(static_cast<std::uint32_t>(part.first[way] + i))], part.times[way][i]);
    return out;
  }
  static double seconds(const graph::CostedGraph& costed, const Part& part, std::size_t way, double gap) {
    double sum = std::floor(part.kernels[way]) * gap;
    for (std::size_t i = 0; i < part.times[way].size(); ++i)
      sum += costed.costs[OpId(static_cast<std::uint32_t>(part.first[way] + i))].mean.seconds() * part.times[way][i];
    return sum;
  }
};

LayerPricer::LayerPricer(const config::Experiment& experiment, std::shared_ptr<const pipeline::CostModels> models)
    : experiment_(experiment),
      models_(std::move(models)),
      factors_(pipeline::kernel_time_of(experiment.framework, experiment.device, experiment.model.precision,
                                        pipeline::shape_of(experiment).ranks())) {
  const topology::DeviceLaunch& launch = experiment.device.launch;
  gap_ = (experiment.framework.host.cuda_graph ? launch.graph_kernel_gap : launch.kernel_gap).seconds();
}

LayerPricer::~LayerPricer() = default;

Result<LayerPricer::Parts*> LayerPricer::parts(const workload::LlmPlan& settled, const ParallelSpec& p,
                                               std::int64_t micro_steps, std::int64_t casts, bool sums) {
  const auto& spec = settled.spec;
  const bool narrow = settled.numerics.scaling != graph::Scaling::none;
  const Key key{p.tensor,
                p.sequence_parallel,
                p.context,
                static_cast<int>(p.context_exchange),
                p.expert,
                p.expert_tensor,
                p.micro_batch,
                static_cast<int>(p.recompute.kind),
                static_cast<int>(p.overlap_tensor),
                static_cast<int>(p.overlap_expert),
                p.expert_dispatch ? 1 + static_cast<int>(*p.expert_dispatch) : 0,
                narrow ? casts : std::min<std::int64_t>(casts, 2),
                sums,
                settled.framework.parallel.overlap_expert == workload::ExpertOverlap::always ? micro_steps : 0};
  std::unique_ptr<Parts>& kept = known_[key];
  if (kept && p.recompute.modules.empty()) return kept.get();
  ParallelSpec parallel = settled.parallel;
  parallel.recompute = p.recompute;
  parallel.micro_batch = p.micro_batch;
  const LlmShape shape{.spec = spec,
                       .parallel = parallel,
                       .framework = settled.framework,
                       .numerics = settled.numerics,
                       .tensor = settled.tensor,
                       .context = settled.context,
                       .expert = settled.expert,
                       .expert_tensor = settled.expert_tensor,
                       .samples = p.micro_batch,
                       .micro_steps = casts,
                       .sums_gradients = sums,
                       .expert_domains = workload::expert_domains(settled),
                       .infers = mode_of(settled.model) == workload::StepMode::inference};
  kept = std::make_unique<Parts>();
  TRY(price(shape, micro_steps, *kept));
  return kept.get();
}

double LayerPricer::kernel_seconds(const Parts& parts) { return parts.kernels; }

Result<const LayerTimes*> LayerPricer::times(Parts& parts, double optimizer_share) {
  const std::size_t share = class_of_share(optimizer_share);
  if (!parts.times[share]) {
    TRY_ASSIGN(const pipeline::HeldClock clock, best_clock(parts, kShares[share]));
    TRY_ASSIGN(parts.times[share], times_at(parts, clock));
  }
  return &*parts.times[share];
}

Result<pipeline::HeldClock> LayerPricer::best_clock(const Parts& parts, double optimizer_share) const {
  const topology::DeviceSpec& device = experiment_.device;
  const Hertz before = topology::clock_before_limits(device), priced = topology::clock_of_prices(device);
  const graph::Op update = update_kernels(experiment_.model, experiment_.framework, std::int64_t{1} << 30, 1).step;
  TRY_ASSIGN(const graph::Cost update_cost, models_->op_prices->of(update, models_->ops));
  std::vector<BusyTime> mixes;
  for (std::size_t way = 0; way < 2; ++way) {
    const BusyTime ends[] = {parts.busy(parts.embedding, way), parts.busy(parts.head, way)};
    for (const Part& block : parts.blocks) {
      const BusyTime alone = parts.busy(block, way);
      mixes.push_back(alone);
      for (const BusyTime& end : ends) {
        mixes.push_back(end);
        mixes.back().add(alone, 1);
      }
      mixes.push_back(mixes.back());  // a single block between both ends
      mixes.back().add(ends[0], 1);
    }
    const auto& given = experiment_.model.parallel.stage_layers;  // chunks without a block
    if (std::ranges::find(given, 0) != given.end()) mixes.insert(mixes.end(), std::begin(ends), std::end(ends));
  }
  double held = 0;
  for (const BusyTime& mix : mixes) {
    if (mix.seconds <= 0) continue;
    BusyTime with;
    with.add(mix, (1 - optimizer_share) / mix.seconds);
    with.add(update_cost, optimizer_share / update_cost.mean.seconds());
    for (const BusyTime& m : {mix, with})
      held = std::max(held, topology::clock_of_mix(device.clock, device.power_limit, m.shares(), priced).value());
  }
  return pipeline::HeldClock{before, held > 0 ? Hertz(held) : before, priced};
}

Result<double> LayerPricer::wires(const LlmShape& s, std::int64_t micro_steps, const PassWork& pass) {
  double sum = 0;
  for (const auto& [wire, n] : pass.wires) {
    const double exposed = workload::exposed_share(wire, s.tensor, s.context, micro_steps);
    // In every order of ranks: experts that reach beyond tensor x context ranks are refused where these are no neighbours.
    const workload::RankGroup group = group_of_axis(s, wire.axis);
    if (wire.bytes == 0 || exposed == 0 || group.size < 2) continue;
    TRY_ASSIGN(const double each, collective(wire.kind, wire.bytes, s.numerics.activation, group));
    sum += each * n * exposed;
  }
  return sum;
}

Result<void> LayerPricer::price(const LlmShape& s, std::int64_t micro_steps, Parts& parts) {
  const LlmSpec& m = s.spec;
  static const Recompute kNothing{RecomputeKind::none, 0, {}};
  std::map<std::pair<workload::BlockKind, bool>, std::size_t> known;
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const bool decoder = m.decoder_layers > 0 && i >= m.layers - m.decoder_layers;
    const auto [it, is_new] = known.try_emplace({block_kind(m, i), decoder}, parts.blocks.size());
    if (is_new) {
      for (const Recompute* again : {&kNothing, &s.parallel.recompute}) {
        parts.blocks.emplace_back();
        TRY(add_part(s, micro_steps, block_work(s, it->first.first, *again, decoder), parts, parts.blocks.back()));
      }
    }
    parts.kind_of_block.push_back(it->second);
  }
  TRY(add_part(s, micro_steps, embedding_work(s), parts, parts.embedding));
  PartWork head = head_work(s);
  for (std::int64_t i = 0; i < m.mtp_layers; ++i) {
    const PartWork mtp = mtp_work(s, kNothing);
    head.forward.add(mtp.forward, 1);
    head.backward.add(mtp.backward, 1);
  }
  TRY(add_part(s, micro_steps, head, parts, parts.head));
  for (const std::size_t way : {0, 1}) {
    for (const Part* end : {&parts.embedding, &parts.head}) parts.kernels += parts.busy(*end, way).seconds;
    std::vector<double> of_kind;
    for (const Part& part : parts.blocks) of_kind.push_back(parts.busy(part, way).seconds);
    for (const std::size_t kind : parts.kind_of_block) parts.kernels += of_kind[kind];
  }
  return {};
}

Result<void> LayerPricer::add_part(const LlmShape& s, std::int64_t micro_steps, const PartWork& work, Parts& parts,
                                   Part& part) {
  for (const std::size_t way : {0, 1}) {
    if (way == 1 && s.infers) break;
    const PassWork& pass = way == 0 ? work.forward : work.backward;
    TRY(parts.add(part, way, pass, *models_));
    TRY_ASSIGN(part.wires[way], wires(s, micro_steps, pass));
  }
  return {};
}

Result<LayerTimes> LayerPricer::times_at(const Parts& parts, const pipeline::HeldClock& clock) const {
  graph::CostedGraph scaled = parts.costed;
  TRY(pipeline::scale_kernels(scaled, factors_, clock));
  const auto seconds = [&](const Part& part, std::size_t way) {
    return Parts::seconds(scaled, part, way, gap_) + part.wires[way];
  };
  std::vector<std::array<double, 2>> of_part;
  for (const Part& part : parts.blocks) of_part.push_back({seconds(part, 0), seconds(part, 1)});
  LayerTimes out;
  out.embedding_forward = seconds(parts.embedding, 0);
  out.embedding_backward = seconds(parts.embedding, 1);
  out.head_forward = seconds(parts.head, 0);
  out.head_backward = seconds(parts.head, 1);
  out.forward = out.backward = out.backward_again = out.forward_wires = out.backward_wires = {0};
  out.end_wires = parts.embedding.wires[1] + parts.head.wires[1];
  out.end_forward_wires = parts.embedding.wires[0] + parts.head.wires[0];
  for (const std::size_t kind : parts.kind_of_block) {
    out.forward.push_back(out.forward.back() + of_part[kind][0]);
    out.backward.push_back(out.backward.back() + of_part[kind][1]);
    out.backward_again.push_back(out.backward_again.back() + of_part[kind + 1][1]);
    out.forward_wires.push_back(out.forward_wires.back() + parts.blocks[kind].wires[0]);
    out.backward_wires.push_back(out.backward_wires.back() +
                                 std::max(parts.blocks[kind].wires[1], parts.blocks[kind + 1].wires[1]));
  }
  return out;
}

Result<double> LayerPricer::collective(graph::CollectiveKind kind, std::int64_t bytes, graph::DType dtype,
                                       const workload::RankGroup& group) {
  const auto [it, is_new] = facts_.try_emplace(group);
  if (is_new) {
    std::vector<std::uint32_t> members(group.size);
    for (std::uint32_t i = 0; i < group.size; ++i) members[i] = group.member(i);
    const bool alone = group.size == pipeline::shape_of(experiment_).ranks();
    it->second = models_->topology.facts(members, alone ? topology::Siblings::idle : topology::Siblings::active);
  }
  TRY_ASSIGN(const graph::Cost cost, models_->collectives.price({kind, bytes, dtype, {}, {}}, it->second));
  return cost.mean.seconds();
}

Result<double> LayerPricer::kernel(const graph::Op& op) {
  graph::CostedGraph one;
  TRY_ASSIGN(const graph::Cost cost, models_->op_prices->of(op, models_->ops));
  one.graph.ops.push_back(op);
  one.costs.push_back(cost);
  const Hertz before = topology::clock_before_limits(experiment_.device);
  TRY(pipeline::scale_kernels(one, factors_, {before, before, topology::clock_of_prices(experiment_.device)}));
  return one.costs[OpId(0)].mean.seconds();
}

Result<LayerPricer::UpdateSeconds> LayerPricer::update(std::int64_t weights) {
  const workload::UpdateKernels kernels =
      update_kernels(experiment_.model, experiment_.framework, std::max<std::int64_t>(1, weights), 1);
  TRY_ASSIGN(const double norm, kernel(kernels.norm));
  TRY_ASSIGN(const double step, kernel(kernels.step));
  return UpdateSeconds{norm, step};
}

}  // namespace distsim::study
