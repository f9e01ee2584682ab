#include "traces/build/device_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/build/op_inputs.hpp"
#include "traces/build/rank_builder.hpp"

namespace distsim::traces {
namespace {

constexpr std::size_t kHeaderWithin = 200;  // lines
constexpr std::uint64_t kLargest = std::uint64_t{8} << 30;
constexpr std::int64_t kFarthest = INT64_MAX / 4;  // a start and a duration still add up

/// The unit in "Start (ns)" as a factor to nanoseconds, in "Bytes (MB)" as one to bytes.
double csv_unit(std::string_view title) {
  const std::size_t open = title.find('('), close = title.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return 1;
  const std::string_view u = title.substr(open + 1, close - open - 1);
  static const std::map<std::string_view, double> units{
      {"ns", 1},   {"nsec", 1},           {"us", 1e3}, {"usec", 1e3},
      {"ms", 1e6}, {"msec", 1e6},         {"s", 1e9},  {"sec", 1e9},
      {"B", 1},    {"KB", 1e3},           {"kB", 1e3}, {"KiB", 1024},
      {"MB", 1e6}, {"MiB", 1024. * 1024}, {"GB", 1e9}, {"GiB", 1024. * 1024 * 1024}};
  const auto at = units.find(u);
  return at == units.end() ? 1 : at->second;
}

struct Columns {
  std::optional<std::size_t> start, duration, correlation, bytes, device, context, stream, name, grid[3], block[3];
  double start_unit = 1, duration_unit = 1, bytes_unit = 1;
  std::size_t count = 0;

  static std::optional<Columns> of(const std::vector<std::string>& header) {
    Columns c;
    c.count = header.size();
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string_view h = header[i];
      if (h.starts_with("Start"))
        c.start = i, c.start_unit = csv_unit(h);
      else if (h.starts_with("Duration"))
        c.duration = i, c.duration_unit = csv_unit(h);
      else if (h.starts_with("Corr"))
        c.correlation = i;
      else if (h.starts_with("Bytes") || h.starts_with("Size"))
        c.bytes = i, c.bytes_unit = csv_unit(h);
      else if (h.starts_with("Device"))
        c.device = i;
      else if (h.starts_with("Ctx") || h.starts_with("Context"))
        c.context = i;
      else if (h.starts_with("Strm") || h.starts_with("Stream"))
        c.stream = i;
      else if (h == "Name")
        c.name = i;
      else if ((h.starts_with("Grd") || h.starts_with("Grid ")) && h.back() >= 'X' && h.back() <= 'Z')
        c.grid[h.back() - 'X'] = i;
      else if ((h.starts_with("Blk") || h.starts_with("Block ")) && h.back() >= 'X' && h.back() <= 'Z')
        c.block[h.back() - 'X'] = i;
    }
    return c.start && c.duration && c.name ? std::optional<Columns>(c) : std::nullopt;
  }
};

std::optional<double> csv_number(const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(v) && std::fabs(v) < 2e18
             ? std::optional<double>(v)
             : std::nullopt;
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

/// "NVIDIA A100-SXM4-40GB (3)" -> 3.
std::uint32_t csv_device(const std::string& text) {
  const std::size_t open = text.rfind('(');
  std::uint32_t n = 0;
  const std::size_t from = open == std::string::npos ? 0 : open + 1;
  std::from_chars(text.data() + from, text.data() + text.size(), n);
  return n;
}

CopyDirection csv_direction(std::string_view name) {
  const auto has = [&](std::string_view w) { return name.find(w) != std::string_view::npos; };
  if (has("Host-to-Device") || has("HtoD")) return CopyDirection::host_to_device;
  if (has("Device-to-Host") || has("DtoH")) return CopyDirection::device_to_host;
  if (has("Device-to-Device") || has("DtoD")) return CopyDirection::device_to_device;
  if (has("Peer-to-Peer") || has("PtoP")) return CopyDirection::peer_to_peer;
  return CopyDirection::unknown;
}

/// nvprof writes the units below the titles, and KB and MB for 1024 and 1024^2 bytes.
std::vector<std::string> with_units(std::vector<std::string> titles, const std::vector<std::string>& units) {
  for (std::size_t i = 0; i < std::min(titles.size(), units.size()); ++i) {
    const std::string& u = units[i];
    if (u.size() == 2 && u[1] == 'B')
      titles[i] += std::string(" (") + u[0] + "iB)";
    else if (!u.empty())
      titles[i] += " (" + u + ")";
  }
  return titles;
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
      if (columns_)
        row(split_csv_line(line), end == text.size());
      else if (!titles_.empty())
        columns_ = Columns::of(with_units(titles_, split_csv_line(line)));
      else if (lines > kHeaderWithin)
        break;
      else if (format_.is_header(line))
        header(split_csv_line(line));
    }
    const std::string expected(format_.expected);
    if (!columns_)
      return Error{"found no header with the columns Start, Duration and Name, expected " + expected, file_.path, ""};
    if (builders_.empty())
      return Error{"found no kernel or copy below the header, expected " + expected, file_.path,
                   std::string(format_.hint_when_empty)};
    return ranks();
  }

 private:
  void header(std::vector<std::string> cells) {
    auto columns = Columns::of(cells);
    if (columns && format_.units_below)
      titles_ = std::move(cells);
    else
      columns_ = columns;
  }

  void row(const std::vector<std::string>& cells, bool last) {
    if (cells.size() == 1 && (cells[0].empty() || cells[0].starts_with("=="))) return;
    if (cells.size() != columns_->count) {
      ++(last ? cut_ : broken_);
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
    DeviceInput input;
    DeviceRecord& d = input.record;
    d.start_ns = *start;
    d.duration_ns = std::max<std::int64_t>(0, *duration);
    std::string_view name = cells[*columns_->name];
    const std::uint64_t behind = format_.correlation_behind_name ? take_correlation(name) : 0;
    d.name = job_.names.intern(name);
    d.kind = name.starts_with("[CUDA memset")   ? DeviceRecordKind::memset
             : name.starts_with("[CUDA memcpy") ? DeviceRecordKind::memcpy
                                                : DeviceRecordKind::kernel;
    d.direction = d.kind == DeviceRecordKind::memcpy ? csv_direction(name) : CopyDirection::unknown;
    d.communication = d.kind == DeviceRecordKind::kernel && is_communication_kernel(name);
    if (columns_->bytes && !cells[*columns_->bytes].empty())
      d.bytes = csv_scaled(cells[*columns_->bytes], columns_->bytes_unit).value_or(-1);
    if (d.kind == DeviceRecordKind::kernel) d.geometry = geometry(cells);
    if (columns_->device) {
      input.device = csv_device(cells[*columns_->device]);
      const std::string& shown = cells[*columns_->device];
      names_.emplace(input.device, shown.substr(0, shown.rfind(" (")));
    }
    input.context = static_cast<std::uint64_t>(csv_whole(cells, columns_->context));
    input.stream = static_cast<std::uint64_t>(csv_whole(cells, columns_->stream));
    input.correlation =
        columns_->correlation ? static_cast<std::uint64_t>(csv_whole(cells, columns_->correlation)) : behind;
    builders_.try_emplace(input.device, job_).first->second.device(input);
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
    for (auto& [device, b] : builders_) {
      ReadRank r;
      r.rank.rank = static_cast<std::uint32_t>(out.size());
      r.rank.format = format_.name;
      r.rank.path = builders_.size() == 1 ? file_.path : file_.path + ":GPU " + std::to_string(device);
      r.rank.devices.push_back({device, names_[device], 0, 0});
      b.finish(r.rank);
      r.rank.notes.assumptions.clear();  // that launches are missing lies in the format
      r.rank.notes.assume("the CSV has no host records: launches and host overheads are unknown");
      if (out.empty()) r.rank.notes.drop("unreadable rows", broken_);
      if (out.empty()) r.rank.notes.drop("rows without a GPU (calls of the host)", elsewhere_);
      if (out.empty() && cut_ > 0) {
        r.rank.notes.assume("the last row is truncated and was skipped");
        r.rank.notes.miss("the rest of a file that is cut off");
      }
      out.push_back(std::move(r));
    }
    return out;
  }

  const DeviceCsvFormat& format_;
  const TraceFile& file_;
  TraceJob& job_;
  GeometryTable geometries_;
  std::vector<std::string> titles_;  ///< of a header whose units come on the next line
  std::optional<Columns> columns_;
  std::map<std::uint32_t, RankBuilder> builders_;
  std::map<std::uint32_t, std::string> names_;
  std::uint64_t broken_ = 0, cut_ = 0, elsewhere_ = 0;
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
