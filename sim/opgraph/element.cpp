#include <array>
#include <utility>

#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {
namespace {

using graph::DType;

constexpr Element floats(DType dtype, std::int64_t bytes) { return {dtype, bytes, true}; }
constexpr Element whole(DType dtype, std::int64_t bytes) { return {dtype, bytes, false}; }

constexpr std::pair<std::string_view, Element> kElements[] = {
    {"float64", floats(DType::fp64, 8)},
    {"double", floats(DType::fp64, 8)},
    {"float32", floats(DType::fp32, 4)},
    {"float", floats(DType::fp32, 4)},
    {"float16", floats(DType::fp16, 2)},
    {"half", floats(DType::fp16, 2)},
    {"c10::Half", floats(DType::fp16, 2)},
    {"bfloat16", floats(DType::bf16, 2)},
    {"c10::BFloat16", floats(DType::bf16, 2)},
    {"float8_e4m3fn", floats(DType::fp8, 1)},
    {"float8_e5m2", floats(DType::fp8, 1)},
    {"float8_e4m3fnuz", floats(DType::fp8, 1)},
    {"float8_e5m2fnuz", floats(DType::fp8, 1)},
    {"c10::Float8_e4m3fn", floats(DType::fp8, 1)},
    {"c10::Float8_e5m2", floats(DType::fp8, 1)},
    {"int64", whole(DType::int64, 8)},
    {"long", whole(DType::int64, 8)},
    {"long int", whole(DType::int64, 8)},
    {"int32", whole(DType::int32, 4)},
    {"int", whole(DType::int32, 4)},
    {"int16", whole(DType::fp16, 2)},
    {"short", whole(DType::fp16, 2)},
    {"short int", whole(DType::fp16, 2)},
    {"int8", whole(DType::int8, 1)},
    {"signed char", whole(DType::int8, 1)},
    {"char", whole(DType::int8, 1)},
    {"uint8", whole(DType::int8, 1)},
    {"unsigned char", whole(DType::int8, 1)},
    {"bool", whole(DType::int8, 1)},
    {"complex64", floats(DType::fp64, 8)},
    {"c10::complex<float>", floats(DType::fp64, 8)},
    {"complex128", floats(DType::fp64, 16)},
    {"c10::complex<double>", floats(DType::fp64, 16)},
};

}  // namespace

std::optional<Element> element_named(std::string_view name) {
  if (name.starts_with("Tensor(") && name.ends_with(")")) name = name.substr(7, name.size() - 8);
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const auto& [known, element] : kElements) {
    if (known == name) return element;
  }
  return std::nullopt;
}

}  // namespace distsim::opgraph
