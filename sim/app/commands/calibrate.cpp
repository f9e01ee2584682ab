// distsim calibrate ops: measured ops into what predictions use.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.hpp"
#include "base/output.hpp"
#include "base/system/open_input.hpp"
#include "opmodels/learned/training_rows.hpp"
#include "opmodels/measured/op_calibration.hpp"
#include "sim/app/commands.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/device_models.hpp"

namespace distsim::app {
namespace {

struct TrainingFlags {
  std::string input, kernel, csv = "-";
};

Result<opmodels::LearnedKernel> parse_kernel(const std::string& name) {
  if (const auto kernel = opmodels::parse_learned_kernel(name)) return *kernel;
  return Error{
      "--kernel: found '" + name + "', expected product16, product8, product_lanes, convolution, streaming or rowwise",
      "", ""};
}

Result<void> write_training_rows(const TrainingFlags& f) {
  TRY_ASSIGN(const opmodels::LearnedKernel kernel, parse_kernel(f.kernel));
  TRY(check_outputs({{"--csv", f.csv}}));
  TRY_ASSIGN(const auto in, open_input_stream(f.input));
  pipeline::DeviceModels devices;
  opmodels::TrainingCount count;
  TRY(write_stream_atomically(f.csv, [&](std::ostream& out) -> Result<void> {
    TRY_ASSIGN(count,
               opmodels::training_rows(*in, f.input, out, kernel, [&](std::string_view gpu) { return devices(gpu); }));
    return {};
  }));
  remark(fmt::format("{} of {} rows kept", count.kept, count.rows));
  return {};
}

void add_training(CLI::App& calibrate, Action& action) {
  auto f = std::make_shared<TrainingFlags>();
  CLI::App* sub =
      calibrate.add_subcommand("features", "Convert measured ops to training rows for scripts/train_op_models.py");
  sub->add_option("--input", f->input, "CSV of measured ops: gpu, op, dtype, sizes, latency_us")->required();
  sub->add_option("--kernel", f->kernel, "product16, product8, product_lanes, convolution, streaming or rowwise")
      ->required();
  sub->add_option("--csv", f->csv, "Output file; - is standard output (the default)")->check(refuse_empty);
  sub->callback([f, &action] { action = [f] { return write_training_rows(*f); }; });
}

struct CalibrateFlags {
  std::string input, device, out;
};

/// Where predictions look first.
Result<std::string> default_folder() {
  const auto folders = config::config_folders("op_models", "");
  if (!folders.empty()) return folders.front();
  return Error{"--out: found no folder configs/op_models to write to, expected a folder", "", ""};
}

/// Whether a gpu column's text names the device: its name or an alias, or one that leads to its file.
bool names_device(const topology::DeviceSpec& device, std::string_view text) {
  return text == device.name || std::find(device.aliases.begin(), device.aliases.end(), text) != device.aliases.end();
}

std::string left_out(const opmodels::CalibrationCount& c) {
  std::string text;
  const auto say = [&](std::size_t rows, const char* why) {
    if (rows > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rows, why);
  };
  say(c.other_gpu, "of another GPU");
  say(c.unpriced, "not a valid op for this GPU");
  say(c.hidden, "launch-bound");
  say(c.several, "of more than one kernel");
  say(c.thinned, "beyond the capacity of a table");
  return text.empty() ? text : "; left out: " + text;
}

Result<void> write_table(const CalibrateFlags& f) {
  TRY_ASSIGN(const topology::DeviceSpec device, config::load_device(f.device));
  std::string folder = f.out;
  if (folder.empty()) {
    TRY_ASSIGN(folder, default_folder());
  }
  const std::string path = folder + "/" + device.name + ".ops";
  TRY(check_outputs({{"--out", path}}));
  TRY_ASSIGN(const auto in, open_input_stream(f.input));
  if (in->peek() == std::istream::traits_type::eof() && !in->bad())
    return Error{"found an empty file, expected a CSV header", f.input, ""};
  TRY_ASSIGN(const auto learned, pipeline::shipped_learned_models());
  TRY_ASSIGN(const opmodels::OpModels models,
             opmodels::OpModels::create(device, learned));  // without a table from before
  opmodels::CalibrationCount count;
  TRY_ASSIGN(const opmodels::MeasuredTable table,
             opmodels::calibrate_ops(
                 *in, f.input, models, [&](std::string_view gpu) { return names_device(device, gpu); }, count));
  TRY(write_file_atomically(path, table.text()));
  remark(
      fmt::format("{}: {} points from {} of {} rows{}", path, table.size(), count.used, count.rows, left_out(count)));
  if (!count.first_problem.empty()) remark("first invalid row: " + count.first_problem);
  const auto folders = config::config_folders("op_models", "");
  std::error_code error;
  const bool found = std::any_of(folders.begin(), folders.end(), [&](const std::string& known) {
    return std::filesystem::equivalent(known, folder, error);
  });
  if (!found) remark("predictions read op_models in $DISTSIM_CONFIGS, or configs/op_models; " + folder + " is neither");
  return {};
}

void add_ops(CLI::App& calibrate, Action& action) {
  auto f = std::make_shared<CalibrateFlags>();
  CLI::App* sub =
      calibrate.add_subcommand("ops", "Convert measured ops to a device's op table, which predictions use first");
  sub->add_option("--input", f->input, "CSV in op_bench's format: gpu, op, dtype, sizes, latency_us")->required();
  sub->add_option("--device", f->device, "GPU: a device name (distsim list devices) or file")->required();
  sub->add_option("--out", f->out, "Folder for NAME.ops; default: configs/op_models")->check(refuse_empty);
  sub->callback([f, &action] { action = [f] { return write_table(*f); }; });
}

void declare(CLI::App& self, Action& action) {
  self.require_subcommand(1);
  add_ops(self, action);
  add_training(self, action);
}

constexpr Refusal kRefuses[] = {
    {"", "subcommand"},
};

}  // namespace

const Command calibrate_command{
    .name = "calibrate",
    .description = "Convert measured ops to a device's op table, or to training rows",
    .refuses = kRefuses,
    .declare = declare,
};

}  // namespace distsim::app
