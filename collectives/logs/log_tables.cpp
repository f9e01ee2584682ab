#include "collectives/logs/log_tables.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ranges>
#include <tuple>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "collectives/logs/checks/broken_off.hpp"
#include "collectives/logs/checks/printed_ratio.hpp"

namespace distsim::collectives {

namespace {

constexpr std::size_t kMostRemarks = 100;
constexpr double kFarAbove = 30;  // times the rows around it; under heavy contention rows reach 22; chosen
constexpr double kFarApart = 3;   // times of one size in one log: more than runs differ by; chosen

std::string_view name_of_path(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

/// "16r" -> 16, where `unit` is one of the letters.
std::optional<std::uint32_t> count_before(std::string_view& word, std::string_view units) {
  std::uint32_t v = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
  const auto used = static_cast<std::size_t>(end - word.data());
  if (error != std::errc() || used == word.size() || units.find(word[used]) == std::string_view::npos)
    return std::nullopt;
  word.remove_prefix(used + 1);
  return v;
}

/// What the name of a log may state: "h100_2n16g_all_reduce.txt" is 2 nodes and 16 GPUs, "2n16r" 16 ranks.
struct NamedShape {
  std::uint32_t nodes = 0, ranks = 0;
};
std::optional<NamedShape> shape_of_file_name(std::string_view path) {
  const std::string_view name = name_of_path(path);
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of("_.-", begin), name.size());
    std::string_view word = name.substr(begin, end - begin);
    const auto nodes = count_before(word, "n");
    const auto ranks = nodes ? count_before(word, "gr") : std::nullopt;
    if (ranks && word.empty() && *nodes > 0 && *ranks >= *nodes) return NamedShape{*nodes, *ranks};
    begin = end + 1;
  }
  return std::nullopt;
}

/// What the lines below a run say that those above it left open: what these said holds for that run, and for no earlier one.
RunFacts said_below(const RunFacts& run, const RunFacts& end) {
  RunFacts below;
  if (run.library.empty()) below.library = end.library;
  if (run.settings.empty()) below.settings = end.settings;
  if (!run.cuda_graph) below.cuda_graph = end.cuda_graph;
  if (!run.launch_stated)
    below.launch_stated = end.launch_stated, below.single_process = end.single_process,
    below.single_stated = end.single_stated, below.ranks_each = end.ranks_each;
  return below;
}

void fill_open(RunFacts& run, const RunFacts& below) {
  if (run.library.empty()) run.library = below.library;
  if (run.settings.empty()) run.settings = below.settings;
  if (!run.cuda_graph) run.cuda_graph = below.cuda_graph;
  if (!run.launch_stated && below.launch_stated)
    run.launch_stated = true, run.single_process = below.single_process, run.single_stated = below.single_stated,
    run.ranks_each = below.ranks_each;
}

std::string at_line(const std::string& file, std::size_t line) { return file + ":" + std::to_string(line); }

bool agrees(double printed, double expected) {
  return std::abs(printed - expected) <=
         0.0101 + 0.02 * expected;  // two decimals; times above 10 ms are whole microseconds
}

/// Kinds whose size column is a buffer that the ranks share out.
bool is_divided(graph::CollectiveKind kind) {
  switch (kind) {
    case graph::CollectiveKind::all_gather:
    case graph::CollectiveKind::reduce_scatter:
    case graph::CollectiveKind::all_to_all:
    case graph::CollectiveKind::all_to_all_v:
    case graph::CollectiveKind::gather:
    case graph::CollectiveKind::scatter:
      return true;
    default:
      return false;
  }
}

/// The size is count x type; where the ranks share a buffer out, the count is that of one of them. nccl-tests rounds to whole
/// elements for each rank.
bool size_agrees(const NcclRow& r, graph::CollectiveKind kind, std::uint32_t ranks) {
  const double elements = r.count * bytes_of_type(r.type);
  const bool of_a_rank = is_divided(kind) && ranks >= 2;
  if (elements <= 0 || (r.counts_all && r.bytes == elements)) return true;
  return r.bytes == elements * (of_a_rank ? ranks : 1);
}

/// Kinds that compute, and kinds in which one rank is apart from the others.
bool is_reduction(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::all_reduce || kind == graph::CollectiveKind::reduce_scatter ||
         kind == graph::CollectiveKind::reduce;
}
bool is_rooted(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::broadcast || kind == graph::CollectiveKind::reduce ||
         kind == graph::CollectiveKind::gather || kind == graph::CollectiveKind::scatter;
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

std::string found(const char* what, double v, double expected, const char* because) {
  return std::string(what) + ": found " + number(v) + ", expected " + number(expected) + " (" + because + ")";
}

/// Why the operation or the root of a row are those of another collective; empty where they are not. nccl-tests has the
/// operation "none" and the root -1 where there is none; its sendrecv runs with every operation, and -1 is also a root that
/// is not stated.
std::string of_other_kind(const NcclRow& r, graph::CollectiveKind kind, std::uint32_t ranks) {
  const bool computes = r.redop != "none", open = r.redop.empty() || kind == graph::CollectiveKind::send_recv;
  if (!open && computes != is_reduction(kind))
    return "redop: found " + printable(r.redop, 40) + ", expected " + (computes ? "none" : "an operation, as sum");
  if (!std::isfinite(r.root) || r.root == -1) return "";
  if (!is_rooted(kind)) return "root: found " + number(r.root) + ", expected -1: it has none";
  if (r.root >= 0 && r.root < ranks && r.root == std::floor(r.root)) return "";
  return "root: found " + number(r.root) + ", expected one of " + counted(ranks, "rank");
}

/// Why a row contradicts itself; empty where it does not. Old tables of all_gather and reduce_scatter printed algbw in
/// both columns. A row without bandwidths (0 in both columns) has only a time.
std::string contradiction(const NcclRow& r, graph::CollectiveKind kind, std::uint32_t ranks) {
  if (!(std::abs(r.wrong) <= 0.1)) return "#wrong: found " + number(r.wrong) + ", expected 0";
  if (!std::isfinite(r.algbw) || !std::isfinite(r.busbw)) return "algbw, busbw: found no finite number";
  if (ranks >= 2 && is_divided(kind) && std::fmod(r.bytes, ranks) != 0)
    return "size: found " + number(r.bytes) + ", expected a multiple of " + std::to_string(ranks) + " ranks";
  if (!size_agrees(r, kind, ranks))
    return "size: found " + number(r.bytes) + ", expected count x type (" + number(r.count) + " x " + r.type +
           (is_divided(kind) ? " of each rank)" : ")");
  if (const std::string other = of_other_kind(r, kind, ranks); !other.empty()) return other;
  if (r.no_bandwidth) return "";
  const double algbw = r.bytes / r.time_us / 1000;
  if (!agrees(r.algbw, algbw)) return found("algbw", r.algbw, algbw, "size / time");
  if (ranks < 2) return "";
  const double busbw = r.algbw * graph::busbw_factor(kind, ranks);
  const bool half = kind == graph::CollectiveKind::all_gather || kind == graph::CollectiveKind::reduce_scatter;
  const bool unrounded =
      agrees(r.busbw, algbw * graph::busbw_factor(kind, ranks));  // of small sizes, algbw has one printed digit
  if (unrounded || agrees(r.busbw, busbw) || (half && r.busbw == r.algbw)) return "";
  return found("busbw", r.busbw, busbw, "algbw times the collective's bus bandwidth factor");
}

/// Figures in place are not used, but tell of damage.
bool agrees_in_place(const NcclRow& r) {
  return r.in_place_us <= 0 || agrees(r.in_place_algbw, r.bytes / r.in_place_us / 1000);
}

/// Of `-d all`, `-o all` and `-r all`.
bool is_of_other_variant(const NcclRow& a, const NcclRow& b) {
  return a.type != b.type || a.redop != b.redop || a.root != b.root;
}

PrintedRatio ratio_of(const LogTable& table, graph::CollectiveKind kind) {
  std::vector<const NcclRow*> rows;
  for (const NumberedRow& r : table.rows) rows.push_back(&r.row);
  return PrintedRatio(rows, kind);
}

Result<CurvePoint> point_of(const std::vector<const NcclRow*>& same_size) {
  std::vector<double> times;
  for (const NcclRow* r : same_size) times.push_back(r->time_us);
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = n % 2 == 1 ? times[n / 2] : 0.5 * (times[n / 2 - 1] + times[n / 2]);
  const NcclRow& first = *same_size.front();
  if (n == 1) return CurvePoint{first.bytes, median, first.low_us, first.high_us};
  return CurvePoint{first.bytes, median, times.front(), times.back()};
}

struct RowsOfPoint {
  std::size_t line = 0;  ///< the last of them
  std::uint32_t count = 0;
};

class Assembler {
 public:
  Assembler(const LogContext& context, const std::string& file, CurveSet& out)
      : context_(context), file_(file), out_(out) {}

  Result<Curve> curve_of(LogTable& table) {
    Curve c;
    TRY_ASSIGN(c.kind, kind_of(table));
    table.kind = c.kind;
    TRY_ASSIGN(c.ranks, ranks_of(table));
    c.groups_at_once = table.groups_at_once;
    const RunFacts& run = run_of(table);
    c.nodes = table.nodes != 0 ? table.nodes : context_.nodes != 0 ? context_.nodes : run.hosts;
    if (const bool in_groups = table.ranks != 0 || !context_.other_groups.empty(); !in_groups)
      TRY(at_table(table, check_launch(run, c.ranks)));
    take_run(run, table, c);
    c.date = context_.date;
    c.label = file_.substr(file_.find_last_of('/') + 1) + (table.variant.empty() ? "" : ", " + table.variant);
    c.not_used = table.not_used;
    TRY(fill_points(table, c));
    TRY(check_ratio(table, c));
    return c;
  }

 private:
  const RunFacts& run_of(const LogTable& table) const { return table.run ? *table.run : context_.run; }

  void take_run(const RunFacts& run, const LogTable& table, Curve& c) const {
    c.single_process = run.is_single_process();
    c.single_process_stated = run.single_stated;
    c.processes = run.processes;
    c.cuda_graph = run.cuda_graph.value_or(false);
    c.states_no_graph = run.cuda_graph == false;
    c.library = run.library;
    c.settings = run.settings.empty() ? table.settings : run.settings;
    c.source = run.source.empty() ? file_ : run.source;
  }

  Result<void> at_table(const LogTable& table, const Result<void>& checked) const {
    if (checked.ok()) return {};
    return Error{checked.error().what, at_line(file_, table.rows.front().line), checked.error().hint};
  }

  Result<graph::CollectiveKind> kind_of(const LogTable& table) const {
    if (table.kind) return *table.kind;
    if (auto kind = kind_of_file_name(file_)) return *kind;
    return Error{"found no collective name in the log, expected e.g. '# Collective test starting: all_reduce_perf'",
                 at_line(file_, table.rows.front().line), "or put it in the file name: all_reduce.log"};
  }

  Result<std::uint32_t> ranks_of(const LogTable& table) const {
    std::uint32_t ranks = table.ranks != 0 ? table.ranks : context_.ranks != 0 ? context_.ranks : run_of(table).listed;
    if (table.ranks != 0 && context_.ranks != 0 && table.ranks != context_.ranks)
      return Error{"ranks: found " + std::to_string(context_.ranks) + ", expected " + std::to_string(table.ranks) +
                       ", those of a group in the line that begins with '# groups'",
                   at_line(file_, table.rows.front().line), ""};
    if (ranks == 0 && table.kind) ranks = ratio_of(table, *table.kind).ranks();
    if (ranks >= 2 && ranks <= kMaxCurveRanks) return ranks;
    return Error{"found no rank count in the log, expected '#  Rank  0 ...' lines",
                 at_line(file_, table.rows.front().line),
                 "pass --ranks and --nodes to curves import, or put '# nodes: 2  gpus: 16' at the top of the log"};
  }

  /// The rows are read with a tolerance of the times; of the ranks the bandwidths say more.
  Result<void> check_ratio(const LogTable& table, const Curve& c) const {
    const PrintedRatio ratio = ratio_of(table, c.kind);
    if (ratio.allows(c.ranks)) return {};
    const std::uint32_t others = ratio.ranks();
    return Error{"ranks: found " + std::to_string(c.ranks) + ", expected " +
                     (others != 0 ? std::to_string(others) : "another number") + ", as busbw is " +
                     number(ratio.ratio()) + " times algbw (" + std::string(graph::name_of(c.kind)) + ")",
                 at_line(file_, table.rows.front().line), "--ranks counts the GPUs of all nodes"};
  }

  void remark(std::size_t line, const std::string& why) {
    if (out_.remarks.size() < kMostRemarks) out_.remarks.push_back(at_line(file_, line) + ": left out: " + why);
  }

  Result<void> fill_points(const LogTable& table, Curve& c) {
    std::vector<const NcclRow*> same_size;
    std::vector<RowsOfPoint> rows_of_points;
    std::size_t first_bad = 0, first_in_place = 0, in_place = 0;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const NcclRow& row = table.rows[i].row;
      if (const std::string why = contradiction(row, c.kind, c.ranks); !why.empty()) {
        if (++c.flagged == 1) first_bad = table.rows[i].line;
        remark(table.rows[i].line, why);
      } else {
        same_size.push_back(&row);
        if (!agrees_in_place(row) && in_place++ == 0) first_in_place = i;
      }
      const bool last = i + 1 == table.rows.size() || table.rows[i + 1].row.bytes != row.bytes;
      if (!last || same_size.empty()) continue;
      TRY_ASSIGN(CurvePoint point, point_of(same_size));
      if (same_size.size() > 1 && point.high_us > kFarApart * point.low_us && out_.remarks.size() < kMostRemarks)
        out_.remarks.push_back(at_line(file_, table.rows[i].line) + ": " + number(point.bytes) + " B took " +
                               number(point.low_us) + " to " + number(point.high_us) + " us; the median is used");
      c.points.push_back(point);
      rows_of_points.push_back({table.rows[i].line, static_cast<std::uint32_t>(same_size.size())});
      same_size.clear();
    }
    if (in_place > 0 && out_.remarks.size() < kMostRemarks)
      out_.remarks.push_back(at_line(file_, table.rows[first_in_place].line) + ": " + counted(in_place, "row") +
                             " whose in-place algbw is not size / time; only times out of place are used");
    if (2 * std::size_t{c.flagged} <= table.rows.size()) {
      leave_out_spikes(rows_of_points, c);
      return {};
    }
    return Error{"found " + std::to_string(c.flagged) + " of " + counted(table.rows.size(), "row") +
                     " inconsistent as " + std::string(graph::name_of(c.kind)) + " of " + counted(c.ranks, "rank") +
                     "; the first: " + contradiction(row_at(table, first_bad), c.kind, c.ranks),
                 at_line(file_, first_bad), ""};
  }

  /// No network takes far longer for a message than for the next larger one, nor for the next smaller one.
  void leave_out_spikes(const std::vector<RowsOfPoint>& rows, Curve& c) {
    const std::vector<CurvePoint> all = std::move(c.points);
    c.points.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool inside = i > 0 && i + 1 < all.size();
      if (!inside || all[i].time_us <= kFarAbove * std::max(all[i - 1].time_us, all[i + 1].time_us)) {
        c.points.push_back(all[i]);
        continue;
      }
      c.flagged += rows[i].count;
      remark(rows[i].line, "time: found " + number(all[i].time_us) + " us for " + number(all[i].bytes) +
                               " B, expected about the " + number(all[i - 1].time_us) + " us and " +
                               number(all[i + 1].time_us) + " us of the next smaller and next larger sizes");
    }
  }

  static const NcclRow& row_at(const LogTable& table, std::size_t line) {
    return std::find_if(table.rows.begin(), table.rows.end(), [line](const NumberedRow& r) { return r.line == line; })
        ->row;
  }

  const LogContext& context_;
  const std::string& file_;
  CurveSet& out_;
};

/// Leaves out tables of tests that are none of our collectives.
Result<void> drop_other_tests(std::vector<LogTable>& tables, const std::string& file, CurveSet& out) {
  const auto is_other = [](const LogTable& t) { return !t.other_test.empty(); };
  const auto first = std::ranges::find_if(tables, is_other);
  if (first == tables.end()) return {};
  if (std::ranges::all_of(tables, is_other)) {
    const auto kind = graph::parse_collective(first->other_test);
    return Error{"found the test " + in_quotes(first->other_test, 60) + ", expected one of a collective",
                 at_line(file, first->rows.front().line), kind.ok() ? "" : kind.error().hint};
  }
  for (const LogTable& t : tables) {
    if (is_other(t) && out.remarks.size() < kMostRemarks)
      out.remarks.push_back(at_line(file, t.rows.front().line) + ": left out: the table of the test " +
                            in_quotes(t.other_test, 60) + ", which is none of a collective");
  }
  std::erase_if(tables, is_other);
  return {};
}

Result<void> check_whole(const std::vector<LogTable>& tables, const LogContext& context, const std::string& file) {
  if (context.gpus.size() > 1) {
    return Error{"found two kinds of GPU in one log: '" + *context.gpus.begin() + "' and '" +
                     *std::next(context.gpus.begin()) + "', expected one",
                 file, ""};
  }
  if (tables.empty() && !context.failure.empty())
    return Error{"found no table rows, the run failed: " + context.failure, file, ""};
  if (tables.empty()) return Error{"found no rows of an nccl-tests table", file, "empty log or failed run?"};
  if (tables.size() > kMaxCurves)
    return Error{"found " + std::to_string(tables.size()) + " tables, expected at most 1000", file, ""};
  return {};
}

}  // namespace

bool has_rows(const std::vector<LogTable>& tables) {
  return std::ranges::any_of(tables, [](const LogTable& t) { return !t.rows.empty(); });
}

Result<void> take_count(std::uint32_t& kept, std::uint32_t found, const char* what, const std::vector<LogTable>& tables,
                        const std::string& where) {
  if (kept != 0 && kept != found)
    return Error{
        std::string(what) + ": found " + std::to_string(found) +
            (has_rows(tables) ? " below a run of " + std::to_string(kept) + ", expected the same in all runs of a log"
                              : " after " + std::to_string(kept) + ", expected one number"),
        where, "import each run from a file of its own"};
  kept = found;
  return {};
}

void LogContext::take_list() {
  run.listed = static_cast<std::uint32_t>(rank_ids.size());
  run.processes = static_cast<std::uint32_t>(processes.size());
  run.hosts = static_cast<std::uint32_t>(hosts.size());
}

void LogContext::forget_list() {
  hosts.clear();
  rank_ids.clear();
  processes.clear();
  hosts_of_address.clear();
  other_groups.clear();
}

void take_failure(LogContext& context, std::string_view line) {
  if (!context.failure.empty()) return;
  if (tells_failure(line)) context.failure = std::string(line.substr(0, 120));
}

Result<void> take_hardware(LogContext& context, std::string_view found, const std::string& where) {
  if (!context.hardware.empty() && context.hardware != found)
    return Error{"hardware: found " + in_quotes(found, 120) + " after " + in_quotes(context.hardware, 120) +
                     ", expected one system in a log",
                 where, "import each run from a file of its own"};
  context.hardware = found;
  return {};
}

void take_from_below(std::vector<LogTable>& tables, const RunFacts& end) {
  if (tables.empty()) return;
  const RunFacts below = said_below(tables.back().run.value_or(RunFacts()), end);
  std::string source = end.source;
  for (LogTable& table : std::views::reverse(tables)) {
    if (!table.run) table.run = end;
    fill_open(*table.run, below);
    if (table.run->source.empty()) table.run->source = source;
    source = table.run->source;
  }
}

bool is_row_of_nothing(const std::vector<LogTable>& tables, const NcclRow& row) {
  if (row.bytes != 0 || row.count != 0 || row.algbw > 0) return false;
  if (tables.empty() || tables.back().rows.empty()) return true;
  return is_of_other_variant(tables.back().rows.back().row, row);
}

void take_stated_shape(LogContext& context, const std::string& file) {
  context.stated_ranks = context.ranks, context.stated_nodes = context.nodes;
  const auto named = shape_of_file_name(file);
  if (!named) return;
  for (const auto& [what, kept, in_name] :
       {std::tuple("ranks", &context.ranks, named->ranks), {"nodes", &context.nodes, named->nodes}}) {
    if (*kept != 0 && *kept != in_name)
      context.remarks.push_back(file + ": " + what + ": the log states " + std::to_string(*kept) + ", its name " +
                                std::to_string(in_name) + "; those of the log are used");
    if (*kept == 0) *kept = in_name;
  }
}

std::optional<graph::CollectiveKind> kind_of_file_name(std::string_view path) {
  const std::string_view name = name_of_path(path);
  for (std::string_view word : {"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "alltoall",
                                "all_to_all", "broadcast", "sendrecv"}) {
    if (name.find(word) == std::string_view::npos) continue;
    if (auto kind = graph::parse_collective(word); kind.ok()) return *kind;
  }
  return std::nullopt;
}

Result<void> RankList::add(std::uint32_t rank, std::string_view host, std::string_view gpu,
                           const std::string& process) {
  if (!ranks_.insert(rank).second)
    return Error{"found rank " + std::to_string(rank) + " twice in the list of ranks, expected each once", "", ""};
  if (!process.empty()) processes_.insert(process);
  if (host.empty() || gpu.empty()) return {};
  const auto [it, is_new] = rank_of_gpu_.emplace(std::string(host) + " " + std::string(gpu), rank);
  if (is_new) return {};
  return Error{"found ranks " + std::to_string(it->second) + " and " + std::to_string(rank) + " on one GPU, " +
                   in_quotes(it->first, 80) + ", expected a GPU for each",
               "", ""};
}

Result<void> RankList::check(const std::string& several_each) const {
  if (several_each.empty() || ranks_.size() < 2 || processes_.size() < ranks_.size()) return {};
  return Error{"found " + several_each + ", but a process for each of " + counted(ranks_.size(), "rank") +
                   " in the list, expected a process for several ranks",
               "", ""};
}

Result<void> check_size(double bytes, const std::string& where) {
  if (bytes >= 1 && bytes <= kMaxCurveBytes && bytes == std::floor(bytes)) return {};
  return Error{"size: found " + number(bytes) + ", expected a whole number of bytes, at most 2^60", where, ""};
}

Result<LogTable*> table_for(std::vector<LogTable>& tables, const NcclRow& row, const std::string& where) {
  LogTable& last = tables.back();
  if (last.rows.empty()) return &last;
  const NcclRow& before = last.rows.back().row;
  if (row.bytes > before.bytes || !is_of_other_variant(before, row)) return &last;
  if (tables.size() >= kMaxCurves) return Error{"found more than 1000 tables", where, ""};
  LogTable next{.kind = last.kind,
                .rows = {},
                .other_test = last.other_test,
                .not_used = last.not_used,
                .ranks = last.ranks,
                .nodes = last.nodes,
                .groups_at_once = last.groups_at_once,
                .settings = last.settings,
                .run = last.run};
  const auto variant = [](const NcclRow& r) {
    return r.type + (r.redop.empty() ? "" : " " + r.redop) + (r.root < 0 ? "" : " root " + number(r.root));
  };
  last.variant = variant(before);
  next.variant = variant(row);
  tables.push_back(std::move(next));
  return &tables.back();
}

Result<void> add_row(LogTable& table, NcclRow row, std::size_t line, const std::string& where) {
  if (!(row.time_us >= kShortestCurveUs && row.time_us < kLongestCurveUs)) {
    return Error{"time: found " + std::to_string(row.time_us) + ", expected a positive number of microseconds", where,
                 ""};
  }
  TRY(check_size(row.bytes, where));
  if (const auto range = check_range({row.bytes, row.time_us, row.low_us, row.high_us}); !range.ok())
    return Error{range.error().what, where, ""};
  if (table.rows.size() >= kMaxCurvePoints) return Error{"found more than 4096 rows in one table", where, ""};
  if (!table.rows.empty() && row.bytes < table.rows.back().row.bytes) {
    return Error{"size: found " + number(row.bytes) + " after a larger one, expected ascending sizes", where, ""};
  }
  table.rows.push_back({std::move(row), line});
  return {};
}

Result<CurveSet> curves_of(std::vector<LogTable> tables, LogContext context, const std::string& file,
                           const LogHints& hints) {
  TRY(check_hints(context, file, hints));
  if (hints.ranks != 0) context.ranks = hints.ranks;
  if (hints.nodes != 0) context.nodes = hints.nodes;
  std::erase_if(tables, [](const LogTable& t) { return t.rows.empty(); });
  TRY(check_whole(tables, context, file));
  TRY(check_shape(context, file));
  CurveSet out;
  out.remarks = std::move(context.remarks);
  TRY(drop_other_tests(tables, file, out));
  out.listed_gpu = context.gpus.empty() ? "" : *context.gpus.begin();
  out.hardware = context.hardware.empty() ? out.listed_gpu : context.hardware;
  out.partial = !context.failure.empty() || context.cut;
  if (!context.failure.empty())
    out.remarks.push_back(file + ": the run failed: " + context.failure);
  else if (context.cut)
    out.remarks.push_back(file + ": partial: a run ends before the summary of its last table, 'Avg bus bandwidth'");
  Assembler assembler(context, file, out);
  for (LogTable& table : tables) {
    TRY_ASSIGN(Curve curve, assembler.curve_of(table));
    out.curves.push_back(std::move(curve));
  }
  return out;
}

}  // namespace distsim::collectives
