#include "traces/build/device_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/build/device_columns.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/build/rank_builder.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kHeaderWithin = 200;  // lines
constexpr std::uint64_t kLargest = std::uint64_t{8} << 30;
constexpr std::size_t kMostWarnings = 5;
constexpr std::int64_t kFarthest = INT64_MAX / 4;  // a start and a duration still add up

/// By how much a copy's size over its duration may differ from the throughput beside them, which the programs round and
/// count in powers of 1000 or of 1024.
constexpr double kThroughputTolerance = 0.15;

std::optional<double> csv_number(const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(v) && std::fabs(v) < 2e18
             ? std::optional<double>(v)
             : std::nullopt;
}

/// How far off a printed number may be, over itself: 0.001 stands for 0.0005 as well, which is half of it.
double rounding_of(const std::string& text) {
  const std::size_t point = text.find('.');
  const auto v = csv_number(text);
  const std::size_t decimals = point == std::string::npos ? 0 : text.size() - point - 1;
  return v && *v != 0 ? 0.5 * std::pow(10, -static_cast<double>(decimals)) / std::fabs(*v) : 0;
}

/// Exact for whole nanoseconds, which a double may not hold.
std::optional<std::int64_t> csv_scaled(const std::string& text, double unit) {
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (unit == 1 && error == std::errc() && end == text.data() + text.size() && whole > -kFarthest && whole < kFarthest)
    return whole;
  const auto v = csv_number(text);
  return v && std::fabs(*v * unit) < 2e18 ? std::optional<std::int64_t>(std::llround(*v * unit)) : std::nullopt;
}

std::int64_t csv_whole(const std::vector<std::string>& row, const std::optional<std::size_t>& column) {
  return column ? csv_scaled(row[*column], 1).value_or(0) : 0;
}

/// "NVIDIA A100-SXM4-40GB (3)" -> 3, and "3" -> 3; nothing where there is no number.
std::optional<std::uint32_t> csv_device(const std::string& text) {
  const std::size_t open = text.rfind('(');
  std::uint32_t n = 0;
  const std::size_t from = open == std::string::npos ? 0 : open + 1;
  const auto [end, error] = std::from_chars(text.data() + from, text.data() + text.size(), n);
  return error == std::errc() ? std::optional(n) : std::nullopt;
}

CopyDirection csv_direction(std::string_view name) {
  const auto has = [&](std::string_view w) { return name.find(w) != std::string_view::npos; };
  if (has("Host-to-Device") || has("HtoD")) return CopyDirection::host_to_device;
  if (has("Device-to-Host") || has("DtoH")) return CopyDirection::device_to_host;
  if (has("Device-to-Device") || has("DtoD")) return CopyDirection::device_to_device;
  if (has("Peer-to-Peer") || has("PtoP")) return CopyDirection::peer_to_peer;
  return CopyDirection::unknown;
}

/// Of "==4242== ...", what nvprof says between the rows of process 4242. Nothing where no process is named. REQUIRES: a line
/// that begins with "==".
std::optional<std::uint64_t> process_of_remark(std::string_view line) {
  std::uint64_t process = 0;
  const char* last = line.data() + line.size();
  const auto [end, error] = std::from_chars(line.data() + 2, last, process);
  if (error != std::errc() || !std::string_view(end, last).starts_with("== ")) return std::nullopt;
  return process;
}

constexpr std::string_view kUnified = "[Unified Memory ", kUnifiedOfNsys = "[CUDA Unified Memory ";

/// Pages that move when they are touched, on no stream.
bool is_unified(std::string_view name) { return name.starts_with(kUnified) || name.starts_with(kUnifiedOfNsys); }

/// "[CUDA memcpy HtoD]", nvprof's "[Unified Memory Memcpy HtoD]" and nsys' "[CUDA Unified Memory memcpy HtoD]".
DeviceRecordKind csv_kind(std::string_view name) {
  for (const std::string_view start : {std::string_view("[CUDA "), kUnifiedOfNsys, kUnified}) {
    if (!name.starts_with(start)) continue;
    const std::string_view what = name.substr(start.size());
    if (what.starts_with("memset") || what.starts_with("Memset")) return DeviceRecordKind::memset;
    if (what.starts_with("memcpy") || what.starts_with("Memcpy")) return DeviceRecordKind::memcpy;
  }
  return DeviceRecordKind::kernel;
}

/// "[Unified Memory GPU page faults]", "[Unified Memory CPU page faults]", "[Unified Memory thrashing]": kernels wait for
/// them, so that their time is within that of those.
bool is_unified_event(std::string_view name) {
  return name.starts_with(kUnified) && csv_kind(name) == DeviceRecordKind::kernel;
}

/// "kernel(int) [106]" -> 106, and the name without it; 0: no number behind the name.
std::uint64_t take_correlation(std::string_view& name) {
  const std::size_t open = name.rfind(" [");
  if (open == std::string_view::npos || open == 0 || !name.ends_with(']')) return 0;
  std::uint64_t id = 0;
  const char* last = name.data() + name.size() - 1;
  const auto [end, error] = std::from_chars(name.data() + open + 2, last, id);
  if (error != std::errc() || end != last) return 0;
  name = name.substr(0, open);
  return id;
}

class DeviceCsv {
 public:
  DeviceCsv(const DeviceCsvFormat& format, const TraceFile& file, TraceJob& job)
      : format_(format), file_(file), job_(job), geometries_(job) {}

  Result<std::vector<ReadRank>> read(std::string_view text) {
    std::size_t begin = 0, lines = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = text.substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      begin = end + 1;
      ++lines;
      note_warning(line);
      line_ = lines;
      if (line.starts_with("==")) {
        take_remark(line);
        continue;
      }
      if (columns_)
        row(line, end == text.size());
      else if (!titles_.empty())
        columns_ = below(titles_, split_csv_line(line)), process_ = said_of_;
      else if (lines > kHeaderWithin)
        break;
      else if (format_.is_header(line))
        header(split_csv_line(line));
    }
    const std::string expected(format_.expected);
    headers_again_ += header_open_ ? 1 : 0;
    if (columns_ && columns_->wrong.empty()) columns_->wrong = of_two_outputs();
    if (columns_ && !columns_->wrong.empty()) return Error{columns_->wrong, file_.path, ""};
    if (!columns_)
      return Error{"found no header with the columns Start, Duration and Name, expected " + expected, file_.path, ""};
    if (builders_.empty() && no_gpu_ > 0) return no_gpu_in(file_.path, no_gpu_);
    if (builders_.empty())
      return Error{"found no kernel or copy below the header, expected " + expected, file_.path,
                   std::string(format_.hint_when_empty)};
    return ranks();
  }

 private:
  /// Of titles with the line of units below them, in which those of times are always there.
  static std::optional<DeviceColumns> below(const std::vector<std::string>& titles,
                                            const std::vector<std::string>& units) {
    auto columns = DeviceColumns::of(with_units(titles, units));
    if (!columns) return std::nullopt;
    for (const auto& time : {columns->start, columns->duration}) {
      if (columns->wrong.empty() && (*time >= units.size() || units[*time].empty()))
        columns->wrong = "column " + in_quotes(titles[*time], 40) + ": found no unit below it, expected a unit of time";
    }
    return columns;
  }
  /// Whether it is a line of a header further down, as where outputs were put together: the rows below it are read as those of
  /// the first.
  bool is_header_again(const std::vector<std::string>& cells) {
    std::optional<DeviceColumns> again;
    if (!titles_again_.empty()) {
      again = below(std::exchange(titles_again_, {}), cells);
    } else if (std::ranges::find(cells, "Name") != cells.end() && (again = DeviceColumns::of(cells)) &&
               format_.units_below) {
      titles_again_ = cells;
      return true;
    }
    if (again) end_header_again(*again);
    return again.has_value();
  }
  void end_header_again(const DeviceColumns& again) {
    headers_again_ += header_open_ ? 1 : 0;
    header_open_ = process_ == said_of_;  // that of another process is its own
    ++outputs_;
    process_ = said_of_;
    if (columns_->wrong.empty() && !(again == *columns_))
      columns_->wrong = "line " + std::to_string(line_) +
                        ": found a header with other columns or units, expected those of the first header";
  }
  void header(std::vector<std::string> cells) {
    auto columns = DeviceColumns::of(cells);
    if (columns && format_.units_below) {
      titles_ = std::move(cells);
      return;
    }
    columns_ = columns;
    if (!columns) return;
    for (const auto& time : {columns->start, columns->duration}) {
      if (columns_->wrong.empty() && cells[*time].find('(') == std::string::npos)
        columns_->wrong = "column " + in_quotes(cells[*time], 40) + ": found no unit, expected one of time, as in " +
                          in_quotes(cells[*time] + " (ns)", 40);
    }
  }

  /// "==4242== Warning: 12 records have invalid timestamps ...": what nvprof itself says of its records.
  void note_warning(std::string_view line) {
    if (!line.starts_with("==") || warnings_.size() >= kMostWarnings) return;
    for (const std::string_view sign : {"== Warning: ", "== Error: "}) {
      const std::size_t at = line.find(sign);
      if (at != std::string_view::npos && at < 32) warnings_.emplace_back(line.substr(at + 3));
    }
  }

  /// Processes of two machines may have one number. Their results follow each other; what is said before may be mixed.
  void take_remark(std::string_view line) {
    const auto process = process_of_remark(line);
    if (!process || *process >= kNumbers) return;
    Outputs& outputs = of_number_[*process];
    outputs.begun += line.find("NVPROF is profiling process") != line.npos ? 1 : 0;
    outputs.results += line.find("== Profiling result") != line.npos ? 1 : 0;
    const std::uint64_t which = outputs.results > 0 ? outputs.results : outputs.begun;
    said_of_ = *process + (which > 1 ? (which - 1) * kNumbers : 0);
  }

  /// Of the first row below a header of no process of its own: a recording does not go back, another one begins. Its number is
  /// that of the output; those of processes are below kNumbers or between its multiples.
  void end_header(std::int64_t start) {
    header_open_ = false;
    if (start < last_start_)
      said_of_ = process_ = (outputs_ - 1) * kNumbers;
    else
      ++headers_again_;
  }

  void note_order(const std::pair<std::uint64_t, std::uint32_t>& gpu, std::int64_t start, std::uint64_t id,
                  const std::string& name) {
    Order& order = orders_[gpu];
    ++ordered_;
    if (start < order.last) {
      if (back_++ == 0) first_back_ = line_;
      ++order.back;
    }
    order.last = start;
    if (id == 0) return;
    const auto [at, fresh] = order.launches.emplace(std::pair(id, std::hash<std::string>()(name)), order.back);
    if (!fresh && at->second != order.back && ids_again_++ == 0) first_again_ = id;
  }

  /// Below one header: another output goes back once, and has ids of before that under the same names. Rows that were sorted by
  /// something else go back again and again, or keep a name together; kernels of one graph share its id. Outputs of a kernel or
  /// two cannot be told from these.
  std::string of_two_outputs() const {
    if (!format_.by_start || ids_again_ == 0 || 4 * back_ >= ordered_) return "";
    return "line " + std::to_string(first_back_) + ": found a start before that of the row above it, and the id " +
           std::to_string(first_again_) +
           " of a launch again, expected the rows of one recording; put each in a file of its own";
  }

  void row(std::string_view line, bool last) {
    const std::vector<std::string> cells = split_csv_line(line);
    if (is_header_again(cells)) return;
    if (cells.size() == 1 && cells[0].empty()) return;
    const bool open_quote = last && std::ranges::count(line, '"') % 2 != 0;
    if (cells.size() != columns_->count || open_quote) {
      ++(last ? cut_ : broken_);
      return;
    }
    if (is_unified_event(cells[*columns_->name])) {
      ++unified_;
      return;
    }
    const auto start = csv_scaled(cells[*columns_->start], columns_->start_unit),
               duration = csv_scaled(cells[*columns_->duration], columns_->duration_unit);
    if (!start || !duration) {
      ++broken_;
      return;
    }
    if (columns_->device && cells[*columns_->device].empty()) {
      ++elsewhere_;
      return;
    }
    const auto gpu = columns_->device ? csv_device(cells[*columns_->device]) : std::optional<std::uint32_t>(0);
    if (!gpu) {
      ++no_gpu_;
      return;
    }
    if (format_.starts_at_zero && *start < 0 && columns_->wrong.empty())
      columns_->wrong = "line " + std::to_string(line_) + ": found the start " +
                        in_quotes(cells[*columns_->start], 40) + ", expected none before the recording began";
    if (header_open_) end_header(*start);
    last_start_ = *start;
    DeviceInput input;
    DeviceRecord& d = input.record;
    d.start_ns = *start;
    d.duration_ns = std::max<std::int64_t>(0, *duration);
    negative_ += *duration < 0 ? 1 : 0;
    no_line_end_ = last;
    std::string_view name = cells[*columns_->name];
    const std::uint64_t behind = format_.correlation_behind_name ? take_correlation(name) : 0;
    no_name_ += name.empty() ? 1 : 0;
    d.name = job_.names.intern(name.empty() ? "(name not in the file)" : name);
    d.kind = csv_kind(name);
    d.direction = d.kind == DeviceRecordKind::memcpy ? csv_direction(name) : CopyDirection::unknown;
    d.communication = d.kind == DeviceRecordKind::kernel && is_communication_kernel(name);
    if (columns_->bytes && !cells[*columns_->bytes].empty())
      d.bytes = csv_scaled(cells[*columns_->bytes], columns_->bytes_unit).value_or(-1);
    check_throughput(cells, d);
    if (d.kind == DeviceRecordKind::kernel) d.geometry = geometry(cells);
    if (columns_->device) {
      input.device = *gpu;
      const std::string& shown = cells[*columns_->device];
      const std::string name = shown.substr(0, shown.rfind(" ("));
      const auto known = names_.emplace(std::pair(process_, input.device), name).first;
      if (known->second != name && other_name_.empty())
        other_name_ = "GPU " + std::to_string(input.device) + " is called " + printable(known->second, 60) + " and " +
                      printable(name, 60);
    }
    input.context = static_cast<std::uint64_t>(csv_whole(cells, columns_->context));
    input.stream = stream_of(cells);
    input.correlation =
        columns_->correlation ? static_cast<std::uint64_t>(csv_whole(cells, columns_->correlation)) : behind;
    if (format_.by_start) note_order({process_, input.device}, *start, input.correlation, cells[*columns_->name]);
    builders_.try_emplace({process_, input.device}, job_).first->second.device(input);
  }

  /// A text that is no number is a name of a stream.
  std::uint64_t stream_of(const std::vector<std::string>& cells) {
    if (!columns_->stream) return 0;
    const std::string& cell = cells[*columns_->stream];
    if (const auto number = csv_scaled(cell, 1)) return static_cast<std::uint64_t>(*number);
    if (!cell.empty()) return streams_.emplace(cell, kNumbers + streams_.size()).first->second;
    no_stream_ += is_unified(cells[*columns_->name]) ? 0 : 1;
    return 0;
  }

  void check_throughput(const std::vector<std::string>& cells, const DeviceRecord& d) {
    if (!columns_->throughput) return;
    const std::string& cell = cells[*columns_->throughput];
    const auto said = csv_number(cell);
    if (!said || *said <= 0) return;
    if (columns_->wrong.empty()) columns_->wrong = columns_->wrong_throughput;
    if (d.bytes <= 0 || d.duration_ns <= 0) return;
    const double rate = static_cast<double>(d.bytes) / static_cast<double>(d.duration_ns) * 1e9;
    const double tolerance = kThroughputTolerance + rounding_of(cells[*columns_->bytes]) + rounding_of(cell);
    ++with_throughput_;
    wrong_throughput_ += std::fabs(*said * columns_->throughput_unit / rate - 1) > tolerance ? 1 : 0;
  }

  std::uint32_t geometry(const std::vector<std::string>& cells) {
    KernelGeometry g;
    for (std::size_t i = 0; i < 3; ++i) {
      g.grid[i] =
          static_cast<std::uint32_t>(std::clamp<std::int64_t>(csv_whole(cells, columns_->grid[i]), 0, UINT32_MAX));
      g.block[i] =
          static_cast<std::uint32_t>(std::clamp<std::int64_t>(csv_whole(cells, columns_->block[i]), 0, UINT32_MAX));
    }
    return geometries_.intern(g);
  }

  std::vector<ReadRank> ranks() {
    std::vector<ReadRank> out;
    const bool several = std::ranges::any_of(
        builders_, [&](const auto& entry) { return entry.first.first != builders_.begin()->first.first; });
    std::map<std::uint32_t, std::uint64_t> processes;  // by GPU
    for (const auto& [key, b] : builders_) ++processes[key.second];
    for (auto& [key, b] : builders_) {
      const auto [process, device] = key;
      ReadRank r;
      r.rank.rank = static_cast<std::uint32_t>(out.size());
      r.rank.format = format_.name;
      r.rank.path = file_.path;
      if (builders_.size() > 1) r.rank.path += ":GPU " + std::to_string(device);
      if (several)
        r.rank.path += process % kNumbers == 0 ? " of output " + std::to_string(process / kNumbers + 1)
                                               : " of process " + std::to_string(process % kNumbers);
      r.rank.devices.push_back({device, names_[key], 0, 0});
      b.finish(r.rank);
      r.rank.notes.assumptions.clear();  // that launches are missing lies in the format
      r.rank.notes.assume("the CSV has no host records: launches and host overheads are unknown");
      if (out.empty()) note_rows(r.rank.notes);
      if (processes[device] > 1)
        r.rank.notes.assume(std::to_string(processes[device]) + " processes name a GPU " + std::to_string(device) +
                            ", each taken for a rank with a GPU of its own");
      out.push_back(std::move(r));
    }
    return out;
  }

  void note_rows(TraceNotes& notes) const {
    notes.drop("unreadable rows", broken_);
    if (headers_again_ > 0) notes.assume(counted(headers_again_, "repeated header") + " skipped");
    if (format_.by_start && back_ > 0)
      notes.assume(counted(back_, "row begins", "rows begin") + " before the one above " +
                   std::string(agreeing(back_, "it", "them")) + ": are all of one recording?");
    notes.drop("rows without a GPU (calls of the host)", elsewhere_);
    notes.drop("page faults and other events of unified memory", unified_);
    if (broken_ > 0) notes.miss("the rows that cannot be read");
    if (no_name_ > 0) notes.miss("the names of " + counted(no_name_, "record"));
    note_work_without_gpu(notes, no_gpu_);
    note_work_without_stream(notes, no_stream_);
    if (!other_name_.empty()) notes.assume(other_name_ + ": are these the rows of one run?");
    if (wrong_throughput_ > 0)
      notes.assume("the throughput of " + std::to_string(wrong_throughput_) + " of " +
                   counted(with_throughput_, "copy", "copies") +
                   " is not size over duration: one of the three is wrong, or in another unit than the file says");
    if (negative_ > 0) notes.assume(counted(negative_, "negative duration") + " counted as 0");
    if (cut_ > 0) {
      notes.assume("the last row is truncated and was skipped");
      notes.miss("the rest of a file that is cut off");
    } else if (no_line_end_) {
      notes.assume("the file ends within a line: its last row may be cut off");
    }
    for (const std::string& warning : warnings_) notes.miss("what nvprof says of itself: " + in_quotes(warning, 100));
  }

  const DeviceCsvFormat& format_;
  const TraceFile& file_;
  TraceJob& job_;
  GeometryTable geometries_;
  std::vector<std::string> titles_;        ///< of a header whose units come on the next line
  std::vector<std::string> titles_again_;  ///< likewise of one below the first
  std::size_t line_ = 0;                   ///< that is read
  std::optional<DeviceColumns> columns_;
  static constexpr std::uint64_t kNumbers = std::uint64_t{1} << 32;  // of processes on a machine
  struct Outputs {
    std::uint64_t begun = 0, results = 0;  ///< said of it: processes that began, and results, where that is said
  };
  std::map<std::uint64_t, Outputs> of_number_;  ///< by number of a process
  std::uint64_t said_of_ = 0, process_ = 0;     ///< process of the last remark, and of the rows that are read
  std::map<std::pair<std::uint64_t, std::uint32_t>, RankBuilder> builders_;  ///< by process and GPU
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> names_;     ///< likewise
  std::uint64_t broken_ = 0, cut_ = 0, elsewhere_ = 0, negative_ = 0, no_gpu_ = 0, no_name_ = 0, no_stream_ = 0,
                headers_again_ = 0, unified_ = 0, with_throughput_ = 0, wrong_throughput_ = 0;
  std::map<std::string, std::uint64_t> streams_;  ///< those with a name for a number
  bool no_line_end_ = false;
  struct Order {
    std::int64_t last = INT64_MIN;  ///< start of the row before
    std::uint64_t back = 0;         ///< how often one started before the row before
    std::map<std::pair<std::uint64_t, std::size_t>, std::uint64_t>
        launches;  ///< by id and hash of the name: `back` then
  };
  std::map<std::pair<std::uint64_t, std::uint32_t>, Order> orders_;  ///< by process and GPU
  std::uint64_t ordered_ = 0, back_ = 0, ids_again_ = 0, first_again_ = 0, outputs_ = 1;
  std::size_t first_back_ = 0;
  std::int64_t last_start_ = INT64_MIN;
  bool header_open_ = false;  ///< one of the process of the rows above it, no row read since
  std::string other_name_;    ///< the first GPU that has two
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> split_csv_line(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (c == '"' && (quoted || cells.back().empty()))
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

bool has_device_csv_header(std::string_view text, bool (*is_header)(std::string_view line)) {
  for (std::size_t lines = 0; !text.empty() && lines < kHeaderWithin; ++lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const auto has = [line](const char* word) { return line.find(word) != std::string_view::npos; };
    if (has("Start") && has("Duration") && has("Name") && has(",")) return is_header(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

Result<std::vector<ReadRank>> read_device_csv(const TraceFile& file, const TraceOptions& options, TraceJob& job,
                                              const DeviceCsvFormat& format) {
  TRY_ASSIGN(const std::unique_ptr<ByteSource> source, file.open());
  TRY_ASSIGN(const std::string text,
             read_all(*source, file.path, std::min({options.max_bytes, options.max_whole, kLargest})));
  const bool marked = text.starts_with("\xEF\xBB\xBF");
  return DeviceCsv(format, file, job).read(std::string_view(text).substr(marked ? 3 : 0));
}

}  // namespace distsim::traces
