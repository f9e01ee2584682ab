// What moves bytes and computes little: elementwise kernels by their tensors, concat and split, transposes, copies.
#include <array>

#include "opmodels/csv/op_row_kinds.hpp"

namespace distsim::opmodels {
namespace {

struct CopyName {
  std::string_view name;
  graph::CopyKind kind;
};
constexpr std::array<CopyName, 4> kCopies{{{"copy_h2d", graph::CopyKind::h2d},
                                           {"copy_d2h", graph::CopyKind::d2h},
                                           {"copy_d2d", graph::CopyKind::d2d},
                                           {"copy_p2p", graph::CopyKind::p2p}}};

/// elements, or rows x cols where that column is not there or empty.
Result<std::int64_t> elements_of(const OpFields& fields) {
  if (!fields.said(OpColumns::elements).empty()) return fields.integer(OpColumns::elements);
  TRY_ASSIGN(const RowsCols sizes, rows_cols(fields));
  return sizes.rows * sizes.cols;
}

/// bytes, or those of so many elements. The models refuse what is not positive.
Result<std::int64_t> bytes_of(const OpFields& fields, graph::DType dtype) {
  if (!fields.said(OpColumns::bytes).empty()) return fields.integer(OpColumns::bytes);
  TRY_ASSIGN(const std::int64_t elements, elements_of(fields));
  if (elements <= (std::int64_t{1} << 59)) return elements * graph::size_of(dtype);
  return Error{"elements: found " + std::to_string(elements) + ", expected at most 2^59", "", ""};
}

/// A fused kernel is told by its tensors, so there they must be given; a plain one reads one tensor and writes one.
Result<OpRow> elementwise(const OpFields& fields, const RowContext& context) {
  const bool fused = context.op == "fused_elementwise";
  graph::Elementwise op{0, 1, 1, 1, context.dtype};
  TRY_ASSIGN(op.elements, elements_of(fields));
  TRY_ASSIGN(op.reads, fused ? fields.number(OpColumns::reads) : fields.number_or(OpColumns::reads, 1));
  TRY_ASSIGN(op.writes, fused ? fields.number(OpColumns::writes) : fields.number_or(OpColumns::writes, 1));
  TRY_ASSIGN(op.flops, fused ? fields.number(OpColumns::flops) : fields.number_or(OpColumns::flops, 1));
  return OpRow{{op}, HostCall::pointwise};
}

Result<OpRow> concat(const OpFields& fields, const RowContext& context) {
  graph::Concat op;
  TRY_ASSIGN(op.bytes, bytes_of(fields, context.dtype));
  TRY_ASSIGN(op.pieces, fields.integer_or(OpColumns::pieces, 2));
  return OpRow{{op}, HostCall::pointwise};
}

Result<OpRow> transpose(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const RowsCols sizes, rows_cols(fields));
  graph::Transpose op{sizes.rows, sizes.cols, 1, context.dtype};
  TRY_ASSIGN(op.batch, fields.integer_or(OpColumns::b, 1));
  return OpRow{{op}, HostCall::pointwise};
}

Result<OpRow> copy(const OpFields& fields, const RowContext& context, graph::CopyKind kind) {
  TRY_ASSIGN(const std::int64_t bytes, bytes_of(fields, context.dtype));
  return OpRow{{graph::Copy{kind, bytes}}, HostCall::pointwise};
}

}  // namespace

std::optional<Result<OpRow>> movement_row(const OpFields& fields, const RowContext& context) {
  if (context.op == "elementwise" || context.op == "fused_elementwise") return elementwise(fields, context);
  if (context.op == "concat" || context.op == "split") return concat(fields, context);
  if (context.op == "transpose") return transpose(fields, context);
  for (const CopyName& one : kCopies) {
    if (one.name == context.op) return copy(fields, context, one.kind);
  }
  return std::nullopt;
}

std::vector<std::string> movement_names() {
  std::vector<std::string> names{"elementwise", "fused_elementwise", "concat", "split", "transpose"};
  for (const CopyName& one : kCopies) names.emplace_back(one.name);
  return names;
}

}  // namespace distsim::opmodels
