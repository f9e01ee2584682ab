#include "opmodels/csv/op_row.hpp"

#include "base/text/spelling.hpp"
#include "opmodels/csv/op_row_kinds.hpp"

namespace distsim::opmodels {
namespace {

constexpr std::array<std::string_view, 6> kProducts{"linear", "gemm", "mm", "addmm", "bmm", "matmul"};

bool is_product(std::string_view op) {
  for (const std::string_view name : kProducts) {
    if (name == op) return true;
  }
  return false;
}

bool is_embedding(std::string_view op) {
  return op == "embedding" || op.starts_with("fbgemm_tbe") || op == "embedding_bag";
}

bool is_transfer(std::string_view op) {
  return op == "copy_h2d" || op == "copy_d2h" || op == "copy_d2d" || op == "copy_p2p";
}

/// Other spellings that frameworks and tools use for an op that has a model here.
struct Spelling {
  std::string_view other, name;
};
constexpr std::array<Spelling, 21> kSpellings{{{"layer_norm", "layernorm"}, {"batch_norm", "batchnorm"},
                                               {"rms_norm", "rmsnorm"},     {"conv", "conv2d"},
                                               {"convolution", "conv2d"},   {"flash_attn", "flash_attention"},
                                               {"sdpa", "flash_attention"}, {"dot_interaction", "interaction"},
                                               {"cross", "cross_layer"},    {"dcn_cross", "cross_layer"},
                                               {"adamw", "adam"},           {"optimizer_adam", "adam"},
                                               {"optimizer_sgd", "sgd"},    {"copy", "copy_d2d"},
                                               {"memcpy_h2d", "copy_h2d"},  {"memcpy_d2h", "copy_d2h"},
                                               {"memcpy_d2d", "copy_d2d"},  {"memcpy_p2p", "copy_p2p"},
                                               {"h2d", "copy_h2d"},         {"d2h", "copy_d2h"},
                                               {"p2p", "copy_p2p"}}};

std::string_view usual_name(std::string_view op) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.other == op) return spelling.name;
  }
  return op;
}

Error unknown_op(std::string_view op) {
  std::vector<std::string> names = row_op_names();
  for (const Spelling& spelling : kSpellings) names.emplace_back(spelling.other);
  return {"op: found '" + std::string(op) + "', expected an op that has a model", "", spelling_hint(op, names)};
}

Result<RowPass> parse_pass(std::string_view text) {
  if (text.empty() || text == "fwd" || text == "forward" || text == "trace" || text == "update")
    return RowPass::forward;
  if (text == "bwd_data" || text == "backward_data") return RowPass::backward_data;
  if (text == "bwd_weight" || text == "backward_weight") return RowPass::backward_weight;
  if (text == "bwd" || text == "backward" || text == "bwd_both" || text.starts_with("bwd+")) return RowPass::backward;
  return Error{"pass: found '" + std::string(text) + "', expected fwd, bwd, bwd_data, bwd_weight or bwd_both", "", ""};
}

/// An optimizer in the backward kernel is an embedding's, and what updates or copies has no gradient.
Result<void> check_pass_of(std::string_view op, std::string_view pass_text, RowPass pass) {
  if (pass_text.find('+') != std::string_view::npos && !is_embedding(op)) {
    return Error{"pass: found '" + std::string(pass_text) + "' for " + std::string(op) +
                     ", expected an optimizer only with embeddings",
                 "", ""};
  }
  if (pass != RowPass::forward && (is_optimizer(op) || is_transfer(op))) {
    return Error{
        "pass: found '" + std::string(pass_text) + "' for " + std::string(op) + ", expected none: it has no gradient",
        "", ""};
  }
  return {};
}

/// The data sets qualify some types: fp32 with TF32 allowed, fp16 on tensor cores, 16-bit storage with fp32 arithmetic.
Result<graph::DType> parse_row_dtype(std::string_view text) {
  if (text == "fp32_tf32on") return graph::DType::tf32;
  if (text == "fp16_tensorcore") return graph::DType::fp16;
  if (text == "fp16in_fp32math") return graph::DType::fp32;
  return graph::parse_dtype(text);
}

Result<OpRow> parse_kind(const OpFields& fields, const RowContext& context) {
  if (is_product(context.op)) return product_row(fields, context);
  if (context.op == "conv2d" || context.op == "depthwise_conv2d") return conv_row(fields, context);
  if (is_embedding(context.op)) return embedding_row(fields, context);
  for (const auto group : {pointwise_row, movement_row, layer_row}) {
    if (auto row = group(fields, context)) return std::move(*row);
  }
  return unknown_op(context.op);
}

}  // namespace

std::vector<std::string> row_op_names() {
  std::vector<std::string> names(kProducts.begin(), kProducts.end());
  for (const char* name :
       {"conv2d", "depthwise_conv2d", "embedding", "embedding_bag", "fbgemm_tbe_weighted", "fbgemm_tbe_unweighted"})
    names.emplace_back(name);
  for (const auto& group : {pointwise_names(), movement_names(), layer_names()})
    names.insert(names.end(), group.begin(), group.end());
  return names;
}

Result<OpRow> op_from_row(const OpColumns& columns, const std::vector<std::string>& row_fields) {
  const OpFields fields(columns, row_fields);
  RowContext context{};
  TRY_ASSIGN(context.dtype, parse_row_dtype(fields.text(OpColumns::dtype)));
  context.pass_text = fields.text(OpColumns::pass);
  TRY_ASSIGN(context.pass, parse_pass(context.pass_text));
  context.op = usual_name(fields.text(OpColumns::op));
  TRY(check_pass_of(context.op, context.pass_text, context.pass));
  TRY_ASSIGN(OpRow row, parse_kind(fields, context));
  TRY_ASSIGN(row.timing, parse_timing(fields.text(OpColumns::timing)));
  row.warm = is_warm(fields.text(OpColumns::timing));
  return row;
}

}  // namespace distsim::opmodels
