#include "mpi_bench/collective/run/measure/report.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <sstream>

#include "base/file.hpp"
#include "base/text/counted.hpp"
#include "mpi_bench/common/pulse.hpp"

namespace distsim::bench {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

std::string rank_line_text(const Ranks& ranks, const DeviceFacts& device) {
  return std::to_string(::getpid()) + "\t" + std::to_string(device.index) + "\t" + ranks.host() + "\t" + device.bus_id +
         "\t" + device.name;
}

RankLine parse_rank_line(int rank, const std::string& text) {
  std::istringstream in(text);
  std::string pid, device;
  RankLine line{.rank = rank};
  std::getline(in, pid, '\t');
  std::getline(in, device, '\t');
  std::getline(in, line.host, '\t');
  std::getline(in, line.bus_id, '\t');
  std::getline(in, line.name, '\t');
  line.pid = std::stoi(pid);
  line.device = std::stoi(device);
  return line;
}

void add_word(std::string& text, const std::string& word) { text += (text.empty() ? "" : " ") + word; }

/// What of NCCL holds for all sweeps.
std::string nccl_settings_text(const Options& options, bool nccl) {
  std::string text;
  if (nccl && options.timing.blocking) add_word(text, "-z 1");
  for (char** variable = environ; nccl && *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("NCCL_")) add_word(text, *variable);
  }
  return text;
}

/// Flags and environment that change what a curve means, where they are not the defaults.
std::string settings_text(const Options& options, const Sweep& sweep, bool nccl) {
  std::string text;
  const auto add = [&text](const std::string& part) { add_word(text, part); };
  if (sweep.type != DataType::float32) add("-d " + std::string(info_of(sweep.type).name));
  if (sweep.what->reduces && sweep.op != RedOp::sum) add("-o " + std::string(name_of(sweep.op)));
  if (sweep.what->rooted && sweep.root != 0) add("-r " + std::to_string(sweep.root));
  if (sweep.what->uneven && options.selected.imbalance != 1) {
    std::ostringstream imbalance;
    imbalance << "--imbalance " << options.selected.imbalance;
    add(imbalance.str());
  }
  if (const std::string of_nccl = nccl_settings_text(options, nccl); !of_nccl.empty()) add(of_nccl);
  return text;
}

/// What ran at the same time, for which distsim does not price with the times; empty where nothing did.
std::string load_text(const Options& options) {
  return options.load.kind == LoadKind::compute      ? "measured with concurrent computation"
         : options.load.kind == LoadKind::collective ? "measured with a concurrent collective"
                                                     : "";
}

/// Empty where everybody is in one group and nothing else runs.
std::string group_text(const Team& team, const Options& options) {
  std::string text;
  if (!team.whole())
    text = team.shape + ": " + counted(team.groups, "group") + " of " + counted(team.ranks, "rank") + " on " +
           counted(team.nodes, "node") + (team.groups > 1 ? ", all at once" : "");
  if (options.load.kind == LoadKind::compute)
    text += (text.empty() ? "" : "; ") + std::string("concurrent with computation");
  if (options.load.kind == LoadKind::collective)
    text += (text.empty() ? "" : "; ") + std::string("concurrent with an all_reduce of ") +
            std::to_string(options.load.bytes) + " bytes";
  return text;
}

}  // namespace

RunReport::RunReport(const Options& options, const Ranks& ranks, const ChosenBackend& chosen, double total_work,
                     const std::string& flags)
    : options_(options),
      ranks_(ranks),
      chosen_(chosen),
      flags_(flags),
      progress_(ranks.rank() == 0),
      total_work_(total_work) {}

void RunReport::introduce(const Backend& backend) {
  const DeviceFacts device = backend.device();
  const auto lines = ranks_.gather(rank_line_text(ranks_, device));
  if (!speaks()) return;
  library_ = backend.library();
  device_ = device.name;
  for (int r = 0; r < ranks_.size(); ++r) rank_lines_.push_back(parse_rank_line(r, lines[r]));
  if (options_.files.out.empty()) return;
  const bool gpu = chosen_.kind == BackendChoice::nccl || chosen_.kind == BackendChoice::mpi_cuda;
  CurveFileFacts facts{
      .system = options_.files.system,
      .device = device.name,
      .hardware = counted(ranks_.size(), "rank") + " on " + counted(ranks_.nodes(), "node") + ", " + device.name,
      .flags = flags_};
  for (int r = 0; r < ranks_.size(); ++r) {
    if (ranks_.node_of()[r] == static_cast<int>(facts.hosts.size()))
      facts.hosts.push_back(options_.files.hash_hosts ? hashed_host(ranks_.host(r)) : ranks_.host(r));
  }
  facts.driver = gpu ? driver_version() : "";
  facts.clocks = machine_clocks(gpu);
  facts.topology = topology_text(options_.files.topology, gpu);
  curves_.emplace(options_.files.out, facts);
}

void RunReport::begin_table(const CollectiveCase& what, const Backend& backend, const Team& team) {
  if (!speaks()) return;
  tables_.push_back({std::string(what.name),
                     team.shape,
                     team.ranks,
                     team.nodes,
                     team.groups,
                     {},
                     load_text(options_),
                     nccl_settings_text(options_, backend.name() == "nccl")});
  progress_.clear();
  const bool by_factor = options_.sizes.step_factor > 1;
  std::fputs(header_text({.collective = std::string(what.name),
                          .backend = backend.name() + ": " + backend.library() + " (" + chosen_.why + ")",
                          .min_bytes = options_.sizes.min_bytes,
                          .max_bytes = options_.sizes.max_bytes,
                          .step = by_factor ? options_.sizes.step_factor : options_.sizes.step_bytes,
                          .by_factor = by_factor,
                          .group = group_text(team, options_),
                          .threads = options_.lanes.threads,
                          .gpus = options_.lanes.gpus,
                          .warmup = options_.timing.warmup,
                          .iterations = options_.timing.iterations,
                          .graph = options_.timing.graph_launches,
                          .check = options_.check,
                          .ranks = rank_lines_})
                 .c_str(),
             stdout);
  std::fflush(stdout);
}

void RunReport::comment(const std::string& text) {
  if (!speaks()) return;
  progress_.clear();
  std::printf("# %s\n", text.c_str());
  std::fflush(stdout);
}

void RunReport::begin_curve(const Sweep& sweep, const Backend& backend, const Team& team) {
  if (!curves_) return;
  curves_->begin({.kind = std::string(sweep.what->curve_kind),
                  .ranks = team.ranks,
                  .nodes = team.nodes,
                  .single_process = options_.lanes.lanes() > 1,
                  .cuda_graph = options_.timing.graph_launches > 0,
                  .library = backend.library(),
                  .settings = settings_text(options_, sweep, backend.name() == "nccl"),
                  .date = today(),
                  .group = team.shape,
                  .groups_at_once = team.groups,
                  .time = options_.files.curve_time,
                  .not_used = load_text(options_)});
}

void RunReport::announce(const CollectiveCase& what, std::uint64_t bytes) {
  progress_.show(done_work_ / total_work_, std::string(what.name) + " " + std::to_string(bytes) + " B");
}

Result<void> RunReport::add(const Row& row, double work) {
  done_work_ += work;
  if (!speaks()) return {};
  print(row);
  if (curves_) curves_->add(row);
  return save(true);
}

void RunReport::print(const Row& row) {
  progress_.clear();
  std::fputs(row_text(row).c_str(), stdout);
  if (options_.files.stats) std::fputs(stats_text(row).c_str(), stdout);
  std::fputs(noise_text(row).c_str(), stdout);
  std::fflush(stdout);
  tables_.back().rows.push_back(row);
}

void RunReport::add_wrong(const MeasuredRow& measured) {
  if (!speaks()) return;
  print(measured.row);
  std::fprintf(stderr, "collective_bench: %s\n", measured.fault->c_str());
}

void RunReport::end_table(Outcome outcome) {
  if (!speaks()) return;
  progress_.clear();
  std::fputs(footer_text(tables_.back().rows, tables_.back().collective, outcome).c_str(), stdout);
  std::fflush(stdout);
}

void RunReport::line(const std::string& text) {
  if (!speaks()) return;
  progress_.clear();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

void RunReport::begin_pair_curve(int nodes, const Backend& backend) {
  if (!speaks()) return;
  tables_.push_back({"pair_latency", "pair", 2, nodes, 1, {}});
  if (!curves_) return;
  curves_->begin({.kind = "send_recv",
                  .ranks = 2,
                  .nodes = nodes,
                  .library = backend.library(),
                  .settings = "",
                  .date = today(),
                  .group = "pair"});
}

Result<void> RunReport::add_pair(std::uint64_t bytes, const Summary& s) {
  if (!speaks()) return {};
  Measured m = measured_from(bytes, s.median * 1e-6, 1);
  m.iterations = s;
  m.ranks.medians = s;
  m.noisy = is_noisy(s);
  const Row row{.bytes = bytes, .count = bytes, .type = "int8", .out_of_place = m};
  tables_.back().rows.push_back(row);
  if (curves_) curves_->add(row);
  return save(true);
}

Result<void> RunReport::save(bool partial) {
  if (!speaks()) return {};
  if (curves_) TRY(curves_->write(partial));
  if (!options_.files.json.empty())
    TRY(write_file_atomically(options_.files.json, json_text(tables_,
                                                             {.backend = library_,
                                                              .device = device_,
                                                              .ranks = ranks_.size(),
                                                              .nodes = ranks_.nodes(),
                                                              .threads = options_.lanes.threads,
                                                              .gpus = options_.lanes.gpus,
                                                              .cuda_graph = options_.timing.graph_launches > 0,
                                                              .date = today()},
                                                             partial)));
  pulse().saved = curves_ || !options_.files.json.empty();
  return {};
}

}  // namespace distsim::bench
