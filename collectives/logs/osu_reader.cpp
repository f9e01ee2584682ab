#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "collectives/logs/log_tables.hpp"

namespace distsim::collectives {

namespace {

struct Test {
  const char* words;  ///< of the title line between the library and "Latency Test"
  graph::CollectiveKind kind;
  bool per_rank;         ///< the size is a rank's or destination's part
  bool is_pair = false;  ///< between two processes, and no others
};

// All of them, and no others: a Scan, a Put or a non-blocking Iallreduce is a different test with a similar title.
constexpr Test kTests[] = {{"Allreduce", graph::CollectiveKind::all_reduce, false},
                           {"Reduce_scatter", graph::CollectiveKind::reduce_scatter, false},
                           {"Reduce-Scatter", graph::CollectiveKind::reduce_scatter, false},
                           {"Allgather", graph::CollectiveKind::all_gather, true},
                           {"All-to-All Personalized Exchange", graph::CollectiveKind::all_to_all, true},
                           {"All-to-All", graph::CollectiveKind::all_to_all, true},
                           {"Alltoall", graph::CollectiveKind::all_to_all, true},
                           {"Broadcast", graph::CollectiveKind::broadcast, false},
                           {"Bcast", graph::CollectiveKind::broadcast, false},
                           {"Gather", graph::CollectiveKind::gather, true},
                           {"Scatter", graph::CollectiveKind::scatter, true},
                           {"Reduce", graph::CollectiveKind::reduce, false},
                           {"", graph::CollectiveKind::send_recv, false, true},
                           {"Multi", graph::CollectiveKind::send_recv, false}};

/// "MPI", "MPI-CUDA", "NCCL", but not "MPI_Put", which is a test.
bool is_library(std::string_view word) {
  return std::ranges::any_of(
      std::array<std::string_view, 4>{"MPI", "NCCL", "RCCL", "XCCL"}, [&](std::string_view name) {
        return word.starts_with(name) && (word.size() == name.size() || word[name.size()] == '-');
      });
}

/// "MPI-CUDA" and "Allreduce" of "# OSU MPI-CUDA Allreduce Latency Test v5.7".
struct Title {
  std::string_view library, test;
};

/// Nothing where the title is of another form.
std::optional<Title> title_of_line(std::string_view line) {
  constexpr std::string_view kBegin = "# OSU ", kEnd = "Latency Test";
  const std::size_t begin = line.find(kBegin), end = line.rfind(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin + kBegin.size())
    return std::nullopt;
  std::string_view rest = line.substr(begin + kBegin.size(), end - begin - kBegin.size());
  const std::size_t library = rest.find(' ');
  if (library == std::string_view::npos || !is_library(rest.substr(0, library))) return std::nullopt;
  Title title{rest.substr(0, library), rest.substr(library + 1)};
  while (title.test.ends_with(' ')) title.test.remove_suffix(1);
  return title;
}

std::optional<double> osu_number(std::string_view word) {
  double v = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return v;
}

std::uint32_t count_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto it = std::find(words.begin(), words.end(), key);
  if (it == words.end() || it + 1 == words.end()) return 0;
  const auto v = osu_number(*(it + 1));
  return v && *v >= 1 && *v <= kMaxCurveRanks ? static_cast<std::uint32_t>(*v) : 0;
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

bool is_whole(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "1O24", "32M", "x1024", but not "real" and "node01".
bool is_like_a_number(std::string_view word) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !word.empty() &&
         (digit(word[0]) || 2 * static_cast<std::size_t>(std::count_if(word.begin(), word.end(), digit)) > word.size());
}

/// Of a row's validation.
constexpr std::array<std::string_view, 2> kVerdicts{"Pass", "Fail"};
bool is_verdict(std::string_view word) { return std::ranges::find(kVerdicts, word) != kVerdicts.end(); }

/// Where in a line another begins, whose line end before it was lost; npos: nowhere.
std::size_t begin_of_next(std::string_view line) { return std::min(line.find("# OSU ", 1), line.find("# Size", 1)); }

/// The fields of a row by the words of its header behind "Size": a column for each unit, and for each name without one.
/// Errors (no position): figures, which are of the row below it.
Result<std::size_t> fields_of(std::span<const std::string_view> names) {
  std::size_t fields = 1;
  bool in_name = false;
  for (std::string_view word : names) {
    if (word.front() == '(' && fields == 1 && !in_name) continue;  // of the sizes
    const std::size_t unit = word.find('(');
    const bool is_name = !is_whole(word.substr(0, 1)) && (unit == word.npos || word.ends_with(')'));
    if (!is_name)
      return Error{"found " + in_quotes(word, 40) + " in the header of a table, expected names and units", "",
                   "a line end may be lost"};
    const bool stands_alone = word == "Iterations" || word == "Validation";
    fields += unit != word.npos || stands_alone ? 1 : 0;
    in_name = unit == word.npos && !stands_alone;
  }
  return fields + (in_name ? 1 : 0);
}

constexpr const char* kHostBuffers = "host buffers, not GPU memory";

class OsuReader {
 public:
  OsuReader(LineSource& lines, const LogHints& hints) : lines_(lines), hints_(hints) {}

  Result<CurveSet> read() {
    TRY(each_of_format(LogFormat::osu, lines_, [this](std::string_view line) { return scan_joined(line); }));
    take_from_below(tables_, context_.run);
    take_shape();
    TRY(check_pair());
    TRY(scale_sizes());
    return curves_of(std::move(tables_), context_, lines_.name(), hints_);
  }

 private:
  Result<void> scan_joined(std::string_view line) {
    for (std::size_t next = begin_of_next(line); next != line.npos; next = begin_of_next(line)) {
      TRY(scan(line.substr(0, next)));
      line.remove_prefix(next);
    }
    return scan(line);
  }

  Result<void> scan(std::string_view line) {
    if (line.starts_with("# OSU ")) return start(line);
    const auto words = words_of(line);
    if (words.empty()) return {};
    if (words[0] == "#") {
      return read_comment(line, words);
    }
    if (!osu_number(words[0])) {
      if (fields_ > 0 && (is_rest_of_row(words) || stands_as_row(line, words) || is_end_of_row(words)))
        return damaged(line);
      take_failure(context_, line);
      if (context_.failure.empty() && line.find("rror") != std::string_view::npos)
        context_.failure = std::string(line.substr(0, 120));
      return {};
    }
    TRY(check_end(end_of(line, words.back())));
    TRY(add(words));
    if (words.size() > 1) time_ends_ = end_of(line, words[1]);
    return {};
  }

  /// Rows are aligned on the right: where all have ended in one column, the last line of a file that ends before it is cut.
  Result<void> check_end(std::size_t end) {
    constexpr int kFew = 3;
    if (lines_.unfinished() && rows_of_one_end_ >= kFew && end < row_ends_)
      return Error{
          "found a row that ends " + counted(row_ends_ - end, "character") + " before those above, expected all of it",
          lines_.position(), "the log may be truncated"};
    rows_of_one_end_ = rows_of_one_end_ == 0 || end == row_ends_ ? rows_of_one_end_ + 1 : INT_MIN;
    row_ends_ = end;
    return {};
  }

  Error damaged(std::string_view line) const {
    return {"found the row '" + std::string(line.substr(0, 60)) + "', expected size and latency first",
            lines_.position(), "the log may be damaged"};
  }

  static std::size_t end_of(std::string_view line, std::string_view word) {
    return static_cast<std::size_t>(word.data() + word.size() - line.data());
  }

  /// As many fields as a row, figures behind the first word, whatever that is. Below a row, "real 12.53" has as many as one of
  /// two, but not in their places; "Mem: 1031 200 300 400" has no time, which is printed with decimals.
  bool stands_as_row(std::string_view line, std::vector<std::string_view> words) const {
    if (words.size() < 2 || words.size() != fields_) return false;
    if (words[1].find('.') == std::string_view::npos) return false;
    if (words.size() == 2 && time_ends_ != 0 && end_of(line, words[1]) != time_ends_) return false;
    if (is_verdict(words.back())) words.pop_back();
    return std::all_of(words.begin() + 1, words.end(), [](std::string_view w) { return osu_number(w).has_value(); });
  }

  Result<void> read_comment(std::string_view line, const std::vector<std::string_view>& words) {
    if (const auto n = count_after(words, "nodes:"))
      TRY(take_count(context_.nodes, n, "nodes", tables_, lines_.position()));
    for (std::string_view key : {"ranks:", "gpus:", "processes:"}) {
      if (const auto n = count_after(words, key))
        TRY(take_count(context_.ranks, n, "ranks", tables_, lines_.position()));
    }
    if (const auto pairs = count_after(words, "pairs:"))  // "# [ pairs: 4 ] [ window size: 64 ]"
      TRY(take_count(context_.ranks, 2 * pairs, "ranks", tables_, lines_.position()));
    if (line.find("Send Buffer on") != std::string_view::npos) take_buffers(line);
    if (words.size() > 2 && (words[1] == "hardware:" || words[1] == "source:")) {
      const std::string_view text(words[2].data(), words.back().data() + words.back().size());
      if (words[1] == "source:")
        context_.run.source = text;
      else
        TRY(take_hardware(context_, text, lines_.position()));
    }
    if (words.size() > 2 && words[1] == "Size") return read_header(line, words);
    const bool in_table = !tables_.empty() && !tables_.back().rows.empty();
    return in_table && is_rest_of_row(words) ? damaged(line) : Result<void>();
  }

  /// "# Size       Avg Latency(us)   Min Latency(us)  Max Latency(us)  Iterations", "# Size          Latency (us)",
  /// "# Size (B)  ...": the names and units of what is read.
  Result<void> read_header(std::string_view line, const std::vector<std::string_view>& words) {
    TRY(check_names(line));
    const auto fields = fields_of(std::span(words).subspan(2));
    if (!fields.ok()) return Error{fields.error().what, lines_.position(), fields.error().hint};
    fields_ = *fields;
    full_ = line.find("Min Latency") != std::string_view::npos;
    validated_ = words.back() == "Validation";
    return {};
  }

  Result<void> check_names(std::string_view line) const {
    std::string_view first;  // of the times
    for (std::size_t at = line.find('('), before = line.find("Size"); at != std::string_view::npos;
         at = line.find('(', at + 1)) {
      const std::string_view name = without_blanks(line.substr(before, at - before));
      const std::string_view unit = line.substr(at + 1, line.find(')', at) - at - 1);
      before = std::min(line.size(), at + unit.size() + 2);
      if (name == "Size") {
        if (unit != "B" && unit != "bytes" && unit != "Bytes") return other_unit("Size", unit, "B");
        continue;
      }
      if (name.ends_with("Latency") && unit != "us" && unit != "usec") return other_unit("Latency", unit, "us");
      if (first.empty()) first = name.starts_with("Size") ? without_blanks(name.substr(4)) : name;
    }
    if (first.empty() || first == "Latency" || first == "Avg Latency") return {};
    return Error{"found " + in_quotes(first, 40) + " as the first column of times, expected Latency or Avg Latency",
                 lines_.position(), ""};
  }

  Error other_unit(const char* column, std::string_view found, const char* expected) const {
    return {std::string(column) + ": found the unit " + in_quotes(found, 20) + ", expected " + expected,
            lines_.position(), ""};
  }

  /// "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)", below the title of a table.
  void take_buffers(std::string_view line) {
    std::size_t on_device = 0;
    for (std::size_t at = line.find("Buffer on DEVICE"); at != std::string_view::npos;
         at = line.find("Buffer on DEVICE", at + 1))
      ++on_device;
    const char* why = on_device >= 2                                   ? ""
                      : line.find("MANAGED") != std::string_view::npos ? "managed memory, not GPU memory"
                      : on_device == 1 ? "one buffer in host memory, not both in GPU memory"
                                       : kHostBuffers;
    if (tables_.empty() || !tables_.back().rows.empty())
      buffers_ = why;
    else
      tables_.back().not_used = why;
  }

  Result<void> start(std::string_view line) {
    for (std::string_view other : {"Bandwidth", "Message Rate", "Barrier"}) {
      if (line.find(other) != std::string_view::npos) {
        return Error{"found '" + std::string(line.substr(0, 80)) + "', expected a test that reports latency by size",
                     lines_.position(), ""};
      }
    }
    const auto title = title_of_line(line);
    const auto test = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const Test& t) { return title && title->test == t.words; });
    if (test == std::end(kTests))
      return Error{"found '" + std::string(line.substr(0, 80)) +
                       "', expected a blocking collective or a latency test between two ranks",
                   lines_.position(), ""};
    bool on_device = false;
    for (std::string_view device : {"MPI-CUDA", "MPI-ROCM", "MPI-ROCm", "MPI-OPENACC", "MPI-SYCL", "CCL"})
      on_device = on_device || line.find(device) != std::string_view::npos;
    const std::size_t version = line.rfind(" v");
    // NCCL, RCCL and XCCL move what MPI only starts.
    const bool moved_by_mpi = title->library.starts_with("MPI");
    if (title->library.starts_with("XCCL"))
      context_.remarks.push_back(lines_.position() +
                                 ": XCCL stands for NCCL, RCCL and oneCCL alike: taken for that of the system's GPUs");
    const std::size_t behind = line.rfind("Latency Test") + std::string_view("Latency Test").size();
    const auto rest = words_of(line.substr(behind));
    if (std::ranges::any_of(rest, [](std::string_view w) { return osu_number(w).has_value(); }))
      return Error{"found " + in_quotes(line.substr(behind), 40) + " behind the title of a test, expected its version",
                   lines_.position(), "a line end may be lost"};
    context_.run.library = "OSU " +
                           (version == std::string_view::npos ? "" : std::string(line.substr(version + 1, 12))) + ", " +
                           std::string(title->library.substr(0, 20));
    tables_.push_back({test->kind, {}});
    if (moved_by_mpi) tables_.back().settings = "MPI";
    tables_.back().run = context_.run;
    tables_.back().not_used = buffers_.value_or(on_device ? "" : kHostBuffers);
    buffers_.reset();
    per_rank_.push_back(test->per_rank);
    if (test->is_pair && pair_.empty()) pair_ = lines_.position();
    all_pairs_ = all_pairs_ && test->is_pair;
    full_ = validated_ = empty_seen_ = false;
    fields_ = 2;
    time_ends_ = 0;
    rows_of_one_end_ = 0;
    return {};
  }

  /// What a cut or a lost line end has left of a row with a verdict: "34.31 Pass", "ss".
  bool is_end_of_row(const std::vector<std::string_view>& words) const {
    if (!validated_) return false;
    if (words.size() == 1)
      return std::ranges::any_of(kVerdicts, [&](std::string_view v) { return v.ends_with(words[0]); });
    return is_verdict(words.back());
  }

  /// A row with something in front of it ("WARN 1024 5.5"), or whose size was changed ("1O24 5.5", "32M 5.5").
  bool is_rest_of_row(std::vector<std::string_view> words) const {
    if (is_verdict(words.back())) words.pop_back();
    const std::size_t least = full_ ? 4 : 2;
    std::size_t figures = 0;
    while (figures < words.size() && osu_number(words[words.size() - 1 - figures])) ++figures;
    if (figures == words.size()) return false;
    if (words.size() == figures + 1 && words.size() >= least && is_like_a_number(words[0])) return true;
    for (std::size_t i = words.size() - figures; i + least <= words.size(); ++i) {
      if (is_whole(words[i]) && words[i + 1].find('.') != std::string_view::npos) return true;
    }
    return false;
  }

  Result<void> add(const std::vector<std::string_view>& words) {
    if (tables_.empty()) return {};
    TRY(check_fields(words));
    NcclRow row;
    row.no_bandwidth = true;
    row.bytes = *osu_number(words[0]);
    const auto time = words.size() > 1 ? osu_number(words[1]) : std::nullopt;
    if (!time || row.bytes < 0 || row.bytes != std::floor(row.bytes))
      return Error{"found a row without them, expected size and latency", lines_.position(), ""};
    if (row.bytes == 0 && tables_.back().rows.empty() && !std::exchange(empty_seen_, true)) return leave_out_empty();
    row.time_us = *time;
    if (words.back() == "Fail")
      return Error{"found a row whose validation failed, expected results without errors", lines_.position(),
                   "the run computed wrong values: its times are of no use"};
    if (full_) {
      row.low_us = osu_number(words[2]).value_or(0);
      row.high_us = osu_number(words[3]).value_or(0);
      if (!(row.low_us > 0 && row.low_us <= row.time_us && row.high_us >= row.time_us && row.high_us < 1e12)) {
        return Error{"latency: found an average outside its minimum and maximum, expected " +
                         std::string(words[2].substr(0, 20)) + " .. " + std::string(words[3].substr(0, 20)),
                     lines_.position(), ""};
      }
      const auto iterations = words.size() > 4 ? osu_number(words[4]) : std::nullopt;
      if (iterations && *iterations < 1)
        return Error{"Iterations: found " + std::string(words[4].substr(0, 20)) + ", expected at least 1",
                     lines_.position(), "the time is of no call"};
    }
    if (tables_.back().rows.empty()) tables_.back().run = context_.run;
    return add_row(tables_.back(), std::move(row), lines_.number(), lines_.position());
  }

  /// The header tells the fields of a row.
  Result<void> check_fields(const std::vector<std::string_view>& words) const {
    if (words.size() != fields_)
      return Error{"found a row of " + counted(words.size(), "field") + ", expected " + std::to_string(fields_) +
                       ", those of its header",
                   lines_.position(), words.size() < fields_ ? "the table may be truncated" : "a line end may be lost"};
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_last = validated_ && i + 1 == words.size();
      if (is_last ? is_verdict(words[i]) : osu_number(words[i]).has_value()) continue;
      return Error{
          "found " + in_quotes(words[i], 40) + " in a row, expected " + (is_last ? "Pass or Fail" : "a number"),
          lines_.position(), "the log may be damaged"};
    }
    return {};
  }

  /// A message of no bytes has no place in a curve. Tests between two processes begin with one, those of collectives do not.
  Result<void> leave_out_empty() {
    if (tables_.back().kind != graph::CollectiveKind::send_recv)
      context_.remarks.push_back(lines_.position() + ": left out: a row of 0 bytes");
    return {};
  }

  void take_shape() {
    take_stated_shape(context_, lines_.name());
    if (hints_.ranks != 0) context_.ranks = hints_.ranks;
    if (!tables_.empty() && all_pairs_ && context_.ranks == 0) context_.ranks = 2;
  }

  Result<void> check_pair() const {
    if (pair_.empty() || context_.ranks == 2) return {};
    return Error{
        "ranks: found " + std::to_string(context_.ranks) + ", expected 2: a Latency Test is between two processes",
        pair_, ""};
  }

  Result<void> scale_sizes() {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      if (!per_rank_[i]) continue;
      for (NumberedRow& r : tables_[i].rows) {
        r.row.bytes *= std::max(1u, context_.ranks);
        TRY(check_size(r.row.bytes, lines_.name() + ":" + std::to_string(r.line)));
      }
    }
    return {};
  }

  LineSource& lines_;
  LogHints hints_;
  LogContext context_;
  std::vector<LogTable> tables_;
  std::vector<bool> per_rank_;
  std::optional<std::string> buffers_;  ///< what a line above a title says of them: as Curve::not_used
  std::string pair_;                    ///< where the title of a test between two processes stands
  bool all_pairs_ = true;               ///< no table is of a test between others
  bool full_ = false;
  bool validated_ = false;     ///< rows end with a verdict
  bool empty_seen_ = false;    ///< the row of no bytes
  std::size_t fields_ = 0;     ///< of a row, by its header; 0: no title yet
  std::size_t time_ends_ = 0;  ///< of the row before: where its time ends in the line; 0: none is before
  std::size_t row_ends_ = 0;   ///< and where it ends
  int rows_of_one_end_ = 0;    ///< of this table, as long as all end in one column; else negative
};

}  // namespace

Result<CurveSet> parse_osu(LineSource& lines, const LogHints& hints) { return OsuReader(lines, hints).read(); }

}  // namespace distsim::collectives
