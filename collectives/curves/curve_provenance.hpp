// What a user should know of the measurement behind curves that he names: another GPU or system than the one that is
// priced, nodes that it does not state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/curves/curve_set.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/known_devices.hpp"

namespace distsim::collectives {

/// What a file's curves were measured on, in its words: the device, else a log's list of ranks, else its author's. May be
/// empty.
std::string gpu_of(const CurveSet& set);

/// As collective_bench names what MPI sends from where no GPU takes part.
inline constexpr std::string_view kHostMemory = "host memory";
/// Whether curves are of such a run, whatever GPUs their system has.
bool is_of_host(const CurveSet& set);

/// What a file says its curves were measured on where that is a GPU of another kind than `device` (device_names.hpp); empty
/// elsewhere, as where it is host memory. In order: its `device`; the name in its list of ranks; the words of its author.
std::string other_gpu_of(const CurveSet& set, const std::string& device, const topology::KnownDevices& devices);

/// Whether the system has that name, or that alias.
bool is_called(const topology::ClusterSpec& spec, const std::string& name);
/// Whether one of `names` is one of the system's.
bool is_among(const topology::ClusterSpec& spec, const std::vector<std::string>& names);

/// The nodes of a curve: as few as hold its ranks where they are not stated.
std::uint32_t nodes_of(const Curve& c, const topology::ClusterSpec& spec);

/// `devices`: the GPUs that the words of a log's author may name; `compute_capability`: of the system's device, or 0.
/// A line for each of: the file names another GPU than the system has, or the library of another maker's, or else another
/// system (neither the one in question nor one of `also_for`); it leaves nodes open, so that they are assumed, which a node
/// of one GPU leaves no choice in; NCCL was kept from links or channels; some curves are not used, and why. Of those
/// nothing else is said.
std::vector<std::string> provenance_remarks(const CurveSet& set, const topology::ClusterSpec& spec,
                                            std::int64_t compute_capability, const topology::KnownDevices& devices,
                                            const std::string& file);

/// A line for each set of settings that took links or channels away which the system has (selection.hpp).
std::vector<std::string> settings_remarks(const CurveSet& set, const topology::ClusterSpec& spec,
                                          const std::string& file);

/// "using curves measured on ... for ...", where the set names another GPU than the system has, or the library of another
/// maker's GPUs; empty where it does not.
std::string other_gpu_remark(const CurveSet& set, const topology::ClusterSpec& spec, std::int64_t compute_capability,
                             const topology::KnownDevices& devices);

/// Whether `text` is a day, a month or a year of the calendar: "2026-11-20", "2026-11", "2026".
bool is_date(std::string_view text);

/// Empty, or when something was measured (is_date). Errors (no position): other text; a
/// date after tomorrow by the clock of this machine, as somewhere it is tomorrow.
Result<void> check_date(std::string_view date);
/// Those of all curves. Errors name the file.
Result<void> check_dates(const CurveSet& set, const std::string& file);

/// The lines of `provenance_remarks` on nodes alone.
std::vector<std::string> assumed_nodes(const CurveSet& set, const topology::ClusterSpec& spec, const std::string& file);

}  // namespace distsim::collectives
