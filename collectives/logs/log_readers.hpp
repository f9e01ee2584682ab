// Readers of other tools' logs, a function for each format. What all share (how rows become curves, which rows are left
// out, what is refused) is in log_tables.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/curves/curve_set.hpp"
#include "collectives/logs/line_source.hpp"
#include "collectives/logs/nccl_tests_row.hpp"

namespace distsim::collectives {

enum class LogFormat : std::uint8_t { none, curve_file, json, osu, param, nccl_tests };

/// The format that a line belongs to for certain, by a title, a header, a row or a key that no other format has. The one
/// place that knows them.
LogFormat format_of_line(std::string_view line);

/// Whether all lines may be of one format. Error: a line of another, whose rows the reader would take for text.
Result<void> check_format(LogFormat own, std::string_view line, const std::string& where);

/// Calls `take(line)` for every line of a log, without what mpirun and srun put in front. Errors: as check_format.
template <class Take>
Result<void> each_of_format(LogFormat own, LineSource& lines, const Take& take) {
  return lines.each([&](std::string_view raw) -> Result<void> {
    const std::string_view line = without_prefix(raw);
    TRY(check_format(own, line, lines.position()));
    return take(line);
  });
}

/// nccl-tests of every vintage: with and without the `root` column, `error` or `#wrong`, line prefixes of mpirun and
/// srun, several tables in a log. The out-of-place time is taken. Errors, one line with file and line: no table (empty
/// or failed run), a row that is cut, a time that is NaN, zero or negative, sizes that do not ascend, UTF-16 text, more
/// than half of a table's rows flagged, two kinds of GPU in one log. A log of a run that broke off after some rows is
/// partial. The collective comes from "Collective test starting" or "collective:" lines, a program name
/// ("all_reduce_perf") in the log or the file's name; if these leave it open, or name a test that is no collective, that
/// is an error.
Result<CurveSet> parse_nccl_tests(LineSource& lines, const LogHints& hints = {});
Result<CurveSet> parse_nccl_tests(std::string_view text, const std::string& file);

inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;

/// Results as JSON: nccl-tests with -J ("results" with "out_of_place": {"time", "alg_bw", "bus_bw", "nwrong"},
/// "devices", "config") and our own collective_bench ("tables", each with "collective", "ranks", "nodes" and "rows"). A
/// position is "file: results[3]". Errors: text that is not JSON or was cut, neither of the two forms, rows without
/// size or time, more than 64 MiB.
Result<CurveSet> parse_json_log(std::string_view text, const std::string& file, const LogHints& hints = {});

/// OSU micro-benchmarks: "# OSU MPI-CUDA Allreduce Latency Test v5.7" and a table of size and average latency.
/// Collectives: Allreduce, Reduce, Broadcast, Allgather, Reduce_scatter, All-to-All, Gather, Scatter; point to point:
/// Latency, of 2 ranks, and Multi Latency, of 2 for each pair. OSU's size is bytes per destination for All-to-All, Gather
/// and Scatter and bytes per rank for Allgather; a curve's size column is that of nccl-tests, `ranks` times as much. With -f the smallest and
/// largest latency give the range. `settings` name the MPI library that ran, so the curve is trusted less than NCCL's.
/// A table of buffers that are not in GPU memory on both sides, by its title or its "Send Buffer" line, is kept but
/// not used. Ranks and nodes come from "# nodes: 2  ranks: 16" lines, else from the file's name ("..._2n16r_...").
/// Errors: bandwidth tests, tests without a collective, other units than bytes and us, rows that are cut or damaged at
/// their front, times that are NaN, zero or negative, sizes that do not ascend, ranks that are not stated.
Result<CurveSet> parse_osu(LineSource& lines, const LogHints& hints = {});

/// PARAM comms (comms.py): lines "COMMS-RES-all_to_allv-float32{tag} <size> <elements> <p50> <p75> <p95> <min> <max>
/// <algbw> <busbw> [<total>]". Times are percentiles over ranks of the mean over iterations, in us: p50 is the time,
/// min and p95 the range. Sizes are those of nccl-tests' size column. A curve for each collective and tag of the log.
/// Ranks come from "world_size" in the log, else from busbw over algbw, else from the file's name; nodes from "local_size".
/// Errors: as for nccl-tests, other units, lines of figures without the mark of a row, a local_size above world_size, and
/// the quantised, point-to-point and multi-collective forms, whose columns mean other things.
Result<CurveSet> parse_param(LineSource& lines, const LogHints& hints = {});

}  // namespace distsim::collectives
