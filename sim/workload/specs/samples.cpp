#include "sim/workload/specs/samples.hpp"

#include "base/text/counted.hpp"

namespace distsim::workload {
namespace {

constexpr std::int64_t kMaxSamples = std::int64_t{1} << 50;
constexpr std::int64_t kMaxPerMicroStep =
    1'000'000'000;  // as per_gpu_batch: keeps products with widths and bytes far from overflow

std::string text(std::int64_t n) { return std::to_string(n); }

Result<std::int64_t> total_samples(const ModelSpec& model, std::int64_t slots) {
  if (model.per_gpu_batch == 0) return model.global_batch;
  if (model.per_gpu_batch > kMaxSamples / slots) {
    return Error{"model.per_gpu_batch: found " + text(model.per_gpu_batch) + " samples on " + text(slots) +
                     " ranks and micro-steps, expected at most " + text(kMaxSamples) + " total",
                 "", ""};
  }
  return model.per_gpu_batch * slots;
}

}  // namespace

std::string batch_key(const ModelSpec& model) {
  return model.per_gpu_batch > 0 && model.global_batch <= 0 ? "model.per_gpu_batch" : "model.global_batch";
}

std::string found_batch(const ModelSpec& model, std::int64_t total) {
  const std::string key = batch_key(model);
  if (key == "model.global_batch") return key + ": found " + text(total);
  return key + ": found " + text(model.per_gpu_batch) + ", a batch of " + text(total);
}

std::vector<std::int64_t> SampleSplit::sizes() const {
  if (uniform()) return {largest()};
  return {larger, smaller};
}

std::vector<std::uint32_t> SampleSplit::variant_of_rank() const {
  std::vector<std::uint32_t> variant(ranks, uniform() ? 0 : 1);
  for (std::uint32_t r = 0; r < larger_ranks; ++r) variant[r] = 0;
  return variant;
}

SampleSplit SamplePlan::micro_step(std::int64_t step) const {
  const auto share = [&](std::int64_t samples) {
    return samples / micro_steps + (step < samples % micro_steps ? 1 : 0);
  };
  const std::int64_t per_rank = total / ranks;
  return {ranks, static_cast<std::uint32_t>(total % ranks), share(per_rank + 1), share(per_rank)};
}

std::string SamplePlan::describe() const {
  std::string out = "batch " + text(total) + " over " + counted(ranks, "rank") + ": ";
  const std::int64_t left = total % ranks;
  if (left == 0) {
    out += text(total / ranks) + " each";
  } else {
    const auto taking = [](std::int64_t takers, std::int64_t samples) {
      return text(takers) + std::string(agreeing(static_cast<std::uint64_t>(takers), " takes ", " take ")) +
             text(samples);
    };
    out += taking(left, total / ranks + 1) + ", " + taking(ranks - left, total / ranks);
  }
  if (micro_steps > 1) {
    out += ", in " + text(micro_steps) + " micro-steps of " + (total % (ranks * micro_steps) == 0 ? "" : "at most ") +
           text(micro_step(0).largest());
  }
  return out;
}

Error both_batches(const ModelSpec& model) {
  return Error{"model.per_gpu_batch: found both global_batch " + text(model.global_batch) + " and per_gpu_batch " +
                   text(model.per_gpu_batch) + ", expected one of them",
               "", "set the other to 0"};
}

Result<SamplePlan> plan_samples(const ModelSpec& model, std::uint32_t ranks) {
  if (ranks == 0) return Error{"cluster: found 0 ranks, expected at least 1", "", ""};
  if (model.global_batch > 0 && model.per_gpu_batch > 0) return both_batches(model);
  if (model.global_batch <= 0 && model.per_gpu_batch <= 0) {
    return Error{"model.global_batch: found neither global_batch nor per_gpu_batch, expected one of them", "",
                 "e.g. per_gpu_batch: 64, or global_batch: 65536 for all GPUs"};
  }
  if (model.accumulation < 1 || model.accumulation > kMaxSamples / ranks) {
    return Error{"model.accumulation: found " + text(model.accumulation) + ", expected 1 or more micro-steps", "", ""};
  }
  const std::int64_t slots = ranks * model.accumulation;
  TRY_ASSIGN(const std::int64_t total, total_samples(model, slots));
  if (total > kMaxSamples) return Error{found_batch(model, total) + ", expected at most " + text(kMaxSamples), "", ""};
  if (total / slots > kMaxPerMicroStep)
    return Error{found_batch(model, total) + ", expected at most " + text(kMaxPerMicroStep) +
                     " samples of a GPU in a micro-step",
                 "", ""};
  if (total < slots) {
    return Error{found_batch(model, total) + ", expected at least " + text(slots) + ", one sample for each of " +
                     counted(ranks, "rank") + " and " + counted(model.accumulation, "micro-step"),
                 "", "use fewer nodes or a larger batch"};
  }
  return SamplePlan{ranks, model.accumulation, total};
}

}  // namespace distsim::workload
