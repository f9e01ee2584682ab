// The command line of collective_bench, read with CLI11 as text and then checked value by value.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/command_line/refused_flag.hpp"
#include "base/output.hpp"
#include "base/text/number_text.hpp"
#include "mpi_bench/collective/options/raw_flags.hpp"
#include "mpi_bench/common/usage_error.hpp"

namespace distsim::bench {
namespace {

/// Flags that may differ between ranks. Every other flag must be the same on all of them.
constexpr std::array<std::string_view, 4> kPerRank = {"--rank", "--hosts", "--port", "--topology"};

void declare_sizes(CLI::App& app, RawFlags& raw) {
  const auto add = [&app](const char* flag, std::string& value, const char* what) {
    app.add_option(flag, value, what)->type_name("SIZE")->capture_default_str()->group("Sizes");
  };
  add("-b,--minbytes", raw.min, "Smallest size; K, M and G are binary");
  add("-e,--maxbytes", raw.max, "Largest size");
  add("-i,--stepbytes", raw.step, "Step between sizes, unless -f is given");
  add("-f,--stepfactor", raw.factor, "Factor between sizes; 0: off");
}

std::string collective_names() {
  std::string names;
  for (const CollectiveCase& c : collective_cases()) names += (names.empty() ? "" : ",") + std::string(c.name);
  return names;
}

void declare_selection(CLI::App& app, RawFlags& raw, Selection& s) {
  const std::string group = "What to measure";
  app.add_option("--collectives", raw.collectives, "Comma-separated list of: " + collective_names())
      ->type_name("NAMES")
      ->capture_default_str()
      ->group(group);
  app.add_option("-d,--datatype", raw.type, "Element type (float, half, int32, ...) or all")
      ->type_name("TYPE")
      ->capture_default_str()
      ->group(group);
  app.add_option("-o,--op", raw.op, "Reduction: sum, prod, max, min or all")
      ->type_name("OP")
      ->capture_default_str()
      ->group(group);
  app.add_option("-r,--root", raw.root, "Root of broadcast, reduce, gather and scatter, or all")
      ->type_name("RANK")
      ->capture_default_str()
      ->group(group);
  app.add_option("--imbalance", s.imbalance, "alltoallv: data sent by rank 0 over data sent by the last rank")
      ->type_name("FACTOR")
      ->capture_default_str()
      ->group(group);
  app.add_option("--groups", raw.groups,
                 "Participating ranks: all, nodes, one_per_node, rails, halves, pairs, far_pairs, or RANKSxNODES such "
                 "as 8x2 (all such groups at once) or 8x2.alone (the first one only)")
      ->type_name("SHAPES")
      ->capture_default_str()
      ->group(group);
  app.add_option("--pair-tests", raw.pair_tests,
                 "Instead of collectives: latency, bandwidth (ranks 0 and 1) or matrix (all pairs)")
      ->type_name("TESTS")
      ->group(group);
  app.add_option("--plan", s.plan,
                 "Measure exactly the collectives that distsim needs: the output of `distsim curves plan`, or simulate "
                 "to run it (with --config)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--config", s.config, "Experiment for --plan simulate")->type_name("FILE")->group(group);
  app.add_flag("--overhead", s.overhead, "Compare the timing loop with a plain loop of the same calls")->group(group);
}

void declare_timing(CLI::App& app, RawFlags& raw, Options& o) {
  const std::string group = "Timing";
  const auto add = [&](const char* flag, std::int64_t& value, const char* what) {
    app.add_option(flag, value, what)->type_name("N")->capture_default_str()->group(group);
  };
  add("-n,--iters", raw.iterations, "Timed iterations per size");
  add("-w,--warmup_iters", raw.warmup, "Untimed iterations before them");
  add("-c,--check", raw.check, "Verify every element at every size; 0: off");
  add("-a,--average", raw.report, "Time in the table: 0 rank 0, 1 average, 2 minimum, 3 maximum over the ranks");
  add("-G,--cudagraph", raw.graph, "Launches of a CUDA graph of the iterations (nccl); 0: off");
  add("-m,--agg_iters", raw.aggregate, "Must be 1: calls are not aggregated");
  add("-z,--blocking", raw.blocking, "1: wait for each call before the next (nccl; the other backends always do)");
  app.add_option(
         "--relative-error", o.timing.relative_error,
         "Continue past -n until the relative standard error of the median is at most this (0.01 is 1 %); 0: off")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(group);
  app.add_option("--max-seconds", o.timing.max_seconds, "Time limit per size for --relative-error")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->group(group);
  CLI::Option* load =
      app.add_option("--load", raw.load,
                     "Concurrent load: compute, or the size of a second all_reduce on its own communicator")
          ->type_name("compute|SIZE")
          ->group(group);
  app.add_option("--beside", raw.beside)->group("")->excludes(load);  // the former name of --load
}

void declare_output(CLI::App& app, RawFlags& raw, OutputFiles& f) {
  const std::string group = "Output";
  app.add_option("--out", f.out, "Curve file for distsim; text format if the name ends in .txtpb")
      ->type_name("FILE")
      ->group(group);
  app.add_option("-J,--json", f.json, "JSON file with all statistics")->type_name("FILE")->group(group);
  app.add_flag("--stats", f.stats, "Print median, percentiles and spread of the iterations below each row")
      ->group(group);
  app.add_option("--system", f.system, "Name of this cluster in the curve file, as in configs/systems")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  app.add_option("--curve-time", raw.curve_time,
                 "Time per size in the curve file: median, or p10 (10th percentile, for a machine with other load)")
      ->type_name("median|p10")
      ->capture_default_str()
      ->group(group);
  app.add_option("--topology", f.topology,
                 "Topology file to store in the curve file, e.g. from NCCL_TOPO_DUMP_FILE (default: the output of "
                 "nvidia-smi topo -m)")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--hash-hosts", f.hash_hosts, "Hash the host names in the output files")->group(group);
}

void declare_launch(CLI::App& app, RawFlags& raw, Options& o) {
  const std::string group = "Ranks and backend";
  app.add_option("--backend", raw.backend,
                 "auto, nccl (GPU memory), mpi (host memory), mpi-cuda (GPU memory, CUDA-aware MPI) or tcp (built in)")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  app.add_option("-t,--nthreads", raw.threads, "Threads per process, each with one rank or -g ranks (nccl, tcp)")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("-g,--ngpus", raw.gpus, "GPUs per thread, one rank each (nccl)")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--streams", raw.streams, "tcp: connections per pair of ranks")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--hosts", o.launch.hosts, "Without mpirun: the host of each rank, in rank order, on every rank")
      ->type_name("HOSTS")
      ->group(group);
  app.add_option("--rank", raw.rank, "Without mpirun: the rank of this process in --hosts")
      ->type_name("RANK")
      ->group(group);
  app.add_option("--port", raw.port, "Without mpirun: the port of rank 0 (default: 18515, or from the job id)")
      ->type_name("PORT")
      ->group(group);
  app.add_option("--stall-limit", o.stall_limit_s,
                 "Seconds without progress before the stalled rank is reported and the job is aborted; 0: never")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->group(group);
  app.add_option("--inject-fault", raw.fault, "RANK:ELEMENT")->group("");
  app.add_option("--inject-stall", raw.stall, "RANK:ROW")->group("");
}

constexpr const char* kFooter =
    "Sizes, columns and bus bandwidth are those of nccl-tests. The table shows the mean time of the iterations; the\n"
    "curve file holds their median and their 10th and 90th percentiles (slowest rank).\n"
    "  mpirun -n 32 collective_bench -b 8 -e 1G -f 2 --collectives all_reduce,alltoall \\\n"
    "    --system my_cluster --out my_cluster.curve.txtpb";

std::string value_text(const CLI::Option& option) {
  if (option.count() == 0) return option.get_default_str();
  std::string text;
  for (const std::string& value : option.results()) text += (text.empty() ? "" : ",") + value;
  return text;
}

std::vector<std::string> given_flags(const CLI::App& app) {
  std::vector<std::string> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && value_text(*option) != option->get_default_str()) given.push_back(spelling(*option));
  }
  return given;
}

/// As CommandLine::flags says. Derived from what is declared, so that a new flag is compared unless it is exempted.
std::string flags_text(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr() || std::ranges::count(kPerRank, option->get_name()) > 0) continue;
    const std::string value = value_text(*option);
    text += spelling(*option) + (value.empty() ? " (not given)" : " " + value) + "\n";
  }
  return text;
}

/// By the words for the values: an empty text is none, and what takes numbers alone takes no other text (--root takes a
/// word too).
void check_texts(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "FILE")
      option->check(refuse_empty);
    else if (!type.empty())
      option->check([](const std::string& text) { return std::string(text.empty() ? "found an empty value" : ""); });
    const bool whole = type == "N" || type == "PORT" || option->get_name() == "--rank";
    if (!whole && type != "SHARE" && type != "SECONDS") continue;
    const FlagNumber kind = whole ? FlagNumber::whole : FlagNumber::real;
    option->transform(
        CLI::Validator([kind](std::string& text) { return plain_flag_number(text, kind); }, std::string()));
    option->check([kind](const std::string& text) { return refuse_odd_number(text, kind); });
  }
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Measures the collectives of a cluster, with the flags and the table of nccl-tests.",
               "collective_bench");
  app.footer(kFooter);
  RawFlags raw;
  Options options;
  declare_sizes(app, raw);
  declare_selection(app, raw, options.selected);
  declare_timing(app, raw, options);
  declare_output(app, raw, options.files);
  declare_launch(app, raw, options);
  check_texts(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return CommandLine{.print = app.help(), .options = {}, .flags = "", .given = {}};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  for (const auto& [flag, list] :
       {std::pair("--collectives", &raw.collectives), std::pair("--groups", &raw.groups),
        std::pair("--pair-tests", &raw.pair_tests), std::pair("--hosts", &options.launch.hosts)}) {
    TRY_ASSIGN(*list, list_words(flag, *list));
  }
  TRY_ASSIGN(options, checked_options(raw, std::move(options)));
  return CommandLine{
      .print = std::nullopt, .options = std::move(options), .flags = flags_text(app), .given = given_flags(app)};
}

}  // namespace distsim::bench
