// Call: a node with the sizes and types that its tensors have for a number of samples.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {

using Dims = std::vector<std::int64_t>;

/// A graph's tensors for so many samples. Types may be replaced, as autocasting does it.
class Sizes {
 public:
  Sizes(const OpGraph& graph, std::int64_t samples);

  const OpGraph& graph() const { return graph_; }
  Dims dims(std::uint32_t tensor) const;
  double elements(std::uint32_t tensor) const { return elements_[tensor]; }
  double bytes(std::uint32_t tensor) const { return elements_[tensor] * static_cast<double>(types_[tensor].bytes); }
  const Element& type(std::uint32_t tensor) const { return types_[tensor]; }
  void set_type(std::uint32_t tensor, const Element& type) { types_[tensor] = type; }

 private:
  const OpGraph& graph_;
  std::int64_t samples_;
  std::vector<double> elements_;
  std::vector<Element> types_;
};

class Call {
 public:
  Call(const Sizes& sizes, const Node& node);

  const Node& node() const { return node_; }
  const Sizes& sizes() const { return sizes_; }
  /// All tensors of the arguments, in order; those of lists one by one.
  const std::vector<std::uint32_t>& inputs() const { return inputs_; }
  const std::vector<std::uint32_t>& outputs() const { return node_.outputs; }
  bool has(std::size_t input) const { return input < inputs_.size(); }

  Dims in(std::size_t input) const { return sizes_.dims(inputs_[input]); }
  Dims out(std::size_t output = 0) const { return sizes_.dims(node_.outputs[output]); }
  graph::DType type(std::size_t input = 0) const { return sizes_.type(inputs_[input]).dtype; }

  /// Tensor, numbers or number that stand at a place of the schema.
  std::optional<std::uint32_t> tensor_at(std::size_t place) const;
  std::vector<std::int64_t> list_at(std::size_t place) const;
  double number_at(std::size_t place, double otherwise) const;

  double read_bytes() const;     ///< of all tensors that are given
  double written_bytes() const;  ///< of all results; of an op without any, of its first tensor
  /// The tensor with the most bytes among arguments and results.
  std::uint32_t largest() const;
  bool on_host() const;  ///< no tensor of it lies on a device

 private:
  const Sizes& sizes_;
  const Node& node_;
  std::vector<std::uint32_t> inputs_;
};

double product(const Dims& dims);
/// What all are broadcast to; nothing where they are not.
std::optional<Dims> broadcast_of(const std::vector<Dims>& all);
/// "64x3x7x7".
std::string text_of(const Dims& dims);
/// A whole number of at least 1, at most what a shape may be.
std::int64_t count(double n);

}  // namespace distsim::opgraph
