// How branches of a model are executed beside each other, on the streams of one GPU.
//
// In each block of the model's graph (layer_graph.hpp) the layers are given to streams in their order: each to the one on
// which it can start first, after the layers that it needs and what the stream has before, by their times alone; of equal
// ones to the first. A layer then follows the one before it on its stream, as launched there, and what it needs. Of 1, 2,
// ... streams the number is taken with which the block is done first, alone on the GPU and with its own contention
// (shared_gpu.hpp); of equal ones the least. So more streams never make a block longer, and a chain is as without.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/emulator/gpus/shared_gpu.hpp"
#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

/// Plans all blocks of a model on a kind of GPU with `streams`, at every batch. Its times and uses are set before. Where no
/// block gains, nothing is planned.
void plan_streams(Scenario& s, std::uint32_t kind, std::uint32_t model, std::uint32_t streams);

/// Layers [begin, end) at this batch as parts of a piece of work, with the times that `times` gives for each of them. Of
/// blocks that are in it as a whole, branches are as planned; all else is a chain, where neighbours that keep the same
/// busy are one part.
std::vector<SharedGpu::Part> parts_of_layers(const Scenario& s, std::uint32_t kind, std::uint32_t model,
                                             std::uint32_t begin, std::uint32_t end, std::uint32_t batch,
                                             const std::vector<std::int64_t>& times);

}  // namespace distsim::serving
