#include <algorithm>
#include <string>

#include "sim/opgraph/kernel_tables.hpp"
#include "sim/opgraph/kernels.hpp"

namespace distsim::opgraph {
namespace {

/// "found a result of 8x4 of arguments of 8x16 and 16x32, expected 8x32".
std::string not_of(const Call& call, const std::string& expected) {
  std::string out = "found a result of " + text_of(call.out());
  for (std::size_t i = 0; i < std::min<std::size_t>(call.inputs().size(), 4); ++i)
    out += (i == 0 ? " of arguments of " : " and ") + text_of(call.in(i));
  return out + ", expected " + expected;
}

/// mm, bmm, addmm, baddbmm: columns of the first factor against rows of the second, and a result of the others, which what is added
/// is broadcast to.
std::string of_product(const Call& call, std::size_t first) {
  if (!call.has(first + 1)) return "";
  const Dims a = call.in(first), b = call.in(first + 1);
  if (a.size() < 2 || b.size() < 2) return "";
  if (a.back() != b[b.size() - 2])
    return "found factors of " + text_of(a) + " and " + text_of(b) +
           ", expected as many rows of the second as columns of the first";
  Dims result = a;
  result.back() = b.back();
  const bool batches = std::equal(a.begin(), a.end() - 2, b.begin(), b.end() - 2);
  if (!batches || (!call.outputs().empty() && call.out() != result)) return not_of(call, text_of(result));
  const bool added = first == 0 || broadcast_of({result, call.in(0)}) == result;
  return added ? "" : not_of(call, "what is added to be broadcast to the result");
}

/// linear(x, w, bias): the last size of x against the columns of w.
std::string of_linear(const Call& call) {
  if (!call.has(1)) return "";
  Dims x = call.in(0);
  const Dims w = call.in(1);
  if (x.empty() || w.size() != 2) return "";
  if (x.back() != w[1])
    return "found an argument of " + text_of(x) + " and a weight of " + text_of(w) +
           ", expected as many columns of both";
  x.back() = w[0];
  return call.outputs().empty() || call.out() == x ? "" : not_of(call, text_of(x));
}

/// Batch, channels and filters of a convolution; how far it steps is the kernel's business.
std::string of_convolution(const Call& call) {
  if (!call.has(1) || call.outputs().empty()) return "";
  Dims image = call.in(0), result = call.out();
  const Dims filters = call.in(1);
  constexpr std::size_t kTransposed = 6;
  if (call.number_at(kTransposed, 0) != 0) std::swap(image, result);
  const std::size_t rank = filters.size();
  if (rank < 3 || image.size() != rank || result.size() != rank) return "";
  for (const Dims& dims : {image, filters, result})
    if (*std::ranges::min_element(dims) <= 0) return "";
  const bool agree = image[0] == result[0] && filters[0] == result[1] && image[1] % filters[1] == 0 &&
                     filters[0] % (image[1] / filters[1]) == 0;
  if (agree) return "";
  return "found an image of " + text_of(call.in(0)) + ", filters of " + text_of(filters) + " and a result of " +
         text_of(call.out()) + ", expected the same batch, and channels that agree";
}

std::vector<Dims> all_of(const Call& call) {
  std::vector<Dims> out;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) out.push_back(call.in(i));
  return out;
}

std::string of_elementwise(const Call& call) {
  const std::optional<Dims> result = broadcast_of(all_of(call));
  if (!result) return not_of(call, "arguments that are broadcast to each other");
  for (std::size_t i = 0; i < call.outputs().size(); ++i)
    if (call.out(i) != *result) return not_of(call, text_of(*result) + ", which they are broadcast to");
  return "";
}

/// No result has more elements than the arguments together span.
std::string of_reduction(const Call& call) {
  double most = 1;
  for (const Dims& dims : all_of(call)) most = std::max(most, product(dims));
  if (const std::optional<Dims> whole = broadcast_of(all_of(call))) most = std::max(most, product(*whole));
  for (std::size_t i = 0; i < call.outputs().size(); ++i)
    if (product(call.out(i)) > most) return not_of(call, "no more elements than its arguments have");
  return "";
}

std::string like_first(const Call& call) {
  return call.outputs().empty() || call.out() == call.in(0) ? "" : not_of(call, text_of(call.in(0)));
}

/// Pieces and the whole have as many elements.
std::string of_pieces(const Call& call) {
  double given = 0, made = 0;
  for (const std::uint32_t t : call.inputs()) given += call.sizes().elements(t);
  for (const std::uint32_t t : call.outputs()) made += call.sizes().elements(t);
  return call.outputs().empty() || given == made ? "" : not_of(call, "as many elements as its arguments have");
}

std::string of_lookup(const Call& call) {
  if (!call.has(1) || call.outputs().empty() || call.in(0).size() != 2) return "";
  Dims result = call.in(1);
  result.push_back(call.in(0)[1]);
  return call.out() == result ? "" : not_of(call, text_of(result));
}

/// Views that only order elements otherwise.
constexpr std::string_view kReordered[] = {"view",      "_unsafe_view", "reshape",   "_reshape_alias",
                                           "t",         "permute",      "transpose", "squeeze",
                                           "unsqueeze", "flatten",      "unflatten"};

struct Rule {
  Maker make;
  std::string (*why)(const Call&);
};
constexpr Rule kRules[] = {
    {make_linear, of_linear},      {make_elementwise, of_elementwise}, {make_reduction, of_reduction},
    {make_concat, of_pieces},      {make_layer_norm, like_first},      {make_rms_norm, like_first},
    {make_group_norm, like_first}, {make_batch_norm, like_first},      {make_softmax, like_first},
    {make_embedding, of_lookup},
};

std::string contradiction_of(const Call& call) {
  const auto empty = [&](std::uint32_t t) { return call.sizes().elements(t) < 1; };
  if (call.inputs().empty() || std::ranges::any_of(call.inputs(), empty) || std::ranges::any_of(call.outputs(), empty))
    return "";
  const std::string_view op = base_name(call.node().op);
  if (op == "convolution" || op == "_convolution") return of_convolution(call);
  if (op == "clone" || op == "_to_copy") return like_first(call);
  const bool other_type = call.node().op == "aten::view.dtype";
  if (std::ranges::find(kReordered, op) != std::end(kReordered) && !other_type) return of_pieces(call);
  if (op == "mm" || op == "bmm") return of_product(call, 0);
  if (op == "addmm" || op == "baddbmm") return of_product(call, 1);
  const Maker make = maker_of(call.node().op);
  const auto rule = std::ranges::find(kRules, make, &Rule::make);
  return rule == std::end(kRules) ? "" : rule->why(call);
}

}  // namespace

Contradictions::Contradictions(const OpGraph& graph) : resized_(graph.tensors.size(), false) {
  sizes_.emplace_back(graph, graph.samples);
  if (graph.any_batch) sizes_.emplace_back(graph, 2 * graph.samples);
}

std::string Contradictions::of(const Node& node) {
  std::string why;
  for (const Sizes& sizes : sizes_) {
    const Call call(sizes, node);
    const auto resized = [&](std::uint32_t t) { return resized_[t]; };
    if (!why.empty() || std::ranges::any_of(call.inputs(), resized) || std::ranges::any_of(call.outputs(), resized))
      break;
    why = contradiction_of(call);
  }
  if (listing_of(node.op) == Listing::nothing && base_name(node.op).ends_with("_")) {
    for (const std::uint32_t t : node.outputs) resized_[t] = true;
  }
  return why;
}

}  // namespace distsim::opgraph
