#include "base/json/parse_once.hpp"
#include "collectives/logs/log_readers.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>

#include "base/text/printable.hpp"
#include "collectives/logs/log_tables.hpp"
#include "collectives/logs/nccl_choice.hpp"
#include "collectives/logs/run_claims.hpp"

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

double number(const Json& object, std::initializer_list<const char*> names, double fallback) {
  const Json* m = member(object, names);
  return m != nullptr && m->is_number() ? m->get<double>() : fallback;
}

std::string text(const Json& object, std::initializer_list<const char*> names) {
  const Json* m = member(object, names);
  return m != nullptr && m->is_string() ? m->get<std::string>() : "";
}

std::uint32_t count(const Json& object, std::initializer_list<const char*> names) {
  const double v = number(object, names, 0);
  return v >= 1 && v <= kMaxCurveRanks ? static_cast<std::uint32_t>(v) : 0;
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

/// What a row says of its samples: of each, the slowest rank. `time` is the mean of the rank that the run was asked for, which
/// may lie outside the percentiles of the slowest, but not beyond its longest sample.
Result<void> read_samples(const Json& samples, NcclRow& row, const std::string& where) {
  std::vector<Quantile> stated;
  for (const char* name : {"min_us", "p5_us", "p10_us", "median_us", "p90_us", "p95_us", "max_us"}) {
    const Json* found = member(samples, {name});
    if (found == nullptr) continue;
    if (!found->is_number())
      return Error{std::string(name) + ": found " + found->dump().substr(0, 40) + ", expected microseconds", where, ""};
    stated.push_back({name, found->get<double>()});
  }
  if (const auto checked = check_quantiles(stated); !checked.ok()) return Error{checked.error().what, where, ""};
  row.low_us = number(samples, {"p10_us"}, 0);
  row.high_us = number(samples, {"p90_us"}, 0);
  const double longest = number(samples, {"max_us"}, 0);
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

Result<NcclRow> row_of(const Json& json, const std::string& where) {
  NcclRow row;
  row.bytes = number(json, {"size", "bytes"}, -1);
  row.count = number(json, {"count"}, 0);
  const Json* half = member(json, {"out_of_place", "out-of-place"});
  if (row.bytes < 0 || half == nullptr)
    return Error{"found a row without size or out_of_place, expected both", where, ""};
  const Json* time = member(*half, {"time", "time_us"});
  if (time == nullptr || !time->is_number())
    return Error{"time: found " + (time ? time->dump().substr(0, 40) : "nothing") + ", expected microseconds", where,
                 ""};
  row.time_us = time->get<double>();
  row.algbw = number(*half, {"alg_bw", "algbw"}, 0);
  row.busbw = number(*half, {"bus_bw", "busbw"}, 0);
  row.no_bandwidth = member(*half, {"alg_bw", "algbw"}) == nullptr;
  row.type = text(json, {"type", "datatype"});
  row.redop = text(json, {"redop"});
  row.root = number(json, {"root"}, -1);
  if (!row.type.empty() && bytes_of_type(row.type) == 0)
    return Error{
        "type: found " + in_quotes(row.type, 40) + ", expected a type of nccl-tests, such as float or bfloat16", where,
        ""};
  TRY_ASSIGN(row.wrong, wrong_results(*half, where));
  if (const Json* other = member(json, {"in_place", "in-place"})) {
    const double busbw = number(*other, {"bus_bw", "busbw"}, -1);
    if (busbw >= 0) row.in_place_busbw = busbw;
    TRY_ASSIGN(const double wrong, wrong_results(*other, where));
    row.wrong = worse_result(row.wrong, wrong);
  }
  if (const Json* samples = member(*half, {"iterations"})) TRY(read_samples(*samples, row, where));
  return row;
}

/// The rows of a run, in a table like `head`, or in several (table_for).
Result<std::vector<LogTable>> tables_of(LogTable head, const Json& rows, const std::string& where) {
  std::vector<LogTable> tables;
  tables.push_back(std::move(head));
  if (!rows.is_array()) return Error{"found no list, expected rows", where, ""};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    TRY_ASSIGN(NcclRow row, row_of(rows[i], at));
    if (is_row_of_nothing(tables, row)) continue;
    TRY_ASSIGN(LogTable* const table, table_for(tables, row, at));
    TRY(add_row(*table, std::move(row), i + 1, at));
  }
  return tables;
}

/// What tells the GPUs of a host apart: device and bus. Empty where it may not: of processes that see one GPU each, all
/// say device 0.
std::string gpu_of_host(const Json& device, const std::set<std::string>& hosts_of_several) {
  const std::string bus = text(device, {"device_hex", "busid", "bus_id", "pci_bus_id"});
  const double index = number(device, {"device"}, -1);
  if (index < 0 || (bus.empty() && !hosts_of_several.contains(text(device, {"hostname", "host"})))) return "";
  return "device " + std::to_string(std::llround(std::min(index, 1e9))) + (bus.empty() ? "" : " " + bus);
}

/// Hosts whose ranks name more than one number of a device.
std::set<std::string> hosts_of_several_devices(const Json& devices) {
  std::map<std::string, double> first;
  std::set<std::string> out;
  for (const Json& d : devices) {
    const std::string host = text(d, {"hostname", "host"});
    const double index = number(d, {"device"}, -1);
    if (first.emplace(host, index).first->second != index) out.insert(host);
  }
  return out;
}

Result<void> read_devices(const Json& root, LogContext& c) {
  const Json* devices = member(root, {"devices"});
  if (devices == nullptr || !devices->is_array()) return {};
  RankList list;
  const std::set<std::string> several = hosts_of_several_devices(*devices);
  for (const Json& d : *devices) {
    if (number(d, {"group"}, 0) != 0) continue;
    const auto rank = static_cast<std::uint32_t>(std::min(1e9, std::max(0.0, number(d, {"rank"}, 0))));
    c.rank_ids.insert(rank);
    const std::string host = text(d, {"hostname", "host"});
    if (!host.empty()) c.hosts.insert(host);
    const double pid = number(d, {"pid", "process"}, -1);
    const std::string process = pid >= 0 ? host + " " + std::to_string(pid) : "";
    if (!process.empty()) c.processes.insert(process);
    const std::string gpu = text(d, {"device_info", "name", "device_name"});
    TRY(list.add(rank, host, gpu == "host memory" ? "" : gpu_of_host(d, several), process));
    if (!gpu.empty()) c.gpus.insert(gpu);
  }
  c.take_list();
  return list.check(c.several_each);
}

Result<LogContext> context_of(const Json& root) {
  LogContext c;
  const Json* config = member(root, {"config", "test_config"});
  const Json& settings = config != nullptr ? *config : root;
  for (const auto& names :
       {std::initializer_list<const char*>{"nthreads", "nThreads", "nThread"}, {"ngpus", "nGpus"}}) {
    if (const double n = number(settings, names, 1); n > 1)
      c.run.single_process = true, c.several_each = *(names.end() - 1) + (" " + std::to_string(std::llround(n)));
  }
  c.run.launch_stated = member(settings, {"nthreads", "nThreads", "nThread", "ngpus", "nGpus"}) != nullptr;
  TRY(read_devices(root, c));
  const Json* graph = member(settings, {"graph", "cudagraph", "cudaGraph"});
  if (graph != nullptr)
    c.run.cuda_graph = graph->is_boolean() ? graph->get<bool>() : graph->is_number() && graph->get<double>() > 0;
  if (c.run.launch_stated) c.run.single_stated = c.run.single_process;
  if (const std::string library = text(root, {"nccl-library", "nccl_library", "nccl_version"}); !library.empty())
    c.run.library = "NCCL " + library;
  c.date = text(root, {"start_time", "date"}).substr(0, 10);
  return c;
}

/// NCCL_ALGO and NCCL_PROTO of the environment that a run lists: {"NCCL_ALGO": "Ring"}, or ["NCCL_ALGO=Ring"].
std::string settings_in(const Json& root) {
  const Json* environment = member(root, {"env", "environment"});
  if (environment == nullptr) return "";
  NcclChoice choice;
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO"}) {
    if (const std::string value = text(*environment, {name}); !value.empty()) choice.take(name + ("=" + value));
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

/// What the run says of itself, against its rows.
Result<void> check_claims(const Json& root, const std::vector<LogTable>& tables, const std::string& file,
                          LogContext& c) {
  const Json* config = member(root, {"config", "test_config"});
  const Json& settings = config != nullptr ? *config : root;
  constexpr double kNotSaid = -1;
  const double iterations = number(settings, {"iters", "iterations"}, kNotSaid);
  RunClaims claims;
  const Result<void> read = claims.read(iterations == kNotSaid ? std::nullopt : std::optional(iterations),
                                        number(settings, {"minBytes", "min_bytes", "minbytes", "minimum_bytes"}, 0),
                                        number(settings, {"maxBytes", "max_bytes", "maxbytes", "maximum_bytes"}, 0));
  if (!read.ok()) return Error{read.error().what, file, read.error().hint};
  if (const std::string several = calls_at_once(number(settings, {"agg_iters", "aggIters"}, 1)); !several.empty())
    c.remarks.push_back(file + ": " + several);
  for (const LogTable& table : tables) {
    for (const NumberedRow& row : table.rows) {
      if (const std::string wrong = claims.add(row.row); !wrong.empty())
        c.remarks.push_back(file + ": results: " + wrong);
    }
  }
  if (const Json* mean = member(root, {"average_bus_bandwidth", "avg_bus_bandwidth"})) {
    const double said = mean->is_number() ? mean->get<double>() : number(*mean, {"bandwidth"}, kNotSaid);
    if (said == kNotSaid) return {};
    if (const std::string other = claims.end(":" + std::to_string(said)); !other.empty())
      c.remarks.push_back(file + ": " + other);
  }
  return {};
}

/// Errors name the file.
Result<LogContext> context_in(const Json& root, const std::string& file) {
  Result<LogContext> context = context_of(root);
  if (!context.ok()) return Error{context.error().what, file, ""};
  return context;
}

Result<CurveSet> read_nccl_tests(const Json& root, const Json& results, const std::string& file,
                                 const LogHints& hints) {
  LogTable table;
  name_test(table, text(root, {"test", "collective", "test_name"}));
  if (const Json* args = member(root, {"args"});
      args != nullptr && args->is_array() && !args->empty() && args->front().is_string())
    name_test(table, args->front().get<std::string>());
  TRY_ASSIGN(LogContext context, context_in(root, file));
  table.settings = settings_in(root);
  TRY(check_results(root, file));
  TRY_ASSIGN(std::vector<LogTable> tables, tables_of(std::move(table), results, file + ": results"));
  TRY(check_claims(root, tables, file, context));
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

/// Every table has its own ranks and nodes, so each becomes a set of one.
Result<CurveSet> read_bench(const Json& root, const Json& tables, const std::string& file, const LogHints& hints) {
  CurveSet out;
  if (!tables.is_array() || tables.empty()) return Error{"tables: found none, expected at least one", file, ""};
  if (tables.size() > kMaxCurves)
    return Error{"tables: found " + std::to_string(tables.size()) + ", expected at most 1000", file, ""};
  if (const double version = number(root, {"version"}, 1); version != 1)
    return Error{"version: found " + member(root, {"version"})->dump() + ", expected 1", file, ""};
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (const char* name : {"ranks", "nodes"}) {
      const std::uint32_t of_run = count(root, {name}), of_table = count(tables[i], {name});
      if (of_run != 0 && of_table > of_run)
        return Error{"tables[" + std::to_string(i) + "]." + name + ": found " + std::to_string(of_table) +
                         ", expected at most the " + std::to_string(of_run) + " of the run",
                     file, ""};
    }
    const std::string where = file + ": tables[" + std::to_string(i) + "].rows";
    const Json* rows = member(tables[i], {"rows"});
    if (rows == nullptr) return Error{"found nothing, expected rows", where, ""};
    LogTable table;
    name_test(table, text(tables[i], {"collective"}), true);
    table.not_used = text(tables[i], {"not_used"});
    table.groups_at_once = count(tables[i], {"groups_at_once"});
    const std::uint64_t of_groups = std::uint64_t{table.groups_at_once} * count(tables[i], {"ranks"});
    if (const std::uint32_t of_run = count(root, {"ranks"}); of_run != 0 && of_groups > of_run)
      return Error{"tables[" + std::to_string(i) + "].groups_at_once: found " + std::to_string(table.groups_at_once) +
                       ", expected groups of at most the " + std::to_string(of_run) + " ranks of the run in all",
                   file, ""};
    TRY_ASSIGN(std::vector<LogTable> of_rows, tables_of(std::move(table), *rows, where));
    TRY_ASSIGN(LogContext context, context_in(root, file));
    context.ranks = count(tables[i], {"ranks"});
    context.nodes = count(tables[i], {"nodes"});
    context.stated_ranks = context.ranks, context.stated_nodes = context.nodes;
    context.run.library = text(root, {"backend"});
    if (const std::string device = text(root, {"device"}); !device.empty()) context.gpus.insert(device);
    TRY_ASSIGN(CurveSet set, curves_of(std::move(of_rows), context, file, hints));
    out.hardware = set.hardware;
    for (Curve& c : set.curves) out.curves.push_back(std::move(c));
    for (std::string& r : set.remarks) out.remarks.push_back(std::move(r));
  }
  const Json* partial = member(root, {"partial"});
  out.partial = partial != nullptr && partial->is_boolean() && partial->get<bool>();
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
