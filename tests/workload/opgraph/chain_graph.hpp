// A captured graph to test with: `blocks` products of [width, width] one after the other, and before them lookups.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sim/workload/opgraph/graph_spec.hpp"

namespace distsim::workload {

class ChainGraph {
 public:
  explicit ChainGraph(std::int64_t width) : width_(width) {
    graph_.samples = 8, graph_.any_batch = true, graph_.name = "chain";
    x_ = tensor({{0, 1}, {width, 0}}, opgraph::TensorRole::input, "x");
  }

  /// A bag of `ids` ids in a table of so many rows, of the chain's width; added to what runs through the chain.
  ChainGraph& table(std::int64_t rows, std::int64_t ids, const std::string& name) {
    const std::uint32_t weight = tensor({{rows, 0}, {width_, 0}}, opgraph::TensorRole::parameter, name + ".weight"),
                        where = tensor({{0, ids}}, opgraph::TensorRole::input, name + ".ids", true),
                        offsets = tensor({{0, 1}}, opgraph::TensorRole::input, name + ".offsets", true),
                        vectors = activation(), sum = activation();
    node("aten::_embedding_bag", name, {weight, where, offsets}, vectors);
    node("aten::add.Tensor", "join", {x_, vectors}, sum);
    x_ = sum;
    backward_.push_back([=, this](std::uint32_t gradient) {
      const std::uint32_t of_weight = tensor({{rows, 0}, {width_, 0}});
      node("aten::_embedding_bag_dense_backward", name, {gradient, where}, of_weight);
      complete(weight);
      return gradient;
    });
    return *this;
  }

  ChainGraph& block(const std::string& name) {
    const std::uint32_t weight = tensor({{width_, 0}, {width_, 0}}, opgraph::TensorRole::parameter, name + ".weight"),
                        in = x_, out = activation();
    node("aten::mm", name, {in, weight}, out);
    x_ = out;
    backward_.push_back([=, this](std::uint32_t gradient) {
      const std::uint32_t of_weight = tensor({{width_, 0}, {width_, 0}}), of_input = activation();
      node("aten::mm", name, {gradient, weight}, of_input);
      node("aten::mm", name, {in, gradient}, of_weight);
      graph_.nodes.back().inputs[0].tensors[0] = transposed(in);
      complete(weight);
      return of_input;
    });
    return *this;
  }

  std::shared_ptr<const opgraph::OpGraph> finish() {
    phase_ = graph::Phase::backward;
    std::uint32_t gradient = activation();
    node("aten::ones_like", "loss", {x_}, gradient);
    for (auto step = backward_.rbegin(); step != backward_.rend(); ++step) gradient = (*step)(gradient);
    return std::make_shared<const opgraph::OpGraph>(graph_);
  }

 private:
  using Extents = std::vector<opgraph::Extent>;

  std::uint32_t tensor(Extents dims, opgraph::TensorRole role = opgraph::TensorRole::activation,
                       const std::string& name = "", bool whole = false) {
    opgraph::Tensor t;
    t.dims = std::move(dims), t.role = role, t.name = name;
    if (whole) t.element = {graph::DType::int64, 8, false};
    t.storage = graph_.tensors.size() + 1;
    graph_.tensors.push_back(std::move(t));
    return static_cast<std::uint32_t>(graph_.tensors.size() - 1);
  }
  std::uint32_t activation() { return tensor({{0, 1}, {width_, 0}}); }
  std::uint32_t transposed(std::uint32_t x) {
    const std::uint32_t t = tensor({{width_, 0}, {0, 1}});
    graph_.tensors[t].storage = graph_.tensors[x].storage;
    return t;
  }

  void node(const std::string& op, const std::string& label, const std::vector<std::uint32_t>& in, std::uint32_t out) {
    opgraph::Node n;
    n.op = op, n.label = label, n.phase = phase_;
    for (const std::uint32_t t : in) n.inputs.push_back({opgraph::Argument::Kind::tensors, {t}, {}, ""});
    n.outputs = {out};
    graph_.nodes.push_back(std::move(n));
  }
  void complete(std::uint32_t weight) {
    graph_.gradients.push_back({weight, static_cast<std::uint32_t>(graph_.nodes.size() - 1)});
  }

  std::int64_t width_;
  opgraph::OpGraph graph_;
  std::uint32_t x_ = 0;
  graph::Phase phase_ = graph::Phase::forward;
  std::vector<std::function<std::uint32_t(std::uint32_t)>> backward_;
};

}  // namespace distsim::workload
