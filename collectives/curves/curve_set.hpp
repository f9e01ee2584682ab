// CurveSet: measured curves of collectives, as plain values, from a curve file (curve.proto in protobuf text format) or
// an nccl-tests log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/text/names/words.hpp"
#include "sim/graph/op.hpp"

namespace distsim::collectives {

/// One measured size. low and high are the 10th and 90th percentile, 0 where unknown.
struct CurvePoint {
  double bytes = 0, time_us = 0, low_us = 0, high_us = 0;
};

/// How a curve's times were taken, which decides whether the host's launch is part of them.
enum class TimedBy : std::uint8_t {
  nccl_tests,  ///< many calls in a row, queued ahead of the GPU: times are those of the collective
  pytorch,     ///< each call launched by a framework while the GPU waits: every time holds its dispatch
};
inline Words<TimedBy> timed_by_words() {
  return {{{"nccl_tests", TimedBy::nccl_tests}, {"pytorch", TimedBy::pytorch}}};
}

struct Curve {
  graph::CollectiveKind kind = graph::CollectiveKind::all_reduce;
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;      ///< 0: not stated in the log
  bool single_process = false;  ///< one process drives the GPUs of a node
  bool cuda_graph = false;
  std::string library, settings, date, source, licence, label;
  std::string not_used;              ///< why it must not be used; empty otherwise
  std::vector<CurvePoint> points;    ///< ascending in bytes, times positive and finite
  std::uint32_t flagged = 0;         ///< rows left out because they contradict themselves
  std::string group{};               ///< of collective_bench: all, nodes, rails, 8x2, ...; empty where not stated
  std::uint32_t groups_at_once = 0;  ///< groups of that shape that ran together; 0 or 1: no other
  TimedBy timed_by = TimedBy::nccl_tests;
  double launch_floor_us = 0;  ///< part of every time; 0: not stated (launch_floor.hpp estimates it)

  // What a log says of the run of this curve; not part of a curve file.
  std::uint32_t processes = 0;                  ///< that it lists; 0: it lists none
  std::optional<bool> single_process_stated{};  ///< the launch, in words that leave no doubt
  bool states_no_graph = false;                 ///< that no CUDA graph was used
};

/// MHz; 0: not stated.
struct RecordedClocks {
  std::uint32_t sm = 0, memory = 0, cpu_locked = 0;
  bool operator==(const RecordedClocks&) const = default;
};

struct CurveSet {
  std::string system, device, hardware;
  std::vector<std::string> also_for;
  std::vector<Curve> curves;
  bool partial = false;                     ///< the run that wrote the file did not end
  std::vector<std::string> same_network{};  ///< systems with other GPUs behind the same NICs
  std::vector<std::string> hosts{};         ///< by node, as the bench says
  std::string driver{}, topology{}, flags{};
  RecordedClocks clocks{};   ///< when the run began
  std::string listed_gpu{};  ///< of a log's list of ranks; `hardware` are the words of its author
  std::vector<std::string>
      remarks{};  ///< of the reader, one line each with its position: rows left out, a run that failed
};

inline constexpr std::size_t kMaxCurveFileBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxCurves = 1000, kMaxCurvePoints = 4096;
inline constexpr std::uint32_t kMaxCurveRanks = 1u << 24;
inline constexpr double kMaxCurveBytes = 1ull << 60;  ///< of one size
inline constexpr double kShortestCurveUs = 1e-3,
                        kLongestCurveUs = 1e12;  ///< of one time; no collective is over in a nanosecond
inline constexpr double kWidestRange =
    1e6;  ///< of a percentile over the time: a stall of ten seconds in calls of 10 us

/// The same log twice, or one printed twice: kind, ranks, nodes and all times are equal.
bool same_measurement(const Curve& a, const Curve& b);

/// The curves of the files that were read so far.
class KnownCurves {
 public:
  /// Takes the curves out of `set` that are known or in the set already, with a remark for each: a measurement counts once,
  /// however often it is named; a copy that must not be used stands for none that may. A remark also for each group of which
  /// curves that were measured alike (launch, settings, traffic) on `system` differ by more than three times at a size: the
  /// price is a mean of them. Between two sizes a curve's time is known to lie where it rises with size, and no faster than it.
  void take(CurveSet& set, const std::string& file, const std::string& system);

 private:
  using Group = std::tuple<std::string, graph::CollectiveKind, std::uint32_t, std::uint32_t, bool, bool, bool, TimedBy,
                           std::string>;
  struct Measured {
    std::vector<std::size_t> curves;  ///< places in curves_
    bool named = false;
  };
  std::string contradiction(std::size_t curve, Measured& group) const;

  std::vector<Curve> curves_;
  std::vector<std::string> from_;  ///< of each: its file, and its label
  std::map<Group, Measured> groups_;
};

/// Whether low and high, where they are known, lie around the time. Errors: no position; the text begins with the name of
/// the one that does not.
Result<void> check_range(const CurvePoint& point);

/// A quantile of the samples of a row, and the name of its field; 0: not stated.
struct Quantile {
  const char* name;
  double us;
};
/// Whether quantiles are times and ascend, as those of any samples do. Errors: as check_range.
Result<void> check_quantiles(std::span<const Quantile> ascending);

/// Reads a curve file. Errors read "file:line:col: ...": text that does not parse or ends too early, unknown kinds,
/// sizes that do not ascend, times that are not finite or out of the limits above, percentiles that contradict their time, a checksum that is not that of the
/// rows, no points, more than the limits above.
Result<CurveSet> parse_curve_text(std::string_view text, const std::string& file);

/// What stands above its first curve, without curves: system, also_for, same_network. Of a file that does not say its system
/// there, what it says anywhere. Errors: text that does not parse.
Result<CurveSet> parse_curve_head(std::string_view text, const std::string& file);
/// The part of the text that stands above its first curve.
std::string_view curve_head(std::string_view text);

/// The same message in binary form. Positions in errors are those of its text form. A file begins so if it begins with
/// version 1.
Result<CurveSet> parse_curve_binary(std::string_view bytes, const std::string& file);
bool begins_binary_curve_file(std::string_view head);

/// The text form of a set, as it is kept in configs/curves, with its checksum.
std::string curve_text(const CurveSet& set);

/// What the user knows and a log may not state; 0: nothing. Values given here override the log.
struct LogHints {
  std::uint32_t ranks = 0, nodes = 0;
};

/// Reads a curve file (ours, or collective_bench's), an nccl-tests log or its -J JSON, OSU or PARAM output, told apart
/// by the contents; times that fall notably as sizes grow are remarked on. Logs are streamed: memory does not grow with them. Errors: as their readers say; an empty file; a
/// format that none of them knows.
Result<CurveSet> read_curve_file(const std::string& path, const LogHints& hints = {});

}  // namespace distsim::collectives
