#include "sim/study/sweep/point_experiments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

std::int64_t gpus_of(const config::Experiment& e) { return e.cluster.nodes * e.cluster.gpus_per_node; }

std::int64_t batch_of(const config::Experiment& e) {
  return workload::samples_of(e.model, pipeline::shape_of(e).ranks());
}

/// So many samples on all GPUs of a model whose batch is given per GPU, which also states its micro-steps: their number stays.
void share_batch(config::Experiment& e, std::int64_t batch) {
  workload::ModelSpec& m = e.model;
  const auto ranks = pipeline::shape_of(e).ranks();
  const auto whole_share = [&](std::int64_t takers) { return batch % takers == 0 ? batch / takers : 0; };
  m.per_gpu_batch = whole_share(ranks * m.accumulation);
  if (m.per_gpu_batch > 0) return;
  m.global_batch = batch;
  const workload::ModelFamily& family = *m.family;
  if (m.accumulation > 1 || family.layout_sets_steps == nullptr || family.layout_sets_steps(m, e.framework, ranks))
    return;
  const std::int64_t share = whole_share(family.batching(m, ranks).replicas);  // GPUs that take samples together
  if (share == 0) return;
  m.parallel.micro_batch = share;
  m.parallel.states_micro_batch = true;
}

/// Messages about a number that scaling gives say so, and do not name the place of another one.
void say_scaled(config::Experiment& e, const char* key, std::int64_t value, const std::string& by) {
  CHECK(set_config_path(e.merged, key, std::to_string(value), by).ok());
}

}  // namespace

PointExperiments::PointExperiments(SweepRequest request, std::shared_ptr<config::Variants> variants)
    : request_(std::move(request)),
      variants_(std::move(variants)),
      counting_(count_gpus(request_.axes)),
      scales_(request_.scaling != Scaling::as_given && std::ranges::find(counting_, true) != counting_.end()) {}

/// The same row on the first number of GPUs.
Result<PointExperiments::First> PointExperiments::on_first_gpus(std::size_t index) {
  const std::size_t first = index_with_first(request_.axes, index, [&](std::size_t a) { return counting_[a]; });
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = firsts_.find(first); it != firsts_.end()) return it->second;
  }
  TRY_ASSIGN(const config::Experiment e, variants_->with(sets_at(request_, first)));
  const std::lock_guard lock(mutex_);
  return firsts_.try_emplace(first, First{batch_of(e), gpus_of(e)}).first->second;
}

Result<config::Experiment> PointExperiments::at(std::size_t index) {
  TRY_ASSIGN(config::Experiment e, variants_->with(sets_at(request_, index)));
  if (!scales_) return e;
  if (e.model.global_batch > 0 && e.model.per_gpu_batch > 0) return e;  // which the prediction refuses
  const bool weak = request_.scaling == Scaling::weak;
  if (weak && e.model.per_gpu_batch > 0) return e;  // these are the samples per GPU
  TRY_ASSIGN(const First first, on_first_gpus(index));
  const workload::ModelSpec given = e.model;
  if (e.model.per_gpu_batch > 0)
    share_batch(e, first.batch);
  else
    e.model.global_batch = weak ? first.batch * gpus_of(e) / first.gpus : first.batch;
  const std::string by = fmt::format("{} {}", request_.scaling_asked, name_of(request_.scaling));
  if (e.model.global_batch != given.global_batch) say_scaled(e, "model.global_batch", e.model.global_batch, by);
  if (e.model.per_gpu_batch != given.per_gpu_batch) say_scaled(e, "model.per_gpu_batch", e.model.per_gpu_batch, by);
  return e;
}

std::vector<std::string> PointExperiments::sets(std::size_t index) {
  std::vector<std::string> out = sets_at(request_, index);
  if (!scales_) return out;
  const auto given = variants_->with(out), scaled = at(index);
  if (!given.ok() || !scaled.ok()) return out;
  const workload::ModelSpec &a = given->model, &b = scaled->model;
  if (a.global_batch == b.global_batch && a.per_gpu_batch == b.per_gpu_batch) return out;
  out.push_back(fmt::format("model.global_batch={}", b.global_batch));
  out.push_back(fmt::format("model.per_gpu_batch={}", b.per_gpu_batch));
  if (b.parallel.states_micro_batch) out.push_back(fmt::format("parallel.micro_batch={}", b.parallel.micro_batch));
  return out;
}

Result<std::shared_ptr<config::Variants>> variants_of(const SweepRequest& request) {
  if (request.experiment) return request.experiment;
  return config::Variants::of(request.config);
}

}  // namespace distsim::study
