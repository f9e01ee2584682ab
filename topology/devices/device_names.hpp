// What a log or a trace calls a GPU, against what the configuration says it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/devices/device_spec.hpp"

namespace distsim::topology {

/// The form in which names of GPUs are compared: lower case, without blanks, `_` and `-`, and without the words of the maker
/// before it. "h100pcie" is "NVIDIA H100 PCIe", "H100-PCIe" and "h100_pcie".
std::string normal_gpu_name(std::string_view text);

/// Whether a log, a trace or a table names the device: by its name or an alias, as configuration files or drivers write it.
bool names_device(const DeviceSpec& device, std::string_view text);

/// The chip that `text` names and that is not `device`'s: "v100" of "Tesla V100-SXM2-16GB" for "h100_sxm5_80gb". Empty
/// where the text names no chip of `devices` (names of device files), or that of `device` among others: words of people
/// ("8 GPUs on NVSwitch") contradict nothing.
std::string other_chip(std::string_view text, std::string_view device, const std::vector<std::string>& devices);

/// Whether `text` is a GPU's name as drivers give it ("NVIDIA A100-PCIE-40GB"), and not that of `device`: another chip, or
/// the same on a PCIe card where `device` is an SXM module, or the other way round.
bool is_other_gpu(std::string_view text, std::string_view device);

/// Whether the words of a log's author, or the name in its list of ranks, are of another GPU than `device`: they name another
/// chip of `devices`, or are a driver's name or a name of `devices` of one that it is not.
bool names_other_gpu(std::string_view text, std::string_view device, const std::vector<std::string>& devices);

/// Whether `text`, of any kind, may speak of `device`: it has the chip's name as a word ("h20" is in "NVIDIA H20-3e", not in
/// "NVIDIA H200"; "NVIDIA A100-SXM4-80GB" is "a100_sxm4_40gb"), and does not name a PCIe card where `device` is an SXM
/// module, nor the other way round. Letters that follow the name may be those of a board. Of a device without digits in its
/// name ("titan_xp"): the first word of it is in the text.
bool may_be_gpu(std::string_view text, std::string_view device);

/// Whether `text` begins as drivers' names of GPUs do: "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB".
bool is_driver_name(std::string_view text);

}  // namespace distsim::topology
