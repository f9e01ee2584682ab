// GradientSynchronizer: sends gradients as they become ready, in the framework's buckets, during or after the backward
// pass; then the optimizer runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/workload/graph/gradient_buckets.hpp"
#include "sim/workload/graph/iteration.hpp"

namespace distsim::workload {

/// A weight tensor in order of readiness, with the operations that the backward pass has done when it is ready.
struct PendingGradient {
  std::int64_t elements = 0;
  double flops_before = 0;
};

/// Gradients of a stack in the order in which its backward pass yields them (reverse registration), appended to `out`.
void append_gradients(std::vector<PendingGradient>& out, const std::vector<Layer>& layers);

class GradientSynchronizer {
 public:
  /// `gradients`: all tensors, in the order in which ready() will report them.
  GradientSynchronizer(Iteration& iteration, const std::vector<PendingGradient>& gradients);

  /// The next `tensors` gradients have been computed by the last compute task.
  void ready(std::size_t tensors);
  /// From here to let_go() full buckets are not sent.
  void hold() { held_ = true; }
  void let_go();
  /// All gradients have been reported: sends what is left, and lets the next compute task (the optimizer) wait for the
  /// last all-reduce.
  void finish();

  const std::vector<GradientBucket>& buckets() const { return buckets_; }

 private:
  void send_full_buckets();
  void send(std::size_t bucket);
  /// Sums leave buckets and fusion buffers for the gradients' own tensors (torch reducer.cpp, copy_bucket_to_grad without
  /// gradient_as_bucket_view; Horovod, MemcpyOutFusionBuffer).
  void copy_back();

  Iteration& iteration_;
  std::vector<GradientBucket> buckets_;
  std::size_t tensors_ = 0, ready_ = 0, sent_ = 0;
  bool held_ = false;
  TaskId last_;
};

/// The backward pass of a stack, last layer first. In a later micro-step gradients are added to what is there
/// (`accumulate`); `sync` (may be null) is told of every gradient as it becomes ready.
void add_backward_pass(Iteration& iteration, const LayerStack& stack, const SampleSplit& split, bool accumulate,
                       GradientSynchronizer* sync);
/// The same for one layer.
void add_backward_of(Iteration& iteration, const LayerStack& stack, std::size_t layer, const SampleSplit& split,
                     bool accumulate, GradientSynchronizer* sync);

/// Adds the new gradients of a layer to those of the micro-steps before.
void add_accumulation(Iteration& iteration, const Layer& layer);

/// Dense weights that a rank updates.
struct OptimizerShare {
  std::int64_t parameters = 0, tensors = 0;
};

/// What follows the last all-reduce: overflow check where the framework has one, and the update of all dense weights.
void add_optimizer(Iteration& iteration, graph::OptimizerKind kind, std::int64_t parameters, std::int64_t tensors,
                   bool fp16);
/// The same where ranks update different shares: rank r the one that the table gives it.
void add_optimizer(Iteration& iteration, graph::OptimizerKind kind, std::span<const OptimizerShare> shares,
                   std::uint32_t rank_table, bool fp16);

}  // namespace distsim::workload
