#include "traces/build/device_columns.hpp"

#include <algorithm>

#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

const Units kTimes{{"ns", 1},   {"nsec", 1},   {"us", 1e3}, {"usec", 1e3},
                   {"ms", 1e6}, {"msec", 1e6}, {"s", 1e9},  {"sec", 1e9}};
const Units kSizes{{"B", 1},     {"KB", 1e3},
                   {"kB", 1e3},  {"KiB", 1024},
                   {"MB", 1e6},  {"MiB", 1024. * 1024},
                   {"GB", 1e9},  {"GiB", 1024. * 1024 * 1024},
                   {"TB", 1e12}, {"TiB", 1024. * 1024 * 1024 * 1024}};

/// "ns" in "Start (ns)"; empty: none is written.
std::string_view written_unit(std::string_view title) {
  const std::size_t open = title.find('('), close = title.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return title.substr(open + 1, close - open - 1);
}

/// A unit as a factor to nanoseconds or bytes; 1 where none is written. Nothing: it is no such unit.
std::optional<double> factor_of(std::string_view unit, const Units& units) {
  if (unit.empty()) return 1;
  const auto at = units.find(unit);
  return at == units.end() ? std::nullopt : std::optional(at->second);
}

/// Likewise of "MB/s" and "MBps", as a factor to bytes per second.
std::optional<double> rate_factor(std::string_view unit) {
  if (unit.empty()) return 1;
  if (!unit.ends_with("/s") && !unit.ends_with("ps")) return std::nullopt;
  unit.remove_suffix(2);
  return unit.empty() ? std::nullopt : factor_of(unit, kSizes);
}

}  // namespace

std::optional<DeviceColumns> DeviceColumns::of(const std::vector<std::string>& header) {
  DeviceColumns c;
  c.count = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) c.take(header[i], i);
  c.check_spelling(header);
  if (!c.device && c.wrong.empty()) c.wrong = "found no column 'Device', expected one with the GPU of each row";
  return c.start && c.duration && c.name ? std::optional<DeviceColumns>(std::move(c)) : std::nullopt;
}

bool DeviceColumns::take(std::string_view h, std::size_t i) {
  if (h.starts_with("Start"))
    once(start, h, i), start_unit = unit(h, kTimes, "a unit of time");
  else if (h.starts_with("Duration"))
    once(duration, h, i), duration_unit = unit(h, kTimes, "a unit of time");
  else if (h.starts_with("Corr"))
    correlation = i;
  else if (h.starts_with("Bytes") || h.starts_with("Size"))
    once(bytes, h, i), bytes_unit = unit(h, kSizes, "a unit of memory");
  else if (h.starts_with("Thr"))
    take_throughput(h, i);
  else if (h.starts_with("Device"))
    once(device, h, i);
  else if (h.starts_with("Ctx") || h.starts_with("Context"))
    context = i;
  else if (h.starts_with("Strm") || h.starts_with("Stream"))
    once(stream, h, i);
  else if (h == "Name")
    once(name, h, i);
  else if ((h.starts_with("Grd") || h.starts_with("Grid ")) && h.back() >= 'X' && h.back() <= 'Z')
    grid[h.back() - 'X'] = i;
  else if ((h.starts_with("Blk") || h.starts_with("Block ")) && h.back() >= 'X' && h.back() <= 'Z')
    block[h.back() - 'X'] = i;
  else
    return false;
  return true;
}

void DeviceColumns::check_spelling(const std::vector<std::string>& header) {
  static const std::vector<std::string> kOthers{"Registers Per Thread",
                                                "Static SMem",
                                                "Dynamic SMem",
                                                "SrcMemType",
                                                "DstMemType",
                                                "Src Dev",
                                                "Src Ctx",
                                                "Dst Dev",
                                                "Dst Ctx",
                                                "Reg/Trd",
                                                "StcSMem",
                                                "DymSMem",
                                                "SrcMemKd",
                                                "DstMemKd",
                                                "GreenCtx"};
  std::vector<std::string> lacking;
  const auto lack = [&](bool is_there, std::initializer_list<const char*> titles) {
    if (!is_there) lacking.insert(lacking.end(), titles.begin(), titles.end());
  };
  lack(device.has_value(), {"Device"});
  lack(context.has_value(), {"Context", "Ctx"});
  lack(stream.has_value(), {"Stream", "Strm"});
  lack(correlation.has_value(), {"CorrId"});
  lack(bytes.has_value(), {"Bytes"});
  lack(throughput.has_value(), {"Throughput"});
  for (const std::string& title : header) {
    const std::string own = title.substr(0, title.find(" ("));
    if (wrong.empty() && !is_known(own) && std::ranges::find(kOthers, own) == kOthers.end()) {
      const std::string near = own.size() < 4 ? "" : nearest_spelling(own, lacking);
      if (!near.empty())
        wrong = "column " + in_quotes(title, 40) + ": found no such column, expected " + in_quotes(near, 40);
    }
  }
}

void DeviceColumns::once(std::optional<std::size_t>& column, std::string_view title, std::size_t i) {
  if (column && wrong.empty()) wrong = "column " + in_quotes(title, 40) + ": found twice, expected once";
  column = i;
}

std::string DeviceColumns::no_unit(std::string_view title, const char* expected) {
  return "column " + in_quotes(title, 40) + ": found no such unit, expected " + expected;
}

double DeviceColumns::unit(std::string_view title, const Units& units, const char* expected) {
  const auto factor = factor_of(written_unit(title), units);
  if (!factor && wrong.empty()) wrong = no_unit(title, expected);
  return factor.value_or(1);
}

void DeviceColumns::take_throughput(std::string_view title, std::size_t i) {
  const auto factor = rate_factor(written_unit(title));
  throughput = i;
  throughput_unit = factor.value_or(1);
  wrong_throughput = factor ? "" : no_unit(title, "one of memory per second, as MB/s");
}

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

}  // namespace distsim::traces
