// Whether the nodes after which gradients are said to be complete can be those that make them.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sim/opgraph/call.hpp"
#include "sim/opgraph/readers.hpp"

namespace distsim::opgraph {
namespace {

/// A node of autograd makes other results beside a gradient, and hooks and copies may follow before it is complete. So many
/// kernels lie between the making of a gradient and its completion at most.
constexpr std::uint32_t kMostBetween = 64;

/// A tensor of the backward pass that no kernel reads later, as gradients of parameters are.
struct Unread {
  std::uint32_t maker = 0;  ///< or the last view of it: gradients of weights that were transposed are transposed back
  double elements = 0;
  bool taken = false;
};

std::vector<Unread> unread_results(const OpGraph& graph, const Sizes& sizes, const LastViews& last_views) {
  std::unordered_map<std::uint64_t, Unread> last;  // by storage
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) last.erase(graph.tensors[t].storage);
    }
    if (node.phase != graph::Phase::backward) continue;
    for (const std::uint32_t t : node.outputs) last[graph.tensors[t].storage] = {i, sizes.elements(t), false};
  }
  std::vector<Unread> out;
  for (const auto& [storage, result] : last) {
    out.push_back(result);
    const auto view = last_views.find(storage);
    if (view != last_views.end()) out.back().maker = std::max(result.maker, view->second);
  }
  std::ranges::sort(out, {}, &Unread::maker);
  return out;
}

}  // namespace

/// Each gradient takes a result of its size that was made since the gradient before was complete. One that finds none, while
/// one made long before is left over, is said to be complete too late. Gradients that several parameters share are no results of
/// their own, and pass.
std::optional<LateGradient> late_gradient(const OpGraph& graph, const LastViews& last_views) {
  const Sizes sizes(graph, graph.samples);
  std::vector<Unread> results = unread_results(graph, sizes, last_views);
  std::vector<std::uint32_t> begins;  // of the nodes since the gradient before
  std::vector<std::size_t> without;
  std::uint32_t begin = 0;
  for (std::size_t g = 0; g < graph.gradients.size(); ++g) {
    const Gradient& gradient = graph.gradients[g];
    if (g > 0 && graph.gradients[g - 1].after != gradient.after) begin = graph.gradients[g - 1].after + 1;
    begins.push_back(begin);
    const double elements = sizes.elements(gradient.parameter);
    const auto own = std::find_if(results.rbegin(), results.rend(), [&](const Unread& r) {
      return !r.taken && r.maker >= begin && r.maker <= gradient.after && r.elements == elements;
    });
    if (own != results.rend())
      own->taken = true;
    else
      without.push_back(g);
  }
  for (const std::size_t g : without) {
    const double elements = sizes.elements(graph.gradients[g].parameter);
    const auto left = std::ranges::find_if(
        results, [&](const Unread& r) { return !r.taken && r.maker < begins[g] && r.elements == elements; });
    if (left != results.end() && left->maker + kMostBetween < graph.gradients[g].after)
      return LateGradient{g, left->maker};
  }
  return std::nullopt;
}

}  // namespace distsim::opgraph
