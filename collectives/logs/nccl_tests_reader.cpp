#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "base/text/trimmed.hpp"
#include "collectives/logs/checks/run_claims.hpp"
#include "collectives/logs/library_maker.hpp"
#include "collectives/logs/log_tables.hpp"
#include "collectives/logs/nccl_choice.hpp"

namespace distsim::collectives {

namespace {

constexpr std::size_t kMostNotes = 100;
constexpr std::size_t kMostRanks = std::size_t{1} << 20;

std::optional<std::uint32_t> whole(std::string_view s) {
  std::uint32_t v = 0;
  if (s.empty() || s.size() > 9) return std::nullopt;
  for (char c : s) {
    if (c < '0' || c > '9') return std::nullopt;
    v = v * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return v;
}

/// The word after `key`, when it is a whole number.
std::optional<std::uint32_t> number_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto it = std::find(words.begin(), words.end(), key);
  return it == words.end() || it + 1 == words.end() ? std::nullopt : whole(*(it + 1));
}

std::string_view after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  return at == std::string_view::npos ? std::string_view() : trimmed(line.substr(at + key.size()));
}

/// What follows "#", any blanks, and the key.
std::string_view comment(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    const std::string_view text = trimmed(line.substr(at + 1));
    if (text.starts_with(key)) return trimmed(text.substr(key.size()));
  }
  return {};
}

/// What a log says of the test whose table follows.
struct NamedTest {
  std::optional<graph::CollectiveKind> kind;
  std::string other;  ///< its name where it is none of our collectives
};

/// "all_reduce_perf", "alltoall_perf", "sendrecv_perf -b 8 ..." -> the kind. Of names that are no collective, those count
/// that name a test for certain: where nccl-tests says what it starts, and its hypercube. Nothing where none is named.
std::optional<NamedTest> test_in(std::string_view text) {
  if (text.find("Collective test concluded") != text.npos) return std::nullopt;  // of the table above
  std::string_view started = after(text, "Collective test starting:");
  if (started.empty()) started = comment(text, "collective:");
  if (auto kind = graph::parse_collective(started); kind.ok()) return NamedTest{*kind, ""};  // of a program called so
  const bool starts = !started.empty();
  std::string other;
  for (std::size_t at = text.find("_perf"); at != std::string_view::npos; at = text.find("_perf", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (std::isalpha(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_')) --begin;
    const std::string_view name = text.substr(begin, at - begin);
    if (auto kind = graph::parse_collective(name); kind.ok()) return NamedTest{*kind, ""};
    if (starts || name == "hypercube") other = name;
  }
  if (other.empty() && !starts) return std::nullopt;
  return NamedTest{std::nullopt, other};
}

/// "#  Rank  0 Group  0 Pid 1823 on hostname device  0 [0000:06:00] NVIDIA A100"
Result<void> read_rank_line(std::string_view line, const std::vector<std::string_view>& words, LogContext& c,
                            RankList& list) {
  if (const std::uint32_t group = number_after(words, "Group").value_or(0); group != 0) {
    // NCCL_TESTS_SPLIT: groups run concurrently; the first represents all.
    if (c.other_groups.size() < kMostRanks) c.other_groups.emplace(group, number_after(words, "Rank").value_or(0));
    return {};
  }
  if (c.rank_ids.size() >= kMostRanks || c.hosts.size() >= kMostRanks || c.gpus.size() > 1)
    return {};  // bounded, however long the log
  const auto on = std::find(words.begin(), words.end(), "on");
  const std::string host(on != words.end() && on + 1 != words.end() ? *(on + 1) : std::string_view());
  if (!host.empty()) c.hosts.insert(host);
  const auto pid = number_after(words, "Pid");
  const std::string process = pid ? host + " " + std::to_string(*pid) : "";
  if (pid) c.processes.insert(process);
  const std::size_t end = line.rfind(']'), device = line.find("device");
  if (end != std::string_view::npos) c.gpus.insert(std::string(after(line.substr(end), "]")));
  const auto rank = number_after(words, "Rank");
  if (!rank) return {};
  c.rank_ids.insert(*rank);
  if (const std::size_t from = line.rfind('['); from != std::string_view::npos && end != line.npos && from < end)
    c.hosts_of_address[std::string(line.substr(from, end - from))].insert(host);
  const bool names_gpu = device != std::string_view::npos && end != std::string_view::npos && device < end &&
                         line.substr(device, end - device).find("[host") == std::string_view::npos;
  return list.add(*rank, host, names_gpu ? line.substr(device, end + 1 - device) : std::string_view(), process);
}

/// `begins` a run: what the lines above the table before said of the launch is that of another.
void read_launch(const std::vector<std::string_view>& words, bool begins, LogContext& c) {
  c.several_each.clear();
  RunFacts& run = c.run;
  if (begins) run.single_process = run.launch_stated = false, run.single_stated.reset(), run.ranks_each = 0;
  std::uint64_t each = 1;
  for (std::string_view key : {"nThread", "nGpus"}) {
    const auto n = number_after(words, key);
    if (n) run.launch_stated = true;
    each *= n.value_or(1);
    if (n.value_or(1) > 1) run.single_process = true, c.several_each = std::string(key) + " " + std::to_string(*n);
  }
  if (run.launch_stated) run.ranks_each = each;
  if (run.launch_stated) run.single_stated = run.single_process;
  if (const auto graph = number_after(words, "graph:"))
    run.cuda_graph = *graph > 0 || (!begins && run.cuda_graph.value_or(false));
}

/// "# launch: 1 process, -g 8, NCCL_ALGO=RING"; `begins` as for read_launch.
void read_launch_words(std::string_view launch, const std::vector<std::string_view>& words, bool begins,
                       RunFacts& run) {
  if (begins)
    run.single_process = false, run.single_stated.reset(), run.cuda_graph.reset(), run.settings.clear(),
    run.ranks_each = 0;
  run.launch_stated = true;
  if (const auto gpus = number_after(words, "-g"); gpus && run.ranks_each == 0)
    run.ranks_each = std::uint64_t{*gpus} * number_after(words, "-t").value_or(1);
  if (launch.starts_with("1 process") || number_after(words, "-g").value_or(1) > 1)
    run.single_process = true, run.single_stated = true;
  else if (launch.find("1 rank/GPU") != std::string_view::npos && !run.single_process)
    run.single_stated = false;
  if (launch.find("CUDA graph") != std::string_view::npos) run.cuda_graph = true;
  for (std::string_view choice : {"NCCL_", "forced "}) {
    if (const std::size_t at = launch.find(choice); at != launch.npos) run.settings = launch.substr(at);
  }
}

/// Whether "22703" or "2804" (NCCL_VERSION_CODE) is the version in "NCCL 2.27.3+cuda12.9" or "NCCL 2.8.4".
bool is_code_of(std::string_view code, std::string_view library) {
  std::uint64_t parts[3] = {};
  const std::size_t at = library.find_first_of("0123456789");
  if (at == library.npos) return false;
  const char* begin = library.data() + at;
  const char* const end = library.data() + library.size();
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    const auto [rest, error] = std::from_chars(begin, end, parts[i]);
    if (error != std::errc() || parts[i] > 99) return false;
    if (i == 2) break;
    if (rest == end || *rest != '.') return false;
    begin = rest + 1;
  }
  const bool is_old = parts[0] < 2 || (parts[0] == 2 && parts[1] <= 8);
  return code == std::to_string(parts[0] * (is_old ? 1000 : 10000) + parts[1] * 100 + parts[2]);
}

/// NCCL's code of the version, where nothing else has said more of the library of this run, above or below. What was said
/// of the run before (`is_new_run`) holds for one of the same version.
void take_code(std::string_view code, bool is_new_run, RunFacts& run) {
  const Maker said = maker_of_library(run.library);
  if (said == Maker::amd) return;
  if (said != Maker::unknown && (!is_new_run || is_code_of(code, run.library))) return;
  run.library = "NCCL " + std::string(code);
}

/// Our own header comments: "# nodes: 2  gpus: 16", "# nccl: 2.27.3". AMD's libraries print NCCL's names, too.
Result<void> read_comment(std::string_view line, const std::vector<std::string_view>& words, bool is_new_run,
                          LogContext& c, const std::vector<LogTable>& tables, const std::string& where) {
  if (auto n = number_after(words, "nodes:")) TRY(take_count(c.nodes, *n, "nodes", tables, where));
  if (auto n = number_after(words, "gpus:")) TRY(take_count(c.ranks, *n, "gpus", tables, where));
  if (auto text = comment(line, "hardware:"); !text.empty()) TRY(take_hardware(c, text, where));
  if (auto text = comment(line, "source:"); !text.empty()) c.run.source = text;
  if (auto text = comment(line, "nccl:"); !text.empty() && maker_of_library(c.run.library) != Maker::amd)
    c.run.library = "NCCL " + std::string(text);
  if (auto text = after(line, "nccl-library="); !text.empty()) take_code(words_of(text).front(), is_new_run, c.run);
  return {};
}

/// The first word behind the key and a colon: "2.22.3-HEAD:1a2b3c" of "RCCL version : 2.22.3-HEAD:1a2b3c".
std::string_view version_after(std::string_view line, std::string_view key) {
  std::string_view rest = after(line, key);
  while (rest.starts_with(':') || rest.starts_with('=')) rest = trimmed(rest.substr(1));
  return rest.empty() ? rest : words_of(rest).front();
}

/// What a library or a test says that it is, with which each names the GPUs that it drives; empty: nothing.
std::string library_that_speaks(std::string_view line) {
  for (const auto& [key, name] : {std::pair("RCCL version", "RCCL "),
                                  {"NCCL version", "NCCL "},
                                  {"HIP version", "HIP "},
                                  {"ROCm version", "ROCm "},
                                  {"rccl-library", "RCCL "},
                                  {"rccl-tests: Version", "rccl-tests "}}) {
    const std::string_view version = version_after(line, key);
    if (!version.empty() && version.find_first_of("0123456789") != version.npos)
      return name + std::string(version.substr(0, 40));
  }
  return "";
}

/// Beside what the log has said before: a version where that was no more than NCCL's code; that of AMD's libraries in any
/// case, as they print NCCL's names, too.
void take_library(std::string_view line, RunFacts& run) {
  const std::string found = library_that_speaks(line);
  if (found.empty() || maker_of_library(run.library) == Maker::amd) return;
  if (maker_of_library(run.library) == Maker::unknown)
    run.library = found;
  else if (maker_of_library(found) == Maker::amd)
    run.library += ", " + found;
}

bool is_whole_number(std::string_view w) {
  return !w.empty() && w.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "# Out of bounds values : 12 FAILED": nccl-tests' own verdict on the results, and their number.
bool says_wrong(std::string_view line) {
  const auto words = words_of(after(line, "Out of bounds values"));
  const bool counted = words.size() > 1 && words[0] == ":" && whole(words[1]).value_or(0) > 0;
  return counted || (!words.empty() && line.find("FAILED") != std::string_view::npos);
}

bool is_figure(std::string_view w) {
  double value = 0;
  const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
  return w == "N/A" || (error == std::errc() && end == w.data() + w.size());
}

/// Size, count, type and bandwidths anywhere in a line: a row behind what a lost line end or a damaged first sign makes a
/// comment, as in "# Avg bus bandwidth : 93.4 8 2 float ..." and "#2768 8192 float ...".
bool holds_row(const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (bytes_of_type(words[i + 2]) == 0 || !is_whole_number(words[i + 1]) ||
        !is_whole_number(words[i].substr(words[i].size() - 1)))
      continue;
    const auto points = std::count_if(words.begin() + static_cast<std::ptrdiff_t>(i) + 3, words.end(),
                                      [](std::string_view w) { return is_figure(w) && w.find('.') != w.npos; });
    if (points >= 3) return true;
  }
  return false;
}

/// What a cut has left of a row: figures, or its size and count and a part of its type.
bool is_piece_of_row(const std::vector<std::string_view>& words) {
  if (words.empty()) return false;
  if (std::ranges::all_of(words, is_figure)) return true;
  return words.size() == 3 && is_whole_number(words[0]) && is_whole_number(words[1]);
}

/// Nothing but figures in the table's last columns, bandwidths with their points among them.
bool ends_as_row(const std::vector<std::string_view>& words, const NcclColumns& columns) {
  if (words.size() < columns.numbers()) return false;
  const auto from = words.end() - static_cast<std::ptrdiff_t>(columns.numbers());
  const auto points = std::count_if(from, words.end(), [](std::string_view w) { return w.find('.') != w.npos; });
  return points >= 2 * columns.groups && std::all_of(from, words.end(), is_figure);
}

/// A row of the table whose first fields were lost or changed: the figures of one are still there.
bool is_rest_of_row(const std::vector<std::string_view>& words, const NcclColumns& columns) {
  if (!columns.known || words.size() + 3 <= columns.numbers() || words.size() > columns.numbers() + 8) return false;
  const auto with_point = [](std::string_view w) { return is_figure(w) && (w == "N/A" || w.find('.') != w.npos); };
  return std::count_if(words.begin(), words.end(), with_point) >= 3 || ends_as_row(words, columns);
}

/// Where it begins: a prefix may stand before it, and a row may hold the sign where it was damaged.
bool is_comment(std::string_view line, const NcclColumns& columns) {
  if (line.find('#') == std::string_view::npos) return false;
  const auto words = words_of(line);
  return words.front().front() == '#' || !ends_as_row(words, columns);
}

class NcclTestsReader {
 public:
  NcclTestsReader(LineSource& lines, const LogHints& hints) : lines_(lines), hints_(hints) {}

  Result<CurveSet> read() {
    TRY(each_of_format(LogFormat::nccl_tests, lines_, [this](std::string_view line) { return scan(line); }));
    take_from_below(tables_, context_.run);
    if (listed_ > 0 && ranks_of_run_ > 0) context_.forget_list();  // of a run without a table
    context_.stated_ranks = context_.ranks, context_.stated_nodes = context_.nodes;
    context_.cut = was_cut_ || (has_launch_line_ && summary_is_due_);
    return curves_of(std::move(tables_), context_, lines_.name(), hints_);
  }

 private:
  Result<void> scan(std::string_view line) {
    if (auto header = header_of(line)) return begin_table(line, *header);
    if (starts_as_row(line)) {
      units_are_due_ = false;
      return add(line);
    }
    if (lines_.unfinished() && columns_.known && !words_of(line).empty() && whole(words_of(line)[0])) {
      return Error{"found the row '" + std::string(line.substr(0, 60)) + "', expected size, count and type",
                   lines_.position(), "the log may be truncated"};
    }
    if (says_wrong(line))
      return Error{"found '" + std::string(after(line, "#").substr(0, 60)) + "', expected results without errors",
                   lines_.position(), "the run computed wrong values: its times are of no use"};
    const auto words = words_of(line);
    if (holds_row(words) || (summary_is_due_ && is_piece_of_row(words)) ||
        (!is_comment(line, columns_) && is_rest_of_row(words, columns_)))
      return Error{"found the row '" + std::string(line.substr(0, 60)) + "', expected size, count and type first",
                   lines_.position(), "the log may be damaged"};
    return positioned(read_around(line));
  }

  Result<void> begin_table(std::string_view line, const NcclColumns& columns) {
    TRY(positioned(check_header(line)));
    columns_ = columns;
    units_are_due_ = true;
    if (tables_.size() > kMaxCurves) return Error{"found more than 1000 tables", lines_.position(), ""};
    if (std::exchange(is_other_run_, false) && !is_named_) test_ = {};
    is_named_ = false;
    tables_.push_back(table());
    TRY(end_list());
    tables_.back().run = context_.run;
    is_between_runs_ = true;
    summary_is_due_ = true;
    return {};
  }

  /// The list of the ranks of a run is whole, and is checked as such; the next run has one of its own.
  Result<void> end_list() {
    TRY(positioned(ranks_.check(context_.several_each)));
    ranks_.end();
    list_ended_ = true;
    if (listed_ == 0) return {};
    if (!has_rows(tables_)) ranks_of_run_ = hosts_of_run_ = 0;  // of a run without a table
    TRY(take_count(ranks_of_run_, std::exchange(listed_, 0), "ranks", tables_, lines_.position()));
    context_.take_list();
    const std::uint32_t hosts = context_.run.hosts;
    if (hosts > 0) TRY(take_count(hosts_of_run_, hosts, "hosts", tables_, lines_.position()));
    return check_hints(context_, lines_.name(), hints_);
  }

  Result<void> positioned(Result<void> read) const {
    return read.ok() ? read : Error{read.error().what, lines_.position(), read.error().hint};
  }

  Result<void> read_around(std::string_view line) {
    choice_.take(line);
    if (auto test = test_in(line)) test_ = std::move(*test), is_named_ = true;
    take_failure(context_, line);
    take_library(line, context_.run);
    if (line.find('#') == std::string_view::npos) return {};
    if (const std::size_t at = line.find("Avg bus bandwidth"); at != std::string_view::npos) {
      summary_is_due_ = false;
      is_other_run_ = !tables_.empty();
      note(claims_.end(line.substr(at)));
    }
    if (std::exchange(units_are_due_, false)) TRY(check_units(line));
    auto words = words_of(line);
    if (words.empty() || words[0].front() != '#') return {};
    if (words[0].size() > 1) {  // "#nodes: 2"
      words[0].remove_prefix(1);
      words.insert(words.begin(), "#");
    }
    if (words.size() == 3 && words[1] == "in-place" && words[2] == "out-of-place")
      return Error{"found the in-place columns first, expected out-of-place and then in-place", "", ""};
    if (words.size() > 2 && words[1] == "groups") {
      read_groups(line);
      return {};
    }
    if (words.size() > 2 && words[1] == "Rank") {
      is_other_run_ = !tables_.empty();
      if (std::exchange(list_ended_, false)) context_.forget_list();
      listed_ += number_after(words, "Group").value_or(0) == 0 ? 1 : 0;
      return read_rank_line(line, words, context_, ranks_);
    }
    if (words.size() > 2 && words[1] == "nThread") {
      if (has_launch_line_ && std::exchange(summary_is_due_, false)) was_cut_ = true;  // another run goes on below
      has_launch_line_ = true;
      is_other_run_ = !tables_.empty();
      read_launch(words, std::exchange(is_between_runs_, false), context_);
      TRY(claims_.read_launch(words));
      note(RunClaims::aggregated(words));
      return {};
    }
    if (const auto launch = comment(line, "launch:"); !launch.empty())
      read_launch_words(launch, words, std::exchange(is_between_runs_, false), context_.run);
    return read_comment(line, words, is_between_runs_, context_, tables_, lines_.position());
  }

  Result<void> add(std::string_view line) {
    auto row = parse_nccl_row(line, columns_);
    if (!row.ok()) return Error{row.error().what, lines_.position(), row.error().hint};
    if (tables_.empty()) {
      tables_.push_back(table());
      TRY(end_list());
    }
    note(claims_.add(*row));
    if (is_row_of_nothing(tables_, *row)) return {};
    TRY_ASSIGN(LogTable* const table, table_for(tables_, *row, lines_.position()));
    if (table->rows.empty()) table->run = context_.run;
    return add_row(*table, std::move(*row), lines_.number(), lines_.position());
  }

  LogTable table() const {
    LogTable out = groups_;
    out.kind = test_.kind, out.other_test = test_.other, out.settings = choice_.settings();
    return out;
  }

  /// collective_bench's "# groups pairs: 2 groups of 4 ranks on 1 node, all at once; concurrent with computation".
  void read_groups(std::string_view text) {
    const auto words = words_of(text.substr(0, text.find("concurrent with")));
    groups_ = {};
    if (const auto n = number_after(words, "of")) groups_.ranks = *n;
    if (const auto n = number_after(words, "on")) groups_.nodes = *n;
    const auto before = std::ranges::find_if(words, [](std::string_view w) { return w == "group" || w == "groups"; });
    const auto again = before == words.end() ? before : std::find_if(before + 1, words.end(), [](std::string_view w) {
      return w == "group" || w == "groups";
    });
    if (again != words.end()) groups_.groups_at_once = whole(*(again - 1)).value_or(0);
    if (text.find("concurrent with computation") != text.npos)
      groups_.not_used = "measured with concurrent computation";
    else if (text.find("concurrent with a") != text.npos)
      groups_.not_used = "measured with a concurrent collective";
  }

  void note(const std::string& what) {
    if (!what.empty() && context_.remarks.size() < kMostNotes)
      context_.remarks.push_back(lines_.position() + ": " + what);
  }

  LineSource& lines_;
  LogHints hints_;
  LogContext context_;
  NcclColumns columns_;
  NamedTest test_;
  LogTable groups_;  ///< of the run whose table comes next: its groups, and what ran beside them
  NcclChoice choice_;
  std::vector<LogTable> tables_;
  RankList ranks_;
  RunClaims claims_;
  std::uint32_t listed_ = 0, ranks_of_run_ = 0;  ///< rank lines since the last table; those of the run before
  std::uint32_t hosts_of_run_ = 0;               ///< of its list
  bool list_ended_ = false;                      ///< a rank is one of the list of another run
  bool is_named_ = false;                        ///< a line below the last header names the test
  bool is_other_run_ = false;                    ///< a line below it ends its run or begins another
  bool is_between_runs_ = false;                 ///< nothing below the last table says how the next run is launched
  bool has_launch_line_ = false;  ///< the first line that nccl-tests prints; a table copied without it is not cut
  bool summary_is_due_ = false, was_cut_ = false;
  bool units_are_due_ = false;  ///< in the comment after the header
};

}  // namespace

Result<CurveSet> parse_nccl_tests(LineSource& lines, const LogHints& hints) {
  return NcclTestsReader(lines, hints).read();
}

Result<CurveSet> parse_nccl_tests(std::string_view text, const std::string& file) {
  std::istringstream in{std::string(text)};
  LineSource lines(in, file);
  return parse_nccl_tests(lines);
}

}  // namespace distsim::collectives
