// What moves bytes and computes little: elementwise kernels by their tensors, concat and split, transposes, copies,
// dense optimizers.
#include <array>

#include "opmodels/csv/row_readers.hpp"

namespace distsim::opmodels {
namespace {

Result<void> check_same(const char* name, std::int64_t found, const char* others, std::int64_t theirs) {
  if (found == theirs) return {};
  return Error{std::string(name) + ": found " + std::to_string(found) + " beside " + others + " that make " +
                   std::to_string(theirs) + ", expected one of them",
               "", ""};
}

/// elements, or rows x cols where that column is not there or empty.
Result<std::int64_t> elements_of(const OpFields& fields) {
  const bool said = fields.has("elements");
  if (said && !(fields.has("rows") && fields.has("cols"))) return fields.integer("elements");
  TRY_ASSIGN(const RowsCols sizes, rows_cols(fields));
  if (said) {
    TRY_ASSIGN(const std::int64_t elements, fields.integer("elements"));
    TRY(check_same("elements", elements, "rows and cols", sizes.rows * sizes.cols));
  }
  return sizes.rows * sizes.cols;
}

/// bytes, or those of so many elements. The models refuse what is not positive.
Result<std::int64_t> bytes_of(const OpFields& fields, graph::DType dtype) {
  const bool said = fields.has("bytes");
  if (said && !fields.has("elements") && !(fields.has("rows") && fields.has("cols"))) return fields.integer("bytes");
  TRY_ASSIGN(const std::int64_t elements, elements_of(fields));
  if (elements <= (std::int64_t{1} << 59)) {
    if (said) {
      TRY_ASSIGN(const std::int64_t bytes, fields.integer("bytes"));
      TRY(check_same("bytes", bytes, "elements", elements * graph::size_of(dtype)));
    }
    return elements * graph::size_of(dtype);
  }
  return Error{"elements: found " + std::to_string(elements) + ", expected at most 2^59", "", ""};
}

Result<OpRow> elementwise_from(const OpFields& fields, const RowContext& context, graph::Elementwise op) {
  TRY_ASSIGN(op.elements, elements_of(fields));
  TRY(read_fields(fields, context, op));
  return OpRow{{op}, HostCall::pointwise};
}

/// A plain kernel reads one tensor and writes one.
Result<OpRow> elementwise(const OpFields& f, const RowContext& c) { return elementwise_from(f, c, {0, 1, 1, 1}); }
/// A fused kernel is known by its tensors, so they must be given.
Result<OpRow> fused_elementwise(const OpFields& f, const RowContext& c) {
  return elementwise_from(f, c, {0, -1, -1, -1});
}

Result<OpRow> concat(const OpFields& fields, const RowContext& context) {
  graph::Concat op;
  TRY_ASSIGN(op.bytes, bytes_of(fields, context.dtype));
  TRY(read_fields(fields, context, op));
  return OpRow{{op}, HostCall::pointwise};
}

Result<OpRow> transpose(const OpFields& fields, const RowContext& context) {
  graph::Transpose op;
  TRY(read_fields(fields, context, op));
  return OpRow{{op}, HostCall::pointwise};
}

template <graph::CopyKind kind>
Result<OpRow> copy(const OpFields& fields, const RowContext& context) {
  TRY_ASSIGN(const std::int64_t bytes, bytes_of(fields, context.dtype));
  return OpRow{{graph::Copy{kind, bytes}}, HostCall::pointwise};
}

/// op_bench gives the parameters of each tensor as columns.
template <graph::OptimizerKind kind>
Result<OpRow> optimizer(const OpFields& fields, const RowContext& context) {
  graph::Optimizer op;
  if (!fields.text("cols").empty()) {
    TRY_ASSIGN(const RowsCols sizes, rows_cols(fields));
    if (fields.has("parameters")) {
      TRY_ASSIGN(const std::int64_t parameters, fields.integer("parameters"));
      TRY(check_same("parameters", parameters, "rows and cols", sizes.rows * sizes.cols));
    }
    op.parameters = sizes.rows * sizes.cols;
    op.tensors = sizes.rows;
  }
  TRY(read_fields(fields, context, op));
  op.kind = kind;
  if (op.tensors > op.parameters)
    return Error{"tensors: found " + std::to_string(op.tensors) + ", expected at most parameters, " +
                     std::to_string(op.parameters),
                 "", ""};
  return OpRow{{op}, HostCall::pointwise};
}

constexpr std::array<RowReader, 15> kMovementReaders{
    {{"elementwise", elementwise},
     {"fused_elementwise", fused_elementwise},
     {"concat", concat},
     {"split", concat},
     {"transpose", transpose},
     {"copy_h2d", copy<graph::CopyKind::h2d>, Gradient::none},
     {"copy_d2h", copy<graph::CopyKind::d2h>, Gradient::none},
     {"copy_d2d", copy<graph::CopyKind::d2d>, Gradient::none},
     {"copy_p2p", copy<graph::CopyKind::p2p>, Gradient::none},
     {"sgd", optimizer<graph::OptimizerKind::sgd>, Gradient::none},
     {"momentum", optimizer<graph::OptimizerKind::momentum>, Gradient::none},
     {"adagrad", optimizer<graph::OptimizerKind::adagrad>, Gradient::none},
     {"adam", optimizer<graph::OptimizerKind::adam>, Gradient::none},
     {"lamb", optimizer<graph::OptimizerKind::lamb>, Gradient::none},
     {"lars", optimizer<graph::OptimizerKind::lars>, Gradient::none}}};

}  // namespace

std::span<const RowReader> movement_readers() { return kMovementReaders; }

}  // namespace distsim::opmodels
