// ONNX models as graphs of PyTorch's calls: forward as an eager framework would run them, the backward pass by Eager's rules.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/opgraph/eager/eager.hpp"
#include "sim/opgraph/onnx/onnx.pb.h"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {

/// What a name of the model stands for: a tensor, or whole numbers that are known (sizes, axes), or both.
struct OnnxValue {
  Dims dims;
  Element element;
  std::optional<std::vector<std::int64_t>> numbers;  ///< of up to 65,536
  std::optional<double> number;                      ///< of a constant of one element
  std::vector<double> scales;                        ///< of a constant list of float32, one for each dimension
  bool scalar = false;                               ///< a constant of one element: the host passes it with the call
  bool frozen = false;                               ///< of an initializer that is not trained
  bool weight = false;                               ///< of an initializer
  bool is_complex = false;                           ///< stated in the file, of a constant or an input
  std::optional<std::uint32_t> tensor;
};

/// One pass over the model with a size for its batch.
class OnnxLowering {
 public:
  OnnxLowering(const onnx::Model& model, const GraphOptions& options, std::int64_t samples, OpGraph& graph);
  Result<void> run();
  /// Whether the batch is a dimension by name, so that `samples` was used; the batch of the first input.
  bool any_batch() const { return any_batch_; }
  std::int64_t batch() const { return any_batch_ ? samples_ : batch_; }
  /// Layer normalisations that were written out, and are taken as one call.
  std::size_t norms() const { return norms_; }
  std::int64_t opset() const { return opset_; }
  /// Of the passes that tell which sizes follow the batch: two give a line, and the third is on it, or they do not.
  static constexpr std::array<std::int64_t, 3> kSamples = {2, 4, 64};

 private:
  static constexpr std::int64_t kMostHidden = 1 << 24;
  using Ids = Eager::Ids;
  using Id = Eager::Id;
  using Handler = Result<void> (OnnxLowering::*)();
  struct Rule {
    std::string_view op;
    Handler run;
    std::string_view call = "";
  };
  static const Rule* rule_of(std::string_view op);

  // onnx_batch.cpp
  void find_batch();
  std::string with_samples() const;
  bool is_time_major(const std::string& input) const;
  std::int64_t batch_of(const Dims& dims, const std::string& input) const;
  Result<std::int64_t> size_of(const onnx::Dimension& dim, const std::string& input, int place);

  // onnx_lowering.cpp
  Result<void> read_initializers();
  Result<void> read_inputs();
  Result<void> read_types();
  Result<Element> element_of(std::int32_t type) const;
  Result<void> read_constant(const onnx::Tensor& t, OnnxValue& value);
  Result<void> check_data(const onnx::Tensor& t, const OnnxValue& value) const;
  void begin_backward();
  Result<void> run_nodes();
  Result<void> run_node();
  Result<void> check_order();
  Error wrong(const std::string& what) const;
  void name_of_call();

  // onnx_attributes.cpp
  Result<void> check_attributes();
  Result<void> check_value(const onnx::Attribute& a) const;

  // onnx_required.cpp
  Result<void> check_required() const;

  // onnx_checks.cpp
  std::string contradiction(const onnx::ValueInfo& stated, const Dims& made) const;
  std::string other_element(const onnx::ValueInfo& stated, const OnnxValue& made) const;
  Result<void> check_results();
  Error wrong_input(int input, const std::string& what) const;
  Result<void> expect_sizes(int input, const Dims& expected);
  Result<void> expect_broadcast(int input, const Dims& whole);
  Result<void> check_places(Id places) const;
  Result<void> check_range(int input, const Dims& sizes);
  Result<void> check_split(const std::vector<std::int64_t>& sizes, std::int64_t whole) const;
  Result<void> check_operands();
  Result<void> check_channels();
  Result<void> check_rows();
  Result<void> check_filters();
  Result<void> check_gemm();
  Result<void> check_recurrent();
  Result<void> check_factors();
  Result<void> check_types_of_factors();
  Result<void> check_parts();
  Result<void> check_gather();
  Result<void> check_elements();
  Result<void> check_coordinates();
  Result<void> check_top_k();
  Result<void> check_targets();
  Result<void> check_cumulative();
  Result<void> check_lengths(int input, std::int64_t longest) const;

  // What a rule asks its node.
  bool has(int input) const { return input < node_->input_size() && !node_->input(input).empty(); }
  OnnxValue& in(int input) { return values_.at(node_->input(input)); }
  Result<Id> tensor(int input);
  Result<std::vector<std::int64_t>> numbers(int input, std::string_view what);
  const onnx::Attribute* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::int64_t concat_axis() const { return integer("axis", opset_ < 4 ? 1 : 0); }
  std::string text(std::string_view name) const;
  Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank) const;
  /// What a Slice keeps of one dimension: every `step`-th place from `begin` on, `count` of them.
  struct Cut {
    std::size_t axis;
    std::int64_t begin, step, count;
  };
  /// Those of the node's first input, each axis once.
  Result<std::vector<Cut>> cuts();
  /// Those that a reduction of `rank` dimensions adds up, each once; none: it does nothing.
  Result<std::vector<std::size_t>> reduced_axes(std::size_t rank);
  /// No axis twice.
  Result<void> expect_once(std::vector<std::size_t> axes) const;
  /// Sizes, axes: an attribute in older versions of an op, an input in later ones.
  Result<std::vector<std::int64_t>> listed(std::string_view attribute_name, int input);
  Result<void> give(Id t, int output = 0);
  Result<void> give_numbers(Dims dims, std::vector<std::int64_t> numbers);
  Result<Dims> checked(Dims dims) const;
  Result<bool> broadcasts(const Dims& a, const Dims& b) const;
  std::vector<Dims> stated_results(std::vector<Element>& types) const;

  // onnx_folding.cpp: of whole numbers that are known.
  Result<bool> fold();
  Result<bool> fold_arithmetic();
  Result<bool> fold_split();
  Result<bool> fold_concat();
  Result<bool> fold_transpose();
  Result<bool> fold_slice();
  Result<bool> fold_reduction();
  bool fold_scalars();
  Result<void> constant();
  Result<void> constant_of_shape();
  Result<void> shape();
  Result<void> range();

  // onnx_views.cpp
  Result<Dims> flattened();
  Result<Dims> squeezed();
  Result<Dims> unsqueezed();
  Result<void> reshape();
  Result<void> flatten();
  Result<void> transpose();
  Result<void> squeeze();
  Result<void> unsqueeze();
  Result<void> expand();
  Result<void> slice();
  Result<void> split();
  Result<void> concat();
  Result<void> identity();
  Result<void> gather();
  Result<void> gather_elements();
  Result<void> scatter();
  Result<void> pad();
  Result<void> tile();
  Result<void> resize();
  Result<Dims> resized();
  Result<void> space();

  // onnx_kernels.cpp
  Result<void> unary();
  Result<void> binary();
  Result<void> several();
  Result<void> where();
  Result<void> cast();
  Result<void> matmul();
  Result<void> gemm();
  Result<void> global_pool();
  Result<void> batch_norm();
  Result<void> layer_norm();
  Result<void> instance_norm();
  Result<void> softmax();
  Result<void> dropout();
  Result<void> reduce();
  Result<void> top_k();
  Result<void> cumulative();
  Result<void> recurrent();
  Result<void> loss();
  Result<void> aten();
  Result<void> unknown();

  // onnx_einsum.cpp
  Result<void> einsum();
  std::optional<int> bias_after() const;

  // onnx_windows.cpp
  struct Side;
  Result<void> window_of(const Dims& image, Eager::Window& window, Dims& result, bool rounds_up);
  Result<void> check_window(std::size_t rank) const;
  Result<void> replace_pads(const Side& automatic, std::size_t i, std::size_t rank);
  Result<std::int64_t> spread(Side& side, std::size_t i, std::size_t rank);
  Result<void> convolution();
  Result<void> pool();
  Result<std::int64_t> windows(Side& side, std::size_t i, std::size_t rank, bool rounds_up);

  // onnx_patterns.cpp
  /// A value that several nodes in a row have made, each of which alone reads what the one before has made.
  struct Chain {
    std::string value;
    std::vector<int> nodes;
  };
  static std::optional<double> number_in(const onnx::Tensor& t);
  std::optional<double> number(const std::string& name) const;
  std::optional<int> only_reader(const std::string& value, std::string_view op) const;
  bool goes_on(Chain& chain, std::string_view op) const;
  bool goes_on(Chain& chain, std::string_view op, const std::string& other) const;
  bool goes_on(Chain& chain, std::string_view op, double constant) const;
  std::size_t averaged(const onnx::Node& mean, std::size_t rank) const;
  std::optional<Chain> written_out_gelu() const;
  std::optional<Chain> written_out_norm(std::size_t rank) const;
  std::optional<Id> take_row(Chain& chain, std::string_view op, const Dims& row);
  Result<void> norm_of(Chain chain, Id x, const Dims& row);
  Result<void> give_chain(const Chain& chain, Id result);
  /// A tensor that is indexed in `dims` dimensions from `first` on.
  struct Indexed {
    std::string whole;
    std::int64_t first = 0, dims = 0;
  };
  std::optional<Indexed> indexed_by(const onnx::Node& flatten) const;
  Result<void> index_of(const Indexed& indexed);

  const onnx::Model& model_;
  const onnx::Graph& onnx_;
  const GraphOptions& options_;
  std::int64_t samples_;
  OpGraph& graph_;
  Eager eager_;
  std::unordered_map<std::string, OnnxValue> values_;
  std::unordered_map<std::string, const onnx::Type*> stated_;
  std::unordered_map<std::string, std::vector<int>> readers_;  ///< nodes that read a name
  std::unordered_map<std::string, int> makers_;                ///< the node that makes a name
  std::unordered_set<std::string> outputs_;                    ///< of the model
  std::vector<bool> done_;                                     ///< nodes that are part of one before
  std::string batch_name_;
  std::size_t norms_ = 0, unknown_attributes_ = 0;
  std::string unknown_attribute_, unused_pads_;  ///< the first
  bool any_batch_ = false;
  std::int64_t batch_ = 0, opset_ = 0;
  int place_ = 0;
  const onnx::Node* node_ = nullptr;
  const Rule* rule_ = nullptr;
};

}  // namespace distsim::opgraph
