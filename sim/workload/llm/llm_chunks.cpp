// The chunks of blocks that the stages of a pipeline run: what a rank computes, exchanges and keeps of each.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/graph/op_key.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

void add_part(LlmChunk& chunk, const PartWork& part, double times) {
  PartWork& w = chunk.work;
  w.forward.add(part.forward, times);
  w.backward.add(part.backward, times);
  w.weights.add(part.weights, times);
  w.repeated.add(part.repeated, times);
  w.forward_flops += part.forward_flops * times;
  w.dense += part.dense * times;
  w.expert += part.expert * times;
  w.trained_dense += part.trained_dense * times;
  w.trained_expert += part.trained_expert * times;
  w.tensors += part.tensors * times;
  w.kept += part.kept * times;
  w.movable += part.movable * times;
  w.working = std::max(w.working, part.working);
  chunk.largest_block = std::max(chunk.largest_block, part.dense + part.expert);
  chunk.most_trained = std::max(chunk.most_trained, part.trained());
  chunk.most_kept = std::max(chunk.most_kept, part.movable);
  chunk.most_passing = std::max(chunk.most_passing, part.kept + part.working);
}

/// Equal ops, and equal collectives, become one with the sum of their numbers. Items without a key stay as they are. Of a
/// hundred different ones at most: a search through their hashes, which are read in a row, is faster than a table.
template <class Item, class KeyOf, class HashOf>
void merge(std::vector<std::pair<Item, double>>& items, KeyOf key_of, HashOf hash_of) {
  using Key = decltype(key_of(items.front().first));
  std::vector<std::size_t> hashes, places;  // of keys: where the item is
  std::vector<Key> keys;
  std::size_t kept = 0;
  const auto find = [&](const Key& key, std::size_t hash) {
    std::size_t k = 0;
    while (k < hashes.size() && !(hashes[k] == hash && keys[k] == key)) ++k;
    return k;
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Key key = key_of(items[i].first);
    if (key.has_value()) {
      const std::size_t hash = hash_of(*key), k = find(key, hash);
      if (k < hashes.size()) {
        items[places[k]].second += items[i].second;
        continue;
      }
      hashes.push_back(hash);
      keys.push_back(key);
      places.push_back(kept);
    }
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end());
}

std::size_t hash_of_wire(const Wire& wire) {
  return static_cast<std::size_t>(wire.bytes) * 64 + static_cast<std::size_t>(wire.kind) * 4 +
         static_cast<std::size_t>(wire.axis);
}

bool is_repeated(const Recompute& recompute, std::int64_t block, std::int64_t repeated) {
  if (recompute.kind == RecomputeKind::every_second) return block % 2 == 0;
  return recompute.layers == 0 || block < repeated;
}

/// Makes the chunks of a model; blocks of one kind are worked out once.
class ChunkMaker {
 public:
  ChunkMaker(const LlmShape& shape, bool splits_backward) : s_(shape), splits_backward_(splits_backward) {}

  const PartWork& block(std::int64_t layer, bool again) {
    const bool decoder = layer >= s_.spec.layers - s_.spec.decoder_layers && s_.spec.decoder_layers > 0;
    const auto key = std::tuple(block_kind(s_.spec, layer), decoder, again);
    const auto [it, is_new] = blocks_.try_emplace(key);
    if (is_new) {
      static const Recompute kNothing{RecomputeKind::none, 0, {}};
      it->second = block_work(s_, std::get<0>(key), again ? s_.parallel.recompute : kNothing, decoder);
    }
    return it->second;
  }

  /// `repeated`: of its first blocks, where recompute states a number.
  LlmChunk make(std::int64_t first, std::int64_t layers, std::int64_t repeated, bool is_first, bool is_last) {
    LlmChunk chunk;
    chunk.blocks = layers;
    if (is_first) add_part(chunk, embedding_work(s_), 1);
    const Recompute& r = s_.parallel.recompute;
    std::vector<std::pair<const PartWork*, double>> blocks;  // of thousands of blocks, a few kinds
    for (std::int64_t i = 0; i < layers; ++i) {
      const PartWork* part = &block(first + i, is_repeated(r, i, repeated));
      const auto known = std::ranges::find(blocks, part, &std::pair<const PartWork*, double>::first);
      if (known == blocks.end())
        blocks.emplace_back(part, 1);
      else
        ++known->second;
    }
    for (const auto& [part, times] : blocks) add_part(chunk, *part, times);
    if (is_last) {
      for (std::int64_t i = 0; i < s_.spec.mtp_layers; ++i) add_part(chunk, mtp_work(s_, r), 1);
      add_part(chunk, head_work(s_), 1);
    }
    for (PassWork* pass : {&chunk.work.forward, &chunk.work.backward, &chunk.work.weights, &chunk.work.repeated}) {
      merge(
          pass->ops, [](const graph::Op& op) { return graph::key_of(op); }, graph::OpKeyHash());
      merge(
          pass->wires, [](const Wire& wire) { return std::optional(wire); }, hash_of_wire);
    }
    if (splits_backward_) chunk.work.inputs = chunk.work.backward.without(chunk.work.weights);
    return chunk;
  }

 private:
  const LlmShape& s_;
  const bool splits_backward_;
  std::map<std::tuple<BlockKind, bool, bool>, PartWork> blocks_;
};

LlmShape shape_of(const LlmPlan& plan) {
  return {.spec = plan.spec,
          .parallel = plan.parallel,
          .framework = plan.framework,
          .numerics = plan.numerics,
          .tensor = plan.tensor,
          .context = plan.context,
          .expert = plan.expert,
          .expert_tensor = plan.expert_tensor,
          .samples = plan.parallel.micro_batch,
          .micro_steps = plan.gathers_each_pass() ? 1 : plan.micro_steps,
          .sums_gradients = plan.sums_whole_gradients() || (plan.keeps_gradients() && !plan.owns_gradients()),
          .expert_domains = expert_domains(plan),
          .infers = mode_of(plan.model) == StepMode::inference};
}

}  // namespace

ModelFlops model_flops(const ModelSpec& model, const FrameworkSpec& framework, const ParallelSpec& parallel,
                       std::int64_t samples, const std::vector<std::int64_t>& blocks) {
  const LlmSpec spec = without_padding(as_run<LlmSpec>(model));
  const Recompute& recompute = parallel.recompute;
  const LlmShape whole{.spec = spec,
                       .parallel = parallel,
                       .framework = framework,
                       .numerics = numerics_of(model.precision, framework),
                       .samples = samples,
                       .infers = mode_of(model) == StepMode::inference};
  ModelFlops sum;
  const auto add = [&](const PartWork& part, double times) {
    sum.forward += part.forward_flops * times;
    sum.repeated += part.repeated_flops * times;
  };
  ChunkMaker maker(whole, false);
  add(embedding_work(whole), 1);
  const std::vector<std::int64_t> repeated = recomputed_blocks(parallel, blocks);
  std::int64_t first = 0;
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    for (std::int64_t i = 0; i < blocks[c]; ++i) add(maker.block(first + i, is_repeated(recompute, i, repeated[c])), 1);
    first += blocks[c];
  }
  if (spec.mtp_layers > 0) add(mtp_work(whole, recompute), static_cast<double>(spec.mtp_layers));
  add(head_work(whole), 1);
  return sum;
}

ModelFlops model_flops(const LlmPlan& plan) {
  std::vector<std::int64_t> blocks;
  for (const std::uint32_t kind : plan.kind_of) blocks.push_back(plan.kinds[kind].blocks);
  return model_flops(plan.model, plan.framework, plan.parallel, plan.parallel.micro_batch, blocks);
}

std::vector<std::int64_t> recomputed_blocks(const ParallelSpec& p, const std::vector<std::int64_t>& blocks) {
  const auto stages = static_cast<std::size_t>(std::max<std::int64_t>(1, p.pipeline));
  std::vector<std::int64_t> out(blocks.size(), 0);
  for (std::size_t stage = 0; stage < std::min(stages, blocks.size()); ++stage) {
    for (std::int64_t left = p.recompute.layers; left > 0;) {
      std::vector<std::size_t> open;
      for (std::size_t c = stage; c < blocks.size(); c += stages) {
        if (out[c] < blocks[c]) open.push_back(c);
      }
      if (open.empty()) break;
      const std::int64_t each = std::max<std::int64_t>(1, left / static_cast<std::int64_t>(open.size()));
      for (const std::size_t c : open) {
        const std::int64_t more = std::min({each, left, blocks[c] - out[c]});
        out[c] += more;
        left -= more;
      }
    }
  }
  return out;
}

void make_chunks(LlmPlan& plan, const std::vector<std::int64_t>& layers) {
  const LlmShape shape = shape_of(plan);
  ChunkMaker maker(shape, plan.pipeline.splits_backward());
  plan.kinds.clear();
  plan.kind_of.clear();
  std::map<std::tuple<std::vector<BlockKind>, std::int64_t, bool, bool, bool>, std::uint32_t> known;
  const std::vector<std::int64_t> repeated = recomputed_blocks(plan.parallel, layers);
  std::int64_t first = 0;
  for (std::size_t c = 0; c < layers.size(); ++c) {
    std::vector<BlockKind> kinds;
    for (std::int64_t i = 0; i < layers[c]; ++i) kinds.push_back(block_kind(plan.spec, first + i));
    const bool is_first = c == 0, is_last = c + 1 == layers.size();
    const bool decoder = first + layers[c] > plan.spec.layers - plan.spec.decoder_layers;
    const auto [it, is_new] = known.try_emplace({std::move(kinds), repeated[c], is_first, is_last, decoder},
                                                static_cast<std::uint32_t>(plan.kinds.size()));
    if (is_new) plan.kinds.push_back(maker.make(first, layers[c], repeated[c], is_first, is_last));
    plan.kind_of.push_back(it->second);
    first += layers[c];
  }
}

}  // namespace distsim::workload
