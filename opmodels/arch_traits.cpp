#include "opmodels/arch_traits.hpp"

#include <array>

namespace distsim {
namespace {

constexpr std::array<Tile, 9> kTensorTiles{{{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}, {32, 64}}};
constexpr std::array<Tile, 7> kVectorTiles{{{128, 128}, {128, 64}, {64, 128}, {128, 32}, {32, 128}, {64, 64}, {32, 32}}};

constexpr MatrixTraits tensor(double main_loop, double half_tile, double wave_us, double quantisation, double floor_us) {
  return {main_loop, half_tile, wave_us * 1e-6, quantisation, floor_us * 1e-6, kTensorTiles};
}
constexpr MatrixTraits vector(double main_loop, double half_tile, double wave_us, double quantisation, double floor_us) {
  return {main_loop, half_tile, wave_us * 1e-6, quantisation, floor_us * 1e-6, kVectorTiles};
}

constexpr std::array<ArchTraits, 8> kTraits{{
    {60, tensor(0.90, 8, 1.5, 0.8, 2.0), vector(0.95, 4, 1.0, 0.8, 2.0), 0.80, 0.7},
    {70, tensor(0.85, 12, 1.5, 0.8, 2.0), vector(0.95, 4, 1.0, 0.8, 2.0), 0.90, 0.7},
    {75, tensor(0.80, 12, 1.5, 0.8, 2.0), vector(0.95, 4, 1.0, 0.8, 2.0), 0.80, 0.7},
    {80, tensor(0.95, 12, 1.5, 0.8, 1.0), vector(0.95, 4, 1.0, 0.8, 2.0), 0.88, 0.7},
    {86, tensor(0.90, 12, 1.5, 0.8, 1.0), vector(0.90, 4, 1.0, 0.8, 2.0), 0.88, 0.7},
    {90, tensor(0.90, 20, 1.5, 0.8, 1.0), vector(0.90, 4, 1.0, 0.8, 2.0), 0.90, 0.7},
    {100, tensor(0.90, 30, 1.5, 0.8, 0.5), vector(0.90, 4, 1.0, 0.8, 2.0), 0.90, 0.7},
    {120, tensor(0.90, 12, 1.5, 0.8, 0.5), vector(0.90, 4, 1.0, 0.8, 2.0), 0.88, 0.7},
}};

}  // namespace

const ArchTraits& arch_traits(std::int64_t compute_capability) {
  const ArchTraits* found = &kTraits.front();
  for (const ArchTraits& entry : kTraits) {
    if (entry.compute_capability <= compute_capability) found = &entry;
  }
  return *found;
}

}  // namespace distsim
