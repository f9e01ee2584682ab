// Dimensions that a call states beside its tensors: whether there are such, and what the call makes of sizes along them.
#include <algorithm>
#include <optional>
#include <string>

#include "sim/opgraph/kernel_tables.hpp"
#include "sim/opgraph/kernels.hpp"

namespace distsim::opgraph {
namespace {

using Places = std::vector<std::size_t>;  // dimensions, counted from the first

struct DimensionRule {
  std::string_view op;
  std::size_t place, arguments;  ///< where they are stated: as numbers or a list
  /// Sizes of every result; nothing where they follow from more than dimensions.
  std::optional<Dims> (*result)(const Call&, const DimensionRule&, const Places&) = nullptr;
  std::size_t keep = 0;   ///< place of a reduction's keepdim
  bool overload = false;  ///< only overloads that are named after a dimension state any
  bool one_more = false;  ///< counted in the result, which has one more
};

std::optional<Dims> reduced(const Call& call, const DimensionRule& rule, const Places& places) {
  const bool keep = rule.keep > 0 && call.number_at(rule.keep, 0) != 0;
  const Dims x = call.in(0);
  Dims out;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool gone = std::ranges::find(places, d) != places.end();
    if (!gone || keep) out.push_back(gone ? 1 : x[d]);
  }
  return out;
}

std::optional<Dims> swapped(const Call& call, const DimensionRule&, const Places& places) {
  Dims out = call.in(0);
  if (!out.empty()) std::swap(out[places.front()], out[places.back()]);
  return out;
}

std::optional<Dims> permuted(const Call& call, const DimensionRule&, const Places& places) {
  const Dims x = call.in(0);
  Dims out;
  for (const std::size_t d : places)
    if (!x.empty()) out.push_back(x[d]);
  return out;
}

std::optional<Dims> with_one(const Call& call, const DimensionRule&, const Places& places) {
  Dims out = call.in(0);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(places.front()), 1);
  return out;
}

std::optional<Dims> stacked(const Call& call, const DimensionRule& rule, const Places& places) {
  Dims out = *with_one(call, rule, places);
  out[places.front()] = static_cast<std::int64_t>(call.inputs().size());
  return out;
}

std::optional<Dims> joined(const Call& call, const DimensionRule&, const Places& places) {
  Dims out = call.in(0);
  for (std::size_t i = 1; i < call.inputs().size(); ++i) {
    const Dims more = call.in(i);
    if (more.size() != out.size() || out.empty()) return std::nullopt;
    out[places.front()] += more[places.front()];
  }
  return out;
}

std::optional<Dims> unchanged(const Call& call, const DimensionRule&, const Places&) { return call.in(0); }

constexpr DimensionRule kDimensionRules[] = {
    {"sum", 1, 1, reduced, 2, true},
    {"nansum", 1, 1, reduced, 2, true},
    {"mean", 1, 1, reduced, 2, true},
    {"prod", 1, 1, reduced, 2, true},
    {"max", 1, 1, reduced, 2, true},
    {"min", 1, 1, reduced, 2, true},
    {"any", 1, 1, reduced, 2, true},
    {"all", 1, 1, reduced, 2, true},
    {"var", 1, 1, reduced, 3, true},
    {"std", 1, 1, reduced, 3, true},
    {"var_mean", 1, 1, reduced, 3, true},
    {"std_mean", 1, 1, reduced, 3, true},
    {"amax", 1, 1, reduced, 2},
    {"amin", 1, 1, reduced, 2},
    {"aminmax", 1, 1, reduced, 2},
    {"logsumexp", 1, 1, reduced, 2},
    {"count_nonzero", 1, 1, reduced},
    {"norm", 2, 1, reduced, 3, true},
    {"linalg_vector_norm", 2, 1, reduced, 3},
    {"select", 1, 1, reduced},
    {"transpose", 1, 2, swapped},
    {"swapaxes", 1, 2, swapped},
    {"permute", 1, 1, permuted},
    {"unsqueeze", 1, 1, with_one, 0, false, true},
    {"stack", 1, 1, stacked, 0, false, true},
    {"cat", 1, 1, joined},
    {"_cat", 1, 1, joined},
    {"cumsum", 1, 1, unchanged},
    {"cumprod", 1, 1, unchanged},
    {"squeeze", 1, 1},
    {"flatten", 1, 2},
    {"slice", 1, 1},
    {"narrow", 1, 1},
    {"split", 2, 1},
    {"split_with_sizes", 2, 1},
    {"chunk", 2, 1},
    {"unbind", 1, 1},
    {"index_select", 1, 1},
    {"gather", 1, 1},
    {"scatter", 1, 1},
    {"scatter_", 1, 1},
    {"scatter_add", 1, 1},
    {"scatter_add_", 1, 1},
    {"index_add", 1, 1},
    {"index_add_", 1, 1},
    {"topk", 2, 1},
    {"_softmax_backward_data", 2, 1},
    {"_log_softmax_backward_data", 2, 1},
};

/// "aten::mean.dim", "aten::sum.dim_IntList", "aten::sum.IntList_out", "aten::var.correction".
bool states_dimensions(std::string_view name) {
  const std::size_t at = name.rfind('.');
  if (at == name.npos) return false;
  const std::string_view overload = name.substr(at);
  return overload.find("dim") != overload.npos || overload.find("IntList") != overload.npos ||
         overload.find("correction") != overload.npos;
}

}  // namespace

std::string contradiction_of_dimensions(const Call& call) {
  const std::string& name = call.node().op;
  const auto* const rule = std::ranges::find(kDimensionRules, base_name(name), &DimensionRule::op);
  if (rule == std::end(kDimensionRules) || (rule->overload && !states_dimensions(name))) return "";
  const Dims x = call.in(0);
  const auto rank = static_cast<std::int64_t>(rule->one_more ? x.size() + 1 : std::max<std::size_t>(1, x.size()));
  const std::string of_what = " of an argument of " + text_of(x);
  Dims stated;
  Places places;
  for (std::size_t i = 0; i < rule->arguments; ++i) {
    const Dims more = call.list_at(rule->place + i);
    stated.insert(stated.end(), more.begin(), more.end());
  }
  for (const std::int64_t d : stated) {
    if (d < -rank || d >= rank)
      return "found dimension " + std::to_string(d) + of_what + ", expected one that " +
             (rule->one_more ? "its result has" : "it has");
    const auto place = static_cast<std::size_t>(d < 0 ? d + rank : d);
    const bool twice = std::ranges::find(places, place) != places.end();
    if (twice && (rule->result == reduced || rule->result == permuted))
      return "found dimension " + std::to_string(d) + of_what + " twice, expected each once";
    places.push_back(place);
  }
  if (rule->result == permuted && places.size() != x.size())
    return "found an order of " + std::to_string(places.size()) + " dimensions" + of_what + ", expected all of them";
  if (places.empty() || rule->result == nullptr) return "";
  const std::optional<Dims> expected = rule->result(call, *rule, places);
  for (std::size_t i = 0; expected && i < call.outputs().size(); ++i)
    if (call.out(i) != *expected)
      return "found a result of " + text_of(call.out(i)) + " along dimension " + std::to_string(stated.front()) +
             of_what + ", expected " + text_of(*expected);
  return "";
}

}  // namespace distsim::opgraph
