#include "sim/serving/pricing/graph_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "base/text/printable.hpp"
#include "sim/opgraph/kernels.hpp"
#include "sim/workload/opgraph/graph_kernels.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::serving {
namespace {

using workload::Precision;

std::int64_t whole_bytes(double bytes) { return std::llround(std::min(bytes, 1e17)); }

/// Weights and activations of 16 bits, as model.half() stores them.
Result<void> store_as(opgraph::OpGraph& graph, Precision precision) {
  if (precision == Precision::fp32 || precision == Precision::tf32) return {};
  if (precision != Precision::fp16 && precision != Precision::bf16)
    return Error{"found " + std::string(workload::name_of(precision)) + ", expected fp32, tf32, fp16 or bf16", "", ""};
  const graph::DType narrow = precision == Precision::fp16 ? graph::DType::fp16 : graph::DType::bf16;
  for (opgraph::Tensor& t : graph.tensors) {
    if (t.element.floating && t.element.dtype == graph::DType::fp32) t.element = {narrow, 2, true};
  }
  return {};
}

Result<void> check_forward(const opgraph::OpGraph& graph, const std::string& path) {
  for (const opgraph::Node& node : graph.nodes) {
    if (node.communication || node.op == opgraph::kWait)
      return Error{node.label + ": found a collective, expected the forward pass of one GPU", path, ""};
    if (node.phase != graph::Phase::forward)
      return Error{node.label + ": found a backward pass, expected the forward pass alone", path,
                   "capture it with --inference"};
  }
  if (graph.nodes.empty()) return Error{"found no calls, expected a model", path, ""};
  return {};
}

bool is_product(std::string_view op) {
  constexpr std::string_view kProducts[] = {"convolution", "cudnn_convolution", "conv2d", "mm",    "addmm",
                                            "bmm",         "baddbmm",           "linear", "matmul"};
  return std::ranges::find(kProducts, opgraph::base_name(op)) != std::end(kProducts);
}
bool is_batch_norm(std::string_view op) { return op.find("batch_norm") != std::string_view::npos; }
bool is_pointwise(std::string_view op) {
  constexpr std::string_view kPointwise[] = {"relu", "relu_", "add", "add_",     "gelu",  "sigmoid",
                                             "tanh", "silu",  "mul", "hardtanh", "clamp", "threshold"};
  return std::ranges::find(kPointwise, opgraph::base_name(op)) != std::end(kPointwise);
}

/// Adds an op's time to its layer. Shares are summed as times first.
void add_cost(PricedLayer& layer, const graph::Cost& cost, const topology::DeviceSpec& device) {
  const auto ps = static_cast<double>(cost.mean.ps());
  layer.kernel_ps += ps;
  layer.demand.sm += ps * (cost.shares.matrix + cost.shares.vector);
  layer.demand.memory += ps * cost.shares.memory;
  const double units = topology::kMatrixPowerShare * cost.busy.matrix + topology::kVectorPowerShare * cost.busy.vector +
                       topology::kMemoryPowerShare * cost.busy.memory;
  layer.joules += ps * 1e-12 * std::min(units, 1 - topology::kStaticPowerShare) * device.power_limit.value();
}

/// Host times so far become times of layers, busy times parts of them. `watts`: static, above idle.
void finish_layers(std::vector<PricedLayer>& layers, double watts) {
  double end = 0, host = 0;
  for (PricedLayer& layer : layers) {
    host += layer.host_ps;
    const double begin = end;
    end = std::max(end, host) + layer.kernel_ps;
    layer.time_ps = end - begin;
    layer.joules = std::max(0.0, layer.joules + watts * layer.time_ps * 1e-12);
    const auto part = [&](double ps) { return layer.time_ps > 0 ? std::clamp(ps / layer.time_ps, 0.0, 1.0) : 0.0; };
    layer.demand = {part(layer.demand.sm), part(layer.demand.memory), part(layer.host_ps)};
  }
}

}  // namespace

Result<GraphModel> GraphModel::read(const std::string& path, Precision precision) {
  TRY_ASSIGN(opgraph::OpGraph graph, opgraph::read_op_graph(path));
  TRY(check_forward(graph, path));
  TRY(store_as(graph, precision));
  GraphModel model;
  std::set<std::uint64_t> counted;
  const opgraph::Sizes one(graph, graph.any_batch ? 1 : graph.samples);
  const double requests = graph.any_batch ? 1 : std::max<double>(1, static_cast<double>(graph.samples));
  double weights = 0, inputs = 0, outputs = 0;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const opgraph::TensorRole role = graph.tensors[t].role;
    if (role == opgraph::TensorRole::activation) continue;
    if (graph.tensors[t].storage != 0 && !counted.insert(graph.tensors[t].storage).second) continue;
    (role == opgraph::TensorRole::input ? inputs : weights) += one.bytes(t);
  }
  for (const std::uint32_t t : graph.nodes.back().outputs) outputs += one.bytes(t);
  model.weight_bytes_ = whole_bytes(weights);
  model.input_bytes_ = whole_bytes(inputs / requests);
  model.output_bytes_ = whole_bytes(outputs / requests);
  model.graph_ = std::make_shared<const opgraph::OpGraph>(std::move(graph));
  model.cut_layers();
  model.size_states();
  model.find_needs();
  return model;
}

void GraphModel::cut_layers() {
  const std::vector<opgraph::Node>& nodes = graph_->nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (i == 0 || nodes[i].label != nodes[i - 1].label) layer_ends_.push_back(i);
    layer_ends_.back() = i + 1;
  }
}

void GraphModel::size_states() {
  const opgraph::Sizes sizes(*graph_, graph_->any_batch ? 1 : graph_->samples);
  const double requests = graph_->any_batch ? 1 : std::max<double>(1, static_cast<double>(graph_->samples));
  struct Life {
    std::uint32_t made = 0, read = 0;
    double bytes = 0;
  };
  std::map<std::uint64_t, Life> lives;
  std::uint64_t unnamed = std::uint64_t{1} << 63;
  const auto touch = [&](std::uint32_t tensor, std::uint32_t layer, bool makes) {
    const opgraph::Tensor& t = graph_->tensors[tensor];
    if (t.role == opgraph::TensorRole::parameter || t.role == opgraph::TensorRole::buffer || t.on_host) return;
    const auto [at, is_new] = lives.try_emplace(t.storage != 0 ? t.storage : unnamed + tensor);
    if (is_new) at->second.made = t.role == opgraph::TensorRole::input ? 0 : layer;
    if (!makes) at->second.read = std::max(at->second.read, layer);
    at->second.bytes = std::max(at->second.bytes, sizes.bytes(tensor));
  };
  for (std::uint32_t l = 0, i = 0; l < layer_ends_.size(); ++l) {
    for (; i < layer_ends_[l]; ++i) {
      for (const opgraph::Argument& a : graph_->nodes[i].inputs) {
        for (const std::uint32_t t : a.tensors) touch(t, l, false);
      }
      for (const std::uint32_t t : graph_->nodes[i].outputs) touch(t, l, true);
    }
  }
  std::vector<double> live(layer_ends_.size() + 1, 0);
  for (const auto& [storage, life] : lives) {
    if (life.read <= life.made) continue;
    live[life.made] += life.bytes;
    live[life.read] -= life.bytes;
  }
  double now = 0;
  for (std::uint32_t l = 0; l < layer_ends_.size(); ++l)
    state_after_.push_back(whole_bytes(std::max(0.0, now += live[l]) / requests));
}

void GraphModel::find_needs() {
  const opgraph::Sizes sizes(*graph_, graph_->any_batch ? 1 : graph_->samples);
  const double requests = graph_->any_batch ? 1 : std::max<double>(1, static_cast<double>(graph_->samples));
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Uses {
    std::uint32_t writer = kNone;
    std::set<std::uint32_t> readers;  ///< since it was written
  };
  std::map<std::uint64_t, Uses> storages;
  const std::uint64_t unnamed = std::uint64_t{1} << 63;
  needs_.resize(layer_ends_.size());
  for (std::uint32_t l = 0, i = 0; l < layer_ends_.size(); ++l) {
    std::map<std::uint32_t, double> bytes_of;  // by layer that this one needs
    std::set<std::uint64_t> counted;
    const auto needs = [&](std::uint32_t layer, double bytes) {
      if (layer != kNone && layer != l) bytes_of[layer] += bytes;
    };
    const auto storage_of = [&](std::uint32_t tensor) {
      const std::uint64_t storage = graph_->tensors[tensor].storage;
      return storage != 0 ? storage : unnamed + tensor;
    };
    for (; i < layer_ends_[l]; ++i) {
      const opgraph::Node& node = graph_->nodes[i];
      for (const opgraph::Argument& a : node.inputs) {
        for (const std::uint32_t t : a.tensors) {
          const opgraph::TensorRole role = graph_->tensors[t].role;
          if (role == opgraph::TensorRole::parameter || role == opgraph::TensorRole::buffer) continue;
          Uses& uses = storages[storage_of(t)];
          uses.readers.insert(l);
          if (counted.insert(storage_of(t)).second) needs(uses.writer, sizes.bytes(t));
        }
      }
      for (const std::uint32_t t : node.outputs) {
        Uses& uses = storages[storage_of(t)];
        needs(uses.writer, 0);
        for (const std::uint32_t reader : uses.readers) needs(reader, 0);
        uses = {l, {}};
        counted.insert(storage_of(t));
      }
    }
    for (const auto& [layer, bytes] : bytes_of) needs_[l].push_back({layer, whole_bytes(bytes / requests)});
  }
}

/// Calls that a runtime with fused kernels does not launch.
std::vector<char> GraphModel::fused_calls() const {
  std::vector<char> fused(graph_->nodes.size(), 0);
  std::map<std::uint64_t, char> by_product;  // storages that a product, or what is fused to it, wrote last
  for (std::uint32_t i = 0; i < graph_->nodes.size(); ++i) {
    const opgraph::Node& node = graph_->nodes[i];
    bool follows = false;
    for (const opgraph::Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) {
        const auto at = by_product.find(graph_->tensors[t].storage);
        follows = follows || (at != by_product.end() && at->second != 0);
      }
    }
    fused[i] = follows && (is_batch_norm(node.op) || is_pointwise(node.op)) ? 1 : 0;
    for (const std::uint32_t t : node.outputs)
      by_product[graph_->tensors[t].storage] = is_product(node.op) || fused[i] != 0 ? 1 : 0;
  }
  return fused;
}

Result<std::vector<PricedLayer>> GraphModel::price(const DevicePrices& device, std::int64_t batch,
                                                   const GraphOptions& options) const {
  workload::Numerics numerics;
  if (options.precision == Precision::tf32) numerics.matrix = graph::DType::tf32;
  const bool eager = options.framework != nullptr && options.framework->host.eager;
  workload::GraphKernels kernels(*graph_, batch, numerics, eager);
  const std::vector<char> fused = options.fused ? fused_calls() : std::vector<char>(graph_->nodes.size(), 0);
  std::vector<PricedLayer> layers;
  for (std::uint32_t l = 0, i = 0; l < layer_ends_.size(); ++l) {
    PricedLayer& layer = layers.emplace_back();
    layer.name = graph_->nodes[i].label;
    layer.demand = {0, 0, 0};
    for (; i < layer_ends_[l]; ++i) {
      const workload::NodeKernels node = kernels.of(graph_->nodes[i]);
      if (fused[i] != 0) continue;
      for (const workload::LayerOp& op : node.ops) {
        const auto cost = device.of(op.op).price(op.op);
        if (!cost.ok()) return Error{op.name + ": " + cost.error().what, graph_->file, cost.error().hint};
        add_cost(layer, *cost, device.all.device());
        if (options.framework == nullptr) continue;
        const workload::FrameworkSpec::Host& host = options.framework->host;
        layer.host_ps += op.dispatch.framework_ops * host.scale * static_cast<double>(host.per_op.ps()) +
                         op.dispatch.kernels * static_cast<double>(host.per_launch.ps());
      }
    }
  }
  finish_layers(layers, topology::kStaticPowerShare * device.all.device().power_limit.value() - options.idle_watts);
  return layers;
}

std::string GraphModel::estimated(const GraphOptions& options) const {
  workload::Numerics numerics;
  if (options.precision == Precision::tf32) numerics.matrix = graph::DType::tf32;
  workload::GraphKernels kernels(*graph_, graph_->any_batch ? 1 : graph_->samples, numerics, false);
  for (const opgraph::Node& node : graph_->nodes) kernels.of(node);
  const workload::GraphCoverage& coverage = kernels.coverage();
  return coverage.unlisted == 0 && coverage.host.empty() ? "" : coverage.text();
}

}  // namespace distsim::serving
