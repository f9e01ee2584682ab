// The command line of collective_bench, read with CLI11 as text and then checked value by value.
#include <CLI/CLI.hpp>

#include "mpi_bench/collective/raw_flags.hpp"

namespace distsim::bench {
namespace {

void declare_sizes(CLI::App& app, RawFlags& raw) {
  app.add_option("-b,--minbytes", raw.min, "Smallest size; K, M, G are binary")->capture_default_str();
  app.add_option("-e,--maxbytes", raw.max, "Largest size")->capture_default_str();
  app.add_option("-i,--stepbytes", raw.step, "Step between sizes, if -f is not given")->capture_default_str();
  app.add_option("-f,--stepfactor", raw.factor, "Factor between sizes; 0 is off")->capture_default_str();
}

void declare_measurement(CLI::App& app, RawFlags& raw) {
  app.add_option("-n,--iters", raw.iterations, "Timed iterations per size")->capture_default_str();
  app.add_option("-w,--warmup_iters", raw.warmup, "Untimed iterations before them")->capture_default_str();
  app.add_option("-c,--check", raw.check, "Verify every element at every size; 0 is off")->capture_default_str();
  app.add_option("-o,--op", raw.op, "Reduction: sum, prod, max, min or all")->capture_default_str();
  app.add_option("-d,--datatype", raw.type, "Element type (float, half, int32, ...) or all")->capture_default_str();
  app.add_option("-r,--root", raw.root, "Root of broadcast, reduce, gather, scatter, or all")->capture_default_str();
  app.add_option("-a,--average", raw.report,
                 "Time in the table: 0 rank 0, 1 average, 2 minimum, 3 maximum over the ranks")
      ->capture_default_str();
  app.add_option("-G,--cudagraph", raw.graph, "Launches of a CUDA graph of the iterations (nccl); 0 is off")
      ->capture_default_str();
  app.add_option("-m,--agg_iters", raw.aggregate, "Must be 1: calls are not aggregated")->capture_default_str();
  app.add_option("-t,--nthreads", raw.threads, "Threads per process, each with one rank or -g ranks (nccl, tcp)")
      ->capture_default_str();
  app.add_option("-g,--ngpus", raw.gpus, "GPUs per thread, one rank each (nccl)")->capture_default_str();
  app.add_option("-z,--blocking", raw.blocking,
                 "1: wait for each call before the next (nccl; the other backends always do)")
      ->capture_default_str();
}

void declare_ours(CLI::App& app, RawFlags& raw, Options& o) {
  app.add_option(
         "--collectives", raw.collectives,
         "Comma-separated list of: " +
             [] {
               std::string names;
               for (const CollectiveCase& c : collective_cases())
                 names += (names.empty() ? "" : ",") + std::string(c.name);
               return names;
             }())
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--backend", raw.backend,
                 "auto, nccl (GPU memory), mpi (host memory), mpi-cuda (GPU memory, CUDA-aware MPI) or tcp (built in)")
      ->capture_default_str();
  app.add_option("--imbalance", o.imbalance, "alltoallv: rank 0 sends this many times as much as the last rank")
      ->capture_default_str();
  app.add_option("--out", o.out, "Curve file for distsim; text format if the name ends in .txtpb");
  app.add_option(
         "--curve-time", raw.curve_time,
         "Time per size in the curve file: median, or p10 (the undisturbed time on a machine shared with other work)")
      ->capture_default_str();
  app.add_flag("--hash-hosts", o.hash_hosts, "Hash host names in the output files");
  app.add_option(
      "--topology", o.topology,
      "Topology file to store in the curve file, e.g. from NCCL_TOPO_DUMP_FILE; default: nvidia-smi topo -m");
  app.add_option("-J,--json", o.json, "JSON file with all statistics");
  app.add_option("--system", o.system, "Name of this cluster in the curve file, as in configs/systems")
      ->capture_default_str();
  app.add_flag("--stats", o.stats, "Print median, percentiles and spread of the iterations below each row");
  app.add_option("--inject-fault", raw.fault, "RANK:ELEMENT")->group("");
  app.add_option("--inject-stall", raw.stall, "RANK:ROW")->group("");
}

void declare_what_to_measure(CLI::App& app, RawFlags& raw, Options& o) {
  app.add_option(
         "--groups", raw.groups,
         "Ranks that take part: all, nodes, one_per_node, rails, halves, pairs, far_pairs or ranks x nodes (8x2, 8x2.alone)")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--pair-tests", raw.pair_tests,
                 "Instead of collectives: latency, bandwidth (ranks 0 and 1), matrix (all pairs)")
      ->delimiter(',');
  app.add_option("--plan", o.plan,
                 "Output of `distsim curves plan`, or simulate: measure exactly the collectives that distsim needs")
      ->capture_default_str();
  app.add_option("--config", o.config, "Experiment for --plan simulate");
  app.add_option("--beside", raw.beside,
                 "Concurrent load: compute, or the size of a second all_reduce on a separate communicator");
  app.add_flag("--overhead", o.overhead, "Compare the timing loop with a plain loop of the same calls");
}

void declare_statistics(CLI::App& app, Options& o) {
  app.add_option("--relative-error", o.relative_error,
                 "Continue past -n until the relative error of the median is at most this (0.01 is 1 %)")
      ->capture_default_str();
  app.add_option("--max-seconds", o.max_seconds, "Time limit per size for --relative-error")->capture_default_str();
  app.add_option("--stall-limit", o.stall_limit_s,
                 "Seconds without progress after which a stalled rank is reported and the job is aborted; 0: never")
      ->capture_default_str();
}

void declare_tcp(CLI::App& app, Options& o) {
  app.add_option("--hosts", o.hosts, "Without mpirun: the host of each rank, in order; each rank is started separately")
      ->delimiter(',');
  app.add_option("--rank", o.my_rank, "Without mpirun: the number of this rank in --hosts");
  app.add_option("--port", o.port, "Port of rank 0; 0: 18515, or derived from the job id");
  app.add_option("--streams", o.streams, "tcp: connections per pair of ranks")->capture_default_str();
}

constexpr const char* kFooter =
    "Sizes, columns and bus bandwidth are those of nccl-tests. The time in the table is the mean of the iterations; the curve file has\n"
    "their median and the 10th and 90th percentiles (of the slowest rank).\n"
    "  mpirun -n 32 collective_bench -b 8 -e 1G -f 2 --collectives all_reduce,alltoall --system my_cluster --out my_cluster.curve.txtpb";

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Measures the collectives of a cluster, with the flags and the table of nccl-tests.",
               "collective_bench");
  app.footer(kFooter);
  RawFlags raw;
  Options options;
  declare_sizes(app, raw);
  declare_measurement(app, raw);
  declare_ours(app, raw, options);
  declare_what_to_measure(app, raw, options);
  declare_statistics(app, options);
  declare_tcp(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return CommandLine{app.help(), {}};
  } catch (const CLI::ParseError& error) {
    return Error{error.what(), "", "see collective_bench --help"};
  }
  TRY_ASSIGN(options, checked_options(raw, std::move(options)));
  return CommandLine{std::nullopt, std::move(options)};
}

}  // namespace distsim::bench
