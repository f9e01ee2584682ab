#include <algorithm>
#include <cmath>
#include <set>

#include "sim/opgraph/makers.hpp"

namespace distsim::opgraph {
namespace {

constexpr double kMostTensors = 1000;  // of one kernel, in tensors of its largest: bounds of graph::Elementwise

/// One kernel that reads and writes so many bytes, counted in tensors as large as `like`.
std::vector<graph::Op> streaming(const Call& call, std::uint32_t like, double read, double written, double flops) {
  const double size = call.sizes().bytes(like);
  if (size <= 0) return {};
  graph::Elementwise op;
  op.elements = count(call.sizes().elements(like));
  op.dtype = call.sizes().type(like).dtype;
  const double stored = graph::real(op.elements) * graph::real(graph::size_of(op.dtype));
  op.reads = std::min(kMostTensors, read / stored), op.writes = std::min(kMostTensors, written / stored);
  op.flops = flops;
  return {op};
}

/// What a kernel must read: a tensor that is given twice once, an expanded one as large as it is.
double bytes_read(const Call& call) {
  double sum = 0;
  std::set<std::uint32_t> seen;
  for (const std::uint32_t t : call.inputs()) {
    if (seen.insert(t).second) sum += call.sizes().bytes(t);
  }
  return sum;
}

bool on_host(const Call& call, std::uint32_t tensor) { return call.sizes().graph().tensors[tensor].on_host; }

Ops optimizer_of(const Call& call, graph::OptimizerKind kind) {
  if (call.node().inputs.empty() || call.node().inputs.front().tensors.empty()) return std::nullopt;
  const std::vector<std::uint32_t>& weights = call.node().inputs.front().tensors;
  double parameters = 0;
  for (const std::uint32_t t : weights) parameters += call.sizes().elements(t);
  if (parameters < 1) return std::nullopt;
  graph::Optimizer op;
  op.kind = kind;
  op.parameters = count(parameters);
  op.tensors = static_cast<std::int64_t>(weights.size());
  return std::vector<graph::Op>{op};
}

}  // namespace

Ops make_pointwise(const Call& call, double flops) {
  if (call.inputs().empty() && call.outputs().empty()) return std::nullopt;
  return streaming(call, call.largest(), bytes_read(call), call.written_bytes(), flops);
}

/// Of arguments that are not broadcast to each other what is written decides, as where a recorded result is an argument as well.
Ops make_elementwise(const Call& call, double flops) {
  std::vector<Dims> all;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) all.push_back(call.in(i));
  const std::optional<Dims> whole = all.empty() ? std::nullopt : broadcast_of(all);
  for (std::size_t i = 0; whole && i < call.outputs().size(); ++i)
    if (product(call.out(i)) != product(*whole)) return std::nullopt;
  return make_pointwise(call, flops);
}

Ops make_reduction(const Call& call, double flops) { return make_pointwise(call, flops); }

Ops make_fill(const Call& call, double) {
  if (call.outputs().empty() && call.inputs().empty()) return std::nullopt;
  const std::uint32_t to = call.outputs().empty() ? call.inputs().front() : call.outputs().front();
  return streaming(call, to, 0, call.written_bytes(), 0);
}

/// copy_(to, from), _to_copy(from) -> to, clone(from) -> to.
Ops make_copy(const Call& call, double) {
  if (call.inputs().empty()) return std::nullopt;
  const bool in_place = call.node().op == "aten::copy_";
  if (in_place && !call.has(1)) return std::nullopt;
  const std::uint32_t from = call.inputs()[in_place ? 1 : 0];
  if (!in_place && call.outputs().empty()) return std::nullopt;
  const std::uint32_t to = in_place ? call.inputs()[0] : call.outputs()[0];
  if (on_host(call, from) != on_host(call, to)) {
    const double bytes = call.sizes().bytes(from);
    if (bytes < 1) return std::vector<graph::Op>{};
    return std::vector<graph::Op>{
        graph::Copy{on_host(call, from) ? graph::CopyKind::h2d : graph::CopyKind::d2h, count(bytes)}};
  }
  const std::uint32_t like = call.sizes().bytes(from) > call.sizes().bytes(to) ? from : to;
  return streaming(call, like, call.sizes().bytes(from), call.sizes().bytes(to), 0);
}

Ops make_concat(const Call& call, double) {
  const double bytes = call.written_bytes();
  if (call.inputs().empty()) return std::nullopt;
  if (bytes < 1) return std::vector<graph::Op>{};
  const std::size_t pieces = std::max<std::size_t>(call.inputs().size(), call.outputs().size());
  return std::vector<graph::Op>{graph::Concat{count(bytes), static_cast<std::int64_t>(pieces)}};
}

Ops make_gather(const Call& call, double) {
  if (call.inputs().empty() || call.outputs().empty()) return std::nullopt;
  double indices = 0;
  for (std::size_t i = 1; i < call.inputs().size(); ++i) indices += call.sizes().bytes(call.inputs()[i]);
  const std::uint32_t to = call.outputs().front();
  return streaming(call, to, call.sizes().bytes(to) + indices, call.sizes().bytes(to), 0);
}

Ops make_scatter(const Call& call, double flops) {
  if (!call.has(1)) return std::nullopt;
  const auto given = [&](std::size_t i) { return call.sizes().bytes(call.inputs()[i]); };
  double read = 0;
  std::uint32_t largest = call.inputs()[1];
  for (std::size_t i = 1; i < call.inputs().size(); ++i) {
    read += given(i);
    if (given(i) > call.sizes().bytes(largest)) largest = call.inputs()[i];
  }
  const double touched = std::min(call.sizes().bytes(call.inputs()[0]), given(call.inputs().size() - 1));
  return streaming(call, largest, read + touched, touched, flops);
}

/// Neighbouring elements that a place of index_put stands for: of x[:, i, j] one, of rows x[i] a row. Lists of places do not say
/// which dimensions they are of: the first that fit.
double slice_of(const Call& call, const std::vector<std::uint32_t>& places, double entries) {
  double chosen = 1;
  bool mask = false;
  for (const std::uint32_t t : places) {
    chosen = std::max(chosen, call.sizes().elements(t));
    mask |= call.sizes().type(t).bytes == 1;
  }
  const std::optional<std::uint32_t> whole = call.tensor_at(0);
  if (!whole) return 1;
  const Dims dims = call.sizes().dims(*whole);
  const std::size_t indexed = mask ? call.sizes().dims(places.front()).size() : places.size();
  for (std::size_t first = 0; first + indexed <= dims.size(); ++first) {
    const double before = product(Dims(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(first)));
    const double after = product(Dims(dims.begin() + static_cast<std::ptrdiff_t>(first + indexed), dims.end()));
    if (mask || before * after * chosen == entries) return std::max(1.0, after);
  }
  return 1;
}

/// index_put_(x, indices, values, accumulate, ...). The gradient of an index adds, in the order that sorting the places gives. A
/// warp takes up to 128 neighbouring elements of one place: single ones take 0.45 ns each on a V100 (320 us for 2048 x 351 of
/// 27 x 27, owensgroup/ml_perf_model), as long as 384 bytes. 10 launches there.
Ops make_index_put(const Call& call, double flops) {
  constexpr double kWarpElements = 128, kWarpReads = 8 * 2 * 16, kWarpWrites = 8 * 16;
  constexpr int kSmallKernels = 9;  // of the sort and of the places
  const auto values = call.tensor_at(2);
  if (!values || call.number_at(3, 0) == 0)
    return call.node().op.starts_with("aten::index_put.") || call.node().op == "aten::index_put"
               ? make_scatter_into_copy(call, flops)
               : make_scatter(call, flops);
  const std::vector<std::uint32_t>& places = call.node().inputs[1].tensors;
  const double entries = call.sizes().elements(*values), bytes = call.sizes().bytes(*values);
  const double slice = places.empty() ? 1 : slice_of(call, places, entries);
  const double warps = entries / slice * std::ceil(slice / kWarpElements);
  std::vector<graph::Op> out = streaming(call, *values, warps * kWarpReads + 2 * bytes, warps * kWarpWrites + bytes, 1);
  graph::Elementwise small;
  small.elements = 1, small.dtype = graph::DType::int64;
  for (int i = 0; i < kSmallKernels && !out.empty(); ++i) out.emplace_back(small);
  return out;
}

Ops make_scatter_into_copy(const Call& call, double flops) {
  Ops scatter = make_scatter(call, flops);
  if (!scatter) return std::nullopt;
  const double whole = call.sizes().bytes(call.inputs()[0]);
  const std::vector<graph::Op> copy = streaming(call, call.inputs()[0], whole, whole, 0);
  scatter->insert(scatter->begin(), copy.begin(), copy.end());
  return scatter;
}

Ops make_passes(const Call& call, double passes) {
  if (call.inputs().empty() && call.outputs().empty()) return std::nullopt;
  const std::uint32_t like = call.largest();
  const double bytes = call.sizes().bytes(like) * passes;
  return streaming(call, like, bytes, bytes, 1);
}

Ops make_scalar_read(const Call& call, double) {
  if (call.inputs().empty()) return std::nullopt;
  return std::vector<graph::Op>{
      graph::Copy{graph::CopyKind::d2h, std::max<std::int64_t>(1, call.sizes().type(call.inputs().front()).bytes)}};
}

Ops make_foreach(const Call& call, double flops) {
  if (call.node().inputs.empty() || call.node().inputs.front().tensors.empty()) return std::nullopt;
  const std::vector<std::uint32_t>& list = call.node().inputs.front().tensors;
  double elements = 0, own = 0;
  for (const std::uint32_t t : list) elements += call.sizes().elements(t), own += call.sizes().bytes(t);
  if (elements < 1) return std::vector<graph::Op>{};
  graph::Elementwise op;
  op.elements = count(elements);
  op.dtype = call.sizes().type(list.front()).dtype;
  const double stored = elements * graph::real(graph::size_of(op.dtype));
  op.reads = std::min(kMostTensors, bytes_read(call) / stored);
  op.writes = std::min(kMostTensors, (call.outputs().empty() ? own : call.written_bytes()) / stored);
  op.flops = flops;
  return std::vector<graph::Op>{op};
}

Ops make_adam(const Call& call, double) { return optimizer_of(call, graph::OptimizerKind::adam); }
Ops make_sgd(const Call& call, double) {
  const bool momentum = call.node().inputs.size() > 2 && !call.node().inputs[2].tensors.empty();
  return optimizer_of(call, momentum ? graph::OptimizerKind::momentum : graph::OptimizerKind::sgd);
}
Ops make_adagrad(const Call& call, double) { return optimizer_of(call, graph::OptimizerKind::adagrad); }

}  // namespace distsim::opgraph
