#include "sim/workload/opgraph/graph_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::workload {
namespace {

using opgraph::Element;

/// Names that an assumption lists; the others are counted.
constexpr std::size_t kNamesListed = 6;

std::string percent(double part, double whole) {
  const double tenths = whole > 0 ? std::round(1000 * part / whole) : 1000;
  return format_quantity(tenths / 10, Dimension::none) + " %";
}

void set_dtype(graph::Op& op, graph::DType from, graph::DType to) {
  const auto set = [&](auto& shape) {
    if (shape.dtype == from) shape.dtype = to;
  };
  if (auto* g = std::get_if<graph::Gemm>(&op)) set(*g);
  if (auto* c = std::get_if<graph::Conv2d>(&op)) set(*c);
  if (auto* a = std::get_if<graph::Attention>(&op)) set(*a);
  if (auto* r = std::get_if<graph::Recurrent>(&op)) set(*r);
}

/// Models in 16 bits compute their losses in fp32 (apex O2 casts the results of the model).
bool is_loss(std::string_view op) {
  const std::string_view name = opgraph::base_name(op);
  return name == "_log_softmax" || name.find("_loss") != name.npos || name.starts_with("binary_cross_entropy");
}

bool is_single(const Element& e) { return e.floating && e.dtype == graph::DType::fp32; }
bool is_half(const Element& e) { return e.floating && e.bytes == 2; }

/// "aten::mm x41, aten::addmm x21, 1 other op"
std::string most_frequent(const std::map<std::string, std::uint64_t>& names) {
  std::vector<std::pair<std::uint64_t, std::string>> most;
  for (const auto& [name, n] : names) most.emplace_back(n, name);
  std::ranges::stable_sort(most, std::greater<>(), &std::pair<std::uint64_t, std::string>::first);
  std::string out;
  for (std::size_t i = 0; i < std::min(kNamesListed, most.size()); ++i)
    out += (i > 0 ? ", " : "") + most[i].second + " x" + std::to_string(most[i].first);
  if (most.size() > kNamesListed) out += ", " + counted(most.size() - kNamesListed, "other op");
  return out;
}

}  // namespace

bool has_regions(const opgraph::OpGraph& graph) {
  return std::ranges::any_of(
      graph.nodes, [](const opgraph::Node& n) { return n.autocast.has_value() && n.autocast != graph::DType::fp32; });
}

void FlopsOfTypes::add(const LayerOp& op) {
  std::visit(
      [&](const auto& shape) {
        if constexpr (requires { shape.dtype; }) flops_[graph::name_of(shape.dtype)] += matrix_flops({op});
      },
      op.op);
}

Precision FlopsOfTypes::most(Precision otherwise) const {
  double most = 0;
  Precision out = otherwise;
  for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8}) {
    const auto of = flops_.find(name_of(p));
    if (of != flops_.end() && of->second > most) most = of->second, out = p;
  }
  return out;
}

std::string GraphCoverage::text() const {
  std::string out = std::to_string(kernels - unlisted) + " of " + counted(kernels, "kernel") + " (" +
                    percent(static_cast<double>(kernels - unlisted), static_cast<double>(kernels)) + "), " +
                    percent(bytes - unlisted_bytes, bytes) + " of their bytes, are priced by models of their ops";
  if (!names.empty()) out += "; estimated from bytes: " + most_frequent(names);
  if (!host.empty()) out += "; left out, as all their tensors are on the host: " + most_frequent(host);
  return out;
}

double GraphCoverage::work_of_forward() const {
  if (forward_flops <= 0) return 3;
  return 1 + std::min(2.0, (backward_flops + unasked_flops) / forward_flops);
}

GraphKernels::GraphKernels(const opgraph::OpGraph& graph, std::int64_t samples, const Numerics& numerics, bool eager,
                           Amp amp)
    : sizes_(graph, samples),
      numerics_(numerics),
      autocasts_(!graph.recorded && (numerics.mixed || has_regions(graph))),
      half_(autocasts_ && numerics.mixed && amp == Amp::half),
      eager_(eager) {
  for (std::uint32_t t = 0; half_ && t < graph.tensors.size(); ++t) {
    if (is_single(sizes_.type(t))) sizes_.set_type(t, {numerics.activation, 2, true});
  }
  if (!autocasts_) return;
  constexpr std::uint32_t kLast = 0xFFFFFFFFu;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  numbers.reserve(graph.tensors.size());
  storage_of_.resize(graph.tensors.size());
  next_view_.resize(graph.tensors.size(), kLast);
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const auto at = numbers.try_emplace(graph.tensors[t].storage, static_cast<std::uint32_t>(first_view_.size()));
    if (at.second) first_view_.push_back(kLast);
    storage_of_[t] = at.first->second;
    next_view_[t] = std::exchange(first_view_[storage_of_[t]], t);
  }
  cast_already_.assign(first_view_.size(), false);
}

void GraphKernels::set_type(std::uint32_t tensor, const Element& type) {
  for (std::uint32_t t = first_view_[storage_of_[tensor]]; t < next_view_.size(); t = next_view_[t]) {
    if (is_single(sizes_.type(t)) || is_half(sizes_.type(t))) sizes_.set_type(t, type);
  }
}

void GraphKernels::cast(std::uint32_t tensor, const Element& to, const std::string& label,
                        std::vector<LayerOp>& casts) {
  const double elements = sizes_.elements(tensor);
  const bool narrow = to.bytes == 2;
  const std::uint32_t storage = storage_of_[tensor];
  if (elements >= 1 && !(narrow && cast_already_[storage])) {
    // Counted in 16-bit tensors: an fp32 one is two.
    const graph::DType half = narrow ? to.dtype : sizes_.type(tensor).dtype;
    graph::Elementwise op{opgraph::count(elements), narrow ? 2.0 : 1.0, narrow ? 1.0 : 2.0, 1, half};
    casts.push_back({label + ".cast", op, {1, 1}});
  }
  if (narrow) cast_already_[storage] = true;
}

std::optional<Element> GraphKernels::narrow_of(const opgraph::Node& node) const {
  const bool stated = node.autocast.has_value() && !half_;
  const graph::DType type = stated ? *node.autocast : numerics_.activation;
  if (stated ? type == graph::DType::fp32 : !numerics_.mixed) return std::nullopt;
  return Element{type, 2, true};
}

void GraphKernels::set_results(const opgraph::Node& node, const Element& type) {
  for (const std::uint32_t t : node.outputs) {
    const Element& now = sizes_.type(t);
    if (is_single(now) || is_half(now)) set_type(t, type);
  }
}

/// What autocasting left in 16 bits is cast where fp32 is needed: the model's own .float() is no call where its tensors are
/// captured in fp32. Needed it is in a region that disables autocasting, and of products elsewhere, whose other operand is
/// in fp32; other kernels promote types, and the backward pass has the types of the forward pass.
std::optional<graph::DType> GraphKernels::uncast(const opgraph::Node& node, std::vector<LayerOp>& casts) {
  const opgraph::Call call(sizes_, node);
  const bool product = opgraph::autocast_of(node.op) == opgraph::Autocast::narrow;
  const bool disabled = node.autocast.has_value() && node.phase == graph::Phase::forward;
  const Element single{graph::DType::fp32, 4, true};
  const auto was_single = [&](std::uint32_t t) { return is_single(sizes_.graph().tensors[t].element); };
  std::optional<Element> half;
  bool any_single = false, cast_back = false;
  for (const std::uint32_t t : call.inputs()) {
    const bool narrowed = is_half(sizes_.type(t)) && was_single(t);
    if (narrowed && (product || disabled) && opgraph::listing_of(node.op) != opgraph::Listing::nothing) {
      cast(t, single, node.label, casts);
      cast_back = true;
    } else if (is_half(sizes_.type(t))) {
      half = sizes_.type(t);
    } else if (is_single(sizes_.type(t)) && sizes_.elements(t) >= sizes_.elements(call.largest())) {
      any_single = true;
    }
  }
  for (const std::uint32_t t : node.outputs) {
    if (was_single(t)) set_type(t, half && !any_single && !cast_back ? *half : single);
  }
  return product && cast_back ? std::optional(graph::DType::fp32) : std::nullopt;
}

/// What is cast for a product stays cast for the next one that reads it, as autocast's cache of weights and autograd's
/// saved tensors do it.
std::optional<graph::DType> GraphKernels::autocast(const opgraph::Node& node, std::vector<LayerOp>& casts) {
  const std::optional<Element> region = narrow_of(node);
  if (!region) return uncast(node, casts);
  const opgraph::Call call(sizes_, node);
  const Element narrow = *region, single{graph::DType::fp32, 4, true};
  opgraph::Autocast rule = opgraph::autocast_of(node.op);
  const bool any_half = std::ranges::any_of(call.inputs(), [&](std::uint32_t t) { return is_half(sizes_.type(t)); });
  if (rule == opgraph::Autocast::fp32 && (node.phase != graph::Phase::forward || (half_ && !is_loss(node.op))))
    rule = opgraph::Autocast::widest;
  Element result = any_half ? narrow : single;
  // A buffer for a copy is made in the type of what is copied; that it is made is no node.
  const bool copies = node.op.starts_with("aten::copy_") && call.inputs().size() > 1;
  if (copies) result = is_half(sizes_.type(call.inputs()[1])) ? narrow : single;
  if (rule == opgraph::Autocast::narrow) {
    result = narrow;
    for (const std::uint32_t t : call.inputs()) {
      if (is_single(sizes_.type(t))) cast(t, narrow, node.label, casts);
    }
  } else if (rule == opgraph::Autocast::fp32) {
    result = single;
    for (const std::uint32_t t : call.inputs()) {
      if (is_half(sizes_.type(t))) cast(t, single, node.label, casts);
    }
  } else if (!copies && call.inputs().size() > 1 && opgraph::listing_of(node.op) == opgraph::Listing::kernels) {
    const bool all_half = std::ranges::all_of(call.inputs(), [&](std::uint32_t t) {
      return !is_single(sizes_.type(t)) || sizes_.elements(t) < sizes_.elements(call.largest());
    });
    if (any_half && !all_half) result = single;  // types are promoted inside of the kernel
  }
  set_results(node, result);
  return rule == opgraph::Autocast::narrow ? std::optional(narrow.dtype) : std::nullopt;
}

void GraphKernels::complete(std::uint32_t parameter, std::vector<LayerOp>& ops) {
  if (!autocasts_ || !cast_already_[storage_of_[parameter]]) return;
  const graph::DType half = numerics_.mixed ? numerics_.activation : graph::DType::fp16;  // 16 bits of either kind
  const graph::Elementwise op{opgraph::count(sizes_.elements(parameter)), 1, 2, 1, half};
  ops.push_back({sizes_.graph().tensors[parameter].name + ".cast_gradient", op, {1, 1}});
}

NodeKernels GraphKernels::of(const opgraph::Node& node) {
  NodeKernels out;
  const std::optional<graph::DType> products = autocasts_ ? autocast(node, out.ops) : std::nullopt;
  const opgraph::Call call(sizes_, node);
  opgraph::Kernels kernels = opgraph::kernels_of(call);
  out.listed = kernels.listed;
  count(call, kernels);
  const std::string name = node.label + "." + std::string(opgraph::base_name(node.op));
  const std::uint16_t calls = eager_ ? capped(node.calls) : capped(1);
  bool first = true;
  for (graph::Op& op : kernels.ops) {
    if (const graph::DType type = products.value_or(graph::DType::fp32); type != graph::DType::fp32)
      set_dtype(op, graph::DType::fp32, type);
    else if (products.has_value())
      for (const graph::DType half : {graph::DType::fp16, graph::DType::bf16}) set_dtype(op, half, type);
    if (node.work) set_dtype(op, graph::DType::fp32, numerics_.matrix);  // no types are known
    if (numerics_.matrix == graph::DType::tf32) set_dtype(op, graph::DType::fp32, graph::DType::tf32);
    out.ops.push_back({name, std::move(op), {first ? calls : capped(0), 1}});
    first = false;
  }
  return out;
}

void GraphKernels::count(const opgraph::Call& call, const opgraph::Kernels& kernels) {
  if (kernels.ops.empty()) {
    const bool has_tensors = !call.inputs().empty() || !call.node().outputs.empty();
    if (has_tensors && call.on_host()) ++coverage_.host[call.node().op];
    return;
  }
  const double bytes = call.node().work ? call.node().work->bytes : call.read_bytes() + call.written_bytes();
  coverage_.kernels += kernels.ops.size();
  coverage_.bytes += bytes;
  if (kernels.listed) return;
  coverage_.unlisted += kernels.ops.size();
  coverage_.unlisted_bytes += bytes;
  ++coverage_.names[call.node().op];
}

std::int64_t live_bytes(const opgraph::OpGraph& graph, const opgraph::Sizes& sizes) {
  constexpr std::uint32_t kNever = 0xFFFFFFFFu;
  struct Life {
    std::uint32_t begin = kNever, end = 0;
    double bytes = 0;
  };
  std::unordered_map<std::uint64_t, Life> lives;
  std::unordered_set<std::uint64_t> apart;
  for (const opgraph::Tensor& t : graph.tensors) {
    if (t.role == opgraph::TensorRole::parameter || t.role == opgraph::TensorRole::buffer || t.on_host)
      apart.insert(t.storage);
  }
  const auto touch = [&](std::uint32_t tensor, std::uint32_t node) {
    const opgraph::Tensor& t = graph.tensors[tensor];
    if (t.storage == 0 || apart.contains(t.storage)) return;
    Life& life = lives[t.storage];
    life.begin = std::min(life.begin, node);
    life.end = std::max(life.end, node);
    life.bytes = std::max(life.bytes, sizes.bytes(tensor));
  };
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (const opgraph::Argument& a : graph.nodes[i].inputs) {
      for (const std::uint32_t t : a.tensors) touch(t, i);
    }
    for (const std::uint32_t t : graph.nodes[i].outputs) touch(t, i);
  }
  std::vector<double> change(graph.nodes.size() + 1, 0);
  for (const auto& [storage, life] : lives) change[life.begin] += life.bytes, change[life.end + 1] -= life.bytes;
  double now = 0, most = 0;
  for (const double c : change) most = std::max(most, now += c);
  return static_cast<std::int64_t>(std::min(most, 1e17));
}

}  // namespace distsim::workload
