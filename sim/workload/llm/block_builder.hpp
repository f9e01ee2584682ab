// BlockBuilder: adds the kernels, collectives, weights and kept bytes of sublayers to a PartWork.
#pragma once

#include <string_view>
#include <utility>

#include "sim/workload/llm/llm_work.hpp"

namespace distsim::workload {

/// What recomputation chooses by.
enum class Module : std::uint8_t { norm, product, core_attention, rotary, activation, mla_up, residual, routing };
/// The part of a block that recomputation can name as a whole.
enum class Part : std::uint8_t { elsewhere, mlp, experts, shared_experts };

class BlockBuilder {
 public:
  BlockBuilder(const LlmShape& shape, const Recompute& recompute);

  void attention(Sublayer kind, bool decoder);
  void mlp(std::int64_t inner, bool decoder);
  void experts(bool decoder);
  void mamba();
  /// Norm before, residual after; `inside` adds what is between.
  template <class Inside>
  void sublayer(bool decoder, Inside inside) {
    norm(rows_of(s_.tokens_of(decoder)), s_.spec.hidden);
    inside();
    residual(rows_of(s_.tokens_of(decoder)) * s_.spec.hidden);
  }
  /// `inside` adds what belongs to `part`.
  template <class Inside>
  void within(Part part, Inside inside) {
    const Part before = std::exchange(part_, part);
    inside();
    part_ = before;
  }
  PartWork take();

  // Parts of the above, and of embedding and head.
  void norm(std::int64_t rows, std::int64_t width);
  void residual(std::int64_t elements);
  void elementwise(Module module, std::int64_t elements, double reads, double writes, double back_reads,
                   double back_writes, double flops = 4);
  /// Which kernel before wrote the input, and may have cast it to 8 bits too: a norm, or an activation, which only
  /// compilers merge with a cast (Megatron's is a compiled function of its own before Transformer Engine's product).
  enum class Input : std::uint8_t { plain, norm, activation };
  enum class Place : std::uint8_t { elsewhere, qkv, attention_output };
  /// Where a product lies between the exchanges of tensor-parallel ranks: it reads what enter() gathers, makes what leave()
  /// reduces, of which all ranks have all columns, or neither. Widths do not tell: a split one may equal a whole one.
  enum class Side : std::uint8_t { inside, entry, exit };
  struct Product {
    std::int64_t rows = 0, in = 0, out = 0;  ///< rows of all groups together
    bool bias = false;
    Input input = Input::plain;
    bool narrow = true;  ///< in 8 bits where the model's products are
    bool owns_weight = true;
    bool first = false;       ///< of a part: what the part is computed from again
    bool expert = false;      ///< its weights are experts', of which a rank may have but one
    std::int64_t groups = 1;  ///< experts, which share the rows
    double useful_rows = -1;  ///< of the model, where not all of them: neither padding nor waiting is its work
    Module module = Module::product;
    Place place = Place::elsewhere;
    Side side = Side::inside;
  };
  void product(const Product& p);
  void host_wait();
  void wire(Axis axis, graph::CollectiveKind forward, graph::CollectiveKind backward, std::int64_t bytes,
            bool hidden_forward = false, bool hidden_backward = false);
  void wire_backward(Axis axis, graph::CollectiveKind kind, std::int64_t bytes, bool hidden);
  void forward_op(Module module, graph::Op op, double times, double calls, double kernels);
  void backward_op(graph::Op op, double times, double calls, double kernels);
  /// Of the backward pass, what finds gradients of weights: nothing in it waits for them.
  void weight_op(const graph::Op& op, double times, double calls, double kernels);
  void keep(Module module, double bytes);
  void weights(double elements, double tensors) { out_.dense += elements, out_.tensors += tensors; }
  /// Entry to products that are split by columns, exit from those split by rows; of `rows` whole tokens.
  void enter(std::int64_t rows);
  void leave(std::int64_t rows);
  const LlmShape& shape() const { return s_; }
  graph::DType dtype() const { return s_.numerics.activation; }
  double bytes(double elements) const { return elements * static_cast<double>(graph::size_of(dtype())); }
  std::int64_t rows_of(std::int64_t tokens) const;  ///< with sequence parallel 1/t of them

 private:
  bool repeats(std::string_view module) const;  ///< whether the section names it
  bool repeats_wires() const;
  double share_again(Module module) const;  ///< of a module's work that is computed again in the backward pass
  void count_useful(Module module, double flops);
  void cast(std::int64_t elements, double times, Input input, bool backward, Module module);
  void gradient_products(const Product& p, const graph::Gemm& forward);
  bool has_adapter(const Product& p) const;
  void adapter(const Product& p);
  void query_key_value(std::int64_t rows, std::int64_t key_rows, bool cross);
  void low_rank_projections(std::int64_t rows);
  void scores(Sublayer kind, bool decoder);
  graph::Attention attention_of_document(Sublayer kind, bool decoder) const;
  void attention_kernels(const graph::Attention& op, double times, double launched);
  void fused_softmax_scores(const graph::Attention& op, double times, double launched);
  void context_exchange(bool cross);
  void expert_products(std::int64_t average_rows, double useful_rows, std::int64_t width);
  void shared_experts(bool inside, bool decoder);
  void take_own_tokens(std::int64_t tokens);
  void give_own_tokens(std::int64_t tokens);
  std::int64_t bytes_of_whole(std::int64_t tokens) const {
    return static_cast<std::int64_t>(bytes(static_cast<double>(tokens * s_.spec.hidden)));
  }

  const LlmShape& s_;
  const Recompute& recompute_;
  Part part_ = Part::elsewhere;
  PartWork out_;
  double adapter_matrices_ = 0;
  double whole_ = 0;  ///< bytes of everything that could be kept
};

}  // namespace distsim::workload
