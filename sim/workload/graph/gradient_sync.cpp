#include "sim/workload/graph/gradient_sync.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace distsim::workload {
namespace {

// Nominal rates of a backward pass in FLOP/s, only to see which gradients fall into one cycle of a fusion buffer.
// Chosen: a quarter to two thirds of the peak of an A100 (312, 156 and 19.5 TFLOP/s, NVIDIA A100 data sheet).
constexpr double kNominalMixed = 80e12;
constexpr double kNominalTf32 = 45e12;
constexpr double kNominalFp32 = 12e12;

constexpr std::int64_t kTensorsPerKernel = 100;  // of a multi-tensor kernel (apex multi_tensor_apply: 110 or fewer)

double nominal_flops_per_second(const Numerics& n) {
  if (n.mixed) return kNominalMixed;
  return n.matrix == graph::DType::tf32 ? kNominalTf32 : kNominalFp32;
}

/// Kernels and framework calls of an optimizer that goes tensor by tensor.
int calls_per_tensor(graph::OptimizerKind kind) {
  switch (kind) {
    case graph::OptimizerKind::sgd:
      return 1;  // p -= lr g
    case graph::OptimizerKind::momentum:
      return 3;  // weight decay, momentum, p -= lr m
    case graph::OptimizerKind::adagrad:
      return 3;
    case graph::OptimizerKind::adam:
      return 5;
    case graph::OptimizerKind::lamb:
      return 9;  // two moments, update, two norms, ratio, step
    case graph::OptimizerKind::lars:
      return 6;
  }
  return 1;
}

graph::Dispatch optimizer_dispatch(graph::OptimizerKind kind, std::int64_t tensors, bool fused) {
  if (!fused) return {capped(tensors * calls_per_tensor(kind)), capped(tensors * calls_per_tensor(kind))};
  const std::int64_t passes = kind == graph::OptimizerKind::lamb || kind == graph::OptimizerKind::lars ? 4 : 1;
  return {capped(passes), capped(passes * (1 + tensors / kTensorsPerKernel))};
}

}  // namespace

void append_gradients(std::vector<PendingGradient>& out, const std::vector<Layer>& layers) {
  double flops = out.empty() ? 0 : out.back().flops_before;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    flops += matrix_flops(layer->backward);
    for (auto p = layer->parameters.rbegin(); p != layer->parameters.rend(); ++p) out.push_back({p->elements, flops});
  }
}

GradientSynchronizer::GradientSynchronizer(Iteration& iteration, const std::vector<PendingGradient>& gradients)
    : iteration_(iteration), tensors_(gradients.size()) {
  if (iteration.ranks() == 1) return;
  const double rate = nominal_flops_per_second(iteration.numerics());
  std::vector<ReadyGradient> in_order;
  for (const PendingGradient& g : gradients)
    in_order.push_back({g.elements * graph::size_of(iteration.numerics().gradient), g.flops_before / rate});
  buckets_ = gradient_buckets(in_order, iteration.framework());
}

void GradientSynchronizer::ready(std::size_t tensors) {
  ready_ += tensors;
  CHECK(ready_ <= tensors_) << ready_ << " gradients ready of " << tensors_;
  if (iteration_.framework().gradients.overlap && !held_) send_full_buckets();
}

void GradientSynchronizer::let_go() {
  held_ = false;
  ready(0);
}

void GradientSynchronizer::send_full_buckets() {
  while (sent_ < buckets_.size() && buckets_[sent_].last <= ready_) send(sent_++);
}

void GradientSynchronizer::send(std::size_t index) {
  const GradientBucket& bucket = buckets_[index];
  const Numerics& n = iteration_.numerics();
  const std::uint16_t tensors = capped(bucket.last - bucket.first);
  const std::string name = "gradients.bucket" + std::to_string(index);
  // Scale by 1/ranks into the bucket: one small kernel per tensor.
  iteration_.add(name + ".fill", {graph::Stream::compute, graph::Phase::gradient_sync, {1, tensors}},
                 {graph::Elementwise{bucket.bytes / graph::size_of(n.gradient), 1, 1, 1, n.gradient}});
  graph::Collective sum;
  sum.kind = graph::CollectiveKind::all_reduce;
  sum.bytes = bucket.bytes;
  sum.dtype = n.gradient;
  last_ = iteration_.add_collective(name + ".all_reduce", iteration_.gradient_stream(), graph::Phase::gradient_sync,
                                    std::move(sum), iteration_.world());
}

void GradientSynchronizer::finish() {
  CHECK(ready_ == tensors_) << ready_ << " gradients ready of " << tensors_;
  send_full_buckets();
  iteration_.compute_waits_for(last_);
  copy_back();
}

void GradientSynchronizer::copy_back() {
  const GradientSync sync = iteration_.framework().gradients.sync;
  const bool buffered = sync == GradientSync::ddp_buckets || sync == GradientSync::fusion_buffer;
  std::int64_t bytes = 0;
  for (const GradientBucket& bucket : buckets_) bytes += bucket.bytes;
  if (!buffered || bytes == 0) return;
  const graph::DType dtype = iteration_.numerics().gradient;
  iteration_.add("gradients.copy_back", {graph::Stream::compute, graph::Phase::gradient_sync, {1, capped(tensors_)}},
                 {graph::Elementwise{bytes / graph::size_of(dtype), 1, 1, 1, dtype}});
}

void add_accumulation(Iteration& iteration, const Layer& layer) {
  const std::int64_t parameters = parameters_of(layer);
  if (parameters == 0) return;
  iteration.add(
      layer.name + ".accumulate",
      {graph::Stream::compute, graph::Phase::backward, {0, capped(static_cast<std::int64_t>(layer.parameters.size()))}},
      {graph::Elementwise{parameters, 2, 1, 1, iteration.numerics().gradient}});
}

void add_backward_of(Iteration& iteration, const LayerStack& stack, std::size_t index, const SampleSplit& split,
                     bool accumulate, GradientSynchronizer* sync) {
  const Layer& layer = stack.largest()[index];
  iteration.add_backward(stack, index, split);
  if (accumulate) add_accumulation(iteration, layer);
  if (sync != nullptr) sync->ready(layer.parameters.size());
}

void add_backward_pass(Iteration& iteration, const LayerStack& stack, const SampleSplit& split, bool accumulate,
                       GradientSynchronizer* sync) {
  for (std::size_t i = stack.depth(); i-- > 0;) add_backward_of(iteration, stack, i, split, accumulate, sync);
}

void add_optimizer(Iteration& iteration, graph::OptimizerKind kind, std::int64_t parameters, std::int64_t tensors,
                   bool fp16) {
  const OptimizerShare all[] = {{parameters, tensors}};
  add_optimizer(iteration, kind, all, graph::Task::kUniform, fp16);
}

void add_optimizer(Iteration& iteration, graph::OptimizerKind kind, std::span<const OptimizerShare> shares,
                   std::uint32_t rank_table, bool fp16) {
  const Numerics& n = iteration.numerics();
  const FrameworkSpec& f = iteration.framework();
  std::int64_t parameters = 0, tensors = 0;
  for (const OptimizerShare& s : shares)
    parameters = std::max(parameters, s.parameters), tensors = std::max(tensors, s.tensors);
  if (parameters == 0) return;
  const auto of_each = [&](auto op) {
    std::vector<graph::Op> ops;
    for (const OptimizerShare& s : shares) ops.push_back(op(s));
    return ops;
  };
  if (fp16 && f.host.loss_scale_sync) {
    const std::uint16_t kernels = capped(1 + tensors / kTensorsPerKernel);
    iteration.add("optimizer.unscale", {graph::Stream::compute, graph::Phase::optimizer, {2, kernels}},
                  of_each([&](const OptimizerShare& s) {
                    return graph::Elementwise{s.parameters, 1, 1, 2, n.gradient};
                  }),
                  rank_table);
    graph::TaskGraphBuilder::Options check{graph::Stream::compute, graph::Phase::optimizer, {1, 1}, true};
    iteration.add("optimizer.overflow_check", check, {graph::Copy{graph::CopyKind::d2h, 4}});
  }
  if (const int between = calls_per_tensor(kind) - 1;
      !f.kernels.fused_optimizer && between > 0) {  // every call but the last leaves a tensor for the next one
    iteration.add("optimizer.intermediates", {graph::Stream::compute, graph::Phase::optimizer, {0, 0}},
                  of_each([&](const OptimizerShare& s) {
                    return graph::Elementwise{s.parameters, static_cast<double>(between), static_cast<double>(between),
                                              1, graph::DType::fp32};
                  }),
                  rank_table);
  }
  const auto update = [&](const OptimizerShare& s) {
    return graph::Optimizer{kind, s.parameters, s.tensors, n.gradient, n.mixed && !f.kernels.cast_weights};
  };
  iteration.add(
      "optimizer.update",
      {graph::Stream::compute, graph::Phase::optimizer, optimizer_dispatch(kind, tensors, f.kernels.fused_optimizer)},
      of_each(update), rank_table);
}

}  // namespace distsim::workload
