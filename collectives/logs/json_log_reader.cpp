#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/json/json_fields.hpp"
#include "base/json/parse_once.hpp"
#include "base/text/printable.hpp"
#include "collectives/curves/curve_provenance.hpp"
#include "collectives/logs/checks/run_claims.hpp"
#include "collectives/logs/log_tables.hpp"
#include "collectives/logs/nccl_choice.hpp"

namespace distsim::collectives {

namespace {

using Json = nlohmann::json;

const Json* member(const Json& object, std::initializer_list<const char*> names) {
  if (!object.is_object()) return nullptr;
  for (const char* name : names) {
    if (const auto it = object.find(name); it != object.end() && !it->is_null()) return &*it;
  }
  return nullptr;
}

std::string decimal(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

/// "build/all_reduce_perf", "alltoall" -> the kind, or the name of another test. Without "_perf" a name that is no
/// collective says nothing, unless it is in a field of a collective's name.
void name_test(LogTable& table, std::string name, bool names_collective = false) {
  if (table.kind || name.empty()) return;
  name = name.substr(name.find_last_of('/') + 1);
  const std::size_t end = name.find("_perf");
  if (end != std::string::npos) name.resize(end);
  if (auto kind = graph::parse_collective(name); kind.ok())
    table.kind = *kind, table.other_test.clear();
  else if (end != std::string::npos || names_collective)
    table.other_test = name;
}

/// The test by the program that was called, where nothing else names it. Error: it is another one than `said`.
Result<void> take_program(LogTable& table, const std::string& said, const std::string& program,
                          const std::string& file) {
  LogTable called;
  name_test(called, program);
  if (called.kind && (table.kind ? called.kind != table.kind : !table.other_test.empty()))
    return Error{"args: found " + in_quotes(program, 60) + ", expected the program of the test " + in_quotes(said, 60),
                 file, ""};
  name_test(table, program);
  return {};
}

/// A number of calls that a time is the mean of.
Result<void> check_calls(const char* name, std::optional<double> calls, const std::string& where) {
  if (!calls || *calls >= 1) return {};
  return Error{std::string(name) + ": found " + decimal(*calls) + ", expected at least 1", where,
               "the time is of no call"};
}

/// What a row says of its samples: of each, the slowest rank. `time` is the mean of the rank that the run was asked for, which
/// may lie outside the percentiles of the slowest, but not beyond its longest sample.
Result<void> read_samples(const Json& json, NcclRow& row, const std::string& where) {
  JsonFields samples(json, where);
  std::vector<Quantile> stated;
  for (const char* name : {"min_us", "p5_us", "p10_us", "median_us", "p90_us", "p95_us", "max_us"}) {
    if (const auto found = samples.number({name})) stated.push_back({name, *found});
  }
  const auto calls = samples.number({"count"});
  row.low_us = samples.number({"p10_us"}).value_or(0);
  row.high_us = samples.number({"p90_us"}).value_or(0);
  const double longest = samples.number({"max_us"}).value_or(0);
  TRY(samples.check());
  TRY(check_calls("iterations.count", calls, where));
  if (const auto checked = check_quantiles(stated); !checked.ok()) return Error{checked.error().what, where, ""};
  if (longest == 0) return {};
  const Quantile mean_and_longest[] = {{"time", row.time_us}, {"max_us", longest}};
  if (const auto checked = check_quantiles(mean_and_longest); !checked.ok())
    return Error{checked.error().what, where, ""};
  if (row.low_us > 0) row.low_us = std::min(row.low_us, row.time_us);
  if (row.high_us > 0) row.high_us = std::max(row.high_us, row.time_us);
  return {};
}

/// Of a row; 0 where they were not checked.
Result<double> wrong_results(const Json& half, const std::string& where) {
  const Json* wrong = member(half, {"nwrong", "wrong", "#wrong"});
  constexpr double kNotChecked = -1;
  if (wrong == nullptr || *wrong == "N/A") return 0;
  if (!wrong->is_number())
    return Error{"nwrong: found " + printable(wrong->dump(), 40) + ", expected a number of wrong results", where, ""};
  const double count = wrong->get<double>();
  return count == kNotChecked ? 0 : count;
}

Result<void> read_out_of_place(const Json& json, NcclRow& row, const std::string& where) {
  JsonFields half(json, where);
  const auto time = half.number({"time", "time_us"});
  const auto algbw = half.number({"alg_bw", "algbw"});
  const auto calls_each = half.number({"calls_each"});
  const auto busbw = half.number({"bus_bw", "busbw"});
  const Json* const samples = half.object({"iterations"});
  TRY(half.check());
  if (!time) return Error{"time: found nothing, expected microseconds", where, ""};
  TRY(check_calls("calls_each", calls_each, where));
  row.time_us = *time;
  row.busbw = busbw.value_or(0);
  row.no_busbw = !busbw;
  row.algbw = algbw.value_or(0);
  row.no_bandwidth = !algbw;
  TRY_ASSIGN(row.wrong, wrong_results(json, where));
  return samples != nullptr ? read_samples(*samples, row, where) : Result<void>();
}

/// As of the columns of a table: what is no number there is not there.
Result<void> read_in_place(const Json& json, NcclRow& row, const std::string& where) {
  JsonFields half(json, where);
  const auto busbw = half.number({"bus_bw", "busbw"});
  const auto time = half.number({"time", "time_us"}), algbw = half.number({"alg_bw", "algbw"});
  TRY(half.check());
  if (busbw && std::isfinite(*busbw)) row.in_place_busbw = *busbw;
  if (time && algbw && std::isfinite(*time) && std::isfinite(*algbw))
    row.in_place_us = *time, row.in_place_algbw = *algbw;
  TRY_ASSIGN(const double wrong, wrong_results(json, where));
  row.wrong = worse_result(row.wrong, wrong);
  return {};
}

Result<NcclRow> row_of(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  NcclRow row;
  row.bytes = fields.number({"size", "bytes"}).value_or(-1);
  row.count = fields.number({"count"}).value_or(0);
  row.type = fields.text({"type", "datatype"});
  row.redop = fields.text({"redop"});
  row.root = fields.number({"root"}).value_or(-1);
  const Json* const out_of_place = fields.object({"out_of_place", "out-of-place"});
  const Json* const in_place = fields.object({"in_place", "in-place"});
  TRY(fields.check());
  if (row.bytes < 0 || out_of_place == nullptr)
    return Error{"found a row without size or out_of_place, expected both", where, ""};
  if (!row.type.empty() && bytes_of_type(row.type) == 0)
    return Error{
        "type: found " + in_quotes(row.type, 40) + ", expected a type of nccl-tests, such as float or bfloat16", where,
        ""};
  TRY(read_out_of_place(*out_of_place, row, where));
  if (in_place != nullptr) TRY(read_in_place(*in_place, row, where));
  return row;
}

/// The rows of a run, in a table like `head`, or in several (table_for).
Result<std::vector<LogTable>> tables_of(LogTable head, const Json& rows, const std::string& where, RunClaims& claims,
                                        std::vector<std::string>& remarks) {
  std::vector<LogTable> tables;
  tables.push_back(std::move(head));
  if (!rows.is_array()) return Error{"found no list, expected rows", where, ""};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    TRY_ASSIGN(NcclRow row, row_of(rows[i], at));
    if (const std::string wrong = claims.add(row); !wrong.empty()) remarks.push_back(at + ": " + wrong);
    if (is_row_of_nothing(tables, row)) continue;
    TRY_ASSIGN(LogTable* const table, table_for(tables, row, at));
    TRY(add_row(*table, std::move(row), i + 1, at));
  }
  return tables;
}

/// One of the list of a run.
struct Device {
  std::uint32_t rank = 0, group = 0;
  double index = -1, pid = -1;  ///< -1: not said
  std::string host, bus, gpu;
};

Result<Device> device_of(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Device d;
  d.rank = fields.whole({"rank"}, kMaxCurveRanks).value_or(0);
  d.group = fields.whole({"group"}, kMaxCurveRanks).value_or(0);
  d.index = fields.number({"device"}).value_or(-1);
  d.pid = fields.number({"pid", "process"}).value_or(-1);
  d.host = fields.text({"hostname", "host"});
  d.bus = fields.text({"device_hex", "busid", "bus_id", "pci_bus_id"});
  d.gpu = fields.text({"device_info", "name", "device_name"});
  TRY(fields.check());
  return d;
}

/// What tells the GPUs of a host apart: device and bus. Empty where it may not: of processes that see one GPU each, all
/// say device 0.
std::string gpu_of_host(const Device& d, const std::set<std::string>& hosts_of_several) {
  if (d.gpu == kHostMemory || !(d.index >= 0) || (d.bus.empty() && !hosts_of_several.contains(d.host))) return "";
  return "device " + std::to_string(std::llround(std::min(d.index, 1e9))) + (d.bus.empty() ? "" : " " + d.bus);
}

/// Hosts whose ranks name more than one number of a device.
std::set<std::string> hosts_of_several_devices(const std::vector<Device>& devices) {
  std::map<std::string, double> first;
  std::set<std::string> out;
  for (const Device& d : devices) {
    if (first.emplace(d.host, d.index).first->second != d.index) out.insert(d.host);
  }
  return out;
}

Result<void> take_devices(const std::vector<Device>& devices, LogContext& c) {
  RankList list;
  const std::set<std::string> several = hosts_of_several_devices(devices);
  for (const Device& d : devices) {
    if (d.group != 0) {  // groups run concurrently; the first represents all
      c.other_groups.emplace(d.group, d.rank);
      continue;
    }
    c.rank_ids.insert(d.rank);
    if (!d.host.empty()) c.hosts.insert(d.host);
    const std::string process = d.pid >= 0 ? d.host + " " + std::to_string(d.pid) : "";
    if (!process.empty()) c.processes.insert(process);
    TRY(list.add(d.rank, d.host, gpu_of_host(d, several), process));
    if (!d.gpu.empty()) c.gpus.insert(d.gpu);
  }
  c.take_list();
  return list.check(c.several_each);
}

Result<void> read_devices(const Json& devices, const std::string& file, LogContext& c) {
  std::vector<Device> read;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    TRY_ASSIGN(Device d, device_of(devices[i], file + ": devices[" + std::to_string(i) + "]"));
    read.push_back(std::move(d));
  }
  const Result<void> taken = take_devices(read, c);
  return taken.ok() ? taken : Error{taken.error().what, file, ""};
}

/// Where a run says how it was started: a part of its own, or its whole.
Result<const Json*> settings_of(const Json& root, const std::string& file) {
  JsonFields run(root, file);
  const Json* const config = run.object({"config", "test_config"});
  TRY(run.check());
  return config != nullptr ? config : &root;
}

Result<LogContext> context_of(const Json& root, const std::string& file) {
  LogContext c;
  TRY_ASSIGN(const Json* const config, settings_of(root, file));
  JsonFields run(root, file), settings(*config, file);
  std::uint64_t each = 1;
  for (const auto& names :
       {std::initializer_list<const char*>{"nthreads", "nThreads", "nThread"}, {"ngpus", "nGpus"}}) {
    const auto n = settings.whole(names, kMaxCurveRanks);
    if (n) c.run.launch_stated = true;
    each *= n.value_or(1);
    if (n.value_or(1) > 1)
      c.run.single_process = true, c.several_each = *(names.end() - 1) + (" " + std::to_string(*n));
  }
  c.run.cuda_graph = settings.flag({"graph", "cudagraph", "cudaGraph"});
  if (c.run.launch_stated) c.run.ranks_each = each;
  if (c.run.launch_stated) c.run.single_stated = c.run.single_process;
  if (const std::string library = run.text({"nccl-library", "nccl_library", "nccl_version"}); !library.empty())
    c.run.library = "NCCL " + library;
  if (const std::string library = run.text({"rccl-library", "rccl_library", "rccl_version"}); !library.empty())
    c.run.library = "RCCL " + library;
  if (const Json* const date = run.find({"start_time", "date"}); date != nullptr && date->is_string())
    c.date = date->get<std::string>().substr(0, 10);
  const Json* const devices = run.list({"devices"});
  TRY(run.check());
  TRY(settings.check());
  if (devices != nullptr) TRY(read_devices(*devices, file, c));
  return c;
}

/// What the environment that a run lists chooses: {"NCCL_ALGO": "Ring"}, or ["NCCL_ALGO=Ring"].
std::string settings_in(const Json& root) {
  const Json* environment = member(root, {"env", "environment"});
  if (environment == nullptr) return "";
  NcclChoice choice;
  if (environment->is_object()) {
    for (const auto& [name, value] : environment->items())
      choice.take(name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  if (environment->is_array()) {
    for (const Json& line : *environment) {
      if (line.is_string()) choice.take(line.get<std::string>());
    }
  }
  return choice.settings();
}

/// nccl-tests' own verdict on the results, as in "# Out of bounds values : 12 FAILED" of its text.
Result<void> check_results(const Json& root, const std::string& file) {
  const Json* verdict = member(root, {"out_of_bounds"});
  if (verdict == nullptr) return {};
  const Json* count = verdict->is_object() ? member(*verdict, {"count"}) : verdict;
  const Json* okay = member(*verdict, {"okay", "ok"});
  const bool none_wrong = count == nullptr || (count->is_number() && count->get<double>() == 0);
  const bool passed = okay == nullptr || (okay->is_boolean() && okay->get<bool>());
  if (none_wrong && passed) return {};
  return Error{"out_of_bounds: found " + printable(verdict->dump(), 60) + ", expected results without errors", file,
               "the run computed wrong values: its times are of no use"};
}

/// What the run says of itself before its rows: iterations and the range of sizes.
Result<RunClaims> claims_of(const Json& root, const std::string& file, std::vector<std::string>& remarks) {
  TRY_ASSIGN(const Json* const config, settings_of(root, file));
  JsonFields settings(*config, file);
  const auto iterations = settings.number({"iters", "iterations"});
  const double least = settings.number({"minBytes", "min_bytes", "minbytes", "minimum_bytes"}).value_or(0);
  const double most = settings.number({"maxBytes", "max_bytes", "maxbytes", "maximum_bytes"}).value_or(0);
  const double aggregated =
      settings.number({"agg_iters", "aggIters", "agg_iterations", "aggregated_iterations"}).value_or(1);
  TRY(settings.check());
  RunClaims claims;
  const Result<void> read = claims.read(iterations, least, most);
  if (!read.ok()) return Error{read.error().what, file, read.error().hint};
  if (const std::string several = calls_at_once(aggregated); !several.empty()) remarks.push_back(file + ": " + several);
  return claims;
}

/// What it says behind them: a mean of all bus bandwidths, or {"bandwidth": one}; nothing: it says none.
void end_claims(const Json* mean, RunClaims& claims, const std::string& where, std::vector<std::string>& remarks) {
  if (mean != nullptr && mean->is_object()) mean = member(*mean, {"bandwidth"});
  if (mean == nullptr) return;
  const std::string said = mean->is_string() ? mean->get<std::string>() : mean->dump();
  if (const std::string other = claims.end(":" + said); !other.empty()) remarks.push_back(where + ": " + other);
}

Result<CurveSet> read_nccl_tests(const Json& root, const Json& results, const std::string& file,
                                 const LogHints& hints) {
  JsonFields run(root, file);
  LogTable table;
  const std::string said = run.text({"test", "collective", "test_name"});
  name_test(table, said);
  TRY(run.check());
  if (const Json* args = member(root, {"args"});
      args != nullptr && args->is_array() && !args->empty() && args->front().is_string())
    TRY(take_program(table, said, args->front().get<std::string>(), file));
  TRY_ASSIGN(LogContext context, context_of(root, file));
  table.settings = settings_in(root);
  TRY(check_results(root, file));
  TRY_ASSIGN(RunClaims claims, claims_of(root, file, context.remarks));
  TRY_ASSIGN(std::vector<LogTable> tables,
             tables_of(std::move(table), results, file + ": results", claims, context.remarks));
  end_claims(member(root, {"average_bus_bandwidth", "avg_bus_bandwidth"}), claims, file, context.remarks);
  return curves_of(std::move(tables), std::move(context), file, hints);
}

/// A list, which no measurement is written as. PARAM's comms traces are: {"comms": "all_reduce", "in_msg_size": 1048576, ...}.
Error not_of_a_run(const Json& list, const std::string& file) {
  const bool calls = std::ranges::any_of(list, [](const Json& call) { return member(call, {"comms"}) != nullptr; });
  return {std::string("found ") +
              (calls ? "a PARAM comms trace, which lists calls of collectives" : "a list as the whole of the JSON") +
              ", expected measured times: the JSON of nccl-tests -J or collective_bench",
          file, calls ? "import the log of PARAM's comms.py instead" : ""};
}

/// What a file of collective_bench says of all its tables.
struct BenchRun {
  std::uint32_t ranks = 0, nodes = 0;  ///< 0: not said
  std::string backend, device;
  bool partial = false;
};

Result<BenchRun> bench_run_of(const Json& root, const std::string& file) {
  JsonFields fields(root, file);
  BenchRun run;
  const double version = fields.number({"version"}).value_or(1);
  run.ranks = fields.whole({"ranks"}, kMaxCurveRanks).value_or(0);
  run.nodes = fields.whole({"nodes"}, kMaxCurveRanks).value_or(0);
  run.backend = fields.text({"backend"});
  run.device = fields.text({"device"});
  run.partial = fields.flag({"partial"}).value_or(false);
  TRY(fields.check());
  if (version != 1) return Error{"version: found " + decimal(version) + ", expected 1", file, ""};
  return run;
}

/// Without rows; `where` is its position.
Result<LogTable> bench_table_of(const Json& json, const BenchRun& run, const std::string& where) {
  JsonFields fields(json, where);
  LogTable table;
  name_test(table, fields.text({"collective"}), true);
  table.not_used = fields.text({"not_used"});
  table.settings = fields.text({"settings"});
  table.groups_at_once = fields.whole({"groups_at_once"}, kMaxCurveRanks).value_or(0);
  table.ranks = fields.whole({"ranks"}, kMaxCurveRanks).value_or(0);
  table.nodes = fields.whole({"nodes"}, kMaxCurveRanks).value_or(0);
  TRY(fields.check());
  for (const auto& [name, of_run, of_table] :
       {std::tuple("ranks", run.ranks, table.ranks), {"nodes", run.nodes, table.nodes}}) {
    if (of_run != 0 && of_table > of_run)
      return Error{
          "found " + std::to_string(of_table) + ", expected at most the " + std::to_string(of_run) + " of the run",
          where + "." + name, ""};
  }
  if (run.ranks != 0 && std::uint64_t{table.groups_at_once} * table.ranks > run.ranks)
    return Error{"found " + std::to_string(table.groups_at_once) + ", expected groups of at most the " +
                     std::to_string(run.ranks) + " ranks of the run in all",
                 where + ".groups_at_once", ""};
  return table;
}

Result<CurveSet> bench_curves_of(const Json& root, const BenchRun& run, const Json& json, const std::string& where,
                                 const std::string& file, const LogHints& hints) {
  TRY_ASSIGN(LogTable table, bench_table_of(json, run, where));
  TRY_ASSIGN(LogContext context, context_of(root, file));
  context.ranks = context.stated_ranks = std::exchange(table.ranks, 0);
  context.nodes = context.stated_nodes = std::exchange(table.nodes, 0);
  context.run.library = run.backend;
  if (context.ranks != run.ranks) context.run.ranks_each = 0;  // a group may have some of a process
  if (!run.device.empty()) context.gpus.insert(run.device);
  const Json* const rows = member(json, {"rows"});
  if (rows == nullptr) return Error{"found nothing, expected rows", where + ".rows", ""};
  RunClaims claims;
  TRY_ASSIGN(std::vector<LogTable> tables,
             tables_of(std::move(table), *rows, where + ".rows", claims, context.remarks));
  end_claims(member(json, {"avg_busbw"}), claims, where, context.remarks);
  return curves_of(std::move(tables), std::move(context), file, hints);
}

/// Every table has its own ranks and nodes, so each becomes a set of one.
Result<CurveSet> read_bench(const Json& root, const Json& tables, const std::string& file, const LogHints& hints) {
  CurveSet out;
  if (!tables.is_array() || tables.empty()) return Error{"tables: found none, expected at least one", file, ""};
  if (tables.size() > kMaxCurves)
    return Error{"tables: found " + std::to_string(tables.size()) + ", expected at most 1000", file, ""};
  TRY_ASSIGN(const BenchRun run, bench_run_of(root, file));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::string where = file + ": tables[" + std::to_string(i) + "]";
    TRY_ASSIGN(CurveSet set, bench_curves_of(root, run, tables[i], where, file, hints));
    out.hardware = set.hardware;
    out.listed_gpu = set.listed_gpu;
    for (Curve& c : set.curves) out.curves.push_back(std::move(c));
    for (std::string& r : set.remarks) out.remarks.push_back(std::move(r));
  }
  out.partial = run.partial;
  return out;
}

}  // namespace

Result<CurveSet> parse_json_log(std::string_view text, const std::string& file, const LogHints& hints) {
  if (text.size() > kMaxJsonBytes)
    return Error{"found " + std::to_string(text.size()) + " bytes of JSON, expected at most 64 MiB", file, ""};
  std::string twice;
  bool too_many = false;
  const Json root = parse_once(text, twice, &too_many);
  if (too_many) return Error{too_many_json_values(), file, ""};
  if (root.is_discarded())
    return Error{"found text that is not JSON, expected one JSON document", file, "is the file truncated?"};
  if (!twice.empty()) return Error{"found the key " + in_quotes(twice, 100) + " twice, expected it once", file, ""};
  if (root.is_array()) return not_of_a_run(root, file);
  if (const Json* results = member(root, {"results"})) return read_nccl_tests(root, *results, file, hints);
  if (const Json* tables = member(root, {"tables"})) return read_bench(root, *tables, file, hints);
  return Error{"found JSON without 'results' (nccl-tests -J) or 'tables' (collective_bench), expected one of them",
               file, ""};
}

}  // namespace distsim::collectives
