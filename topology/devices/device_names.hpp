// What a log or a trace calls a GPU, against what the configuration says it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/devices/device_spec.hpp"
#include "topology/devices/known_devices.hpp"

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
/// the same on another board (a PCIe card, an SXM module of another generation, an NVL card).
bool is_other_gpu(std::string_view text, std::string_view device);

/// Whether a driver's name is that of a part of a GPU: a slice of MIG ("NVIDIA A100-SXM4-80GB MIG 1g.10gb") or a virtual GPU
/// ("GRID A100X-8C", "NVIDIA A40-48Q", "NVIDIA A100-1-5CME").
bool is_part_of_gpu(std::string_view text);

/// Whether the words of a log's author, or the name in its list of ranks, are of a GPU with other links than `device`: they
/// name a part of a GPU that `device` is not called after, another chip of `known`, are a driver's name of one that it is
/// not, or are a name of devices of `known` that are all on other chips or boards. Other memory on the same board is no
/// other GPU here. A name that only leaves something out ("P100" for a P100 on a PCIe card) contradicts nothing, unless a
/// driver gives it.
bool names_other_gpu(std::string_view text, std::string_view device, const KnownDevices& known);

/// The same of a name in a log's list of ranks, or of a curve file's `device`, which are no words of people: also where it has
/// none of the words that name `device`'s chip ("Intel(R) Data Center GPU Max 1550" and "Orin" for "a100_sxm4_80gb") and is no
/// alias of it. Names that say nothing of the chip ("Graphics Device", "PG509-210", "Device 74a1") contradict nothing, and
/// neither does an instruction set of AMD's ("gfx942") a GPU of the Instinct series; nor any name a device without digits in
/// its own ("my_gpu").
bool is_listed_as_other(std::string_view text, std::string_view device, const KnownDevices& known);

/// Whether a driver's name is that of devices of `known`, and not of this one, which says what it is called: other memory
/// counts. A device without aliases may be what its driver calls anything.
bool is_known_as_other(const DeviceSpec& device, std::string_view text, const KnownDevices& known);

/// Whether `text`, of any kind, may speak of `device`: it has the chip's name as a word ("h20" is in "NVIDIA H20-3e", not in
/// "NVIDIA H200"; "NVIDIA A100-SXM4-80GB" is "a100_sxm4_40gb"), and names no other board. A board may be joined to the chip
/// ("A100SXM4"); other letters make another chip ("V100S"). Of a device without digits in its name ("titan_xp"): the first
/// word of it is in the text.
bool may_be_gpu(std::string_view text, std::string_view device);

/// Whether `text` begins as drivers' names of GPUs do: "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB".
bool is_driver_name(std::string_view text);

}  // namespace distsim::topology
