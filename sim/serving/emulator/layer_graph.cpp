#include "sim/serving/emulator/layer_graph.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace distsim::serving {

LayerGraph::LayerGraph(std::vector<std::vector<Need>> needs) : needs_(std::move(needs)) {
  find_joints();
  if (blocks_.empty()) {
    needs_.clear();
    return;
  }
  cut_strands();
  link_strands();
}

/// Layer v needs all before it where each of them is needed by a layer up to v, and all after it need it where each of
/// them needs a layer from v on: the rest follows layer by layer.
void LayerGraph::find_joints() {
  const auto count = static_cast<std::uint32_t>(needs_.size());
  std::vector<std::uint32_t> first_user(count, std::numeric_limits<std::uint32_t>::max()), last_need(count, 0);
  std::vector<char> needs_any(count, 0);
  for (std::uint32_t l = count; l-- > 0;) {
    for (const Need& need : needs_[l]) {
      first_user[need.layer] = std::min(first_user[need.layer], l);
      last_need[l] = std::max(last_need[l], need.layer);
      needs_any[l] = 1;
    }
  }
  std::vector<std::uint32_t> latest_user(count + 1,
                                         0);  // over the layers before a position, of the first that needs each
  for (std::uint32_t l = 0; l < count; ++l) latest_user[l + 1] = std::max(latest_user[l], first_user[l]);
  std::vector<char> joint(count + 1, 0);
  joint[0] = joint[count] = 1;
  std::uint32_t earliest_need = count;  // over the layers after v, of the last that each needs
  bool all_need = true;
  for (std::uint32_t v = count; v-- > 0;) {
    if (v + 1 < count) joint[v + 1] = latest_user[v] <= v && all_need && earliest_need >= v ? 1 : 0;
    all_need = all_need && needs_any[v] != 0;
    earliest_need = std::min(earliest_need, last_need[v]);
  }
  joint_to_.resize(count + 1);
  joint_from_.resize(count + 1);
  for (std::uint32_t p = 1; p <= count; ++p) {
    joint_to_[p] = joint[p] != 0 ? p : joint_to_[p - 1];
    if (joint[p] != 0 && p - joint_to_[p - 1] > 1) blocks_.push_back({joint_to_[p - 1], p});
  }
  for (std::uint32_t p = count + 1; p-- > 0;) joint_from_[p] = joint[p] != 0 ? p : joint_from_[p + 1];
}

void LayerGraph::cut_strands() {
  const auto count = static_cast<std::uint32_t>(needs_.size());
  const auto alone = [&](std::uint32_t l) { return joint_from_[l + 1] - joint_to_[l] == 1; };
  std::vector<std::uint32_t> users(count, 0);  // of the same block
  for (std::uint32_t l = 0; l < count; ++l) {
    for (const Need& need : needs_[l]) users[need.layer] += need.layer >= joint_to_[l] ? 1 : 0;
  }
  for (std::uint32_t l = 0; l < count; ++l) {
    bool goes_on = false;
    if (l > 0 && alone(l)) {
      goes_on = true;
    } else if (l > joint_to_[l]) {
      std::uint32_t needed = 0;
      for (const Need& need : needs_[l]) needed += need.layer >= joint_to_[l] ? 1 : 0;
      const bool needs_last = std::ranges::any_of(needs_[l], [&](const Need& n) { return n.layer == l - 1; });
      goes_on = needed == 1 && needs_last && users[l - 1] == 1;
    }
    if (goes_on)
      strands_.back().end = l + 1;
    else
      strands_.push_back({l, l + 1, {}, {}});
  }
}

void LayerGraph::link_strands() {
  std::vector<std::uint32_t> strand_of(needs_.size());
  for (std::uint32_t k = 0; k < strands_.size(); ++k) {
    for (std::uint32_t l = strands_[k].begin; l < strands_[k].end; ++l) strand_of[l] = k;
  }
  for (std::uint32_t k = 0; k < strands_.size(); ++k) {
    std::map<std::uint32_t, std::int64_t> by_layer;  // of other strands: the most that a layer of this one needs of it
    for (std::uint32_t l = strands_[k].begin; l < strands_[k].end; ++l) {
      for (const Need& need : needs_[l]) {
        if (strand_of[need.layer] == k) continue;
        std::int64_t& bytes = by_layer[need.layer];
        bytes = std::max(bytes, need.bytes);
      }
    }
    for (const auto& [layer, bytes] : by_layer) {
      std::vector<Source>& sources = strands_[k].sources;
      if (sources.empty() || sources.back().strand != strand_of[layer]) {
        sources.push_back({strand_of[layer], 0});
        strands_[strand_of[layer]].next.push_back(k);
      }
      sources.back().bytes += bytes;
    }
  }
}

bool LayerGraph::has_one_start() const {
  return std::ranges::count_if(strands_, [](const Strand& strand) { return strand.sources.empty(); }) == 1;
}

}  // namespace distsim::serving
