// The command line of collective_bench, read with CLI11 as text and then checked value by value.
#include <CLI/CLI.hpp>

#include "base/file.hpp"
#include "base/spelling.hpp"
#include "mpi_bench/collective/options.hpp"

namespace distsim::bench {
namespace {

struct RawFlags {
  std::string min = "32M", max = "32M", step = "1M", factor = "0", op = "sum", type = "float", root = "0", backend = "auto", fault;
  std::vector<std::string> collectives = {"all_reduce"};
  int iterations = 20, warmup = 1, check = 1, report = 1, graph = 0, aggregate = 1, threads = 1, gpus = 1, blocking = 0;
};

void declare_sizes(CLI::App& app, RawFlags& raw) {
  app.add_option("-b,--minbytes", raw.min, "Least size; K, M, G are binary")->capture_default_str();
  app.add_option("-e,--maxbytes", raw.max, "Largest size")->capture_default_str();
  app.add_option("-i,--stepbytes", raw.step, "Step between sizes, where -f is not given")->capture_default_str();
  app.add_option("-f,--stepfactor", raw.factor, "Factor between sizes; 0 is off")->capture_default_str();
}

void declare_measurement(CLI::App& app, RawFlags& raw) {
  app.add_option("-n,--iters", raw.iterations, "Timed iterations of a size")->capture_default_str();
  app.add_option("-w,--warmup_iters", raw.warmup, "Iterations before them that are not timed")->capture_default_str();
  app.add_option("-c,--check", raw.check, "Verify every element at every size; 0 is off")->capture_default_str();
  app.add_option("-o,--op", raw.op, "Reduction: sum, prod, max, min or all")->capture_default_str();
  app.add_option("-d,--datatype", raw.type, "Element type (float, half, int32, ...) or all")->capture_default_str();
  app.add_option("-r,--root", raw.root, "Root of broadcast, reduce, gather, scatter, or all")->capture_default_str();
  app.add_option("-a,--average", raw.report, "Time in the table: 0 rank 0, 1 average, 2 least, 3 largest of the ranks")->capture_default_str();
  app.add_option("-G,--cudagraph", raw.graph, "Launches of a CUDA graph of the iterations (nccl); 0 is off")->capture_default_str();
  app.add_option("-m,--agg_iters", raw.aggregate, "Only 1: calls are not aggregated")->capture_default_str();
  app.add_option("-t,--nthreads", raw.threads, "Only 1: start a rank per GPU with mpirun")->capture_default_str();
  app.add_option("-g,--ngpus", raw.gpus, "Only 1: start a rank per GPU with mpirun")->capture_default_str();
  app.add_option("-z,--blocking", raw.blocking, "Only 0")->capture_default_str();
}

void declare_ours(CLI::App& app, RawFlags& raw, Options& o) {
  app.add_option("--collectives", raw.collectives, "One or several, separated by commas: " + [] {
    std::string names;
    for (const CollectiveCase& c : collective_cases()) names += (names.empty() ? "" : ",") + std::string(c.name);
    return names;
  }())->delimiter(',')->capture_default_str();
  app.add_option("--backend", raw.backend, "auto, mpi (host memory) or nccl (GPU memory)")->capture_default_str();
  app.add_option("--imbalance", o.imbalance, "alltoallv: rank 0 sends this many times as much as the last rank")->capture_default_str();
  app.add_option("--out", o.out, "Curve file for distsim; text form when the name ends in .txtpb");
  app.add_option("-J,--json", o.json, "JSON file with all statistics");
  app.add_option("--system", o.system, "Name of this cluster in the curve file, as in configs/systems")->capture_default_str();
  app.add_flag("--stats", o.stats, "Median, percentiles and spread of the iterations below each row");
  app.add_option("--inject-fault", raw.fault, "RANK:ELEMENT")->group("");
}

Error flag_error(const std::string& flag, const std::string& what, const std::string& hint = "") { return {what, flag, hint}; }

Result<void> in_range(const std::string& flag, std::int64_t value, std::int64_t least, std::int64_t most, const std::string& hint = "") {
  if (value >= least && value <= most) return {};
  const std::string expected = least == most ? std::to_string(least) : std::to_string(least) + " .. " + std::to_string(most);
  return flag_error(flag, "found " + std::to_string(value) + ", expected " + expected, hint);
}

Result<std::uint64_t> size_of_flag(const std::string& flag, const std::string& text) {
  auto size = parse_size(text);
  if (!size) return flag_error(flag, size.error().what);
  return size;
}

Result<void> read_sizes(const RawFlags& raw, Options& o) {
  TRY_ASSIGN(o.min_bytes, size_of_flag("-b", raw.min));
  TRY_ASSIGN(o.max_bytes, size_of_flag("-e", raw.max));
  TRY_ASSIGN(o.step_bytes, size_of_flag("-i", raw.step));
  TRY_ASSIGN(o.step_factor, size_of_flag("-f", raw.factor));
  if (o.max_bytes < o.min_bytes) return flag_error("-e", "found " + raw.max + ", expected at least -b " + raw.min);
  if (o.step_factor == 1) return flag_error("-f", "found 1, expected 0 (off) or at least 2");
  if (o.step_factor > 1 && o.min_bytes == 0) return flag_error("-b", "found 0, expected at least 1 where -f multiplies");
  if (o.step_factor == 0 && o.step_bytes == 0) return flag_error("-i", "found 0, expected at least 1");
  constexpr std::uint64_t kMostSizes = 100'000;
  if (o.step_factor == 0 && (o.max_bytes - o.min_bytes) / o.step_bytes >= kMostSizes)
    return flag_error("-i", "found " + raw.step + ", which makes more than 100000 sizes", "use -f 2");
  return {};
}

Result<void> read_numbers(const RawFlags& raw, Options& o) {
  TRY(in_range("-n", raw.iterations, 1, 10'000'000));
  TRY(in_range("-w", raw.warmup, 0, 10'000'000));
  TRY(in_range("-c", raw.check, 0, 1'000'000));
  TRY(in_range("-a", raw.report, 0, 3));
  TRY(in_range("-G", raw.graph, 0, 1'000'000));
  TRY(in_range("-m", raw.aggregate, 1, 1));
  TRY(in_range("-t", raw.threads, 1, 1, "start a rank per GPU with mpirun"));
  TRY(in_range("-g", raw.gpus, 1, 1, "start a rank per GPU with mpirun"));
  TRY(in_range("-z", raw.blocking, 0, 0));
  o.iterations = raw.iterations;
  o.warmup = raw.warmup;
  o.check = raw.check != 0;
  o.report = static_cast<Report>(raw.report);
  o.graph_launches = raw.graph;
  if (!(o.imbalance >= 1 && o.imbalance <= 1e6)) return flag_error("--imbalance", "found " + std::to_string(o.imbalance) + ", expected 1 .. 1e6");
  return {};
}

Result<void> read_root(const std::string& text, Options& o) {
  o.all_roots = text == "all" || text == "-1";
  if (o.all_roots) return {};
  if (text.empty() || text.size() > 8 || text.find_first_not_of("0123456789") != text.npos)
    return flag_error("-r", "found '" + text + "', expected a rank or all");
  o.root = std::stoi(text);
  return {};
}

Result<void> read_names(const RawFlags& raw, Options& o) {
  if (raw.op == "all") {
    o.ops.assign(std::begin(kAllRedOps), std::end(kAllRedOps));
  } else {
    TRY_ASSIGN(o.ops.front(), parse_red_op(raw.op));
  }
  if (raw.type == "all") {
    o.types.clear();
    for (const DataTypeInfo& info : data_types()) o.types.push_back(info.type);
  } else {
    TRY_ASSIGN(o.types.front(), parse_data_type(raw.type));
  }
  for (const std::string& name : raw.collectives) {
    TRY_ASSIGN(const CollectiveCase* found, find_case(name));
    o.collectives.push_back(found);
  }
  const std::vector<std::string> backends = {"auto", "mpi", "nccl"};
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (raw.backend != backends[i]) continue;
    o.backend = static_cast<BackendChoice>(i);
    return {};
  }
  return flag_error("--backend", "found '" + raw.backend + "', expected auto, mpi or nccl", spelling_hint(raw.backend, backends));
}

Result<void> read_fault(const std::string& text, Options& o) {
  if (text.empty()) return {};
  int rank = 0;
  unsigned long long element = 0;
  if (std::sscanf(text.c_str(), "%d:%llu", &rank, &element) != 2) return flag_error("--inject-fault", "found '" + text + "', expected RANK:ELEMENT");
  o.fault = {rank, element};
  return {};
}

Result<Options> checked(const RawFlags& raw, Options o) {
  TRY(read_sizes(raw, o));
  TRY(read_numbers(raw, o));
  TRY(read_root(raw.root, o));
  TRY(read_names(raw, o));
  TRY(read_fault(raw.fault, o));
  if (o.out == "-") return flag_error("--out", "found '-', expected a file: the table is on standard output");
  if (o.json == "-") return flag_error("-J", "found '-', expected a file: the table is on standard output");
  return o;
}

constexpr const char* kFooter =
    "Sizes, columns and bus bandwidth are those of nccl-tests. The time in the table is the mean of the iterations, the curve file holds\n"
    "their median with the 10th and 90th percentile (of the slowest rank).\n"
    "  mpirun -n 32 collective_bench -b 8 -e 1G -f 2 --collectives all_reduce,alltoall --system my_cluster --out my_cluster.curve.txtpb";

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Measures the collectives of a cluster, with the flags and the table of nccl-tests.", "collective_bench");
  app.footer(kFooter);
  RawFlags raw;
  Options options;
  declare_sizes(app, raw);
  declare_measurement(app, raw);
  declare_ours(app, raw, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return CommandLine{app.help(), {}};
  } catch (const CLI::ParseError& error) {
    return Error{error.what(), "", "see collective_bench --help"};
  }
  TRY_ASSIGN(options, checked(raw, std::move(options)));
  return CommandLine{std::nullopt, std::move(options)};
}

}  // namespace distsim::bench
