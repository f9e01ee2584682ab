// How the samples of an optimizer step fall on ranks and micro-steps. Whatever the division leaves over goes one by one
// to the first ranks and the first micro-steps, so that sizes differ by at most one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {

/// Samples of every rank in one micro-step: ranks [0, larger_ranks) take `larger`, the others `smaller`.
struct SampleSplit {
  std::uint32_t ranks = 1;
  std::uint32_t larger_ranks = 0;
  std::int64_t larger = 0, smaller = 0;

  bool operator==(const SampleSplit&) const = default;
  bool uniform() const { return larger == smaller || larger_ranks == 0 || larger_ranks == ranks; }
  std::int64_t of(std::uint32_t rank) const { return rank < larger_ranks ? larger : smaller; }
  std::int64_t largest() const { return larger_ranks > 0 ? larger : smaller; }
  std::int64_t total() const { return larger_ranks * larger + (ranks - larger_ranks) * smaller; }
  /// The one or two sizes that occur, the larger first. variant_of_rank() indexes it.
  std::vector<std::int64_t> sizes() const;
  std::vector<std::uint32_t> variant_of_rank() const;
};

/// All micro-steps of an optimizer step.
struct SamplePlan {
  std::uint32_t ranks = 1;
  std::int64_t micro_steps = 1;
  std::int64_t total = 0;  ///< samples of all ranks and micro-steps
  SampleSplit micro_step(std::int64_t step) const;
  std::string describe() const;  ///< "batch 1000 over 32 ranks: 8 ranks take 32, 24 take 31"
};

/// The key that states how many samples there are: model.per_gpu_batch, or model.global_batch, also where neither is given.
std::string batch_key(const ModelSpec& model);

/// What an error found of a batch of so many samples on all GPUs: "model.global_batch: found 64", or "model.per_gpu_batch:
/// found 8, a batch of 64".
std::string found_batch(const ModelSpec& model, std::int64_t total);

/// That both model.global_batch and model.per_gpu_batch are given.
Error both_batches(const ModelSpec& model);

/// From model.global_batch or model.per_gpu_batch. Errors: both or neither given; fewer samples than ranks x
/// micro-steps; overflow.
Result<SamplePlan> plan_samples(const ModelSpec& model, std::uint32_t ranks);

}  // namespace distsim::workload
