// Requests that a policy takes apart: one task in the pool for each strand of their model's graph (layer_graph.hpp) that
// can be executed. A strand starts when all that it needs are done; the request is answered when all are.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/emulator/request.hpp"
#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

class Branches {
 public:
  /// Precondition: the model is no chain.
  std::uint32_t take(const Model& m) {
    std::uint32_t id = static_cast<std::uint32_t>(wholes_.size());
    if (free_.empty()) {
      wholes_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    Whole& whole = wholes_[id];
    whole.open = static_cast<std::uint32_t>(m.graph.strands().size());
    whole.places.assign(whole.open, kHost);
    whole.waits.clear();
    for (const LayerGraph::Strand& strand : m.graph.strands())
      whole.waits.push_back(static_cast<std::uint32_t>(strand.sources.size()));
    return id;
  }
  void give_back(std::uint32_t id) { free_.push_back(id); }

  /// A strand is done. True where it was the last one.
  bool done(std::uint32_t id, std::uint32_t strand, std::uint32_t gpu) {
    wholes_[id].places[strand] = gpu;
    return --wholes_[id].open == 0;
  }
  /// Whether a strand has now all that it needs, as one of its sources is done.
  bool source_done(std::uint32_t id, std::uint32_t strand) { return --wholes_[id].waits[strand] == 0; }
  /// Whether the request is answered when this strand is done.
  bool is_last(std::uint32_t id) const { return wholes_[id].open == 1; }
  /// The GPU that executed a strand.
  std::uint32_t place(std::uint32_t id, std::uint32_t strand) const { return wholes_[id].places[strand]; }

 private:
  struct Whole {
    std::uint32_t open = 0;             ///< strands that are not done
    std::vector<std::uint32_t> waits;   ///< by strand: sources that are not done
    std::vector<std::uint32_t> places;  ///< by strand, where done
  };
  std::vector<Whole> wholes_;
  std::vector<std::uint32_t> free_;
};

/// Calls fetch(from, bytes) for all that a request or a task needs on a GPU and that is on another one, or at the host. A
/// request in progress has its data where its last layer was executed, a strand that starts where those that it needs were.
template <class Fetch>
void for_each_fetch(const Scenario& s, const Branches& branches, const Request& r, std::uint32_t gpu,
                    const Fetch& fetch) {
  const Model& m = s.models[r.model];
  if (r.place == gpu && r.whole == kNoWhole) return;
  if (r.place == kHost) {
    fetch(kHost, m.input_bytes);
  } else if (r.whole == kNoWhole || r.next_layer > r.begin_layer) {
    if (r.place != gpu) fetch(r.place, m.state_at(r.next_layer));
  } else {
    for (const LayerGraph::Source& source : m.graph.strands()[r.strand].sources) {
      const std::uint32_t from = branches.place(r.whole, source.strand);
      if (from != gpu) fetch(from, source.bytes);
    }
  }
}

}  // namespace distsim::serving
