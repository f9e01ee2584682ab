// What the links of a group allow: a measured curve above it was measured on something else.
#pragma once

#include <string>

#include "base/result.hpp"
#include "collectives/analytic_model.hpp"
#include "collectives/curves/curve_set.hpp"
#include "topology/topology.hpp"

namespace distsim::collectives {

/// Nominal rates of links are rounded, and clocks differ: what is above them by less than this is let pass.
inline constexpr double kLinkTolerance = 1.25;

/// No collective is over sooner, us: a GPU reads and writes another's memory over NVLink in 0.5 to 1 us, and the fastest that
/// we know, all_reduce of vLLM's own kernel on two H200, takes 2.25 (data of aiconfigurator).
inline constexpr double kShortestUs = 0.5;

/// The highest bus bandwidth (as nccl-tests defines it) that `facts` allow a collective of n ranks on N nodes, bytes/s:
///   within a node    rate of a GPU's links to the others, or of its NIC where each has its own and no NVLink (NCCL then goes
///                    past slow CPUs over the network); twice for all_reduce where switches reduce in flight (NVLS)
///   across nodes     all_gather, reduce_scatter, gather, scatter and all_reduce move (N - 1) / N of a buffer into each node, all_reduce
///                    twice, but once and whole where the fabric may reduce in flight (SHARP; any InfiniBand): rate of a
///                    node's NICs times (n - 1) / n over that share. all_to_all: every rank sends each other one as
///                    much, so (n - m) / (n - 1) of it leaves the node of m members. The others move all of it: the
///                    rate of the NICs. Neither is more than what is reached within a node, where a node has several
///                    members.
/// 0: not known.
double highest_busbw(graph::CollectiveKind kind, const topology::GroupFacts& facts);

/// Error: a point of the curve whose bus bandwidth is above the highest by more than kLinkTolerance, or that is shorter than
/// kShortestUs.
Result<void> check_links(const Curve& curve, const topology::GroupFacts& facts, const std::string& file);

/// A collective that takes so many times what the model says is not merely slow; milliseconds or nanoseconds are meant, or the
/// run fell back to another network. Chosen, as of measured ops.
inline constexpr double kTimesTooLong = 100;

/// "x.txtpb: all_reduce of 1024 B: found 40 ms, where the model says 45 us; expected microseconds" where some points take more than
/// kTimesTooLong times what the model says; empty where none does. Error: all of them do.
Result<std::string> far_above_model(const Curve& curve, const topology::GroupFacts& facts,
                                    const ModelConstants& constants, const std::string& file);

}  // namespace distsim::collectives
