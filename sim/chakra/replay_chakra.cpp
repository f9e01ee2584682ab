#include "sim/chakra/replay_chakra.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/folder.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/chakra/astra_network.hpp"
#include "sim/chakra/chakra_report.hpp"
#include "sim/config/config.hpp"
#include "sim/config/flag_sets.hpp"
#include "traces/chakra/chakra_reader.hpp"
#include "traces/files/gunzip.hpp"
#include "traces/registry.hpp"

namespace distsim::chakra {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{1} << 16;
constexpr std::size_t kMostGroupBytes = std::size_t{64} << 20;

/// What a job runs on.
struct Stage {
  std::unique_ptr<CommunicationCost> costs;
  topology::DeviceSpec device;
  std::vector<std::string> notes;
};

std::vector<std::string> sets_of(const ChakraReplay& f) {
  return f.curves.empty() ? f.sets : config::with_flags(f.sets, {config::curves_flag(f.curves)});
}

/// The experiment's cluster, with as many nodes as the ranks need.
Result<Stage> cluster_stage(const ChakraReplay& f, std::size_t ranks) {
  TRY_ASSIGN(config::Experiment e,
             f.experiment != nullptr ? f.experiment->with(sets_of(f)) : config::load_experiment(f.config, sets_of(f)));
  Stage stage;
  const auto gpus = static_cast<std::size_t>(std::max<std::int64_t>(1, e.cluster.gpus_per_node));
  const auto needed = static_cast<std::int64_t>((ranks + gpus - 1) / gpus);
  if (needed > e.cluster.nodes) {
    stage.notes.push_back(fmt::format("using {} for {}; the experiment has {}",
                                      counted(static_cast<std::uint64_t>(needed), "node"), counted(ranks, "rank"),
                                      e.cluster.nodes));
    e.cluster.nodes = needed;
  }
  TRY_ASSIGN(topology::Topology topology, topology::Topology::build(e.cluster, e.device.compute_capability));
  TRY_ASSIGN(collectives::CollectiveModels models, collectives::CollectiveModels::create(topology, e.collectives));
  stage.costs = cluster_communication(std::move(topology), std::move(models));
  stage.device = std::move(e.device);
  return stage;
}

/// A network of ASTRA-sim's, which has a place for every rank and no other.
Result<Stage> network_stage(const ChakraReplay& f, const traces::ChakraSet& set) {
  TRY_ASSIGN(AstraNetwork network, read_astra_network(f.network, f.network_system));
  const std::uint32_t ranks = set.ranks_of_job();
  if (network.costs->ranks() != ranks) {
    return Error{
        fmt::format("found {} of {} ranks, expected {}: npus_count of {}",
                    set.job_ranks == 0 ? "traces" : "traces of a job", ranks, network.costs->ranks(), f.network),
        "", ranks == 1 ? fmt::format("--ranks {} replicates one trace to all ranks", network.costs->ranks()) : ""};
  }
  return Stage{std::move(network.costs), std::move(network.device), {}};
}

Result<ChakraPlayOptions> options_of(const ChakraReplay& f) {
  ChakraPlayOptions options;
  options.recorded_collectives = f.recorded_collectives;
  options.compute_scale = f.compute_scale;
  if (!f.groups.empty()) {
    TRY_ASSIGN(const std::string text, read_file(f.groups, kMostGroupBytes));
    TRY_ASSIGN(options.groups, traces::read_chakra_groups(text, f.groups));
  }
  return options;
}

bool is_et(const std::string& path) { return path.ends_with(".et") || path.ends_with(".et.gz"); }

/// What cannot be listed has no traces.
bool any_et(const std::filesystem::path& folder, const std::string& prefix) {
  return std::ranges::any_of(list_folder(folder.empty() ? "." : folder.string()).names,
                             [&](const std::string& name) { return name.starts_with(prefix) && is_et(name); });
}

/// A folder with traces, or the prefix of some.
bool leads_to_et(const std::string& word) {
  const std::filesystem::path path(word);
  return any_et(path, "") || (path.has_filename() && any_et(path.parent_path(), path.filename().string() + "."));
}

struct Played {
  ChakraPlay play;
  std::string where;
  std::unique_ptr<CommunicationCost> costs;  ///< own the sources that the play names
};

Result<Played> play_on_stage(const ChakraReplay& f, const traces::ChakraSet& set) {
  TRY_ASSIGN(const ChakraPlayOptions options, options_of(f));
  TRY_ASSIGN(Stage stage, f.network.empty() ? cluster_stage(f, set.ranks_of_job()) : network_stage(f, set));
  TRY_ASSIGN(ChakraPlay play, play_chakra(set, *stage.costs, stage.device, options));
  play.notes.insert(play.notes.begin(), stage.notes.begin(), stage.notes.end());
  std::string where = stage.costs->where();
  return Played{std::move(play), std::move(where), std::move(stage.costs)};
}

/// Notes what was given and changes no time: the job is played again without it. Where no text is printed, it is also said on
/// standard error.
void name_idle_flags(const ChakraReplay& f, const traces::ChakraSet& set, Played& played) {
  const std::string with = chakra_csv(set, played.play);
  std::string idle;
  const auto name_if_idle = [&](const std::string& given, const ChakraReplay& rest) {
    const auto without = [&] {
      const LogSilence silence;
      return play_on_stage(rest, set);
    }();
    if (without && chakra_csv(set, without->play) == with) idle += (idle.empty() ? "" : ", ") + given;
  };
  for (std::size_t i = 0; i < f.sets.size(); ++i) {
    ChakraReplay rest = f;
    rest.sets.erase(rest.sets.begin() + static_cast<std::ptrdiff_t>(i));
    name_if_idle("--set " + printable(f.sets[i], 120), rest);
  }
  ChakraReplay rest = f;
  rest.groups.clear();
  if (!f.groups.empty()) name_if_idle("--groups", rest);
  rest = f;
  rest.recorded_collectives = false;
  if (f.recorded_collectives) name_if_idle("--recorded-collectives", rest);
  rest = f;
  rest.compute_scale = 1;
  if (f.compute_scale != 1) name_if_idle("--compute-scale", rest);
  if (idle.empty()) return;
  const std::string line = "no effect on this replay: " + idle;
  if (takes_stdout({{"--csv", f.csv}, {"--json", f.json}})) log_warn([&] { return line; });
  played.play.notes.push_back(line);
}

struct SetPlayed {
  traces::ChakraSet set;
  Played played;
};

Result<void> check_asked(const ChakraReplay& f) {
  const bool has_experiment = f.experiment != nullptr || !f.config.empty();
  if (has_experiment != f.network.empty()) {
    return Error{
        !has_experiment
            ? "--config: missing, expected an experiment whose cluster the traces are replayed on, or --network"
            : "--network: found it together with --config, expected one of them",
        "", ""};
  }
  if (!std::isfinite(f.compute_scale))
    return Error{"--compute-scale: found no finite number, expected 1e-6 .. 1e6", "",
                 ""};  // a range check lets NaN through
  if (!f.network_system.empty() && f.network.empty())
    return Error{"--network-system: found it without --network, expected both", "", ""};
  return {};
}

Result<SetPlayed> played_set(const ChakraReplay& f) {
  TRY(check_asked(f));
  TRY_ASSIGN(const std::vector<std::string> files, traces::find_chakra_files(f.traces));
  TRY_ASSIGN(traces::ChakraSet set, traces::read_chakra_set(files, f.ranks));
  TRY_ASSIGN(Played played, play_on_stage(f, set));
  name_idle_flags(f, set, played);
  return SetPlayed{std::move(set), std::move(played)};
}

}  // namespace

bool names_chakra(const std::vector<std::string>& words) {
  const auto files = traces::find_chakra_files(words);
  if (!files) {  // what is wrong with them is better said by this reader, if they look like its own
    return std::any_of(words.begin(), words.end(), [](const std::string& w) { return is_et(w) || leads_to_et(w); });
  }
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(files->front(), unknown))  // a look would take a pipe's first bytes
    return is_et(files->front());
  const auto in = open_input_stream(files->front());
  if (!in) return is_et(files->front());
  std::string head(kHeadBytes, '\0');
  (*in)->read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>((*in)->gcount()));
  const std::string text = traces::is_gzip(head) ? traces::gunzip_head(head, head.size()) : head;
  const traces::TraceFormat* format = traces::format_of(traces::look_at(text));
  return format == nullptr ? is_et(files->front()) : format->read_graph != nullptr;
}

void add_chakra_flags(CLI::App& command, ChakraReplay& f) {
  command
      .add_option("--network", f.network, "Chakra: network in ASTRA-sim's format (network.yml), instead of --config")
      ->check(refuse_empty);
  command
      .add_option("--network-system", f.network_system,
                  "Chakra: algorithms, splits and delays in ASTRA-sim's format (system.json)")
      ->check(refuse_empty);
  command.add_option("--groups", f.groups, "Chakra: ranks of each communicator as JSON, {\"1\": [0, 1], ..}")
      ->check(refuse_empty);
  command.add_option("--ranks", f.ranks, "Chakra: replicate a single trace to this many ranks")
      ->check(CLI::Range(1u, 1u << 24));
  command.add_flag("--recorded-collectives", f.recorded_collectives,
                   "Chakra: use recorded times for collectives instead of the models");
  command
      .add_option("--compute-scale", f.compute_scale, "Chakra: multiply the times of recorded kernels by this factor")
      ->check(CLI::Range(1e-6, 1e6));
}

Result<void> replay_chakra(const ChakraReplay& f) {
  TRY(check_outputs({{"--csv", f.csv}, {"--json", f.json}}));
  TRY_ASSIGN(const SetPlayed done, played_set(f));
  const auto& [set, played] = done;
  return write_and_print({text_file("--csv", f.csv, [&] { return chakra_csv(set, played.play); }),
                          text_file("--json", f.json, [&] { return chakra_json(set, played.play, played.where); })},
                         [&] { return chakra_text(set, played.play, played.where); });
}

Result<ChakraTexts> replayed_texts(ChakraReplay f) {
  f.csv = f.json = "";
  TRY_ASSIGN(const SetPlayed done, played_set(f));
  const auto& [set, played] = done;
  return ChakraTexts{chakra_json(set, played.play, played.where), chakra_csv(set, played.play),
                     chakra_text(set, played.play, played.where)};
}

}  // namespace distsim::chakra
