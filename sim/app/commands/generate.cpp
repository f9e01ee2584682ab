// distsim generate: random experiments, for studies that need many.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include "base/output.hpp"
#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/app/commands.hpp"
#include "sim/config/config.hpp"
#include "sim/study/random_dlrm.hpp"

namespace distsim::app {
namespace {

struct GenerateFlags {
  std::string system, tables, out;
  std::uint32_t nodes = 1, gpus_per_node = 0, tasks = 20;
  std::uint64_t seed = 1;
  std::int64_t global_batch = 4096;
  bool mixed_widths = false;
};

Result<study::RandomDlrmRequest> request_of(const GenerateFlags& f) {
  study::RandomDlrmRequest request;
  request.system = f.system;
  TRY_ASSIGN(request.cluster, config::load_system(f.system));
  TRY_ASSIGN(request.device, config::load_device(request.cluster.device));
  request.cluster.nodes = f.nodes;
  if (f.gpus_per_node > 0) request.cluster.gpus_per_node = f.gpus_per_node;
  const std::int64_t installed = request.cluster.gpus_installed;
  if (installed > 0 && request.cluster.gpus_per_node > installed)
    return Error{"--gpus-per-node: found " + std::to_string(request.cluster.gpus_per_node) + ", expected at most " +
                     std::to_string(installed) + ", the GPUs of a node of " + f.system,
                 "", ""};
  const std::int64_t ranks = request.cluster.nodes * request.cluster.gpus_per_node;
  if (f.global_batch < ranks)
    return Error{"--batch: found " + std::to_string(f.global_batch) + ", expected at least " + std::to_string(ranks) +
                     ", one sample for each GPU",
                 "", ""};
  request.tasks = f.tasks;
  request.seed = f.seed;
  request.global_batch = f.global_batch;
  request.mixed_widths = f.mixed_widths;
  if (f.tables.empty()) return request;
  constexpr std::size_t kMostPoolBytes = std::size_t{64} << 20;
  TRY_ASSIGN(std::string text, read_file(f.tables, kMostPoolBytes));
  std::istringstream in(std::move(text));
  TRY_ASSIGN(request.pool, study::read_table_pool(in, f.tables));
  return request;
}

Result<void> make_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed && std::filesystem::is_directory(folder, failed)) return {};
  return Error{"--out: found no folder and none can be made, expected a folder to write to", folder, ""};
}

/// Whether the file is there as it would be written. Errors: one of this name with another text, which may be somebody's work.
Result<bool> is_written(const std::string& path, const std::string& text) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return false;
  const Result<std::string> found = read_file(path, text.size());
  if (found.ok() && *found == text) return true;
  return Error{"--out: found a file of this name with another text, expected a folder without it", path,
               "remove it, or name another folder"};
}

Result<void> write_tasks(const GenerateFlags& f) {
  TRY_ASSIGN(const study::RandomDlrmRequest request, request_of(f));
  TRY_ASSIGN(const std::vector<study::RandomDlrm> tasks, study::random_dlrms(request));
  TRY(make_folder(f.out));
  std::string text;
  const auto path_of = [&](const study::RandomDlrm& task) {
    return (std::filesystem::path(f.out) / (task.name + ".yaml")).string();
  };
  std::set<std::string> there;
  for (const study::RandomDlrm& task : tasks) {
    TRY_ASSIGN(const bool written, is_written(path_of(task), task.experiment));
    if (written) there.insert(path_of(task));
  }
  std::vector<std::pair<std::string, std::string>> outputs;
  for (const study::RandomDlrm& task : tasks) outputs.emplace_back("--out", path_of(task));
  TRY(check_apart(outputs));
  std::erase_if(outputs, [&](const auto& output) { return there.contains(output.second); });
  TRY(check_outputs(outputs));
  FilesTogether files;
  for (const study::RandomDlrm& task : tasks) {
    const std::string path = path_of(task);
    if (!there.contains(path)) TRY(files.write(path, task.experiment));
    text += path + ": " + counted(task.tables, "table") + ", " +
            format_quantity(static_cast<double>(task.bytes), Dimension::bytes) + ", mean pooling factor " +
            std::to_string(static_cast<int>(task.mean_pooling + 0.5)) + (task.heavy ? ", heavy" : ", light") + "\n";
  }
  TRY(files.keep());
  return print(text);
}

void declare_generate(CLI::App& self, Action& action) {
  self.require_subcommand(1);
  auto f = std::make_shared<GenerateFlags>();
  CLI::App* dlrm = self.add_subcommand(
      "dlrm", "Recommenders with random sets of embedding tables, as owensgroup/ml_perf_model draws them");
  dlrm->add_option("--system", f->system, "System they run on: a name (distsim list systems) or file")->required();
  dlrm->add_option("--nodes", f->nodes, "Nodes (default 1)")->check(CLI::Range(1u, 1024u));
  dlrm->add_option("--gpus-per-node", f->gpus_per_node, "GPUs of a node that are used; default: all")
      ->check(CLI::Range(1u, 1024u));
  dlrm->add_option("--tasks", f->tasks, "Experiments to write (default 20)")->check(CLI::Range(1u, 10000u));
  dlrm->add_option("--seed", f->seed, "Random seed (default 1): the same seed gives the same files");
  dlrm->add_option("--batch", f->global_batch, "Global batch (default 4096)")->check(CLI::Range(1, 1 << 30));
  dlrm->add_option("--tables", f->tables,
                   "CSV of tables to draw from, columns rows and pooling_factor; default: a stand-in")
      ->check(refuse_empty);
  dlrm->add_flag("--mixed-widths", f->mixed_widths,
                 "A width of its own for every table, the vectors concatenated; default: one width, dot products");
  dlrm->add_option("--out", f->out, "Folder to write them to")->required()->check(refuse_empty);
  dlrm->callback([f, &action] { action = [f] { return write_tasks(*f); }; });
}

constexpr Refusal kGenerateRefuses[] = {
    {"", "found no command"},
    {"dlrm --system dgx_a100_80gb", "--out: missing"},
    {"dlrm --system dgx_a100_8gb --out /tmp", "dgx_a100_80gb"},
    {"dlrm --system dgx_a100_80gb --out README.md", "README.md"},
    {"dlrm --system dgx_a100_80gb --tables no_such.csv --out /tmp", "no_such.csv"},
    {"dlrm --system dgx_a100_80gb --nodes 100 --out /tmp", "found a pool of 856"},
    {"dlrm --system dgx_a100_80gb --tasks 0 --out /tmp", "--tasks"},
};

}  // namespace

const Command generate_command{
    .name = "generate",
    .description = "Write random experiments: recommenders with random sets of embedding tables",
    .refuses = kGenerateRefuses,
    .declare = declare_generate,
};

}  // namespace distsim::app
