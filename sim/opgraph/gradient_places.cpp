// Whether parameters keep their sizes, and the nodes after which gradients are said to be complete can be those that make them.
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

/// Where more results than these are between two gradients, as where all are said to be complete at the end, they pass.
constexpr std::size_t kMostLookedAt = 1000;

/// A tensor of the backward pass that no kernel reads later, as gradients of parameters are.
struct Unread {
  std::uint32_t maker = 0;  ///< or the last view of it: gradients of weights that were transposed are transposed back
  double elements = 0;
  bool taken = false;
};

/// Of each tensor the number of its storage, counted from 0.
std::vector<std::uint32_t> storages_of(const OpGraph& graph) {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  numbers.reserve(graph.tensors.size());
  std::vector<std::uint32_t> out;
  out.reserve(graph.tensors.size());
  for (const Tensor& t : graph.tensors)
    out.push_back(numbers.try_emplace(t.storage, static_cast<std::uint32_t>(numbers.size())).first->second);
  return out;
}

std::vector<Unread> unread_results(const OpGraph& graph, const Sizes& sizes, const std::vector<QuietView>& views) {
  const std::vector<std::uint32_t> storage = storages_of(graph);
  std::vector<Unread> last(graph.tensors.size());  // by storage; without elements: nothing that is not read
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.phase == graph::Phase::forward) continue;
    for (const Argument& a : node.inputs) {
      for (const std::uint32_t t : a.tensors) last[storage[t]].elements = 0;
    }
    if (node.phase != graph::Phase::backward) continue;
    for (const std::uint32_t t : node.outputs) last[storage[t]] = {i, sizes.elements(t), false};
  }
  for (const QuietView& view : views) {
    Unread& of = last[storage[view.tensor]];
    of.maker = std::max(of.maker, view.node);
  }
  std::erase_if(last, [](const Unread& r) { return r.elements <= 0; });
  std::ranges::sort(last, {}, &Unread::maker);
  return last;
}

}  // namespace

/// Each gradient takes a result of its size that was made since the gradient before was complete. One that finds none, while
/// one made long before is left over, is said to be complete too late. Gradients that several parameters share are no results of
/// their own, and pass.
std::optional<LateGradient> late_gradient(const OpGraph& graph, const std::vector<QuietView>& views) {
  const Sizes sizes(graph, graph.samples);
  std::vector<Unread> results = unread_results(graph, sizes, views);
  std::vector<std::uint32_t> begins;  // of the nodes since the gradient before
  std::vector<std::size_t> without;
  std::uint32_t begin = 0;
  for (std::size_t g = 0; g < graph.gradients.size(); ++g) {
    const Gradient& gradient = graph.gradients[g];
    if (g > 0 && graph.gradients[g - 1].after != gradient.after) begin = graph.gradients[g - 1].after + 1;
    begins.push_back(begin);
    const double elements = sizes.elements(gradient.parameter);
    Unread* own = nullptr;  // the last one of the window
    std::size_t looked_at = 0;
    for (auto r = std::ranges::upper_bound(results, gradient.after, {}, &Unread::maker); r != results.begin();) {
      if ((--r)->maker < begin || ++looked_at > kMostLookedAt) break;
      if (r->taken || r->elements != elements) continue;
      own = &*r;
      break;
    }
    if (own != nullptr)
      own->taken = true;
    else if (looked_at <= kMostLookedAt)
      without.push_back(g);
  }
  std::unordered_map<double, std::uint32_t> earliest;  // of the results that are left over, by their elements
  for (const Unread& r : results) {
    if (!r.taken) earliest.try_emplace(r.elements, r.maker);
  }
  for (const std::size_t g : without) {
    const auto left = earliest.find(sizes.elements(graph.gradients[g].parameter));
    if (left != earliest.end() && left->second < begins[g] && left->second + kMostBetween < graph.gradients[g].after)
      return LateGradient{g, left->second};
  }
  return std::nullopt;
}

/// A storage is that of the first tensor of it.
std::optional<std::uint32_t> growing_parameter(const OpGraph& graph) {
  std::unordered_set<std::uint64_t> seen;
  for (std::uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& t = graph.tensors[i];
    const bool first = seen.insert(t.storage).second;
    const auto grows = [](const Extent& e) { return e.per_sample != 0; };
    if (first && t.role == TensorRole::parameter && std::ranges::any_of(t.dims, grows)) return i;
  }
  return std::nullopt;
}

/// Gradients are in the order in which they are complete. What the forward pass has kept for one counts, its views do not.
std::optional<std::size_t> unmade_gradient(const OpGraph& graph, const std::vector<QuietView>& views) {
  const Sizes sizes(graph, graph.samples);
  std::unordered_set<double> made;
  auto view = views.begin();
  std::uint32_t node = 0;
  for (std::size_t g = 0; g < graph.gradients.size(); ++g) {
    const Gradient& gradient = graph.gradients[g];
    for (; node <= gradient.after; ++node)
      for (const std::uint32_t t : graph.nodes[node].outputs) made.insert(sizes.elements(t));
    for (; view != views.end() && view->node <= gradient.after; ++view) made.insert(sizes.elements(view->tensor));
    const double elements = sizes.elements(gradient.parameter);
    if (elements > 0 && !gradient.sparse && !made.contains(elements)) return g;
  }
  return std::nullopt;
}

}  // namespace distsim::opgraph
