// CurveSet: measured curves of collectives, as plain values, from a curve file (curve.proto in protobuf text format) or an nccl-tests log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/graph/op.hpp"

namespace distsim::collectives {

/// One measured size. low and high are the 10th and 90th percentile, 0 where unknown.
struct CurvePoint {
  double bytes = 0, time_us = 0, low_us = 0, high_us = 0;
};

struct Curve {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;       ///< 0: the log does not say
  bool single_process = false;   ///< one process drives the GPUs of a node
  bool cuda_graph = false;
  std::string library, settings, date, source, licence, label;
  std::string not_used;          ///< why it must not be used; empty otherwise
  std::vector<CurvePoint> points; ///< ascending in bytes, times positive and finite
  std::uint32_t flagged = 0;     ///< rows left out because they contradict themselves
};

struct CurveSet {
  std::string system, device, hardware;
  std::vector<std::string> also_for;
  std::vector<Curve> curves;
  bool partial = false;          ///< the run that wrote the file did not end
};

inline constexpr std::size_t kMaxCurveFileBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxCurves = 1000, kMaxCurvePoints = 4096;
inline constexpr std::uint32_t kMaxCurveRanks = 1u << 24;

/// Reads a curve file. Errors read "file:line:col: ...": text that does not parse or ends too early, unknown kinds, sizes that do not ascend, times that
/// are not positive and finite, a checksum that is not that of the rows, no points, more than the limits above.
Result<CurveSet> parse_curve_text(std::string_view text, const std::string& file);

/// Hex digest of what a price depends on: system, device, identity and points of all curves.
std::string checksum_of(const CurveSet& set);

/// The text form of a set, as it is kept in configs/curves, with its checksum.
std::string curve_text(const CurveSet& set);

/// Reads a file of either kind, told apart by its contents.
Result<CurveSet> read_curve_file(const std::string& path);

}  // namespace distsim::collectives
