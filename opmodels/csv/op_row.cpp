#include "opmodels/csv/op_row.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/fnv.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "opmodels/csv/row_readers.hpp"

namespace distsim::opmodels {
namespace {

/// Other spellings that frameworks and tools use for an op that has a model here.
struct Spelling {
  std::string_view other, name;
};
constexpr std::array<Spelling, 23> kSpellings{
    {{"_softmax", "softmax"},     {"_softmax_backward_data", "softmax_backward_data"},
     {"layer_norm", "layernorm"}, {"batch_norm", "batchnorm"},
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

/// Any op by its kind and the columns of its fields.
template <std::size_t index>
Result<OpRow> read_any(const OpFields& fields, const RowContext& context) {
  std::variant_alternative_t<index, graph::Op> shape;
  TRY(read_fields(fields, context, shape));
  return OpRow{{shape}, HostCall::pointwise};
}

/// The readers of the public names, then those of the kinds that have none of their own.
std::vector<RowReader> all_readers() {
  std::vector<RowReader> all;
  for (const auto readers : {product_readers(), embedding_readers(), pointwise_readers(), movement_readers()})
    all.insert(all.end(), readers.begin(), readers.end());
  const auto add = [&]<std::size_t index>(std::integral_constant<std::size_t, index>) {
    using Shape = std::variant_alternative_t<index, graph::Op>;
    if constexpr (Shape::kWork == graph::Work::kernel) {
      const bool known = std::any_of(all.begin(), all.end(), [](const RowReader& r) { return r.op == Shape::kKind; });
      if (!known) all.push_back({Shape::kKind, read_any<index>});
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add(std::integral_constant<std::size_t, I>()), ...); }
  (std::make_index_sequence<graph::kOpKinds>());
  return all;
}

const std::unordered_map<std::string_view, RowReader>& readers() {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, RowReader> map;
    for (const RowReader& reader : all_readers()) CHECK(map.emplace(reader.op, reader).second) << reader.op << " twice";
    return map;
  }();
  return by_name;
}

Result<RowReader> reader_of(std::string_view op) {
  const auto found = readers().find(usual_name(op));
  if (found != readers().end()) return found->second;
  std::vector<std::string> names = row_op_names();
  for (const Spelling& spelling : kSpellings) names.emplace_back(spelling.other);
  return Error{"op: found " + in_quotes(op) + ", expected an op that has a model", "", spelling_hint(op, names)};
}

Result<RowPass> parse_pass(std::string_view text) {
  if (text.empty() || text == "fwd" || text == "forward" || text == "trace" || text == "update")
    return RowPass::forward;
  if (text == "bwd_data" || text == "backward_data") return RowPass::backward_data;
  if (text == "bwd_weight" || text == "backward_weight") return RowPass::backward_weight;
  if (text == "bwd" || text == "backward" || text == "bwd_both" || text.starts_with("bwd+")) return RowPass::backward;
  return Error{"pass: found " + in_quotes(text) + ", expected fwd, bwd, bwd_data, bwd_weight or bwd_both", "", ""};
}

/// "bwd+rowwise_adagrad" names the optimizer that the backward kernel carries.
Result<std::optional<graph::EmbeddingOptimizer>> parse_optimizer(std::string_view pass) {
  const std::size_t plus = pass.find('+');
  if (plus == std::string_view::npos) return std::optional<graph::EmbeddingOptimizer>();
  using graph::EmbeddingOptimizer;
  for (const auto known : {EmbeddingOptimizer::rowwise_adagrad, EmbeddingOptimizer::adagrad, EmbeddingOptimizer::adam,
                           EmbeddingOptimizer::sgd}) {
    if (graph::name_of(known) == pass.substr(plus + 1)) return std::optional(known);
  }
  return Error{"pass: found " + in_quotes(pass) + ", expected bwd+sgd, bwd+adagrad, bwd+rowwise_adagrad or bwd+adam",
               "", ""};
}

/// An optimizer in the backward kernel is an embedding's, and what updates or copies has no gradient.
Result<void> check_pass(const RowReader& reader, std::string_view pass_text, RowPass pass) {
  const std::string found = "pass: found " + in_quotes(pass_text) + " for " + std::string(reader.op);
  if (pass_text.find('+') != std::string_view::npos && reader.gradient != Gradient::with_optimizer)
    return Error{found + ", expected an optimizer only with embeddings", "", ""};
  if (pass != RowPass::forward && reader.gradient == Gradient::none)
    return Error{found + ", expected none: it has no gradient", "", ""};
  return {};
}

/// The data sets qualify some types: fp32 with TF32 allowed, fp16 on tensor cores, 16-bit storage with fp32 arithmetic.
Result<graph::DType> parse_row_dtype(std::string_view text) {
  if (text == "fp32_tf32on") return graph::DType::tf32;
  if (text == "fp16_tensorcore") return graph::DType::fp16;
  if (text == "fp16in_fp32math") return graph::DType::fp32;
  return graph::parse_dtype(text);
}

/// Spellings of one name are one; types that the data sets qualify are not.
std::uint64_t name_of_kernel(const OpFields& fields, std::string_view op, const RowContext& context) {
  const std::string_view type = fields.text("dtype");
  const bool qualified = !graph::parse_dtype(type).ok();
  Fnv64 name;
  name.add(op);
  name.add_word(static_cast<std::uint64_t>(context.pass));
  name.add(qualified ? type : graph::name_of(context.dtype));
  name.add(lower_case(fields.text("layout")));
  return name.value();
}

}  // namespace

std::vector<std::string> row_op_names() {
  std::vector<std::string> names;
  for (const RowReader& reader : all_readers()) names.emplace_back(reader.op);
  return names;
}

Result<OpRow> op_from_row(const OpColumns& columns, const std::vector<std::string>& row_fields) {
  const OpFields fields(columns, row_fields);
  RowContext context{};
  TRY(fields.check_once());
  TRY_ASSIGN(context.dtype, parse_row_dtype(fields.text("dtype")));
  const std::string_view pass_text = fields.text("pass");
  TRY_ASSIGN(context.pass, parse_pass(pass_text));
  TRY_ASSIGN(const RowReader reader, reader_of(fields.text("op")));
  TRY(check_pass(reader, pass_text, context.pass));
  TRY_ASSIGN(context.optimizer, parse_optimizer(pass_text));
  TRY_ASSIGN(OpRow row, reader.read(fields, context));
  TRY_ASSIGN(row.timing, parse_timing(fields.text("timing")));
  row.named = name_of_kernel(fields, reader.op, context);
  row.warm = is_warm(fields.text("timing"));
  row.steady = fields.text("timing").empty();
  if (const std::string sizes = fields.idle_sizes(); !sizes.empty())
    row.unread = sizes + ": no effect on rows of " + std::string(reader.op);
  return row;
}

graph::Pass pass_of(RowPass pass) {
  switch (pass) {
    case RowPass::forward:
      return graph::Pass::forward;
    case RowPass::backward_data:
      return graph::Pass::backward_data;
    case RowPass::backward_weight:
      return graph::Pass::backward_weight;
    case RowPass::backward:
      return graph::Pass::backward;
  }
  return graph::Pass::forward;
}

bool FieldReader::wants(const graph::Field& field) const {
  return result_.ok() && field.role != graph::Role::note && fields_.has(field.column);
}

template <class Value>
void FieldReader::keep(Result<Value> found, Value& value) {
  if (found.ok())
    value = *found;
  else
    result_ = found.error();
}

namespace {
bool must_be_given(const graph::Field& field, double value) {
  return field.bounded && !(value >= field.least && value <= field.most);
}
}  // namespace

void FieldReader::operator()(const graph::Field& field, std::int64_t& value) {
  if (wants(field) || (result_.ok() && must_be_given(field, graph::real(value))))
    keep(fields_.integer(field.column), value);
}

void FieldReader::operator()(const graph::Field& field, double& value) {
  if (wants(field) || (result_.ok() && must_be_given(field, value))) keep(fields_.number(field.column), value);
}

void FieldReader::operator()(const graph::Field& field, bool& value) {
  if (wants(field)) keep(fields_.flag(field.column), value);
}

void FieldReader::operator()(const graph::Field&, graph::Pass& value) { value = pass_of(context_.pass); }

}  // namespace distsim::opmodels
