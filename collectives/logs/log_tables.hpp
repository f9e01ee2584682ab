// LogTables: what a reader of logs has found, before it becomes curves; the checks that all formats share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/curves/curve_set.hpp"
#include "collectives/logs/nccl_tests_row.hpp"

namespace distsim::collectives {

struct NumberedRow {
  NcclRow row;
  std::size_t line = 0;  ///< of the log
};

/// What a log says of one run and may say otherwise of the next.
struct RunFacts {
  bool single_process = false;  ///< one process drives several GPUs
  bool launch_stated = false;   ///< else one process of several ranks in their list says that it is a single process
  std::optional<bool> single_stated;  ///< what the log says of that in words that leave no doubt
  std::optional<bool> cuda_graph;     ///< nothing: not said
  std::uint64_t ranks_each = 0;       ///< of a process, its threads times the GPUs of one; 0: not said
  std::string library, source, settings;
  std::uint32_t processes = 0, listed = 0, hosts = 0;  ///< of its list of ranks

  bool is_single_process() const { return single_process || (!launch_stated && processes > 0 && processes < listed); }
};

struct LogTable {
  std::optional<graph::CollectiveKind> kind;
  std::vector<NumberedRow> rows;
  std::string other_test{};            ///< by its name in the log: one that is none of our collectives
  std::string not_used{};              ///< as Curve::not_used
  std::uint32_t ranks = 0, nodes = 0;  ///< of a group of this table; 0: those of the log
  std::uint32_t groups_at_once = 0;    ///< as Curve::groups_at_once
  std::string settings{};              ///< of this run, where the log's own words do not say those of all
  std::string variant{};               ///< "uint8 sum": of a table that holds one of several (table_for)
  std::optional<RunFacts> run{};       ///< nothing: those of the log
};

/// The list of ranks at the head of a run. Errors: a rank for the second time, a GPU that two ranks share.
class RankList {
 public:
  /// `gpu` tells the GPUs of a host apart, `process` the processes of all hosts; empty where the log does not say it.
  Result<void> add(std::uint32_t rank, std::string_view host, std::string_view gpu, const std::string& process);
  /// A run has printed its table: what follows lists the ranks of another.
  void end() { rank_of_gpu_.clear(), ranks_.clear(), processes_.clear(); }
  /// Errors: a process for each rank where `several_each` says that one has several.
  Result<void> check(const std::string& several_each) const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> rank_of_gpu_;
  std::set<std::uint32_t> ranks_;
  std::set<std::string> processes_;
};

/// Facts from the lines around the tables. Hosts, ranks, processes and addresses are those of one list of ranks, the last.
struct LogContext {
  std::set<std::string> gpus, hosts;
  std::set<std::uint32_t> rank_ids;
  std::set<std::string> processes;  ///< ids with their hosts: containers of two hosts may have the same ids
  std::uint32_t ranks = 0, nodes = 0;
  std::uint32_t stated_ranks = 0, stated_nodes = 0;  ///< those of them that lines of the log say; 0: none does
  RunFacts run;                                      ///< the latest
  std::map<std::string, std::set<std::string>, std::less<>> hosts_of_address;  ///< by the PCI addresses of their GPUs
  std::string several_each;  ///< what says of the latest run that a process has several ranks: "nGpus 8"
  std::set<std::pair<std::uint32_t, std::uint32_t>> other_groups;  ///< group and rank, of all but the first group
  std::string hardware, date;
  std::string failure;               ///< the line that says that the run failed; empty where none does
  std::vector<std::string> remarks;  ///< what its lines say of its rows and is not so, with positions
  bool cut = false;  ///< it begins as a whole log does, and ends before the summary that every run prints

  /// The list is whole: its numbers are those of the run.
  void take_list();
  /// What follows is the list of another run. The kinds of GPU stay: a log is of one.
  void forget_list();
};

/// Whether any of them has a row.
bool has_rows(const std::vector<LogTable>& tables);

/// Keeps what a log says of its ranks or nodes. Errors: it has said another number, of this run or of one above.
Result<void> take_count(std::uint32_t& kept, std::uint32_t found, const char* what, const std::vector<LogTable>& tables,
                        const std::string& where);

/// Keeps a line that says that a run broke off, by what the tools of a format or what starts and runs processes prints.
void take_failure(LogContext& context, std::string_view line);

/// Keeps the words of a log on its hardware. Errors: it has said others, of which one would be taken for the other.
Result<void> take_hardware(LogContext& context, std::string_view found, const std::string& where);

/// What no line above a table says of its run, the lines below all tables say; its source also the first line below it that
/// does. The last table may be empty: what the lines above it say is of the run that it would have been of.
void take_from_below(std::vector<LogTable>& tables, const RunFacts& end);

/// Whether a row is one of nothing, with which a table may begin: sizes too small for a byte of each rank. A size that was
/// lost still has its elements or its bandwidth.
bool is_row_of_nothing(const std::vector<LogTable>& tables, const NcclRow& row);

/// Errors: groups of several sizes, a rank that the list of ranks lacks, ranks and nodes that are not those of the list or
/// of what the log states.
Result<void> check_hints(const LogContext& context, const std::string& file, const LogHints& hints);

/// Errors (no position): ranks that are no whole number of processes as the run was launched, or fewer than the listed ones
/// have. More may be: containers of one host name may have the same process ids.
Result<void> check_launch(const RunFacts& run, std::uint32_t ranks);

/// Error: more nodes than ranks.
Result<void> check_shape(const LogContext& context, const std::string& file);

/// Ranks and nodes so far are those that the log states; what it leaves open, its name may state ("x_2n16g.txt": 2
/// nodes, 16 ranks). A name that contradicts the log is a remark.
void take_stated_shape(LogContext& context, const std::string& file);

/// The longest name of a collective in it: all_reduce before reduce.
std::optional<graph::CollectiveKind> kind_of_file_name(std::string_view path);

/// Errors: a size that is not a whole number of 1 .. 2^60 bytes.
Result<void> check_size(double bytes, const std::string& where);

/// The table that a row belongs to: the last one, or a new one like it where sizes start again with another data type,
/// operation or root (`-d all`, `-o all` and `-r all` of nccl-tests). Errors: more than kMaxCurves tables.
Result<LogTable*> table_for(std::vector<LogTable>& tables, const NcclRow& row, const std::string& where);

/// Adds a row, checked on its own. `where` is its position. Errors: a time that is NaN, zero, negative, below 1 ns or
/// 1e12 us and more, a size that is not a whole number of 1 .. 2^60 or is below the one before it, more than 4096 rows.
Result<void> add_row(LogTable& table, NcclRow row, std::size_t line, const std::string& where);

/// A curve a table; a size that comes twice in a table (several runs) is the median of its times. Rows that contradict
/// themselves (algbw not size over time, busbw not algbw times the collective's factor, wrong results, a size that the
/// ranks do not divide; a count, an operation or a root that are those of another collective), and those that take more
/// than 30 times as long as the next smaller and as the next larger size, are left out, counted in Curve::flagged and named one by one in CurveSet::remarks. Errors: two
/// kinds of GPU, no rows, no kind, no number of ranks, more nodes than ranks, more than half of a table's rows flagged, a
/// number of ranks that is not that of the bandwidths (printed_ratio.hpp). Tables of other tests than our collectives are
/// left out with a remark; an error where there is no other.
Result<CurveSet> curves_of(std::vector<LogTable> tables, LogContext context, const std::string& file,
                           const LogHints& hints);

}  // namespace distsim::collectives
