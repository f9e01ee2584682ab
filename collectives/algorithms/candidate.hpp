// Candidate: one algorithm with one protocol on one group, as a line time = latency + bytes / bandwidth with a ramp.
// NCCL chooses, for every call, the candidate with the least predicted time; so does this model.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace distsim::collectives {

struct AlgorithmInfo;

enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr Protocol kProtocols[] = {Protocol::ll, Protocol::ll128, Protocol::simple};
std::string_view name_of(Protocol protocol);  ///< as NCCL writes it: LL, LL128, Simple

/// `bytes` is the size column of nccl-tests.
///   wire(bytes)    = bytes / (1000 * gbps * correction(bytes))
///   time_us(bytes) = latency_us + wire + ramp_us * min(1, (wire / ramp_us)^(3/8))
///                    + min(fill_us, bytes / (1000 * fill_gbps))
/// The last term is the pipeline's fill. latency_us >= 0, gbps > 0, ramp_us >= 0; time grows with bytes by
/// construction.
struct Candidate {
  Protocol protocol = Protocol::simple;
  double latency_us = 0;
  double gbps = 1;                                     ///< asymptotic algorithm bandwidth, GB/s of the size column
  const std::array<double, 23>* correction = nullptr;  ///< NCCL's tree correction by size, where it applies
  double ramp_us = 0;                                  ///< fill and drain of a long message's pipeline
  double fill_us = 0;                                  ///< the same for a chain through all nodes, reached linearly
  double fill_gbps = 1;
  std::uint32_t steps = 1;                   ///< dependent hops of the first byte
  std::string_view limit{};                  ///< what bounds gbps, in words
  const AlgorithmInfo* algorithm = nullptr;  ///< set by candidates_for
  bool operator==(const Candidate&) const = default;
};
double time_us(const Candidate& candidate, double bytes);

struct Choice {
  const Candidate* candidate = nullptr;
  double us = 0;
};
/// The candidate with the least time, and that time; ties go to the first. `candidates` not empty.
Choice fastest(std::span<const Candidate> candidates, double bytes);

}  // namespace distsim::collectives
