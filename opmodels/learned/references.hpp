// References: learned times carried from the GPUs that a model was trained on to any other, so that better hardware is
// never slower.
//
// A forest knows a few GPUs by heart. Asked about one between or beyond them, its trees step: 18 % more memory
// bandwidth made kernels slower, and a GPU with none of its figures worse came out behind its predecessor. So a forest is
// only asked about GPUs that it was trained on (references), and hardware enters by the analytic model, which never
// falls as a figure gets better:
//
//   time(d) = analytic(d) * (learned(r) / analytic(r))^trust          r: the best reference of d's architecture
//   within  learned(i) / max(1, d / i)  ..  learned(i) * max(1, i / d)   for every reference i of the architecture
//
// where d / i is the largest ratio among the figures (flop/s, SM cycles, memory and L2 bandwidth, L2 size, rate of empty
// kernels): a kernel gains no more than the most improved figure does and loses no more than the worst. Each of these
// grows no faster than a figure shrinks, and so does their least and largest: time(d) equals what was learned at each
// reference, as far as the references themselves keep to the rule. Where they do not, the faster one is believed.
//   trust   1; a half where no GPU of the architecture was measured, and r is of the one before it
//           (docs/op_models.md)
// A reference of an older data-centre architecture bounds from above as well: a generation that is no worse in any
// figure is not slower, unless it was measured so (fp32 products of few waves on A100s). What was measured on the
// architecture holds against that near the GPU that it was measured on and yields with the fourth power of d / i. Units: seconds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "opmodels/learned/learned_models.hpp"
#include "opmodels/learned/size_times.hpp"

namespace distsim::opmodels {

/// One GPU that a model was trained on.
struct ReferenceGpu {
  DeviceRates cold, warm;
  unsigned widths = 0;  ///< LearnedModel::Scale::widths

  const DeviceRates& rates(bool is_warm) const { return is_warm ? warm : cold; }
};

/// All that the time of a kernel depends on beside the GPU, as numbers.
class KernelFacts {
 public:
  static constexpr std::size_t kMost = 18;
  KernelFacts(std::initializer_list<double> facts) {
    CHECK(facts.size() <= kMost) << facts.size() << " facts of a kernel";
    std::copy(facts.begin(), facts.end(), values_.begin());
  }
  const std::array<double, kMost>& values() const { return values_; }

 private:
  std::array<double, kMost> values_{};
};

/// Times of kernels on reference GPUs, which are the same whatever GPU they are carried to: each is worked out once, as
/// long as there are not too many. Safe to share between threads.
class ReferenceTimes {
 public:
  enum class Kind : std::uint8_t { learned, analytic };
  struct Key {
    std::array<double, 4 + KernelFacts::kMost> words{};
    Key(LearnedKernel kernel, std::size_t gpu, bool warm, Kind kind, const KernelFacts& facts);
    bool operator==(const Key&) const = default;
  };

  template <class Time>
  OpTime of(const Key& key, const Time& time) {
    if (const std::optional<OpTime> known = find(key)) return *known;
    const OpTime made = time();
    keep(key, made);
    return made;
  }

  /// For kernels that are asked for at many sizes: those of the key, whose facts are all but the size.
  std::shared_ptr<SizeTimes> at_sizes(const Key& key);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::optional<OpTime> find(const Key& key);
  void keep(const Key& key, const OpTime& time);

  std::mutex mutex_;
  std::unordered_map<Key, OpTime, Hash> times_;
  std::unordered_map<Key, std::shared_ptr<SizeTimes>, Hash> sizes_;
};

/// The GPUs of all models, weakest memory first, and what is known of kernels on them: shared by all GPUs that are priced
/// by these models.
class ReferenceGpus {
 public:
  explicit ReferenceGpus(std::shared_ptr<const LearnedModels> learned);
  std::span<const ReferenceGpu> of(LearnedKernel kernel) const { return gpus_[static_cast<std::size_t>(kernel)]; }
  const std::shared_ptr<const LearnedModels>& learned() const { return learned_; }
  ReferenceTimes& times() const { return times_; }

 private:
  std::shared_ptr<const LearnedModels> learned_;
  std::array<std::vector<ReferenceGpu>, kLearnedKernels> gpus_;
  mutable ReferenceTimes times_;
};

/// Power of the distance to a measured GPU with which it yields to the order of generations; chosen: half at a fifth
/// more of a figure.
inline constexpr double kYield = 4;

/// One of these GPUs, beside the one in question.
struct Reference {
  const ReferenceGpu* gpu = nullptr;
  std::size_t index = 0;  ///< in ReferenceGpus::of
  double slower = 1;      ///< at most this many times the reference's time: its largest advantage among the figures
  double faster = 1;      ///< at least its time over this
  double yields = 1;      ///< faster^kYield
};

/// Elements of a kernel: their bytes, and whether they are bf16, whose peak a device may state apart from that of fp16.
struct ElementKind {
  ElementKind(double bytes_of_one, bool is_bf16 = false)
      : bytes(bytes_of_one), bf16(is_bf16) {}  // NOLINT(google-explicit-constructor)
  double bytes;
  bool bf16;
};

/// Those of one kernel.
struct KernelReferences {
  std::vector<Reference> near;   ///< of the architecture, the best last; of the one before where there are none
  std::vector<Reference> older;  ///< of older data-centre architectures
  bool stranger = false;         ///< `near` is of another architecture
};

class References {
 public:
  /// For every kernel that has a learned model whose file states its GPUs in full; none for others.
  References(const DeviceRates& device, std::shared_ptr<const ReferenceGpus> gpus);
  /// Null where the kernel has none. Measured with elements of that many bytes where the architecture has such.
  const KernelReferences* of(LearnedKernel kernel, ElementKind element) const;
  const std::shared_ptr<const ReferenceGpus>& gpus() const { return gpus_; }

 private:
  std::shared_ptr<const ReferenceGpus> gpus_;
  static constexpr std::size_t kWidths = 4;      // element bytes 1, 2, 4, 8
  static constexpr std::size_t kBf16 = kWidths;  // after these
  std::array<std::array<KernelReferences, kWidths + 1>, kLearnedKernels> kernels_;
};

/// Part of a learned correction that holds on an architecture that was not measured: least error on GPUs left out of
/// training (docs/op_models.md).
inline constexpr double kStrangerTrust = 0.5;

/// Below this share of the analytic time no kernel is learned to be, as good as never: an older GPU whose analytic time
/// is so far above is not asked.
inline constexpr double kLeastLearned = 0.6;

/// What is learned of one kernel on a reference, and its analytic seconds there, worked out once.
template <class Learned, class Analytic>
class OnReferences {
 public:
  OnReferences(const DeviceRates& device, LearnedKernel kernel, const KernelFacts& facts, const Learned& learned,
               const Analytic& analytic)
      : times_(device.references->gpus()->times()),
        kernel_(kernel),
        warm_(device.warm),
        facts_(facts),
        learned_(learned),
        analytic_(analytic) {}
  OpTime learned(const Reference& r) const {
    return times_.of({kernel_, r.index, warm_, ReferenceTimes::Kind::learned, facts_},
                     [&] { return learned_(r.gpu->rates(warm_)); });
  }
  double analytic(const Reference& r) const {
    return times_
        .of({kernel_, r.index, warm_, ReferenceTimes::Kind::analytic, facts_},
            [&] {
              return OpTime{analytic_(r.gpu->rates(warm_)), {}};
            })
        .seconds;
  }

 private:
  ReferenceTimes& times_;
  LearnedKernel kernel_;
  bool warm_;
  const KernelFacts& facts_;
  const Learned& learned_;
  const Analytic& analytic_;
};

/// The time on a device from those on references. `there.learned(reference)` and `there.analytic(reference)`: of the kernel on
/// it; `here`: its analytic seconds on the device; `analytic`: the band of the analytic model.
template <class There>
OpTime carried(const KernelReferences& known, const There& there, double here, Spread analytic) {
  const Reference& best = known.near.back();
  OpTime time = there.learned(best);
  const double ratio = time.seconds / there.analytic(best);
  double seconds = here * (known.stranger ? std::pow(ratio, kStrangerTrust) : ratio);
  double least = time.seconds / best.faster, most = time.seconds * best.slower;
  for (std::size_t i = 0; i + 1 < known.near.size(); ++i) {
    const Reference& r = known.near[i];
    const double learned = there.learned(r).seconds;
    most = std::min(most, learned * r.slower);
    least = std::max(least, learned / r.faster);
  }
  least = known.stranger ? 0 : std::min(least, most);
  seconds = std::clamp(seconds, least, most);
  double own = 0;  // what was measured on the architecture, against older ones
  for (const Reference& r : known.near) own = known.stranger ? 0 : std::max(own, least / r.yields);
  for (const Reference& r : known.older) {
    if (kLeastLearned * there.analytic(r) * r.slower < seconds)
      seconds = std::max(own, std::min(seconds, there.learned(r).seconds * r.slower));
  }
  time.seconds = seconds;
  if (known.stranger) {
    time.spread.low += kStrangerTrust * std::max(0.0, analytic.low - time.spread.low);
    time.spread.high += kStrangerTrust * std::max(0.0, analytic.high - time.spread.high);
  }
  return time;
}

/// Null where a device has no references for the kernel.
inline const KernelReferences* references_of(const DeviceRates& device, LearnedKernel kernel, ElementKind element) {
  return device.references ? device.references->of(kernel, element) : nullptr;
}

/// carried(), each time worked out once. `learned_on(rates)`: what is learned of the kernel on a reference;
/// `analytic_on(rates)`: its analytic seconds on any device; `facts`: all that both depend on beside the rates.
template <class Learned, class Analytic>
OpTime by_references(const DeviceRates& device, LearnedKernel kernel, ElementKind element, Spread analytic,
                     const KernelFacts& facts, const Learned& learned_on, const Analytic& analytic_on) {
  const KernelReferences* known = references_of(device, kernel, element);
  if (known == nullptr) return learned_on(device);
  return carried(*known, OnReferences(device, kernel, facts, learned_on, analytic_on), analytic_on(device), analytic);
}

}  // namespace distsim::opmodels
