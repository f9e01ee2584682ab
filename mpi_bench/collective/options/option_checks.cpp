// From the text of the flags to options: every value is checked, and what is wrong is said with the flag's name.
#include <algorithm>
#include <cstdio>

#include "base/output.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "mpi_bench/collective/options/raw_flags.hpp"

namespace distsim::bench {
namespace {

Error flag_error(const std::string& flag, const std::string& what, const std::string& hint = "") {
  return {what, flag, hint};
}

Result<void> in_range(const std::string& flag, std::int64_t value, std::int64_t least, std::int64_t most,
                      const std::string& hint = "") {
  if (value >= least && value <= most) return {};
  const std::string expected =
      least == most ? std::to_string(least) : std::to_string(least) + " .. " + std::to_string(most);
  return flag_error(flag, "found " + std::to_string(value) + ", expected " + expected, hint);
}

Result<std::size_t> choice(const std::string& flag, const std::string& text, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return i;
  }
  std::string expected;
  for (std::size_t i = 0; i < names.size(); ++i)
    expected += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return flag_error(flag, "found '" + text + "', expected " + expected, spelling_hint(text, names));
}

Result<std::uint64_t> size_of_flag(const std::string& flag, const std::string& text) {
  auto size = parse_size(text);
  if (!size) return flag_error(flag, size.error().what);
  return size;
}

Result<void> read_sizes(const RawFlags& raw, SizeRange& s) {
  TRY_ASSIGN(s.min_bytes, size_of_flag("-b", raw.min));
  TRY_ASSIGN(s.max_bytes, size_of_flag("-e", raw.max));
  TRY_ASSIGN(s.step_bytes, size_of_flag("-i", raw.step));
  TRY_ASSIGN(s.step_factor, size_of_flag("-f", raw.factor));
  if (s.max_bytes < s.min_bytes) return flag_error("-e", "found " + raw.max + ", expected at least -b " + raw.min);
  if (s.step_factor == 1) return flag_error("-f", "found 1, expected 0 (off) or at least 2");
  if (s.step_factor > 1 && s.min_bytes == 0) return flag_error("-b", "found 0, expected at least 1 when -f is used");
  if (s.step_factor == 0 && s.step_bytes == 0) return flag_error("-i", "found 0, expected at least 1");
  constexpr std::uint64_t kMostSizes = 100'000;
  if (s.step_factor == 0 && (s.max_bytes - s.min_bytes) / s.step_bytes >= kMostSizes)
    return flag_error("-i", "found " + raw.step + ", which makes more than 100000 sizes", "use -f 2");
  return {};
}

constexpr int kMostLanes = 64;  // of either kind: more GPUs than any node has

Result<void> read_numbers(const RawFlags& raw, Options& o) {
  constexpr auto number = [](std::int64_t checked) { return static_cast<int>(checked); };
  TRY(in_range("-n", raw.iterations, 1, 10'000'000));
  TRY(in_range("-w", raw.warmup, 0, 10'000'000));
  TRY(in_range("-c", raw.check, 0, 1'000'000));
  TRY(in_range("-a", raw.report, 0, 3));
  TRY(in_range("-G", raw.graph, 0, 1'000'000));
  TRY(in_range("-m", raw.aggregate, 1, 1));
  TRY(in_range("-t", raw.threads, 1, kMostLanes));
  TRY(in_range("-g", raw.gpus, 1, kMostLanes));
  TRY(in_range("-z", raw.blocking, 0, 1));
  if (raw.blocking != 0 && raw.graph != 0)
    return flag_error(
        "-z", "found 1 with -G " + std::to_string(raw.graph) + ", expected 0: a graph cannot wait between its calls");
  TRY(in_range("--streams", raw.streams, 1, 64));
  TRY(in_range("--port", raw.port, 0, 65535));
  o.timing.iterations = number(raw.iterations);
  o.timing.warmup = number(raw.warmup);
  o.check = raw.check != 0;
  o.timing.report = static_cast<Report>(raw.report);
  o.timing.graph_launches = number(raw.graph);
  o.timing.blocking = raw.blocking != 0;
  o.lanes = {.threads = number(raw.threads), .gpus = number(raw.gpus)};
  o.streams = number(raw.streams);
  o.launch.port = number(raw.port);
  return {};
}

Result<void> read_root(const std::string& text, Options& o) {
  o.selected.all_roots = text == "all" || text == "-1";
  if (o.selected.all_roots) return {};
  if (text.empty() || text.size() > 8 || text.find_first_not_of("0123456789") != text.npos)
    return flag_error("-r", "found '" + text + "', expected a rank or all");
  o.selected.root = std::stoi(text);
  return {};
}

Result<void> read_names(const RawFlags& raw, Options& o) {
  if (raw.op == "all") {
    o.selected.ops.assign(std::begin(kAllRedOps), std::end(kAllRedOps));
  } else {
    TRY_ASSIGN(o.selected.ops.front(), parse_red_op(raw.op));
  }
  if (raw.type == "all") {
    o.selected.types.clear();
    for (const DataTypeInfo& info : data_types()) o.selected.types.push_back(info.type);
  } else {
    TRY_ASSIGN(o.selected.types.front(), parse_data_type(raw.type));
  }
  for (const std::string& name : raw.collectives) {
    TRY_ASSIGN(const CollectiveCase* found, find_case(name));
    o.selected.collectives.push_back(found);
  }
  TRY_ASSIGN(const std::size_t backend, choice("--backend", raw.backend, {"auto", "mpi", "nccl", "mpi-cuda", "tcp"}));
  o.backend = static_cast<BackendChoice>(backend);
  TRY_ASSIGN(const std::size_t time, choice("--curve-time", raw.curve_time, {"median", "p10"}));
  o.files.curve_time = static_cast<CurveTime>(time);
  return {};
}

Result<void> read_shapes(const RawFlags& raw, Options& o) {
  o.selected.groups.clear();
  for (const std::string& text : raw.groups) {
    TRY_ASSIGN(GroupRequest group, parse_group(text));
    o.selected.groups.push_back(std::move(group));
  }
  for (const std::string& text : raw.pair_tests) {
    TRY_ASSIGN(const std::size_t test, choice("--pair-tests", text, {"latency", "bandwidth", "matrix"}));
    o.selected.pair_tests.push_back(static_cast<PairTest>(test));
  }
  return {};
}

/// compute, or the size of a second collective. `flag` is the one that was given.
Result<void> read_load(const char* flag, const std::string& text, Load& load) {
  if (text.empty()) return {};
  if (text == "compute") {
    load.kind = LoadKind::compute;
    return {};
  }
  const auto size = parse_size(text);
  if (!size.ok() || *size < 1)
    return flag_error(flag, "found '" + text + "', expected compute or the size of a second all_reduce, such as 4M");
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;  // MPI counts elements of 4 bytes in an int
  if (*size > kMost) return flag_error(flag, "found " + text + ", expected at most 4G");
  load.kind = LoadKind::collective;
  load.bytes = *size;
  return {};
}

Result<void> read_limits(Options& o) {
  const auto between = [](const char* flag, double value, double least, double most) -> Result<void> {
    if (value >= least && value <= most) return {};
    char text[128];
    std::snprintf(text, sizeof text, "found %g, expected %g .. %g", value, least, most);
    return flag_error(flag, text);
  };
  TRY(between("--imbalance", o.selected.imbalance, 1, 1e6));
  TRY(between("--relative-error", o.timing.relative_error, 0, 1));
  TRY(between("--max-seconds", o.timing.max_seconds, 1e-3, 1e5));
  return o.stall_limit_s == 0 ? Result<void>() : between("--stall-limit", o.stall_limit_s, 0.5, 1e6);
}

Result<void> read_places(const RawFlags& raw, LaunchPlaces& launch) {
  if (!raw.rank) return {};
  const auto hosts = static_cast<std::int64_t>(launch.hosts.size());
  if (hosts == 0) return flag_error("--rank", "found " + std::to_string(*raw.rank) + " without --hosts");
  if (*raw.rank < 0 || *raw.rank >= hosts)
    return flag_error("--rank", "found " + std::to_string(*raw.rank) + ", expected a rank from 0 and below " +
                                    std::to_string(hosts) + ", the number of --hosts");
  launch.rank = static_cast<int>(*raw.rank);
  return {};
}

Result<void> read_plan(Options& o) {
  if (o.selected.plan.empty() && !o.selected.config.empty()) o.selected.plan = "simulate";
  if (o.selected.plan == "simulate" && o.selected.config.empty())
    return flag_error("--plan", "found simulate without --config, expected the experiment to measure for");
  if (o.selected.plan != "simulate" && !o.selected.config.empty())
    return flag_error("--config", "found with --plan " + o.selected.plan + ", expected --plan simulate");
  return {};
}

/// The table on standard output is all that some runs have.
Result<void> read_files(const Options& o) {
  if (const auto bad = find_bad_byte(o.files.system))
    return flag_error("--system", "found " + bad->what + ", expected a name as in configs/systems");
  for (const auto& [flag, path] : {std::pair("--out", o.files.out), std::pair("-J", o.files.json)}) {
    if (path.empty()) continue;
    if (!refuse_stdout(path).empty())
      return flag_error(flag, "found standard output, expected a file: the table goes there");
    if (o.selected.overhead) return flag_error(flag, "found with --overhead, expected none: it writes no files");
    const auto& tests = o.selected.pair_tests;
    if (!tests.empty() && std::ranges::count(tests, PairTest::latency) == 0)
      return flag_error(flag,
                        "found with --pair-tests without latency, expected none: only latency is written to files");
  }
  return {};
}

Result<void> read_injected(const std::string& flag, const std::string& text,
                           std::optional<std::pair<int, std::uint64_t>>& out) {
  if (text.empty()) return {};
  int rank = 0;
  unsigned long long number = 0;
  if (std::sscanf(text.c_str(), "%d:%llu", &rank, &number) != 2)
    return flag_error(flag, "found '" + text + "', expected RANK:NUMBER");
  out = {rank, number};
  return {};
}

}  // namespace

Result<Options> checked_options(const RawFlags& raw, Options o) {
  TRY(read_sizes(raw, o.sizes));
  TRY(read_numbers(raw, o));
  TRY(read_root(raw.root, o));
  TRY(read_names(raw, o));
  TRY(read_shapes(raw, o));
  TRY(read_load(raw.beside.empty() ? "--load" : "--beside", raw.beside.empty() ? raw.load : raw.beside, o.load));
  TRY(read_limits(o));
  TRY(read_places(raw, o.launch));
  TRY(read_plan(o));
  TRY(read_injected("--inject-fault", raw.fault, o.injected.fault));
  TRY(read_injected("--inject-stall", raw.stall, o.injected.stall));
  TRY(read_files(o));
  return o;
}

}  // namespace distsim::bench
