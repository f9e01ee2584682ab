// Which layers of a model need which. Layers stand in an order in which each comes after those that it needs.
//
// A joint is a position p, from 0 to the number of layers, at which nothing is gained by starting a layer from p on before
// all layers before p are done: layer p - 1 needs all before it, and all from p on need it. Between two neighbouring
// joints is a block: one layer, or branches and the layer in which they join. In a chain every position is a joint.
//
// A strand is a run of layers that cannot be executed beside each other, and that nothing else waits for before its end:
// what a policy that takes requests apart gives to a GPU. Within a block each of its layers needs only the one before,
// which no other layer of the block needs; blocks of one layer belong to the strand before them.
#pragma once

#include <cstdint>
#include <vector>

namespace distsim::serving {

class LayerGraph {
 public:
  /// A layer that another one needs, and what it hands to it.
  struct Need {
    std::uint32_t layer = 0;
    std::int64_t bytes = 0;  ///< of one request
  };
  struct Source {
    std::uint32_t strand = 0;
    std::int64_t bytes = 0;  ///< of one request; what several of its layers need comes once
  };
  struct Strand {
    std::uint32_t begin = 0, end = 0;  ///< layers
    std::vector<Source> sources;       ///< strands that it needs, in their order; empty: it starts with the request
    std::vector<std::uint32_t> next;   ///< strands that need it
  };
  struct Block {
    std::uint32_t begin = 0, end = 0;
  };

  /// A chain.
  LayerGraph() = default;
  /// By layer. Precondition: needs are of layers before it.
  explicit LayerGraph(std::vector<std::vector<Need>> needs);

  /// Nothing of it can be executed beside anything else of it. Then it has no needs, strands and blocks of its own.
  bool is_chain() const { return needs_.empty(); }
  const std::vector<Need>& needs(std::uint32_t layer) const { return needs_[layer]; }
  const std::vector<Strand>& strands() const { return strands_; }
  /// Of its strands one alone starts with the request. Precondition: no chain.
  bool has_one_start() const;
  /// Those of more than one layer.
  const std::vector<Block>& blocks() const { return blocks_; }
  /// The first joint from a position on, and the last one up to it. Precondition: no chain.
  std::uint32_t joint_from(std::uint32_t position) const { return joint_from_[position]; }
  std::uint32_t joint_to(std::uint32_t position) const { return joint_to_[position]; }

 private:
  void find_joints();
  void cut_strands();
  void link_strands();

  std::vector<std::vector<Need>> needs_;
  std::vector<std::uint32_t> joint_from_, joint_to_;
  std::vector<Block> blocks_;
  std::vector<Strand> strands_;
};

}  // namespace distsim::serving
