#include "collectives/nccl_tests_reader.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "collectives/collective_models.hpp"
#include "collectives/nccl_tests_row.hpp"

namespace distsim::collectives {

namespace {

struct NumberedRow {
  NcclRow row;
  std::size_t line;
};

struct Table {
  std::optional<CollectiveKind> kind;
  std::vector<NumberedRow> rows;
};

/// What the lines around the tables say.
struct Context {
  std::set<std::string> gpus, hosts;
  std::set<std::uint32_t> rank_ids;
  std::uint32_t ranks = 0, nodes = 0;
  bool single_process = false, cuda_graph = false;
  std::string library, hardware, source, settings;
};

std::string at_line(const std::string& file, std::size_t line) { return file + ":" + std::to_string(line); }

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
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + key.size());
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

/// "all_reduce_perf", "alltoall_perf", "sendrecv_perf -b 8 ..." -> the kind.
std::optional<CollectiveKind> kind_in(std::string_view text) {
  for (std::size_t at = text.find("_perf"); at != std::string_view::npos; at = text.find("_perf", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (std::isalpha(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_')) --begin;
    if (auto kind = parse_collective(text.substr(begin, at - begin)); kind.ok()) return *kind;
  }
  return std::nullopt;
}

/// A file called "a100_2n16g_all_reduce_x.txt" says its collective; the longest name wins (all_reduce before reduce).
std::optional<CollectiveKind> kind_of_file_name(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  for (std::string_view word : {"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "alltoall", "all_to_all", "broadcast", "sendrecv"}) {
    if (name.find(word) != std::string_view::npos) {
      if (auto kind = parse_collective(word); kind.ok()) return *kind;
    }
  }
  return std::nullopt;
}

/// "#  Rank  0 Group  0 Pid 1823 on hostname device  0 [0000:06:00] NVIDIA A100"
void read_rank_line(std::string_view line, const std::vector<std::string_view>& words, Context& c) {
  if (const auto rank = number_after(words, "Rank")) c.rank_ids.insert(*rank);
  const auto on = std::find(words.begin(), words.end(), "on");
  if (on != words.end() && on + 1 != words.end()) c.hosts.insert(std::string(*(on + 1)));
  if (const std::size_t end = line.rfind(']'); end != std::string_view::npos) c.gpus.insert(std::string(after(line.substr(end), "]")));
}

void read_launch(const std::vector<std::string_view>& words, Context& c) {
  for (std::string_view key : {"nThread", "nGpus"}) {
    if (number_after(words, key).value_or(1) > 1) c.single_process = true;
  }
  if (number_after(words, "graph:").value_or(0) > 0) c.cuda_graph = true;
}

/// Our own header comments: "# nodes: 2  gpus: 16", "# launch: 1 process, -g 8".
void read_comment(std::string_view line, const std::vector<std::string_view>& words, Context& c) {
  if (auto n = number_after(words, "nodes:")) c.nodes = *n;
  if (auto n = number_after(words, "gpus:")) c.ranks = *n;
  if (auto text = after(line, "# hardware:"); !text.empty()) c.hardware = text;
  if (auto text = after(line, "# source:"); !text.empty()) c.source = text;
  if (auto text = after(line, "# nccl:"); !text.empty()) c.library = "NCCL " + std::string(text);
  if (auto text = after(line, "nccl-library="); !text.empty()) c.library = "NCCL " + std::string(words_of(text).front());
  const auto launch = after(line, "# launch:");
  if (launch.empty()) return;
  if (launch.starts_with("1 process") || number_after(words, "-g").value_or(1) > 1) c.single_process = true;
  if (launch.find("CUDA graph") != std::string_view::npos) c.cuda_graph = true;
  if (const std::size_t at = launch.find("NCCL_"); at != std::string_view::npos) c.settings = launch.substr(at);
  if (const std::size_t at = launch.find("forced "); at != std::string_view::npos) c.settings = launch.substr(at);
}

bool agrees(double printed, double expected) {
  return std::abs(printed - expected) <= 0.0101 + 0.02 * expected;  // two decimals; times above 10 ms are whole microseconds
}

/// A row that contradicts itself. `old` tables of all_gather and reduce_scatter printed algbw in both columns.
bool contradicts(const NcclRow& r, CollectiveKind kind, std::uint32_t ranks) {
  if (r.wrong > 0.1 || !std::isfinite(r.algbw) || !std::isfinite(r.busbw)) return true;
  if (!agrees(r.algbw, r.bytes / r.time_us / 1000)) return true;
  if (ranks < 2) return false;
  if (agrees(r.busbw, r.algbw * busbw_factor(kind, ranks))) return false;
  const bool half = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
  return !(half && r.busbw == r.algbw);
}

/// Ranks from the bus factor of the largest sizes, where the log lists no ranks: all_reduce prints 2(n-1)/n, so n = 2 / (2 - factor).
std::uint32_t ranks_from_factor(const Table& table) {
  const auto best = std::max_element(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) { return a.row.algbw < b.row.algbw; });
  const double factor = best->row.busbw / best->row.algbw;
  if (!(best->row.algbw > 1) || !table.kind) return 0;
  const bool twice = *table.kind == CollectiveKind::all_reduce;
  const double rest = twice ? 2 - factor : 1 - factor;
  const double n = (twice ? 2 : 1) / rest;
  return rest > 0.02 && n >= 1.9 && n < 64 ? static_cast<std::uint32_t>(std::lround(n)) : 0;  // finer than the printed decimals can tell beyond that
}

Result<CurvePoint> point_of(const std::vector<const NcclRow*>& same_size) {
  std::vector<double> times;
  for (const NcclRow* r : same_size) times.push_back(r->time_us);
  std::sort(times.begin(), times.end());
  const std::size_t n = times.size();
  const double median = n % 2 == 1 ? times[n / 2] : 0.5 * (times[n / 2 - 1] + times[n / 2]);
  return CurvePoint{same_size.front()->bytes, median, n > 1 ? times.front() : 0, n > 1 ? times.back() : 0};
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<CurveSet> read() {
    TRY(check_text());
    TRY(scan());
    if (context_.gpus.size() > 1) {
      return Error{"found two kinds of GPU in one log: '" + *context_.gpus.begin() + "' and '" + *std::next(context_.gpus.begin()) + "', expected one", file_, ""};
    }
    std::erase_if(tables_, [](const Table& t) { return t.rows.empty(); });
    if (tables_.empty()) return Error{"found no rows of an nccl-tests table", file_, "empty log or failed run?"};
    if (tables_.size() > kMaxCurves) return Error{"found " + std::to_string(tables_.size()) + " tables, expected at most 1000", file_, ""};
    CurveSet out;
    out.hardware = !context_.hardware.empty() ? context_.hardware : context_.gpus.empty() ? "" : *context_.gpus.begin();
    for (Table& table : tables_) {
      TRY_ASSIGN(Curve curve, curve_of(table));
      out.curves.push_back(std::move(curve));
    }
    return out;
  }

 private:
  Result<void> check_text() const {
    if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF") || text_.substr(0, 4096).find('\0') != std::string_view::npos) {
      return Error{"found UTF-16 or binary text, expected plain text", file_, "convert it: iconv -f UTF-16 -t UTF-8"};
    }
    return {};
  }

  Result<void> scan() {
    std::size_t begin = 0, line = 0;
    while (begin < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      TRY(scan_line(text_.substr(begin, end - begin), ++line));
      begin = end + 1;
    }
    return {};
  }

  Result<void> scan_line(std::string_view raw, std::size_t number) {
    std::string_view line = without_prefix(raw.substr(0, 4096));
    if (auto header = header_of(line)) {
      columns_ = *header;
      tables_.push_back({kind_, {}});
      return {};
    }
    if (starts_as_row(line)) return add_row(line, number);
    if (raw.data() + raw.size() == text_.data() + text_.size() && columns_.known && !words_of(line).empty() && whole(words_of(line)[0])) {
      return Error{"found the row '" + std::string(line.substr(0, 60)) + "', expected size, count and type", at_line(file_, number), "the log may have been cut"};
    }
    read_around(line);
    return {};
  }

  void read_around(std::string_view line) {
    const auto words = words_of(line);
    if (auto kind = kind_in(line)) kind_ = kind;
    if (words.empty() || words[0] != "#") return;
    if (words.size() > 2 && words[1] == "Rank") return read_rank_line(line, words, context_);
    if (words.size() > 2 && words[1] == "nThread") return read_launch(words, context_);
    read_comment(line, words, context_);
  }

  Result<void> add_row(std::string_view line, std::size_t number) {
    auto row = parse_nccl_row(line, columns_);
    if (!row.ok()) return Error{row.error().what, at_line(file_, number), row.error().hint};
    if (tables_.empty()) tables_.push_back({kind_, {}});
    if (row->bytes == 0) return {};  // sizes too small for the number of ranks are printed as 0
    if (!(std::isfinite(row->time_us) && row->time_us > 0 && row->time_us < 1e12)) {
      return Error{"time: found " + std::to_string(row->time_us) + ", expected a positive number of microseconds", at_line(file_, number), ""};
    }
    auto& rows = tables_.back().rows;
    if (rows.size() >= kMaxCurvePoints) return Error{"found more than 4096 rows in one table", at_line(file_, number), ""};
    if (!rows.empty() && row->bytes < rows.back().row.bytes) {
      return Error{"size: found " + std::to_string(static_cast<std::uint64_t>(row->bytes)) + " after a larger one, expected ascending sizes", at_line(file_, number), ""};
    }
    rows.push_back({std::move(*row), number});
    return {};
  }

  Result<CollectiveKind> kind_of(const Table& table) const {
    if (table.kind) return *table.kind;
    if (auto kind = kind_of_file_name(file_)) return *kind;
    return Error{"found no collective's name in the log, expected e.g. '# Collective test starting: all_reduce_perf'", at_line(file_, table.rows.front().line),
                 "name it in the file name: all_reduce.log"};
  }

  Result<Curve> curve_of(Table& table) const {
    Curve c;
    TRY_ASSIGN(c.kind, kind_of(table));
    table.kind = c.kind;
    c.ranks = context_.ranks != 0 ? context_.ranks : static_cast<std::uint32_t>(context_.rank_ids.size());
    if (c.ranks == 0) c.ranks = ranks_from_factor(table);
    if (c.ranks < 2) return Error{"found no number of ranks in the log, expected '#  Rank  0 ...' lines", at_line(file_, table.rows.front().line), ""};
    c.nodes = context_.nodes != 0 ? context_.nodes : static_cast<std::uint32_t>(context_.hosts.size());
    c.single_process = context_.single_process;
    c.cuda_graph = context_.cuda_graph;
    c.library = context_.library;
    c.settings = context_.settings;
    c.source = context_.source.empty() ? file_ : context_.source;
    c.label = file_.substr(file_.find_last_of('/') + 1);
    TRY(fill_points(table, c));
    return c;
  }

  Result<void> fill_points(const Table& table, Curve& c) const {
    std::vector<const NcclRow*> same_size;
    std::size_t first_bad = 0;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const NcclRow& row = table.rows[i].row;
      if (contradicts(row, c.kind, c.ranks)) {
        if (++c.flagged == 1) first_bad = table.rows[i].line;
      } else {
        same_size.push_back(&row);
      }
      const bool last = i + 1 == table.rows.size() || table.rows[i + 1].row.bytes != row.bytes;
      if (!last || same_size.empty()) continue;
      TRY_ASSIGN(CurvePoint point, point_of(same_size));
      c.points.push_back(point);
      same_size.clear();
    }
    if (2 * std::size_t{c.flagged} > table.rows.size()) {
      return Error{"found " + std::to_string(c.flagged) + " of " + std::to_string(table.rows.size()) + " rows that contradict themselves, as " + std::string(name_of(c.kind)) + " of " +
                       std::to_string(c.ranks) + " ranks", at_line(file_, first_bad), "algbw is size / time; busbw is algbw times the collective's factor"};
    }
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  Context context_;
  NcclColumns columns_;
  std::optional<CollectiveKind> kind_;
  std::vector<Table> tables_;
};

}  // namespace

Result<CurveSet> parse_nccl_tests(std::string_view text, const std::string& file) { return Reader(text, file).read(); }

}  // namespace distsim::collectives
