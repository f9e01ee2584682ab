#include "collectives/logs/curve_import.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "collectives/curves/curve_library.hpp"
#include "collectives/curves/curve_provenance.hpp"
#include "collectives/logs/library_maker.hpp"

namespace distsim::collectives {

namespace {

constexpr double kSmallEnough = 1024, kLargeEnough = 256.0 * (1 << 20), kWidestGap = 4;
constexpr int kBarWidth = 40;
constexpr graph::CollectiveKind kWanted[] = {graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_gather,
                                             graph::CollectiveKind::reduce_scatter, graph::CollectiveKind::all_to_all,
                                             graph::CollectiveKind::broadcast};

std::string number_in_unit(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

std::string binary_size(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return number_in_unit(bytes) + " " + units[unit];
}

std::string title_of(const Curve& c) {
  std::string text = std::string(graph::name_of(c.kind)) + ", " + counted(c.ranks, "rank");
  text += c.nodes == 0 ? ", nodes not stated" : " on " + counted(c.nodes, "node");
  text += c.single_process ? ", one process per node" : ", one process per GPU";
  if (c.cuda_graph) text += ", CUDA graph";
  if (c.groups_at_once > 1) text += ", concurrent with " + counted(c.groups_at_once - 1, "other group");
  if (c.groups_at_once == 1) text += ", no concurrent groups";
  for (const std::string& extra : {c.library, c.settings, c.label, c.date}) {
    if (!extra.empty()) text += ", " + printable(extra, 200);
  }
  if (!c.not_used.empty()) text += "; not used: " + printable(c.not_used, 200);
  return text + "\n";
}

double busbw(const Curve& c, const CurvePoint& p) {
  return p.bytes / p.time_us / 1000 * graph::busbw_factor(c.kind, c.ranks);
}

std::string rows_of(const Curve& c) {
  double peak = 0;
  for (const CurvePoint& p : c.points) peak = std::max(peak, busbw(c, p));
  std::string out = "       size       time us    busbw GB/s\n";
  for (const CurvePoint& p : c.points) {
    char line[96];
    std::snprintf(line, sizeof line, "%11s %13.2f %13.2f  ", binary_size(p.bytes).c_str(), p.time_us, busbw(c, p));
    out += line + std::string(static_cast<std::size_t>(kBarWidth * busbw(c, p) / peak + 0.5), '#') + "\n";
  }
  return out;
}

std::vector<std::string> gaps_of(const Curve& c) {
  std::vector<std::string> out;
  if (c.flagged > 0) out.push_back(counted(c.flagged, "inconsistent row") + " left out");
  if (c.points.front().bytes > kSmallEnough)
    out.push_back("sizes below " + binary_size(c.points.front().bytes) + ": latency comes from the model");
  for (std::size_t i = 1; i < c.points.size(); ++i) {
    const double a = c.points[i - 1].bytes, b = c.points[i].bytes;
    if (b > kWidestGap * a) out.push_back("sizes between " + binary_size(a) + " and " + binary_size(b));
  }
  if (c.points.back().bytes < kLargeEnough)
    out.push_back("sizes above " + binary_size(c.points.back().bytes) + ": full bandwidth comes from the model");
  return out;
}

std::string missing_kinds(const CurveSet& set) {
  std::set<graph::CollectiveKind> held;
  for (const Curve& c : set.curves) {
    if (c.not_used.empty()) held.insert(c.kind);
  }
  std::string names;
  for (graph::CollectiveKind kind : kWanted) {
    if (!held.contains(kind)) names += (names.empty() ? "" : ", ") + std::string(graph::name_of(kind));
  }
  return names.empty() ? "" : "missing: no curve for " + names + "; the analytic model is used instead\n";
}

Result<void> check_hardware(const std::string& known, const std::string& found, const std::string& log) {
  if (known.empty() || found.empty() || known == found) return {};
  return Error{"hardware: found '" + found + "' after '" + known + "', expected logs of one system", log, ""};
}

constexpr const char* kSystemHint = "--system names the system of the measurement";

/// A file that names a GPU was measured on it, whatever --system says; one that names a library, on a GPU of its maker.
Result<void> check_device(const ImportRequest& request, const CurveSet& set, const std::string& log) {
  const std::string gpu = other_gpu_of(set, request.device, request.devices);
  if (!gpu.empty())
    return Error{
        "hardware: found " + in_quotes(gpu, 120) + ", expected " + request.device + ", the GPU of " + request.system,
        log, kSystemHint};
  const std::string library = other_makers_library(set, maker_of_device(request.compute_capability));
  if (library.empty()) return {};
  return Error{"library: found " + in_quotes(library, 120) + ", which is for GPUs of " +
                   std::string(name_of(maker_of_library(library))) + ", expected one for " + request.device +
                   ", the GPU of " + request.system,
               log, kSystemHint};
}

Error contradicts(const std::string& flag, std::string_view given, std::string_view stated, const std::string& file) {
  return {flag + ": found " + std::string(given) + ", but the file states " + std::string(stated), file, ""};
}

/// A date or launch that the file states itself. A curve file, which names its system, states each curve's launch.
Result<void> check_stated(const ImportRequest& request, const CurveSet& set, const std::string& log) {
  for (const Curve& c : set.curves) {
    if (!c.date.empty() && !c.date.starts_with(request.date) && !request.date.starts_with(c.date))
      return contradicts("--date", request.date, printable(c.date, 40), log);
    if (set.system.empty()) continue;
    const Launch stated = c.single_process ? Launch::single_process : Launch::mpi;
    if (request.launch && *request.launch != stated)
      return contradicts("--launch", word_of(*request.launch, launch_words()), word_of(stated, launch_words()), log);
    if (request.cuda_graph && !c.cuda_graph) return contradicts("--cuda-graph", "it", "that there was none", log);
  }
  return {};
}

Result<void> check_launch_of(const Curve& c, Launch launch, const std::string& log) {
  const bool single = launch == Launch::single_process;
  if (c.processes != 0 && (c.processes < c.ranks) != single)
    return Error{"--launch: found " + std::string(word_of(launch, launch_words())) + ", but the log lists " +
                     counted(c.processes, "process", "processes") + " for " + counted(c.ranks, "rank"),
                 log, ""};
  if (!c.single_process_stated || *c.single_process_stated == single) return {};
  const Launch stated = single ? Launch::mpi : Launch::single_process;
  return contradicts("--launch", word_of(launch, launch_words()), word_of(stated, launch_words()), log);
}

/// A log that lists its processes says how they were launched, whatever --launch says.
Result<void> check_launch(const ImportRequest& request, const CurveSet& set, const std::string& log) {
  for (const Curve& c : set.curves) {
    if (request.cuda_graph && c.states_no_graph) return contradicts("--cuda-graph", "it", "'graph: 0'", log);
    if (request.launch) TRY(check_launch_of(c, *request.launch, log));
  }
  return {};
}

/// "clocks: SM 1095 MHz, memory 1215 MHz, CPU locked at 2400 MHz"; empty where none is stated.
std::string clocks_text(const RecordedClocks& clocks) {
  std::string text;
  for (const auto& [name, mhz] :
       {std::pair("SM ", clocks.sm), {"memory ", clocks.memory}, {"CPU locked at ", clocks.cpu_locked}}) {
    if (mhz > 0) text += (text.empty() ? "clocks: " : ", ") + std::string(name) + std::to_string(mhz) + " MHz";
  }
  return text.empty() ? text : text + "\n";
}

bool speaks_for_others(const CurveSet& set) { return !set.also_for.empty() || !set.same_network.empty(); }

void keep_each(const std::vector<std::string>& names, std::vector<std::string>& out) {
  for (const std::string& name : names) {
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
}

/// What a file says of its run, which several files do not share.
void keep_run(const CurveSet& set, CurveSet& out) {
  out.hosts = set.hosts;
  out.driver = set.driver;
  out.topology = set.topology;
  out.flags = set.flags;
}

}  // namespace

Result<CurveSet> import_curves(const ImportRequest& request) {
  if (const auto date = check_date(request.date); !date.ok()) return Error{"--" + date.error().what, "", ""};
  CurveSet out;
  KnownCurves known;
  for (const std::string& log : request.logs) {
    TRY_ASSIGN(CurveSet set, read_curve_file(log, request.hints));
    TRY(check_hardware(out.hardware, set.hardware, log));
    TRY(check_device(request, set, log));
    TRY(check_stated(request, set, log));
    TRY(check_launch(request, set, log));
    if (request.spec) TRY(check_curves(set, *request.spec, request.compute_capability, log, out.remarks));
    if (out.hardware.empty()) out.hardware = set.hardware;
    if (&log == &request.logs.front()) out.clocks = set.clocks;
    if (out.clocks != set.clocks) out.clocks = {};  // runs at different clocks, or some that do not state theirs
    out.partial = out.partial || set.partial;
    if (!set.system.empty() && !request.system.empty() && set.system != request.system) {
      out.remarks.push_back(printable(log, 200) + ": system: states " + in_quotes(set.system) + ", written as " +
                            request.system + (speaks_for_others(set) ? " without its also_for and same_network" : ""));
    } else {
      keep_each(set.also_for, out.also_for);
      keep_each(set.same_network, out.same_network);
    }
    if (request.logs.size() == 1) keep_run(set, out);
    if (request.spec) {
      for (std::string& r : assumed_nodes(set, *request.spec, printable(log, 200))) out.remarks.push_back(std::move(r));
      for (std::string& r : settings_remarks(set, *request.spec, printable(log, 200)))
        out.remarks.push_back(std::move(r));
    }
    TRY(check_dates(set, log));
    known.take(set, log, request.system);
    for (std::string& r : set.remarks) out.remarks.push_back(std::move(r));
    if (is_of_host(set) && out.device.empty()) {
      out.device = kHostMemory;
      out.remarks.push_back(printable(log, 200) + ": measured on host memory, not on GPUs of " + request.system);
    }
    for (Curve& c : set.curves) {
      if (c.date.empty()) c.date = request.date;
      if (request.launch) c.single_process = *request.launch == Launch::single_process;
      c.cuda_graph = c.cuda_graph || request.cuda_graph;
      out.curves.push_back(std::move(c));
    }
  }
  if (out.curves.size() > kMaxCurves)
    return Error{"curves: found " + std::to_string(out.curves.size()) + ", expected at most 1000", "", ""};
  out.system = request.system;
  if (out.device.empty()) out.device = request.device;
  return out;
}

std::string show_curves(const CurveSet& set) {
  std::string out = "system " + (set.system.empty() ? "not stated" : printable(set.system)) +
                    (set.device.empty() ? "" : ", device " + printable(set.device)) +
                    (set.hardware.empty() ? "" : ": " + printable(set.hardware, 200)) +
                    (set.partial ? " (partial: the run did not finish)" : "") + "\n" + clocks_text(set.clocks);
  for (const Curve& c : set.curves) {
    out += "\n" + title_of(c) + rows_of(c);
    for (const std::string& gap : gaps_of(c)) out += "missing: " + gap + "\n";
  }
  const std::string kinds = missing_kinds(set);
  return kinds.empty() ? out : out + "\n" + kinds;
}

}  // namespace distsim::collectives
