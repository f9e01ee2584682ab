#include "opmodels/hardware/arch_traits.hpp"

#include <array>

namespace distsim::opmodels {
namespace {

constexpr std::array<Tile, 9> kTensorTiles{
    {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}, {32, 64}}};
constexpr std::array<Tile, 7> kVectorTiles{
    {{128, 128}, {128, 64}, {64, 128}, {128, 32}, {32, 128}, {64, 64}, {32, 32}}};

constexpr MatrixTraits tensor(double main_loop, double half_tile, double wave_us, double reuse, double hbm,
                              double sms) {
  return {main_loop, half_tile, wave_us * 1e-6, reuse, hbm, sms, kTensorTiles};
}
constexpr MatrixTraits lanes(double main_loop, double half_tile, double wave_us, double hbm, double sms) {
  return {main_loop, half_tile, wave_us * 1e-6, 2, hbm, sms, kVectorTiles};
}

// main_loop, half_tile, wave us, operand reuse, hbm, SMs of the part measured. Tensor entries from 80 on: least mean |log error| on
// aiconfigurator's bf16 and Vidur's fp16 products of that architecture (Apache-2.0, MIT); lanes: NeuSight's fp32
// products (MIT); 70 and 75 tensor: DeepBench and Aceso fp16 (Apache-2.0, MIT). 91 and 92 are AMD's gfx908 and gfx90a: fp32 products of NeuSight on MI100 and MI210 (MIT). 94 and 95 are AMD's gfx942 and gfx950: the
// main loop from the largest GEMMs of ml-engineering at the clock that they hold, the rest estimates.
constexpr std::array<ArchTraits, 14> kTraits{{
    {60, tensor(0.90, 8, 2.2, 2, 0.75, 56), lanes(1.05, 14, 0.3, 0.60, 56), 0.80, 0.7},
    {61, tensor(0.90, 8, 2.2, 2, 0.75, 20), lanes(1.05, 14, 0.3, 0.60, 20), 0.80, 0.7},
    {70, tensor(0.85, 8, 2.2, 2, 0.80, 80), lanes(1.10, 9, 0.3, 0.65, 80), 0.93, 0.7},
    {75, tensor(0.85, 8, 2.2, 2, 0.80, 40), lanes(0.90, 13, 0.3, 0.65, 40), 0.80, 0.7},
    {80, tensor(0.90, 8, 2.2, 2, 0.74, 108), lanes(1.05, 7, 1.8, 0.70, 108), 0.90, 0.7},
    {86, tensor(0.90, 4, 4.5, 2, 0.77, 84), lanes(1.00, 9, 1.0, 0.70, 84), 0.88, 0.7},
    {89, tensor(0.90, 12, 0.4, 2, 0.82, 142), lanes(0.90, 18, 0.6, 0.60, 58), 0.80, 0.7},
    {90, tensor(1.00, 20, 0.6, 3, 0.87, 132), lanes(0.93, 7, 1.2, 0.90, 132), 0.95, 0.7},
    {91, tensor(0.80, 11, 3.0, 1.6, 0.50, 120), lanes(0.85, 9, 3.0, 0.50, 120), 0.80, 0.7},
    {92, tensor(0.74, 5.5, 1.6, 1.4, 0.45, 104), lanes(0.85, 9, 1.6, 0.45, 104), 0.84, 0.7},
    {94, tensor(0.80, 8, 1.5, 2, 0.75, 304), lanes(0.85, 9, 1.5, 0.75, 304), 0.80, 0.7},
    {95, tensor(0.90, 8, 1.5, 2, 0.75, 256), lanes(0.85, 9, 1.5, 0.75, 256), 0.80, 0.7},
    {100, tensor(0.95, 4, 0.3, 3, 0.79, 148), lanes(0.93, 7, 1.0, 0.85, 148), 0.92, 0.7},
    {120, tensor(1.00, 16, 0.4, 2, 0.95, 188), lanes(0.93, 9, 0.6, 0.85, 188), 0.90, 0.7},
}};

}  // namespace

const ArchTraits& arch_traits(std::int64_t compute_capability) {
  const ArchTraits* found = &kTraits.front();
  for (const ArchTraits& entry : kTraits) {
    if (entry.compute_capability <= compute_capability) found = &entry;
  }
  return *found;
}

}  // namespace distsim::opmodels
