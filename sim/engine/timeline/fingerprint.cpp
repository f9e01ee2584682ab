#include "sim/engine/timeline/fingerprint.hpp"

#include <algorithm>
#include <array>

#include "sim/engine/timeline/mix.hpp"

namespace distsim::engine {
namespace {

constexpr auto kColumnWeights = [] {
  std::array<std::uint64_t, Fingerprint::kBlock> weights{};
  for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = mix(j) | 1;
  return weights;
}();

std::uint64_t block_weight(std::size_t k) { return mix(~static_cast<std::uint64_t>(k)) | 1; }

std::uint64_t sum_of_column_weights(std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t j = 0; j < n; ++j) sum += kColumnWeights[j];
  return sum;
}

}  // namespace

Fingerprint::Fingerprint(std::uint32_t ranks) : ranks_(ranks) {
  const std::size_t full = ranks / kBlock;
  const std::uint64_t full_block = full > 0 ? sum_of_column_weights(kBlock) : 0;
  for (std::size_t k = 0; k < full; ++k) sum_of_weights_ += full_block * block_weight(k);
  sum_of_weights_ += sum_of_column_weights(ranks % kBlock) * block_weight(full);
}

std::uint64_t Fingerprint::of_block(const RowKernels& kernels, const std::int64_t* values, std::size_t k,
                                    std::size_t n) {
  return block_weight(k) * kernels.weighted_sum(values, kColumnWeights.data(), n);
}

const std::vector<std::uint64_t>& Fingerprint::weights_of(const Row& row) const {
  if (row.each() == each_ && row.repeats() == repeats_) return block_weights_;
  each_ = row.each();
  repeats_ = row.repeats();
  block_weights_.assign(std::max(1u, ranks_ / each_ / repeats_), 0);
  for (std::uint32_t r = 0; r < ranks_; ++r)
    block_weights_[r / each_ % block_weights_.size()] += kColumnWeights[r % kBlock] * block_weight(r / kBlock);
  return block_weights_;
}

std::uint64_t Fingerprint::of_row(const Row& row) const {
  if (row.uniform()) return of_uniform(row.scalar());
  if (!row.whole()) {
    const auto& weights = weights_of(row);
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < std::min(weights.size(), row.values().size()); ++i)
      hash += weights[i] * static_cast<std::uint64_t>(row.values()[i]);
    return hash;
  }
  const auto values = row.values();
  std::uint64_t hash = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    hash += of_block(row_kernels(), values.data() + begin, begin / kBlock, std::min(kBlock, values.size() - begin));
  }
  return hash;
}

void Fingerprint::add(StepId step, std::uint64_t ready, std::uint64_t start, std::uint64_t end) {
  sum_ += mix(mix(mix(mix(step.value()) ^ ready) ^ start) ^ end);
  ++steps_;
}

std::uint64_t Fingerprint::digest() const { return sum_ + mix(mix(ranks_) ^ steps_); }

std::uint64_t fingerprint_of(const Timeline& timeline) {
  Fingerprint fingerprint(timeline.ranks);
  for (StepId s(0); s < timeline.end.end_id(); s = StepId(s.value() + 1)) {
    fingerprint.add(s, fingerprint.of_row(timeline.ready[s]), fingerprint.of_row(timeline.start[s]),
                    fingerprint.of_row(timeline.end[s]));
  }
  return fingerprint.digest();
}

}  // namespace distsim::engine
