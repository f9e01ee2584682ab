// Which kernels a call launches: one table from names of ATen, of autograd functions and of compiled kernels to ops that
// a model prices. docs/graph_format.md says what happens with names that it does not have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/op.hpp"
#include "sim/opgraph/call.hpp"

namespace distsim::opgraph {

enum class Listing : std::uint8_t {
  kernels,   ///< launches the kernels of an entry
  nothing,   ///< views, allocations, queries: launches nothing
  unlisted,  ///< not in the table
};

/// What autocasting does to an op (torch.autocast's lists for CUDA): products run in 16 bits, reductions in fp32, the
/// others in the widest of their types.
enum class Autocast : std::uint8_t { widest, narrow, fp32 };

Listing listing_of(std::string_view op);
Autocast autocast_of(std::string_view op);

/// Whether a kernel of it reads and writes element by element, so that a compiler can join it with others.
bool is_pointwise(std::string_view op);

struct Kernels {
  std::vector<graph::Op> ops;
  bool listed = true;  ///< false: estimated from bytes
};

/// Of a call on the device; none for one that only the host works on. A call that is not listed, or whose shapes are not
/// what its entry expects, is an Unlisted op.
Kernels kernels_of(const Call& call);

/// Sets the probability of dropout among the arguments of attention to 0.
void leave_out_dropout(Node& node);

/// Why the results of a call do not follow from its arguments, for graphs whose sizes were worked out, not recorded.
class Contradictions {
 public:
  explicit Contradictions(const OpGraph& graph);
  /// Of the next call; empty where there is none, and where results are not known from the sizes of arguments.
  std::string of(const Node& node);

 private:
  std::vector<Sizes> sizes_;   ///< of two of the batches that the graph serves, which tell for all
  std::vector<bool> resized_;  ///< tensors whose sizes a call has changed in place: of these the first ones are known
};

/// "addmm" of "aten::addmm.out", "_softmax" of "aten::_softmax"; the name itself outside of ATen.
std::string_view base_name(std::string_view op);

}  // namespace distsim::opgraph
