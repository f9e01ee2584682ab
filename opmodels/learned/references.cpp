#include "opmodels/learned/references.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace distsim::opmodels {
namespace {

// NVIDIA's data-centre architectures, by compute capability as in arch_traits: each follows the one before.
constexpr std::array<int, 5> kGenerations{60, 70, 80, 90, 100};

int architecture_of(const DeviceRates& d) { return d.traits.compute_capability; }

bool is_generation(int architecture) {
  return std::find(kGenerations.begin(), kGenerations.end(), architecture) != kGenerations.end();
}

/// The unit that the kernel's forest was trained on.
double flops_of(const DeviceRates& d, LearnedKernel kernel, bool bf16) {
  switch (kernel) {
    case LearnedKernel::product16:
      if (const double own = d.matrix[static_cast<std::size_t>(graph::DType::bf16)]; bf16 && own > 0) return own;
      return d.matrix[static_cast<std::size_t>(graph::DType::fp16)];
    case LearnedKernel::product8:
      return d.matrix[static_cast<std::size_t>(graph::DType::fp8)];
    case LearnedKernel::product_lanes:
      return d.matrix[static_cast<std::size_t>(graph::DType::fp32)];
    default:
      return d.vector_fp32;
  }
}

/// All that make a kernel faster, the larger the better.
std::array<double, 6> figures_of(const DeviceRates& d, LearnedKernel kernel, bool bf16) {
  return {flops_of(d, kernel, bf16), d.sms * d.clock, d.hbm, d.l2, d.l2_bytes, 1 / d.floor};
}

/// The largest of a / b, at least 1.
double largest_ratio(const std::array<double, 6>& a, const std::array<double, 6>& b) {
  double most = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > 0 && b[i] > 0) most = std::max(most, a[i] / b[i]);
  }
  return most;
}

/// A GPU as the file of a model states it: ratios in octaves, and two of its figures that set the scale.
DeviceRates rates_of(const LearnedModel::Device& f, const LearnedModel::Scale& scale, LearnedKernel kernel) {
  DeviceRates d;
  d.sms = std::round(std::exp2(static_cast<double>(f[0])));
  d.hbm = scale.hbm;
  const double flops = std::exp2(static_cast<double>(f[1])) * d.hbm;
  d.l2 = std::exp2(static_cast<double>(f[2])) * d.hbm;
  d.clock = flops / d.sms / std::exp2(static_cast<double>(f[3]));
  d.l2_bytes = std::exp2(static_cast<double>(f[4])) * d.sms;
  d.capability = static_cast<double>(f[5]);
  d.floor = scale.floor;
  d.traits = arch_traits(static_cast<std::int64_t>(d.capability));
  if (kernel == LearnedKernel::product16)
    d.matrix[static_cast<std::size_t>(graph::DType::fp16)] = d.matrix[static_cast<std::size_t>(graph::DType::bf16)] =
        flops;
  else if (kernel == LearnedKernel::product8)
    d.matrix[static_cast<std::size_t>(graph::DType::fp8)] = flops;
  else
    d.matrix[static_cast<std::size_t>(graph::DType::fp32)] = d.vector_fp32 = flops;
  return d;
}

using Known = std::span<const ReferenceGpu>;

/// The architecture whose references serve another: itself, else the last before it, else the first after it. 0: none.
int nearest_architecture(int architecture, Known known) {
  int before = 0, after = 0;
  for (const ReferenceGpu& k : known) {
    const int a = architecture_of(k.cold);
    if (a <= architecture) before = std::max(before, a);
    if (a > architecture && (after == 0 || a < after)) after = a;
  }
  return before != 0 ? before : after;
}

std::vector<ReferenceGpu> gpus_of(const LearnedModel& model, const std::shared_ptr<const LearnedModels>& learned) {
  std::vector<ReferenceGpu> out;
  for (std::size_t i = 0; i < std::min(model.devices.size(), model.scales.size()); ++i) {
    if (model.scales[i].widths == 0) continue;
    DeviceRates cold = rates_of(model.devices[i], model.scales[i], model.kernel);
    cold.learned = learned;
    DeviceRates warm = cold;
    warm.warm = true;
    out.push_back({std::move(cold), std::move(warm), model.scales[i].widths});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ReferenceGpu& a, const ReferenceGpu& b) { return a.cold.hbm < b.cold.hbm; });
  return out;
}

KernelReferences references_among(const DeviceRates& device, LearnedKernel kernel, Known known, unsigned width,
                                  bool bf16) {
  KernelReferences out;
  const int mine = architecture_of(device), near = nearest_architecture(mine, known);
  out.stranger = near != mine;
  const auto has_width = [&](int architecture) {
    return std::any_of(known.begin(), known.end(), [&](const ReferenceGpu& k) {
      return architecture_of(k.cold) == architecture && (k.widths & width) != 0;
    });
  };
  const bool by_width = has_width(near);
  const auto here = figures_of(device, kernel, bf16);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const int theirs = architecture_of(known[i].cold);
    const bool measured = (known[i].widths & width) != 0;
    const bool older = is_generation(mine) && is_generation(theirs) && theirs < mine && theirs != near && measured;
    if (!older && (theirs != near || (by_width && !measured))) continue;
    const auto there = figures_of(known[i].cold, kernel, bf16);
    const double faster = largest_ratio(here, there);
    (theirs == near ? out.near : out.older)
        .push_back({&known[i], i, largest_ratio(there, here), faster, std::pow(faster, kYield)});
  }
  return out;
}

constexpr std::size_t kMostTimes = 1 << 13;  // some 3 MB
constexpr std::size_t kMostSizes = 1 << 11;  // some 4 MB

}  // namespace

ReferenceTimes::Key::Key(LearnedKernel kernel, std::size_t gpu, bool warm, Kind kind, const KernelFacts& facts) {
  words[0] = static_cast<double>(kernel);
  words[1] = static_cast<double>(gpu);
  words[2] = warm ? 1 : 0;
  words[3] = static_cast<double>(kind);
  std::copy(facts.values().begin(), facts.values().end(), words.begin() + 4);
}

std::size_t ReferenceTimes::Hash::operator()(const Key& key) const {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const double word : key.words)
    h = (h ^ std::bit_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
  return h;
}

std::optional<OpTime> ReferenceTimes::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto known = times_.find(key);
  return known == times_.end() ? std::nullopt : std::optional(known->second);
}

void ReferenceTimes::keep(const Key& key, const OpTime& time) {
  const std::lock_guard lock(mutex_);
  if (times_.size() >= kMostTimes) times_.clear();
  times_.emplace(key, time);
}

std::shared_ptr<SizeTimes> ReferenceTimes::at_sizes(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (sizes_.size() >= kMostSizes) sizes_.clear();
  std::shared_ptr<SizeTimes>& out = sizes_[key];
  if (!out) out = std::make_shared<SizeTimes>();
  return out;
}

ReferenceGpus::ReferenceGpus(std::shared_ptr<const LearnedModels> learned) : learned_(std::move(learned)) {
  for (std::size_t i = 0; i < kLearnedKernels; ++i) {
    if (const LearnedModel* model = learned_->find(static_cast<LearnedKernel>(i))) gpus_[i] = gpus_of(*model, learned_);
  }
}

References::References(const DeviceRates& device, std::shared_ptr<const ReferenceGpus> gpus) : gpus_(std::move(gpus)) {
  for (std::size_t i = 0; i < kLearnedKernels; ++i) {
    const auto kernel = static_cast<LearnedKernel>(i);
    if (gpus_->of(kernel).empty()) continue;
    for (std::size_t w = 0; w < kWidths; ++w)
      kernels_[i][w] = references_among(device, kernel, gpus_->of(kernel), 1u << w, false);
    kernels_[i][kBf16] = references_among(device, kernel, gpus_->of(kernel), 2, true);
  }
}

const KernelReferences* References::of(LearnedKernel kernel, ElementKind element) const {
  const auto width = std::min<std::size_t>(kWidths - 1, static_cast<std::size_t>(std::ilogb(element.bytes)));
  const KernelReferences& known = kernels_[static_cast<std::size_t>(kernel)][element.bf16 ? kBf16 : width];
  return known.near.empty() ? nullptr : &known;
}

}  // namespace distsim::opmodels
