#include "traces/sizes/collective_size.hpp"

#include <algorithm>

#include "traces/build/collective_text.hpp"
#include "traces/build/op_inputs.hpp"

namespace distsim::traces {
namespace {

using graph::CollectiveKind;

/// Elements of all ranks together and of one; for kinds of which a rank holds one part.
struct WholeAndPart {
  std::int64_t whole, part;
};
std::optional<WholeAndPart> whole_and_part(const TraceCollective& c) {
  switch (c.kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
      return WholeAndPart{c.out_elements, c.in_elements};
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::scatter:
      return WholeAndPart{c.in_elements, c.out_elements};
    default:
      return std::nullopt;
  }
}

/// Tensors that the collective gives are others than those that it fills.
bool has_two_buffers(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::gather || kind == CollectiveKind::scatter || kind == CollectiveKind::all_to_all ||
         kind == CollectiveKind::all_to_all_v;
}

bool is_times(std::int64_t whole, std::int64_t part, std::int64_t ranks) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(part, ranks, &product) && product == whole;
}

/// Elements as the size counts them; -1: not known.
std::int64_t counted_elements(const TraceJob& job, const TraceCollective& c) {
  const std::int64_t most = std::max(c.in_elements, c.out_elements);
  if (const auto of = whole_and_part(c)) {
    if (of->whole > 0 || of->part <= 0) return of->whole >= 0 ? of->whole : of->part;
    std::int64_t all = 0;
    const std::uint32_t ranks = ranks_of_group(job, c);
    return ranks > 0 && !__builtin_mul_overflow(of->part, std::int64_t{ranks}, &all) ? all : -1;
  }
  const bool larger = c.kind == CollectiveKind::send_recv || c.kind == CollectiveKind::broadcast;
  return !larger && c.in_elements > 0 ? c.in_elements : most;
}

}  // namespace

void fill_elements(std::string_view op, const OpInputs& inputs, TraceCollective& c) {
  const auto kind = collective_of_call(op);
  const auto fill = [&](std::int64_t& open, std::optional<std::uint32_t> argument) {
    std::int64_t elements = 0;
    graph::DType dtype = c.dtype;
    if (!total_elements(inputs.tensors, argument, elements, dtype)) return;
    if (!c.dtype_known) c.dtype = dtype, c.dtype_known = true;
    if (open < 0) open = elements;
  };
  if (op.starts_with("c10d::") && kind && has_two_buffers(*kind)) {
    fill(c.out_elements, 0);
    fill(c.in_elements, 1);
  } else if (op == "nccl:scatter") {  // PyTorch names the part that a rank gets
    fill(c.out_elements, std::nullopt);
  } else {
    fill(c.in_elements, std::nullopt);
  }
}

std::uint32_t ranks_of_group(const TraceJob& job, const TraceCollective& c) {
  const std::uint32_t size = c.group == kNone ? 0 : job.groups[c.group].size;
  return size == 0 ? job.world_size : size;
}

bool states_a_part(const TraceCollective& c) {
  const auto of = whole_and_part(c);
  return c.kind_known && of && of->whole <= 0 && of->part > 0;
}

bool states_two_sizes(const TraceJob& job, const TraceCollective& c) {
  if (!c.kind_known || c.in_elements <= 0 || c.out_elements <= 0) return false;
  if (c.kind == CollectiveKind::all_reduce) return c.in_elements != c.out_elements;
  const auto of = whole_and_part(c);
  if (!of) return false;
  const std::uint32_t ranks = ranks_of_group(job, c);
  if (c.group != kNone && ranks > 0) return !is_times(of->whole, of->part, ranks);
  return of->whole % of->part != 0 || (ranks > 0 && of->whole / of->part > ranks);
}

void set_collective_bytes(const TraceJob& job, TraceCollective& c) {
  c.bytes = -1;
  if (!c.dtype_known || states_two_sizes(job, c)) return;
  const std::int64_t elements = counted_elements(job, c);
  std::int64_t bytes = 0;
  if (elements >= 0 && !__builtin_mul_overflow(elements, graph::size_of(c.dtype), &bytes)) c.bytes = bytes;
}

}  // namespace distsim::traces
