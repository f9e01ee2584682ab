// conv2d rows. Unequal padding is folded into the input size (same outputs, same taps); unequal strides have no Conv2d
// and are an error.
#include "opmodels/csv/op_row_kinds.hpp"

namespace distsim::opmodels {
namespace {

Result<void> read_extents(const OpFields& fields, graph::Conv2d& conv) {
  TRY_ASSIGN(conv.stride, fields.integer_or(OpColumns::stride_h, 1));
  TRY_ASSIGN(const std::int64_t stride_w, fields.integer_or(OpColumns::stride_w, conv.stride));
  if (stride_w != conv.stride) {
    return Error{"stride_w: found " + std::to_string(stride_w) + ", expected stride_h = " + std::to_string(conv.stride),
                 "", ""};
  }
  TRY_ASSIGN(conv.pad, fields.integer_or(OpColumns::pad_h, 0));
  TRY_ASSIGN(const std::int64_t pad_w, fields.integer_or(OpColumns::pad_w, conv.pad));
  if (pad_w == conv.pad) return {};
  conv.h += 2 * conv.pad;
  conv.w += 2 * pad_w;
  conv.pad = 0;
  return {};
}

}  // namespace

Result<OpRow> conv_row(const OpFields& fields, const RowContext& context) {
  graph::Conv2d conv;
  TRY_ASSIGN(conv.n, fields.integer(OpColumns::n));
  TRY_ASSIGN(conv.c, fields.integer(OpColumns::c));
  TRY_ASSIGN(conv.h, fields.integer(OpColumns::h));
  TRY_ASSIGN(conv.w, fields.integer(OpColumns::w));
  TRY_ASSIGN(conv.k, fields.integer(OpColumns::k));
  TRY_ASSIGN(conv.r, fields.integer(OpColumns::r));
  TRY_ASSIGN(conv.s, fields.integer(OpColumns::s));
  TRY_ASSIGN(conv.dilation, fields.integer_or(OpColumns::dil, 1));
  TRY_ASSIGN(conv.groups, fields.integer_or(OpColumns::groups, context.op == "depthwise_conv2d" ? conv.c : 1));
  TRY(read_extents(fields, conv));
  conv.dtype = context.dtype;
  conv.channels_last = fields.text(OpColumns::layout) != "NCHW";
  conv.pass = pass_of(context.pass);
  return OpRow{{conv}, HostCall::conv};
}

}  // namespace distsim::opmodels
