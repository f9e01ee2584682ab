#include "sim/graph/ops/dtype.hpp"

#include <vector>

#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::graph {
namespace {

constexpr std::array<std::int64_t, kDTypes> kSizes{8, 4, 4, 2, 2, 1, 8, 4, 1, 1};

/// Other spellings in frameworks and traces.
struct DTypeAlias {
  std::string_view name;
  DType dtype;
};
constexpr std::array<DTypeAlias, 16> kAliases{{{"float64", DType::fp64},
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
                                               {"char", DType::int8},
                                               {"nvfp4", DType::fp4}}};

}  // namespace

std::int64_t size_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  CHECK(index < kSizes.size()) << "dtype " << index;
  return kSizes[index];
}

Result<DType> parse_dtype(std::string_view name) {
  const std::string word = lower_case(name);
  for (std::size_t i = 0; i < kDTypes; ++i) {
    if (kNames<DType>[i] == word) return static_cast<DType>(i);
  }
  for (const DTypeAlias& alias : kAliases) {
    if (alias.name == word) return alias.dtype;
  }
  return unknown_name("dtype", name, kNames<DType>);
}

Error unknown_name(std::string_view key, std::string_view found, std::span<const std::string_view> names) {
  std::string list;
  std::vector<std::string> candidates;
  for (const std::string_view name : names) {
    list += (list.empty() ? "" : ", ") + std::string(name);
    candidates.emplace_back(name);
  }
  const std::string near = nearest_spelling(lower_case(found), candidates);
  return {std::string(key) + ": found " + in_quotes(found) + ", expected one of " + list, "",
          near.empty() ? "" : "did you mean '" + near + "'?"};
}

}  // namespace distsim::graph
