#include "collectives/curves/curve_provenance.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/printable.hpp"
#include "collectives/logs/library_maker.hpp"
#include "collectives/selection.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::collectives {

namespace {

constexpr std::size_t kMostNamed = 8;  // shapes or reasons of a file

bool is_of_system(const CurveSet& set, const topology::ClusterSpec& spec) {
  if (set.system.empty() || spec.name.empty()) return true;
  return is_called(spec, set.system) || is_among(spec, set.also_for);
}

bool is_used(const Curve& c) { return c.not_used.empty(); }

/// Whether a date begins after tomorrow, by the clock of this machine: somewhere it is tomorrow.
bool is_in_future(std::string_view date) {
  constexpr std::time_t kDay = 24 * 3600;
  const std::time_t tomorrow = std::time(nullptr) + kDay;
  std::tm parts{};
  char text[16] = "";
  if (date.size() < 4 || ::gmtime_r(&tomorrow, &parts) == nullptr) return false;
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return date > std::string_view(text, std::min(size, date.size()));
}

/// A line for each reason.
std::vector<std::string> unused(const CurveSet& set, const std::string& file) {
  std::vector<std::string> out;
  for (const Curve& c : set.curves) {
    if (is_used(c) || out.size() >= kMostNamed) continue;
    std::string line = file + ": not used: " + printable(c.not_used, 200);
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::string gpu_of(const CurveSet& set) {
  if (!set.device.empty()) return set.device;
  return set.listed_gpu.empty() ? set.hardware : set.listed_gpu;
}

bool is_of_host(const CurveSet& set) {
  return set.device == kHostMemory || set.listed_gpu == kHostMemory || set.hardware == kHostMemory;
}

std::string other_gpu_of(const CurveSet& set, const std::string& device, const topology::KnownDevices& devices) {
  const auto is_gpu = [](const std::string& named) { return !named.empty() && named != kHostMemory; };
  if (is_gpu(set.device) && topology::is_listed_as_other(set.device, device, devices)) return set.device;
  if (is_gpu(set.listed_gpu) && topology::is_listed_as_other(set.listed_gpu, device, devices)) return set.listed_gpu;
  const bool other = is_gpu(set.hardware) && topology::names_other_gpu(set.hardware, device, devices);
  return other ? set.hardware : "";
}

bool is_called(const topology::ClusterSpec& spec, const std::string& name) {
  return !name.empty() && (name == spec.name || std::ranges::find(spec.aliases, name) != spec.aliases.end());
}

bool is_among(const topology::ClusterSpec& spec, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return is_called(spec, name); });
}

std::uint32_t nodes_of(const Curve& c, const topology::ClusterSpec& spec) {
  if (c.nodes != 0) return c.nodes;
  const auto per_node = static_cast<std::uint32_t>(spec.gpus_per_node);
  return (c.ranks + per_node - 1) / per_node;
}

std::vector<std::string> assumed_nodes(const CurveSet& set, const topology::ClusterSpec& spec,
                                       const std::string& file) {
  std::vector<std::string> out;
  std::set<std::uint32_t> named;
  for (const Curve& c : set.curves) {
    if (!is_used(c) || c.nodes != 0 || spec.gpus_per_node == 1 || out.size() >= kMostNamed) continue;
    if (!named.insert(c.ranks).second) continue;
    out.push_back(file + ": nodes: not stated for " + counted(c.ranks, "rank") + ", taken as " +
                  counted(nodes_of(c, spec), "node") + ", as few as hold them; state them with curves import --nodes");
  }
  return out;
}

std::vector<std::string> settings_remarks(const CurveSet& set, const topology::ClusterSpec& spec,
                                          const std::string& file) {
  std::vector<std::string> out;
  for (const Curve& c : set.curves) {
    if (!is_used(c) || out.size() >= kMostNamed) continue;
    const bool network = nodes_of(c, spec) > 1 && spec.nic.transport != topology::Transport::tcp;
    const std::string words = taken_away(c.settings, network);
    if (words.empty()) continue;
    std::string line =
        file + ": measured with " + printable(words, 200) + ": its prices are those of runs with the same settings";
    if (std::ranges::find(out, line) == out.end()) out.push_back(std::move(line));
  }
  return out;
}

std::string other_gpu_remark(const CurveSet& set, const topology::ClusterSpec& spec, std::int64_t compute_capability,
                             const topology::KnownDevices& devices) {
  if (spec.device.empty()) return "";
  const std::string gpu = is_of_host(set) ? std::string(kHostMemory) : other_gpu_of(set, spec.device, devices);
  if (!gpu.empty()) return "using curves measured on " + in_quotes(gpu, 120) + " for " + spec.device;
  const std::string library = other_makers_library(set, maker_of_device(compute_capability));
  if (library.empty()) return "";
  return "using curves of " + in_quotes(library, 120) + ", which is for GPUs of " +
         std::string(name_of(maker_of_library(library))) + ", for " + spec.device;
}

bool is_date(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-dd";
  if (text.size() != 4 && text.size() != 7 && text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (shape[i] == 'd' ? !is_digit(text[i]) : text[i] != '-') return false;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) value = 10 * value + (c - '0');
    return value;
  };
  const std::chrono::month month(text.size() > 4 ? static_cast<unsigned>(number(5, 2)) : 1);
  const std::chrono::day day(text.size() > 7 ? static_cast<unsigned>(number(8, 2)) : 1);
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)), month, day).ok();
}

Result<void> check_date(std::string_view date) {
  if (!date.empty() && !is_date(date))
    return Error{"date: found " + in_quotes(date, 40) + ", expected a date such as 2026-11-20", "", ""};
  if (is_in_future(date)) return Error{"date: found " + std::string(date) + ", expected no date in the future", "", ""};
  return {};
}

Result<void> check_dates(const CurveSet& set, const std::string& file) {
  for (const Curve& c : set.curves) {
    if (const auto date = check_date(c.date); !date.ok()) return Error{date.error().what, file, ""};
  }
  return {};
}

std::vector<std::string> provenance_remarks(const CurveSet& set, const topology::ClusterSpec& spec,
                                            std::int64_t compute_capability, const topology::KnownDevices& devices,
                                            const std::string& file) {
  std::vector<std::string> out = unused(set, file);
  if (std::none_of(set.curves.begin(), set.curves.end(), is_used)) return out;
  if (std::string other = other_gpu_remark(set, spec, compute_capability, devices); !other.empty())
    out.push_back(std::move(other));
  else if (!is_of_system(set, spec))
    out.push_back("using curves of the system " + in_quotes(set.system) + " for " + spec.name);
  for (std::string& line : assumed_nodes(set, spec, file)) out.push_back(std::move(line));
  for (std::string& line : settings_remarks(set, spec, file)) out.push_back(std::move(line));
  return out;
}

}  // namespace distsim::collectives
