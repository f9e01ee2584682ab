#include "opmodels/hardware/matrix_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace distsim::opmodels {
namespace {

constexpr double kMinSplitDepth = 128;    // k of a slice; below it the main loop is all prologue
constexpr double kSplitSeconds = 2.2e-6;  // second pass over the partial sums, or waiting at their semaphore
// One SM can draw this multiple of its fair share of memory bandwidth, on the part that the constants were chosen on.
constexpr double kSmPull = 4;
constexpr double kKStep = 32;         // elements of k that a tile advances at once
constexpr double kWholeWaves = 0.15;  // 1: only whole waves; 0: the tail wave is spread evenly over the SMs

double round_up(double value, double step) { return std::ceil(value / step) * step; }

/// Elements of k in one slice. Bounded below rather than refused, so that the time never falls as k grows.
double slice_depth(const MatrixShape& shape, double split) {
  return split == 1 ? shape.k : std::max(kMinSplitDepth, std::ceil(shape.k / split));
}

struct Choice {
  Tile tile;
  double tiles;  // without split
  double split;
};

double split_cost(const MatrixMachine& machine, const MatrixShape& shape, double split) {
  if (split == 1) return 0;
  const double partial = split * shape.batch * shape.m * shape.n * 4;  // fp32 partial sums, written and read
  const double bandwidth = 2 * partial < machine.l2_bytes ? machine.l2 : machine.hbm;
  return 2 * partial / bandwidth + kSplitSeconds;
}

MatrixTime choice_time(const MatrixMachine& machine, const MatrixShape& shape, const Choice& choice) {
  const MatrixTraits& traits = *machine.traits;
  const double tm = choice.tile.m, tn = choice.tile.n;
  const double blocks = choice.tiles * choice.split;
  const double waves = quantised_waves(blocks / machine.sms);
  const double depth = round_up(slice_depth(shape, choice.split), kKStep);
  const double intensity = tm * tn / (tm + tn);
  const double efficiency = traits.main_loop * intensity / (intensity + traits.half_tile);
  const double loop = waves * 2 * tm * tn * depth * machine.sms / (machine.flops * efficiency) * shape.load_penalty *
                      shape.loop_penalty;
  const double feed =
      blocks * (tm + tn) * depth * shape.element_bytes / (machine.l2 * traits.operand_reuse) * shape.load_penalty;
  const double block_bytes = (std::min(tm, shape.m) + std::min(tn, shape.n)) * depth * shape.element_bytes;
  const double memory = std::max(shape.compulsory_bytes, block_bytes * traits.sms / kSmPull) / machine.hbm;
  const double seconds =
      waves * traits.wave_seconds + overlap(loop, feed, memory) + split_cost(machine, shape, choice.split);
  return {seconds, choice.tile, choice.split, blocks / machine.sms, loop, memory};
}

const MatrixTime& faster(const MatrixTime& a, const MatrixTime& b) { return b.seconds < a.seconds ? b : a; }

/// Tiles of a product along its rows; of an average over many numbers of rows, half a tile is lost to the last one.
double row_tiles(const MatrixShape& shape, double tile) {
  const double whole = std::ceil(shape.m / tile);
  return shape.uneven ? std::max(whole, shape.m / tile + 0.5) : whole;
}

MatrixTime best_split(const MatrixMachine& machine, const MatrixShape& shape, Tile tile) {
  Choice choice{tile, shape.batch * row_tiles(shape, tile.m) * std::ceil(shape.n / tile.n), 1};
  MatrixTime best = choice_time(machine, shape, choice);
  const bool room = choice.tiles < machine.sms;
  for (choice.split = 2; room && choice.split <= shape.max_split; choice.split *= 2) {
    best = faster(best, choice_time(machine, shape, choice));
    if (choice.tiles * choice.split >= machine.sms) break;
  }
  return best;
}

}  // namespace

double quantised_waves(double waves) {
  if (waves <= 1) return 1;
  return kWholeWaves * std::ceil(waves) + (1 - kWholeWaves) * waves;
}

MatrixMachine matrix_machine(const DeviceRates& device, double flops, bool vector_lanes) {
  const MatrixTraits& traits = vector_lanes ? device.traits.vector : device.traits.tensor;
  return {flops, device.sms, device.hbm * traits.hbm_efficiency, device.l2, device.l2_bytes, device.floor, &traits};
}

MatrixTime matrix_time(const MatrixMachine& machine, const MatrixShape& shape) {
  MatrixTime best = best_split(machine, shape, machine.traits->tiles.front());
  for (const Tile tile : machine.traits->tiles.subspan(1)) best = faster(best, best_split(machine, shape, tile));
  best.seconds += machine.floor;
  return best;
}

}  // namespace distsim::opmodels
