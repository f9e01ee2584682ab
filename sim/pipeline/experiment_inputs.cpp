#include "sim/pipeline/experiment_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "opmodels/hardware/device_rates.hpp"
#include "sim/workload/family.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/specs/numerics.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::pipeline {
namespace {

/// Of the fullest rank and, where ranks differ, of the emptiest.
std::vector<report::ReportContext::Memory> memory_by_kind(const std::vector<workload::RankMemory>& memory) {
  if (memory.empty()) return {};
  const auto less = [](const auto& a, const auto& b) { return a.total() < b.total(); };
  const auto [least, most] = std::minmax_element(memory.begin(), memory.end(), less);
  std::vector<report::ReportContext::Memory> out;
  const auto add = [&](auto m) {
    out.push_back({static_cast<std::uint32_t>(m - memory.begin()),
                   {{"weights", m->weights},
                    {"gradients", m->gradients},
                    {"optimizer", m->optimizer},
                    {"activations", m->activations},
                    {"buffers", m->buffers}}});
  };
  add(most);
  if (least->total() < most->total()) add(least);
  return out;
}

/// What is added, in squares, to a framework's own range on a GPU whose generation nothing was fitted on: with each
/// generation held out, the ranges then hold 80 % of what was measured (scripts/calibrate_iterations.py).
constexpr double kUnknownGeneration = 0.14;

double own_range(const config::Experiment& e) {
  const double generation = e.device.calibration.evidence.rows > 0 ? 0 : kUnknownGeneration;
  const workload::ModelFamily* family = e.model.family;
  const double of_family = family != nullptr && family->own_range != nullptr ? family->own_range(e.model) : 0;
  return std::hypot(std::hypot(e.framework.uncertainty, generation), of_family);
}

Bytes usable_memory(const topology::DeviceSpec& device) { return device.hbm.capacity - device.reserved_memory; }

}  // namespace

double peak_flops(const topology::DeviceSpec& device, workload::Precision precision) {
  auto it = device.peak.find(std::string(peak_of(precision)));
  if (it == device.peak.end() && precision == workload::Precision::nvfp4) it = device.peak.find("fp4");
  if (it == device.peak.end() && precision == workload::Precision::nvfp4) it = device.peak.find("fp8");
  return it == device.peak.end() ? 0 : it->second.value();
}

workload::ClusterShape shape_of(const config::Experiment& e) {
  const auto nodes = static_cast<std::uint32_t>(e.cluster.nodes);
  const auto gpus = static_cast<std::uint32_t>(e.cluster.gpus_per_node);
  const topology::NvlinkDomains domains(nodes, static_cast<std::uint32_t>(e.cluster.gpu_links.domain_nodes));
  return {nodes, gpus, usable_memory(e.device), gpus * domains.largest(), e.cluster.host.memory_bandwidth};
}

collectives::CollectiveOptions collective_options_of(const config::Experiment& e) {
  collectives::CollectiveOptions options = e.collectives;
  if (options.all_reduce == collectives::Reduction::automatic &&
      e.framework.gradients.all_reduce == workload::GradientReduction::one_shot)
    options.all_reduce = collectives::Reduction::one_shot;
  const auto exchange = workload::embedding_exchange(e.model, e.framework, shape_of(e).ranks());
  if (options.exchange != collectives::Exchange::automatic || exchange == workload::EmbeddingExchange::nccl)
    return options;
  options.exchange =
      exchange == workload::EmbeddingExchange::rdma ? collectives::Exchange::rdma : collectives::Exchange::hierarchical;
  return options;
}

KernelTime kernel_time_of(const config::Experiment& e, const workload::Workload& w) {
  KernelTime t = kernel_time_of(e.framework, e.device, w.precision, shape_of(e).ranks());
  if (workload::corrects_graphs(e.model)) t.graphs_on = std::make_shared<const topology::DeviceSpec>(e.device);
  return t;
}

LaunchModel launch_model_of(const config::Experiment& e) {
  return {e.framework, e.cluster.host, e.device.launch, e.collectives.launch_scale};
}

SharedDevice shared_device_of(const CostModels& models) {
  const opmodels::DeviceRates& device = models.ops.rates();
  return {device.sms, device.streaming_hbm()};
}

report::ReportContext report_context_of(const config::Experiment& e, const workload::Workload& w) {
  report::ReportContext c;
  c.title = e.title;
  c.system = e.cluster.name;
  c.device = e.device.name;
  c.model = e.model.name;
  c.framework = e.framework.name;
  c.nodes = static_cast<std::uint32_t>(e.cluster.nodes);
  c.gpus_per_node = static_cast<std::uint32_t>(e.cluster.gpus_per_node);
  c.samples = w.samples;
  c.model_flops = w.model_flops;
  c.repeated_flops = w.repeated_flops;
  c.peak_flops = peak_flops(e.device, w.precision);
  for (const workload::RankMemory& m : w.memory) {
    c.memory_per_rank.push_back(m.total());
    c.activations_per_rank.push_back(m.activations);
  }
  if (e.model.family->tokens_per_sample != nullptr)
    c.tokens_per_sample = static_cast<double>(e.model.family->tokens_per_sample(e.model));
  if (e.model.family->micro_batches != nullptr) c.memory = memory_by_kind(w.memory);
  c.memory_capacity = usable_memory(e.device).value();
  c.placement = w.placement;
  c.table_places = w.table_places;
  c.uncertainty = own_range(e);
  return c;
}

namespace {

/// Whether an op is refused for its type or the scaling of its operands.
bool of_precision(const std::string& what) {
  return what.find("dtype: found ") != std::string::npos || what.find("gemm.scaling: found ") != std::string::npos;
}

/// Whether the GPU multiplies what a precision stands for: its type, scaled as it says.
Result<void> check_products(workload::Precision precision, const config::Experiment& e, const CostModels& models) {
  constexpr std::int64_t kSide = 256;
  const workload::Numerics numerics = workload::numerics_of(precision, e.framework);
  graph::Gemm product{1, kSide, kSide, kSide, numerics.matrix};
  product.scaling = numerics.scaling;
  TRY(models.ops.price(product));
  return {};
}

}  // namespace

std::optional<Error> precision_error(const config::Experiment& e, const CostModels& models) {
  const Result<void> found = check_products(e.model.precision, e, models);
  if (found.ok()) return std::nullopt;
  const std::string& what = found.error().what;
  if (!of_precision(what)) return Error{what, "", found.error().hint};
  std::string known;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(workload::Precision::nvfp4); ++i) {
    const auto p = static_cast<workload::Precision>(i);
    if (check_products(p, e, models).ok()) known += (known.empty() ? "" : ", ") + std::string(name_of(p));
  }
  const ConfigNode* model = e.merged.find("model");
  const ConfigNode* key = model == nullptr ? nullptr : model->find("precision");
  return Error{"model.precision: found " + std::string(name_of(e.model.precision)) + " on " + e.device.name +
                   ", expected a precision of that device (" + known + ")",
               key == nullptr ? "" : key->where.text(), found.error().hint};
}

Error first_reason(const config::Experiment& e, const CostModels& models, Error why) {
  if (e.model.family->needs == nullptr || !e.model.memory_check) return why;
  std::optional<Error> precision = precision_error(e, models);
  if (!precision) return why;
  config::Experiment unchecked = e;
  unchecked.model.memory_check = false;
  if (!workload::build_workload(unchecked.model, e.framework, shape_of(e)).ok()) return why;  // not for its memory
  return *std::move(precision);
}

Result<graph::CostedGraph> price_experiment(const config::Experiment& e, graph::TaskGraph graph,
                                            const std::shared_ptr<const CostModels>& models) {
  Result<graph::CostedGraph> out = price(std::move(graph), models);
  if (out.ok() || !of_precision(out.error().what)) return out;
  if (const auto precision = precision_error(e, *models)) return *precision;
  return out;
}

}  // namespace distsim::pipeline
