#include "opmodels/learned/references.hpp"

#include <algorithm>
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
double flops_of(const DeviceRates& d, LearnedKernel kernel) {
  switch (kernel) {
    case LearnedKernel::product16:
      return d.matrix[static_cast<std::size_t>(graph::DType::fp16)];
    case LearnedKernel::product8:
      return d.matrix[static_cast<std::size_t>(graph::DType::fp8)];
    default:
      return d.vector_fp32;
  }
}

/// All that make a kernel faster, the larger the better.
std::array<double, 6> figures_of(const DeviceRates& d, LearnedKernel kernel) {
  return {flops_of(d, kernel), d.sms * d.clock, d.hbm, d.l2, d.l2_bytes, 1 / d.floor};
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

Reference reference_of(const DeviceRates& device, DeviceRates rates, LearnedKernel kernel,
                       const std::shared_ptr<const LearnedModels>& learned) {
  const auto there = figures_of(rates, kernel), here = figures_of(device, kernel);
  rates.learned = learned;
  Reference r{rates, rates, largest_ratio(there, here), largest_ratio(here, there)};
  r.warm.warm = true;
  return r;
}

struct Known {
  DeviceRates rates;
  unsigned widths;
};

/// The architecture whose references serve another: itself, else the last before it, else the first after it. 0: none.
int nearest_architecture(int architecture, const std::vector<Known>& known) {
  int before = 0, after = 0;
  for (const Known& k : known) {
    const int a = architecture_of(k.rates);
    if (a <= architecture) before = std::max(before, a);
    if (a > architecture && (after == 0 || a < after)) after = a;
  }
  return before != 0 ? before : after;
}

std::vector<Known> known_to(const LearnedModel& model) {
  std::vector<Known> out;
  for (std::size_t i = 0; i < std::min(model.devices.size(), model.scales.size()); ++i) {
    if (model.scales[i].widths == 0) continue;
    out.push_back({rates_of(model.devices[i], model.scales[i], model.kernel), model.scales[i].widths});
    out.back().rates.envelopes = model.envelopes[i];
  }
  std::stable_sort(out.begin(), out.end(), [](const Known& a, const Known& b) { return a.rates.hbm < b.rates.hbm; });
  return out;
}

KernelReferences references_of(const DeviceRates& device, const LearnedModel& model, unsigned width,
                               const std::shared_ptr<const LearnedModels>& learned) {
  KernelReferences out;
  const std::vector<Known> known = known_to(model);
  const int mine = architecture_of(device), near = nearest_architecture(mine, known);
  out.stranger = near != mine;
  const auto has_width = [&](int architecture) {
    return std::any_of(known.begin(), known.end(), [&](const Known& k) {
      return architecture_of(k.rates) == architecture && (k.widths & width) != 0;
    });
  };
  const bool by_width = has_width(near);
  for (const Known& k : known) {
    const int theirs = architecture_of(k.rates);
    const bool measured = (k.widths & width) != 0;
    const bool older = is_generation(mine) && is_generation(theirs) && theirs < mine && theirs != near && measured;
    if (!older && (theirs != near || (by_width && !measured))) continue;
    (theirs == near ? out.near : out.older).push_back(reference_of(device, k.rates, model.kernel, learned));
  }
  return out;
}

}  // namespace

References::References(const DeviceRates& device, std::shared_ptr<const LearnedModels> learned) {
  for (std::size_t i = 0; learned && i < kLearnedKernels; ++i) {
    const LearnedModel* model = learned->find(static_cast<LearnedKernel>(i));
    for (std::size_t w = 0; model != nullptr && w < kWidths; ++w)
      kernels_[i][w] = references_of(device, *model, 1u << w, learned);
  }
}

const KernelReferences* References::of(LearnedKernel kernel, double element_bytes) const {
  const auto width = std::min<std::size_t>(kWidths - 1, static_cast<std::size_t>(std::ilogb(element_bytes)));
  const KernelReferences& known = kernels_[static_cast<std::size_t>(kernel)][width];
  return known.near.empty() ? nullptr : &known;
}

}  // namespace distsim::opmodels
