// Names and sizes of the op types. describe() and flops_of() are in op_describe.cpp and op_flops.cpp.
#include "sim/graph/op.hpp"

#include <array>
#include <span>

#include "base/text/lower_case.hpp"
#include "base/text/spelling.hpp"

namespace distsim::graph {
namespace {

struct DTypeFacts {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<DTypeFacts, 9> kDTypes{{{"fp64", 8},
                                             {"fp32", 4},
                                             {"tf32", 4},
                                             {"fp16", 2},
                                             {"bf16", 2},
                                             {"fp8", 1},
                                             {"int64", 8},
                                             {"int32", 4},
                                             {"int8", 1}}};

const DTypeFacts& facts_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  CHECK(index < kDTypes.size()) << "dtype " << index;
  return kDTypes[index];
}

/// Other spellings in frameworks and traces.
struct DTypeAlias {
  std::string_view name;
  DType dtype;
};
constexpr std::array<DTypeAlias, 15> kDTypeAliases{{{"float64", DType::fp64},
                                                    {"double", DType::fp64},
                                                    {"float32", DType::fp32},
                                                    {"float", DType::fp32},
                                                    {"tensorfloat32", DType::tf32},
                                                    {"float16", DType::fp16},
                                                    {"half", DType::fp16},
                                                    {"bfloat16", DType::bf16},
                                                    {"fp8_e4m3", DType::fp8},
                                                    {"fp8_e5m2", DType::fp8},
                                                    {"float8_e4m3fn", DType::fp8},
                                                    {"float8_e5m2", DType::fp8},
                                                    {"long", DType::int64},
                                                    {"int", DType::int32},
                                                    {"char", DType::int8}}};

constexpr std::array<std::string_view, 5> kPassNames{"forward", "backward", "backward_data", "backward_weight",
                                                     "update"};

constexpr std::array<std::string_view, 11> kCollectiveNames{
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_to_all_v", "broadcast",
    "reduce",     "gather",     "scatter",        "send_recv",  "barrier"};

/// In the order of the alternatives of Op.
constexpr std::array<std::string_view, std::variant_size_v<Op>> kKinds{
    "absent",        "gemm",      "conv2d",    "embedding_bag", "interaction", "cross_layer",
    "normalization", "softmax",   "attention", "elementwise",   "loss",        "copy",
    "concat",        "transpose", "optimizer", "host_work",     "measured",    "collective"};

/// "All-Reduce", "all_reduce" and "allreduce" are one word.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : lower_case(text)) {
    if (c != '_' && c != '-' && c != ' ') out += c;
  }
  return out;
}

Error unknown(std::string_view key, std::string_view found, std::span<const std::string_view> names) {
  std::string list;
  std::vector<std::string> candidates;
  for (const std::string_view name : names) {
    list += (list.empty() ? "" : ", ") + std::string(name);
    candidates.emplace_back(name);
  }
  const std::string near = nearest_spelling(lower_case(found), candidates);
  return {std::string(key) + ": found '" + std::string(found) + "', expected one of " + list, "",
          near.empty() ? "" : "did you mean '" + near + "'?"};
}

}  // namespace

std::int64_t size_of(DType dtype) { return facts_of(dtype).bytes; }
std::string_view name_of(DType dtype) { return facts_of(dtype).name; }

Result<DType> parse_dtype(std::string_view name) {
  const std::string word = lower_case(name);
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == word) return static_cast<DType>(i);
  }
  for (const DTypeAlias& alias : kDTypeAliases) {
    if (alias.name == word) return alias.dtype;
  }
  std::array<std::string_view, kDTypes.size()> names;
  for (std::size_t i = 0; i < kDTypes.size(); ++i) names[i] = kDTypes[i].name;
  return unknown("dtype", name, names);
}

std::string_view name_of(Pass pass) {
  const auto index = static_cast<std::size_t>(pass);
  CHECK(index < kPassNames.size()) << "pass " << index;
  return kPassNames[index];
}

std::string_view name_of(CollectiveKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  CHECK(index < kCollectiveNames.size()) << "collective " << index;
  return kCollectiveNames[index];
}

Result<CollectiveKind> parse_collective(std::string_view name) {
  const std::string word = squeezed(name);
  for (std::size_t i = 0; i < kCollectiveNames.size(); ++i) {
    if (squeezed(kCollectiveNames[i]) == word) return static_cast<CollectiveKind>(i);
  }
  if (word == "bcast") return CollectiveKind::broadcast;
  if (word == "sendreceive") return CollectiveKind::send_recv;
  return unknown("collective", name, kCollectiveNames);
}

bool is_computation(const Op& op) {
  return !std::holds_alternative<Collective>(op) && !std::holds_alternative<Copy>(op) &&
         !std::holds_alternative<Absent>(op);
}

std::string_view kind_of(const Op& op) {
  CHECK(!op.valueless_by_exception());
  return kKinds[op.index()];
}

}  // namespace distsim::graph
