#include "sim/workload/llm/block_builder.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "sim/graph/op_key.hpp"

namespace distsim::workload {
namespace {

using graph::CollectiveKind;

/// Traffic of writing an operand of 8 or 4 bits from one of 16, in tensors of 16 bits: both orders that a product's two
/// passes need are written (TE's cast-transpose); current scaling reads it once more for its maximum; nv for the maxima
/// of it and of its Hadamard transform, then for each order, of which the columns are transformed (arXiv 2509.25149).
struct CastTraffic {
  double reads, writes;
};
CastTraffic cast_traffic(graph::Scaling scaling) {
  switch (scaling) {
    case graph::Scaling::none:
      return {0, 0};
    case graph::Scaling::delayed:
      return {1, 1};
    case graph::Scaling::current:
      return {2, 1};
    case graph::Scaling::blockwise:
      return {1, 1.03};
    case graph::Scaling::mx:
      return {1, 1.03};
    case graph::Scaling::nv:
      return {3, 0.5625};
  }
  return {0, 0};
}

constexpr double kNone = 0;

double matrix_flops_of(const graph::Op& op) {
  const bool matrix = std::holds_alternative<graph::Gemm>(op) || std::holds_alternative<graph::Attention>(op) ||
                      std::holds_alternative<graph::StateSpaceScan>(op);
  return matrix ? graph::flops_of(op) : 0;
}

/// Products of even groups, as a share of a kernel.
struct EvenGroups {
  std::int64_t groups, rows;  ///< rows of each
  double share;
};
/// `rows` among `groups` as evenly as they go: some have one more than the others. One kernel runs them all; its time is
/// taken to lie between those of kernels whose groups all have the lower, or all the higher number, and its operations
/// add up to those of the rows. Of fewer rows than groups as many groups have one, and the rest launch nothing.
std::vector<EvenGroups> even_groups(std::int64_t rows, std::int64_t groups) {
  rows = std::max<std::int64_t>(1, rows);
  if (rows < groups) return {{rows, 1, 1}};
  const std::int64_t least = rows / groups, more = rows % groups;
  if (more == 0) return {{groups, least, 1}};
  const double share = static_cast<double>(more) / static_cast<double>(groups);
  return {{groups, least, 1 - share}, {groups, least + 1, share}};
}

/// Products that overlap with an exchange in chunks (Transformer Engine's user buffers) are as many smaller ones. They run on
/// several streams, so that the SMs which one leaves idle at its end work on the next: together they take the time of one.
std::int64_t ring_chunks(const LlmShape& s, const BlockBuilder::Product& p) {
  constexpr std::int64_t kMostChunks = 4;
  const bool ring = s.framework.parallel.overlap_tensor == TensorOverlap::ring && s.parallel.sequence_parallel;
  const bool exchanged = p.side != BlockBuilder::Side::inside;
  return ring && exchanged && s.tensor > 1 ? std::min(s.tensor, kMostChunks) : 1;
}

}  // namespace

std::string_view name_of(Axis axis) {
  static constexpr std::array<std::string_view, 4> kAxisNames{"tensor", "context", "expert", "expert_tensor"};
  return kAxisNames[static_cast<std::size_t>(axis)];
}

void PassWork::add(const PassWork& other, double times) {
  if (times == 0) return;
  for (const auto& [op, n] : other.ops) ops.emplace_back(op, n * times);
  for (const auto& [wire, n] : other.wires) wires.emplace_back(wire, n * times);
  calls += other.calls * times;
  kernels += other.kernels * times;
}

PassWork PassWork::without(const PassWork& part) const {
  PassWork out = *this;
  for (const auto& [op, n] : part.ops) {
    const auto key = graph::key_of(op);
    const auto mine = std::ranges::find_if(out.ops, [&](const auto& item) { return graph::key_of(item.first) == key; });
    CHECK(key.has_value() && mine != out.ops.end()) << "a part of another pass";
    mine->second = std::max(0.0, mine->second - n);
    if (mine->second == 0) out.ops.erase(mine);
  }
  out.calls -= part.calls;
  out.kernels -= part.kernels;
  return out;
}

double PassWork::matrix_flops() const {
  double sum = 0;
  for (const auto& [op, n] : ops) sum += n * matrix_flops_of(op);
  return sum;
}

std::int64_t LlmShape::tokens() const { return std::max<std::int64_t>(1, samples * spec.sequence / context); }
std::int64_t LlmShape::tokens_of(bool decoder) const {
  return decoder && spec.decoder_sequence > 0 ? std::max<std::int64_t>(1, samples * spec.decoder_sequence / context)
                                              : tokens();
}
std::int64_t LlmShape::shared() const {
  return parallel.sequence_parallel ? std::max<std::int64_t>(1, tokens() / tensor) : tokens();
}

std::int64_t message_bytes(const LlmShape& s) {
  return s.shared() * s.spec.hidden * graph::size_of(s.numerics.activation);
}

double exposed_share(const Wire& wire, std::int64_t tensor, std::int64_t context, std::int64_t micro_steps) {
  if (!wire.hidden) return 1;
  if (wire.axis == Axis::expert) return 0.5 / static_cast<double>(std::max<std::int64_t>(1, micro_steps));
  if (wire.axis == Axis::context) return 1 / static_cast<double>(context);
  return wire.kind == graph::CollectiveKind::all_gather ? 0 : 1 / static_cast<double>(tensor);
}

BlockBuilder::BlockBuilder(const LlmShape& shape, const Recompute& recompute) : s_(shape), recompute_(recompute) {}

std::int64_t BlockBuilder::rows_of(std::int64_t tokens) const {
  return s_.parallel.sequence_parallel ? std::max<std::int64_t>(1, tokens / s_.tensor) : tokens;
}

bool BlockBuilder::repeats(std::string_view module) const {
  return recompute_.kind == RecomputeKind::modules && recompute_.has(module);
}

/// A checkpoint around a part runs its exchanges again too.
bool BlockBuilder::repeats_wires() const {
  if (recompute_.kind == RecomputeKind::full || recompute_.kind == RecomputeKind::every_second) return true;
  switch (part_) {
    case Part::elsewhere:
      return false;
    case Part::mlp:
      return repeats("mlp");
    case Part::experts:
      return repeats("moe");
    case Part::shared_experts:
      break;
  }
  return repeats("moe") || repeats("shared_experts");
}

/// Modules as Megatron Core's --recompute-modules has them: mlp, moe and shared_experts are checkpoints around the whole
/// part; moe_act, layernorm and mla_up_proj throw away what the module made.
double BlockBuilder::share_again(Module module) const {
  switch (recompute_.kind) {
    case RecomputeKind::automatic:
    case RecomputeKind::none:
      return 0;
    case RecomputeKind::full:
    case RecomputeKind::every_second:
      return 1;
    case RecomputeKind::core_attention:
      return module == Module::core_attention ? 1 : 0;
    case RecomputeKind::per_operator:
      return module == Module::core_attention ? 0 : module == Module::product || module == Module::mla_up ? 0.5 : 1;
    case RecomputeKind::modules:
      break;
  }
  if (part_ != Part::elsewhere && repeats_wires()) return 1;
  switch (module) {
    case Module::norm:
      return repeats("layernorm") ? 1 : 0;
    case Module::core_attention:
      return repeats("core_attn") ? 1 : 0;
    case Module::mla_up:
      return repeats("mla_up_proj") ? 1 : 0;
    case Module::activation:
      return part_ == Part::experts && repeats("moe_act") ? 1 : 0;
    default:
      return 0;
  }
}

void BlockBuilder::forward_op(Module module, graph::Op op, double times, double calls, double kernels) {
  const double again = share_again(module);
  if (again > 0) {
    out_.repeated.ops.emplace_back(op, times * again);
    backward_op(op, times * again, calls * again, kernels * again);
  }
  out_.forward.ops.emplace_back(std::move(op), times);
  out_.forward.calls += calls;
  out_.forward.kernels += kernels;
}

/// Operations of the forward pass that the model needs, of which the backward pass may run some again.
void BlockBuilder::count_useful(Module module, double flops) {
  out_.forward_flops += flops;
  out_.repeated_flops += flops * share_again(module);
}

void BlockBuilder::backward_op(graph::Op op, double times, double calls, double kernels) {
  out_.backward.ops.emplace_back(std::move(op), times);
  out_.backward.calls += calls;
  out_.backward.kernels += kernels;
}

void BlockBuilder::weight_op(const graph::Op& op, double times, double calls, double kernels) {
  backward_op(op, times, calls, kernels);
  out_.weights.ops.emplace_back(op, times);
  out_.weights.calls += calls;
  out_.weights.kernels += kernels;
}

void BlockBuilder::keep(Module module, double bytes) {
  whole_ += bytes;
  out_.kept += bytes * (1 - share_again(module));
}

void BlockBuilder::wire(Axis axis, CollectiveKind forward, CollectiveKind backward, std::int64_t bytes,
                        bool hidden_forward, bool hidden_backward) {
  out_.forward.wires.emplace_back(Wire{axis, forward, bytes, hidden_forward}, 1);
  if (repeats_wires()) out_.backward.wires.emplace_back(Wire{axis, forward, bytes, hidden_forward}, 1);
  out_.backward.wires.emplace_back(Wire{axis, backward, bytes, hidden_backward}, 1);
}

void BlockBuilder::wire_backward(Axis axis, CollectiveKind kind, std::int64_t bytes, bool hidden) {
  out_.backward.wires.emplace_back(Wire{axis, kind, bytes, hidden}, 1);
}

void BlockBuilder::enter(std::int64_t rows) {
  if (s_.tensor == 1) return;
  const auto size = static_cast<std::int64_t>(bytes(static_cast<double>(rows * s_.spec.hidden)));
  const bool ring = s_.framework.parallel.overlap_tensor == TensorOverlap::ring;
  const bool bulk = s_.framework.parallel.overlap_tensor != TensorOverlap::none;
  if (!s_.parallel.sequence_parallel) return wire_backward(Axis::tensor, CollectiveKind::all_reduce, size, bulk);
  wire(Axis::tensor, CollectiveKind::all_gather, CollectiveKind::reduce_scatter, size, ring, bulk);
  wire_backward(Axis::tensor, CollectiveKind::all_gather, size, bulk);  // the input, for the weight gradient
}

void BlockBuilder::leave(std::int64_t rows) {
  if (s_.tensor == 1) return;
  const auto size = static_cast<std::int64_t>(bytes(static_cast<double>(rows * s_.spec.hidden)));
  const bool ring = s_.framework.parallel.overlap_tensor == TensorOverlap::ring;
  if (s_.parallel.sequence_parallel)
    return wire(Axis::tensor, CollectiveKind::reduce_scatter, CollectiveKind::all_gather, size, ring, ring);
  out_.forward.wires.emplace_back(Wire{Axis::tensor, CollectiveKind::all_reduce, size, false}, 1);
  if (repeats_wires()) wire_backward(Axis::tensor, CollectiveKind::all_reduce, size, false);
}

void BlockBuilder::norm(std::int64_t rows, std::int64_t width) {
  graph::Normalization op;
  op.kind = s_.spec.norm == LlmNorm::layer ? graph::NormKind::layer : graph::NormKind::rms;
  op.rows = rows;
  op.cols = width;
  op.dtype = dtype();
  op.fused = s_.framework.kernels.fuse_elementwise || s_.framework.kernels.compiled;
  forward_op(Module::norm, op, 1, 1, 1);
  op.pass = graph::Pass::backward;
  backward_op(op, 1, 1, 2);
  keep(Module::norm, bytes(static_cast<double>(rows * width)));
  weights(static_cast<double>(width) * (s_.spec.norm == LlmNorm::layer ? 2 : 1),
          s_.spec.norm == LlmNorm::layer ? 2 : 1);
}

void BlockBuilder::elementwise(Module module, std::int64_t elements, double reads, double writes, double back_reads,
                               double back_writes, double flops) {
  const std::int64_t n = std::max<std::int64_t>(1, elements);
  forward_op(module, graph::Elementwise{n, reads, writes, flops, dtype()}, 1, 1, 1);
  if (back_reads + back_writes > 0)
    backward_op(graph::Elementwise{n, back_reads, back_writes, flops, dtype()}, 1, 1, 1);
}

void BlockBuilder::residual(std::int64_t elements) {
  const double mask = s_.spec.dropout ? 1.0 / static_cast<double>(graph::size_of(dtype())) : 0;
  const bool fused = s_.framework.kernels.fuse_elementwise || s_.framework.kernels.compiled;
  if (s_.spec.dropout && !fused) elementwise(Module::residual, elements, 1, 1 + mask, 1 + mask, 1);
  elementwise(Module::residual, elements, 2, fused ? 1 + mask : 1, fused ? 2 + mask : 2, 1);
  if (s_.spec.dropout) keep(Module::residual, static_cast<double>(elements));
}

void BlockBuilder::cast(std::int64_t elements, double times, Input input, bool backward, Module module) {
  const graph::Scaling scaling = s_.numerics.scaling;
  const FrameworkSpec::Kernels& kernels_of = s_.framework.kernels;
  const bool one_pass = scaling == graph::Scaling::delayed || scaling == graph::Scaling::mx;
  const bool merged = one_pass && ((input == Input::norm && kernels_of.fuse_elementwise) ||
                                   (input == Input::activation && kernels_of.compiled));
  if (scaling == graph::Scaling::none || merged) return;
  const CastTraffic traffic = cast_traffic(scaling);
  const graph::Elementwise op{std::max<std::int64_t>(1, elements), traffic.reads, traffic.writes, 4,
                              graph::DType::bf16};
  const double kernels = traffic.reads > 1 ? 2 : 1;
  if (backward)
    backward_op(op, times, 0, kernels * times);
  else
    forward_op(module, op, times, 0, kernels * times);
}

void BlockBuilder::product(const Product& p) {
  const bool narrow = p.narrow && s_.numerics.scaling != graph::Scaling::none;
  graph::Gemm g;
  g.n = p.out;
  g.k = p.in;
  g.dtype = narrow || s_.numerics.scaling == graph::Scaling::none ? s_.numerics.matrix : dtype();
  g.scaling = narrow ? s_.numerics.scaling : graph::Scaling::none;
  g.grouped = p.groups > 1;
  g.imbalance = g.grouped ? s_.spec.imbalance : 0;
  const double weight = static_cast<double>(p.groups) * static_cast<double>(p.in) * static_cast<double>(p.out);
  const std::int64_t rows = std::max<std::int64_t>(1, p.rows);
  const auto elements = [&](std::int64_t width) { return rows * width; };
  if (narrow) {
    cast(elements(p.in), 1, p.input, false, p.module);
    if (!s_.framework.parallel.fp8_parameters)
      cast(static_cast<std::int64_t>(weight), 1.0 / static_cast<double>(s_.micro_steps), Input::plain, false, p.module);
  }
  const double useful = p.useful_rows < 0 ? static_cast<double>(rows) : p.useful_rows;
  count_useful(p.module, 2 * useful * static_cast<double>(p.in) * static_cast<double>(p.out));
  auto pieces = static_cast<double>(ring_chunks(s_, p)), calls = 1 + pieces;
  for (const EvenGroups& even : even_groups(rows, p.groups)) {
    g.batch = even.groups, g.m = even.rows;
    forward_op(p.module, g, even.share, std::exchange(calls, 0), std::exchange(pieces, 0));
  }
  const double biases = p.bias ? static_cast<double>(p.groups * p.out) : 0;
  if (p.bias && !s_.framework.kernels.fuse_elementwise && !s_.framework.kernels.fuse_epilogue)
    elementwise(Module::activation, elements(p.out), 1, 1, 1, kNone, 1);
  // With sequence parallel a rank keeps its tokens of what was gathered, and gathers it again.
  const bool gathered = s_.parallel.sequence_parallel && p.input == Input::norm && p.side == Side::entry;
  const double input =
      static_cast<double>(elements(p.in)) / static_cast<double>(gathered ? s_.tensor : 1) *
      (narrow && s_.framework.memory.keeps_narrow ? 1.0 : static_cast<double>(graph::size_of(dtype())));
  if (p.first && recompute_.kind == RecomputeKind::modules)
    whole_ += input, out_.kept += input;
  else
    keep(p.module, input);
  gradient_products(p, g);
  if (p.owns_weight && has_adapter(p)) adapter(p);
  if (!p.owns_weight) return;
  (p.expert ? out_.expert : out_.dense) += weight + biases;
  out_.tensors += p.bias ? 2 : 1;
}

void BlockBuilder::gradient_products(const Product& p, const graph::Gemm& forward) {
  const std::int64_t rows = std::max<std::int64_t>(1, p.rows);
  const std::vector<EvenGroups> groups = even_groups(rows, p.groups);
  graph::Gemm g = forward;
  g.n = p.in;
  g.k = p.out;
  g.pass = graph::Pass::backward_data;
  if (g.scaling != graph::Scaling::none) cast(rows * p.out, 1, Input::plain, true, p.module);
  // Gradients of results that were reduced are gathered in chunks; those of split results run beside another exchange.
  auto chunks = static_cast<double>(p.side == Side::exit ? ring_chunks(s_, p) : 1);
  double calls = 1;
  for (const EvenGroups& even : groups) {
    g.batch = even.groups, g.m = even.rows;
    backward_op(g, even.share, std::exchange(calls, 0), std::exchange(chunks, 0));
  }
  if (s_.spec.training == LlmTraining::lora) return;
  g.m = p.in;
  g.n = p.out;
  g.pass = graph::Pass::backward_weight;
  calls = 1;
  for (const EvenGroups& even : groups) {
    g.batch = even.groups, g.k = even.rows;
    const double once = std::exchange(calls, 0);
    weight_op(g, even.share, once, once);
  }
  // The sum over micro-steps, in fp32: inside the product it reads and writes 4 bytes where the product alone would
  // write 2; otherwise the product's result is read again.
  if (!s_.sums_gradients) return;
  const bool fused = s_.framework.kernels.fuse_gradient_accumulation;
  const std::int64_t main = s_.framework.parallel.main_gradient_bytes;
  const double wide = main == 0 ? 1 : static_cast<double>(main) / 2;
  weight_op(graph::Elementwise{p.groups * p.in * p.out, fused ? wide : wide + 1, fused ? wide - 0.5 : wide, 1,
                               graph::DType::bf16},
            1, fused ? 0 : 1, fused ? 0 : 1);
}

bool BlockBuilder::has_adapter(const Product& p) const {
  if (s_.spec.training != LlmTraining::lora) return false;
  switch (s_.spec.lora_targets.value_or(s_.framework.parallel.lora_targets)) {
    case LoraTargets::all:
      return true;
    case LoraTargets::attention:
      return p.place != Place::elsewhere;
    case LoraTargets::qkv:
      break;
  }
  return p.place == Place::qkv;
}

/// Two thin products each way for the adapter's two matrices, and as many for their gradients; of a product of several experts,
/// an adapter each. What the first finds is kept for the gradient of the second.
void BlockBuilder::adapter(const Product& p) {
  const std::int64_t rank = s_.spec.lora_rank;
  const std::int64_t rows = std::max<std::int64_t>(1, p.rows);
  for (const auto& [in, out] : {std::pair(p.in, rank), std::pair(rank, p.out)}) {
    graph::Gemm g;
    g.n = out;
    g.k = in;
    g.dtype = dtype();
    g.grouped = p.groups > 1;
    g.imbalance = g.grouped ? s_.spec.imbalance : 0;
    double calls = 1;
    for (const EvenGroups& even : even_groups(rows, p.groups)) {
      const double once = std::exchange(calls, 0);
      g.batch = even.groups, g.m = even.rows;
      forward_op(Module::product, g, even.share, once, once);
      graph::Gemm data = g, weight = g;
      data.n = in, data.k = out, data.pass = graph::Pass::backward_data;
      weight.m = in, weight.n = out, weight.k = g.m, weight.pass = graph::Pass::backward_weight;
      backward_op(data, even.share, once, once);
      weight_op(weight, even.share, once, once);
    }
    const auto elements = static_cast<double>(p.groups * in * out);
    (p.expert ? out_.expert : out_.dense) += elements;
    (p.expert ? out_.trained_expert : out_.trained_dense) += elements;
    ++adapter_matrices_;
  }
  keep(p.module, static_cast<double>(rows * rank * graph::size_of(dtype())));
  elementwise(Module::residual, p.rows * p.out, 2, 1, 2, 1);
}

/// Equal ops are counted together, so that each is priced once.
PartWork BlockBuilder::take() {
  const bool full = recompute_.kind == RecomputeKind::full || recompute_.kind == RecomputeKind::every_second;
  if (full) out_.kept = bytes(static_cast<double>(s_.shared() * s_.spec.hidden));
  out_.working = std::max(0.0, whole_ - out_.kept);
  if (s_.spec.training == LlmTraining::lora) {
    out_.tensors = adapter_matrices_;
  } else {
    out_.trained_dense = out_.dense;
    out_.trained_expert = out_.expert;
  }
  return std::move(out_);
}

}  // namespace distsim::workload
