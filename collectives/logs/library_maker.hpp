// Whose GPUs a communication library drives: a run of RCCL was not on a GPU of NVIDIA.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {

enum class Maker : std::uint8_t { unknown, nvidia, amd, intel };

/// "AMD"; REQUIRES: not unknown.
std::string_view name_of(Maker maker);

/// By DeviceSpec::compute_capability; 0: unknown.
Maker maker_of_device(std::int64_t compute_capability);

/// By the words of a library: "OSU v7.3, RCCL", "NCCL 2.22.3+cuda12.6", "OSU v7.3, MPI-ROCM". Unknown: those that any GPU has
/// (MPI, XCCL of OSU, the back end that PyTorch calls nccl), and NCCL with nothing but its version code ("NCCL 22705"),
/// which rccl-tests print as well. RCCL has NCCL's interface, so that a text with the words of both is of AMD.
Maker maker_of_library(std::string_view library);

/// The library of a curve that is used, where it drives GPUs of another maker than `device`'s; empty where none does, and
/// where a list of ranks names the GPUs.
std::string other_makers_library(const CurveSet& set, Maker device);

}  // namespace distsim::collectives
