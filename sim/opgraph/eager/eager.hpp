// Eager: writes into an OpGraph what PyTorch would call for a model that is described in another language, and, from what
// each function leaves on a tape, its backward pass. Sizes are those of one batch. Views launch nothing; where strides do
// not allow a view, its copy is a kernel, as in PyTorch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/opgraph/call.hpp"

namespace distsim::opgraph {

/// Modes of recurrent layers, by their numbers in cuDNN and MIOpen.
enum class RecurrentMode : std::uint8_t { relu, tanh, lstm, gru };

class Eager {
 public:
  using Id = std::uint32_t;
  using Ids = std::vector<Id>;

  explicit Eager(OpGraph& graph) : graph_(graph) {}

  /// From here on calls belong to `label`; the next one is an operator that the model calls.
  void begin(std::string label);
  /// The next call is made inside of another function.
  void within_call() { fresh_ = false; }

  Id tensor(Dims dims, const Element& element, TensorRole role = TensorRole::activation, const std::string& name = "");
  const Dims& dims(Id t) const { return facts_[t].dims; }
  const Element& element(Id t) const { return graph_.tensors[t].element; }
  bool needs_gradient(Id t) const { return facts_[t].gradient; }

  // Views.
  Id reshape(Id x, const Dims& dims);
  Id permute(Id x, const std::vector<std::size_t>& order);
  Id transpose(Id x);  ///< the last two dimensions
  /// `always`: a view also where the sizes are the same, as matrix products make it.
  Id expand(Id x, const Dims& dims, bool always = false);
  /// Part of one dimension: every `step`-th place, so many of them.
  Id slice(Id x, std::size_t axis, std::int64_t length, std::int64_t step = 1);
  /// Parts of these lengths; their gradients are joined by one call.
  Ids split(Id x, std::size_t axis, const std::vector<std::int64_t>& lengths);

  // Kernels; their names are those of sim/opgraph/kernels.cpp.
  Id unary(std::string_view op, Id x);
  Id binary(std::string_view op, Id a, Id b);
  Id where(Id condition, Id a, Id b);
  Id cast(Id x, const Element& element);
  Id flip(Id x);  ///< the other way round along some dimensions, which is a copy
  Id fill(const Dims& dims, const Element& element);
  Id matmul(Id a, Id b);
  /// x [..., in] and a weight [in, out] or its transpose.
  Id linear(Id x, Id weight, bool transposed, std::optional<Id> bias);

  struct Window {
    std::vector<std::int64_t> stride, pad, dilation, kernel;  ///< pads behind the sides follow where they are others
    bool transposed = false;
    std::int64_t groups = 1;
  };
  Id convolution(Id x, Id filters, std::optional<Id> bias, const Window& window, const Dims& result);
  Id pool(std::string_view op, std::string_view backward, Id x, const Window& window, const Dims& result);
  Id batch_norm(Id x, std::optional<Id> scale, std::optional<Id> shift);
  Id row_norm(std::string_view op, Id x, const Dims& row, std::optional<Id> scale, std::optional<Id> shift);
  Id group_norm(Id x, std::int64_t groups, std::optional<Id> scale, std::optional<Id> shift);
  Id softmax(std::string_view op, Id x, std::int64_t axis);
  Id dropout(Id x);
  Id reduce(std::string_view op, Id x, const std::vector<std::size_t>& axes, bool keep);
  Id cat(const Ids& parts, std::size_t axis);
  Id embedding(Id table, Id ids);
  Id embedding_bag(Id table, Id ids, Id offsets, const Dims& result);
  /// As many elements as `result` has, read at `ids`, which are places in so many dimensions; backward they are added into zeros.
  Id gather(std::string_view op, Id x, Id ids, const Dims& result, std::size_t indexed = 1);
  Id scatter(std::string_view op, Id x, Id ids, Id updates);
  Id pad(Id x, const Dims& result);
  Id resize(std::string_view op, Id x, const Dims& result);
  Ids recurrent(Id x, const Ids& weights, RecurrentMode mode, std::int64_t hidden, bool both,
                const std::vector<Dims>& results);
  /// Any other: results of these sizes; backward one call that reads all and writes the gradients of what it was given.
  Ids opaque(std::string_view op, const Ids& inputs, const std::vector<Dims>& results,
             const std::vector<Element>& types);

  /// From the sum of all `outputs` that depend on a parameter, or from the cross entropy of the first of them over its last
  /// dimension, to the gradients of all parameters.
  enum class Loss : std::uint8_t { sum, cross_entropy };
  void backward(const Ids& outputs, Loss loss);
  /// Calls that have launched nothing since the last kernel go to that.
  void finish();

 private:
  struct Facts {
    Dims dims, strides;
    bool gradient = false;  ///< a parameter, or follows from one
    std::uint32_t uses = 0;
    std::optional<Id> complete;  ///< its gradient as far as it is known
  };
  struct Step {
    std::string label;
    Ids inputs, outputs;
    std::function<void(const std::vector<std::optional<Id>>& gradients)> run;
  };

  Id matrix_product(const std::string& op, Id x, Id y);
  Id as_matrices(Id x);
  void give_products(Id gradient, Id x, Id y);
  void begin_sum(const Ids& outputs);
  void begin_cross_entropy(Id output);
  void run_tape();
  static Argument tensors(const Ids& ids);
  static Argument number(double n);
  static Argument numbers(const std::vector<std::int64_t>& list);

  Id like(Id x, std::optional<Element> element = {});
  Id view(Id x, Dims dims, Dims strides);
  std::optional<Dims> strides_for(Id x, const Dims& dims) const;
  void quiet_call();
  void emit(std::string op, std::vector<Argument> inputs, const Ids& outputs);
  Id kernel(const std::string& op, const Ids& inputs, const Dims& result, std::vector<Argument> rest = {});
  void tape(const Ids& inputs, const Ids& outputs, std::function<void(const std::vector<std::optional<Id>>&)> run);
  void give(Id x, Id gradient);
  Id summed_to(Id gradient, const Dims& dims);
  Id folded(Id x);

  OpGraph& graph_;
  std::vector<Facts> facts_;
  std::vector<Step> tape_;
  std::string label_;
  graph::Phase phase_ = graph::Phase::forward;
  bool fresh_ = false;  ///< no call of the operator has been written
  std::uint32_t calls_ = 0;
};

}  // namespace distsim::opgraph
