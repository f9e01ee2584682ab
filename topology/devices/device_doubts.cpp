#include "topology/devices/device_doubts.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/quantity_text.hpp"

namespace distsim::topology {
namespace {

/// Compute capabilities of an architecture, first and last.
struct Architecture {
  std::string_view name;
  std::int64_t first, last;
};
constexpr std::array<Architecture, 13> kArchitectures{{{"kepler", 30, 37},
                                                       {"maxwell", 50, 53},
                                                       {"pascal", 60, 62},
                                                       {"volta", 70, 72},
                                                       {"turing", 75, 75},
                                                       {"ampere", 80, 88},
                                                       {"ada", 89, 89},
                                                       {"hopper", 90, 90},
                                                       {"blackwell", 100, 121},
                                                       {"cdna1", 91, 91},
                                                       {"cdna2", 92, 92},
                                                       {"cdna3", 94, 94},
                                                       {"cdna4", 95, 95}}};

/// FLOPs of 16-bit matrix units per SM (compute unit) and clock, from a compute capability up to the next entry; of GPUs
/// without such units half of their 8-bit rate.
struct SmRate {
  std::int64_t compute_capability;
  double flops;
};
constexpr std::array<SmRate, 11> kSmRates{{{0, 512},
                                           {70, 1024},
                                           {80, 2048},
                                           {86, 1024},
                                           {90, 4096},
                                           {91, 1024},
                                           {94, 2048},
                                           {95, 4096},
                                           {100, 8192},
                                           {120, 1024},
                                           {122, 8192}}};  // of what is to come, no less than has been
constexpr double kPlainFlops = 512;                        // of fp32, fp64 and the plain lanes, any architecture

/// The largest FLOPs per SM and clock of a type.
double most_of_sm(std::int64_t compute_capability, std::string_view type) {
  double flops = 0;
  for (const SmRate& rate : kSmRates) {
    if (rate.compute_capability <= compute_capability) flops = rate.flops;
  }
  if (type == "fp4") return 6 * flops;  // three times fp8 on a B300
  if (type == "fp8" || type == "int8") return 2 * flops;
  if (type == "fp16" || type == "bf16") return flops;
  return type == "tf32" ? std::max(flops / 2, kPlainFlops) : kPlainFlops;
}

std::string peak_doubt(const DeviceSpec& d) {
  const double clocks = static_cast<double>(d.sm_count) * d.clock.boost.value();
  std::string said;
  double furthest = kBeyondWhatIf;
  for (const auto& [type, rate] : d.peak) {
    const double most = most_of_sm(d.compute_capability, type), found = rate.value() / clocks;
    if (found <= furthest * most) continue;
    furthest = found / most;
    said = "device.peak." + type + " " + format_quantity(rate.value(), Dimension::flops_per_second) + " is above the " +
           format_quantity(most * clocks, Dimension::flops_per_second) + " that " + std::to_string(d.sm_count) +
           " SMs of compute capability " + std::to_string(d.compute_capability) + " reach at " +
           format_quantity(d.clock.boost.value(), Dimension::hertz);
  }
  return said;
}

/// Any GPU since Volta does as much on its plain lanes, AMD's too: 64 fused multiply-adds per SM and clock.
constexpr double kLeastFlops = 128;
constexpr std::int64_t kFirstKnown = 70;

std::string low_peak_doubt(const DeviceSpec& d) {
  if (d.compute_capability < kFirstKnown) return "";
  const double least = kLeastFlops * static_cast<double>(d.sm_count) * d.clock.boost.value();
  std::string said;
  double lowest = 1 / kBeyondWhatIf;
  for (const auto& [type, rate] : d.peak) {
    if (type == "fp64" || rate.value() >= lowest * least) continue;  // few GPUs have lanes for fp64
    lowest = rate.value() / least;
    said = "device.peak." + type + " " + format_quantity(rate.value(), Dimension::flops_per_second) + " is below the " +
           format_quantity(least, Dimension::flops_per_second) + " that " + std::to_string(d.sm_count) +
           " SMs reach without matrix units at " + format_quantity(d.clock.boost.value(), Dimension::hertz);
  }
  return said;
}

std::string architecture_doubt(const DeviceSpec& d) {
  const std::string name = lower_case(d.architecture);
  const auto known = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (known == kArchitectures.end()) return "";
  if (d.compute_capability >= known->first && d.compute_capability <= known->last) return "";
  return "device.compute_capability " + std::to_string(d.compute_capability) + " is none of the architecture " + name +
         ", " + std::to_string(known->first) +
         (known->last > known->first ? " to " + std::to_string(known->last) : std::string()) +
         "; kernels are priced by the compute capability";
}

std::string power_doubt(const DeviceSpec& d) {
  if (d.clock.power.value() <= 0) return "";
  const std::string limit = "device.power_limit " + format_quantity(d.power_limit.value(), Dimension::watts);
  const Hertz lowest = clock_under_load(d.clock, Watts(0));
  if (clock_under_load(d) <= lowest && lowest < clock_under_load(d.clock, d.clock.power))
    return limit + " would need a clock below " + format_quantity(lowest.value(), Dimension::hertz) +
           ", the lowest that is assumed under load, which is used instead";
  if (d.power_limit.value() <= kBeyondWhatIf * d.clock.power.value()) return "";
  return limit + " is far above device.clock.power " + format_quantity(d.clock.power.value(), Dimension::watts) +
         ", which device.clock.sustained was found at";
}

std::string memory_doubt(const DeviceSpec& d) {
  if (d.l2.bandwidth >= d.hbm.bandwidth) return "";
  return "device.hbm.bandwidth " + format_quantity(d.hbm.bandwidth.value(), Dimension::bytes_per_second) +
         " is above device.l2.bandwidth " + format_quantity(d.l2.bandwidth.value(), Dimension::bytes_per_second) +
         ", which all of it passes";
}

}  // namespace

std::vector<std::string> device_doubts(const DeviceSpec& device) {
  std::vector<std::string> out;
  for (const auto doubt : {memory_doubt, peak_doubt, low_peak_doubt, architecture_doubt, power_doubt}) {
    if (std::string text = doubt(device); !text.empty()) out.push_back(std::move(text));
  }
  return out;
}

std::string misspelt_architecture(const std::string& name) {
  const std::string word = lower_case(name);
  const bool numbered = std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (numbered || word.empty()) return "";  // a next generation, or another maker's
  std::vector<std::string> known;
  for (const Architecture& a : kArchitectures) known.emplace_back(a.name);
  const std::string nearest = nearest_spelling(word, known);
  return nearest.substr(0, 1) == word.substr(0, 1) && nearest != word ? nearest : "";
}

}  // namespace distsim::topology
