// distsim calibrate: measured ops, and measured iterations, into what predictions use.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.hpp"
#include "base/folder_files.hpp"
#include "base/output.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/system/inputs/protected_inputs.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "opmodels/learned/training_rows.hpp"
#include "opmodels/measured/op_calibration.hpp"
#include "opmodels/measured/op_errors.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/pipeline/correction/graph_correction.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/study/validate/graph_training.hpp"
#include "topology/devices/device_names.hpp"

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

/// "; left out: 1 of another GPU, 2 launch-bound"; empty: none.
std::string left_out(std::initializer_list<std::pair<std::size_t, const char*>> cases) {
  std::string text;
  for (const auto& [rows, why] : cases) {
    if (rows > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rows, why);
  }
  return text.empty() ? text : "; left out: " + text;
}

std::string and_more(std::size_t all) { return all == 1 ? "" : fmt::format(" (and {} more)", all - 1); }

template <class Count>
void name_too_long(const Count& c) {
  if (c.too_long == 0) return;
  remark(fmt::format("{}{}; expected microseconds", c.first_too_long, and_more(c.too_long)));
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
  if (!count.unused.empty()) remark(printable(f.input, 300) + ": carried along, not used: " + count.unused);
  remark(fmt::format("{} of {} rows kept{}", count.kept, count.rows,
                     left_out({{count.other_kernel, "not of this kernel"},
                               {count.unpriced, "not a valid row of a known GPU"},
                               {count.impossible, "faster than the GPU allows"},
                               {count.hidden, "no longer than what comes with the op"}})));
  name_too_long(count);
  if (count.at_low_clock > 0)
    remark(fmt::format("{}{}; {} as of a device that is locked to it", count.first_low_clock,
                       and_more(count.at_low_clock), count.at_low_clock == 1 ? "kept" : "each is kept"));
  if (!count.first_problem.empty()) remark("first invalid row: " + count.first_problem);
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
  std::vector<std::string> inputs;
  std::string device, out, csv;
  bool report = false;
  std::uint32_t worst = 3;
};

/// Where predictions look first.
Result<std::string> default_folder() {
  const auto folders = config::config_folders("op_models", "");
  if (!folders.empty()) return folders.front();
  return Error{"--out: found no folder configs/op_models to write to, expected a folder", "", ""};
}

std::string left_out(const opmodels::CalibrationCount& c) {
  return left_out({{c.other_gpu, "of another GPU"},
                   {c.unpriced, "not a valid op for this GPU"},
                   {c.impossible, "faster than the GPU allows"},
                   {c.hidden, "launch-bound"},
                   {c.several, "of more than one kernel"},
                   {c.thinned, "beyond the capacity of a table"},
                   {c.unreported, "beyond the capacity of the report"}});
}

void name_apart(const opmodels::CalibrationCount& c) {
  if (c.apart == 0) return;
  remark(fmt::format("{}: {} measured with times that differ by more than a factor of {}; the geometric mean is used",
                     c.first_apart, c.apart == 1 ? "an op was" : counted(c.apart, "op") + " were",
                     opmodels::kOpTimesApart));
}

void name_alike(const opmodels::CalibrationCount& c) {
  if (c.alike == 0) return;
  remark(fmt::format("{}{}; the geometric mean of their times is used, with a range that holds them", c.first_alike,
                     and_more(c.alike)));
}

void name_clocks(const opmodels::CalibrationCount& c) {
  if (c.at_other_clocks > 0)
    remark(fmt::format("{}{}; the geometric mean of their times is used", c.first_other_clock,
                       and_more(c.at_other_clocks)));
  if (c.at_other_memory > 0)
    remark(fmt::format("{}{}; times are not carried from one memory clock to another", c.first_other_memory,
                       and_more(c.at_other_memory)));
  if (c.carried > 0)
    remark(fmt::format("{}{}; the times are carried there, as the models change with the clock", c.first_carried,
                       and_more(c.carried)));
}

/// A table is of free clocks, and so are rows that do not state theirs.
void name_lock(const topology::DeviceSpec& device, const opmodels::CalibrationCount& c) {
  if (device.clock.locked.value() == 0 || c.no_clock == 0) return;
  remark(fmt::format("{}: clock.locked: {}, but {} no sm_clock_mhz: taken as measured at free clocks", device.name,
                     format_quantity(device.clock.locked.value(), Dimension::hertz),
                     c.no_clock == 1 ? "1 row states" : fmt::format("{} rows state", c.no_clock)));
}

void name_launched(const opmodels::CalibrationCount& c) {
  if (c.launched > 0)
    remark(fmt::format("{}{}, as measured on the hosts of NeuSight; yours may differ", c.first_launched,
                       and_more(c.launched)));
}

void name_falling(const opmodels::OpCalibration& calibration) {
  if (const std::string falling = calibration.falling(); !falling.empty())
    remark(falling + "; sizes near it are priced by both");
  if (calibration.count().too_long > 0) return;  // named before
  if (const std::string above = calibration.last_above(); !above.empty())
    remark(above + "; from twice its size on ops are priced by the models alone, which may be less");
}

/// What is unusual about the measured times.
void name_oddities(const opmodels::OpCalibration& calibration) {
  const opmodels::CalibrationCount& count = calibration.count();
  name_apart(count);
  name_alike(count);
  name_too_long(count);
  name_clocks(count);
  name_launched(count);
  name_falling(calibration);
}

/// The files given, and the CSV files of the folders given.
Result<std::vector<std::string>> input_files(const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  std::error_code error;
  for (const std::string& input : inputs) {
    if (!std::filesystem::is_directory(input, error)) {
      out.push_back(input);
      continue;
    }
    const auto files = files_by_folder({input}, ".csv");
    note_input_folder(input, [](std::string_view name) { return name.ends_with(".csv"); });
    if (files.front().empty())
      return Error{"found no CSV file in the folder, expected the files that op_bench wrote", printable(input, 300),
                   ""};
    out.insert(out.end(), files.front().begin(), files.front().end());
  }
  return out;
}

Result<void> add_file(const std::string& path, opmodels::OpCalibration& calibration) {
  TRY_ASSIGN(const auto in, open_input_stream(path));
  if (in->peek() == std::istream::traits_type::eof() && !in->bad())
    return Error{"found an empty file, expected a CSV header", path, ""};
  return calibration.add(*in, path);
}

Result<void> write_table(const std::string& path, const std::string& folder, const opmodels::OpCalibration& calibration,
                         FilesTogether& files) {
  TRY_ASSIGN(const opmodels::MeasuredTable table, calibration.table());
  const opmodels::CalibrationCount& count = calibration.count();
  TRY(files.write(path, table.text()));
  remark(fmt::format("{}: {} from {} of {} rows{}", path, counted(table.size(), "point"), count.used, count.rows,
                     left_out(count)));
  if (!count.first_problem.empty()) remark("first invalid row: " + count.first_problem);
  name_oddities(calibration);
  const auto folders = config::config_folders("op_models", "");
  std::error_code error;
  const bool found = std::any_of(folders.begin(), folders.end(), [&](const std::string& known) {
    return std::filesystem::equivalent(known, folder, error);
  });
  if (!found) remark("predictions read op_models in $DISTSIM_CONFIGS, or configs/op_models; " + folder + " is neither");
  return {};
}

using Learned = std::shared_ptr<const opmodels::LearnedModels>;

/// Of --report.
Result<std::vector<opmodels::OpKindErrors>> errors_of(const topology::DeviceSpec& device, const Learned& learned,
                                                      const opmodels::OpCalibration& calibration) {
  if (calibration.rows().empty()) return calibration.table().error();
  const auto with_table = [&](opmodels::MeasuredTable table) {
    return opmodels::OpModels::create(device, learned,
                                      std::make_shared<const opmodels::MeasuredTable>(std::move(table)));
  };
  return opmodels::op_errors(calibration.rows(), with_table);
}

Result<void> calibrate_ops(const CalibrateFlags& f, const CLI::App& command) {
  if (takes_stdout({{"--csv", f.csv}})) name_unheeded(command, {"--worst"}, "the text is not printed");
  TRY_ASSIGN(const topology::DeviceSpec given, config::load_device(f.device));
  const topology::DeviceSpec device = opmodels::measured_device(given);
  std::string folder = f.out;
  if (folder.empty() && !f.report) {
    TRY_ASSIGN(folder, default_folder());
  }
  const std::string path = folder.empty() ? "" : folder + "/" + device.name + ".ops";
  note_made_input(path, ".ops");
  const std::vector<std::pair<std::string, std::string>> outputs{{"--out", path}, {"--csv", f.csv}};
  TRY(check_outputs(outputs));
  TRY_ASSIGN(const std::vector<std::string> files, input_files(f.inputs));
  TRY_ASSIGN(const Learned learned, pipeline::shipped_learned_models());
  TRY_ASSIGN(const opmodels::OpModels models,
             opmodels::OpModels::create(device, learned));  // without a table from before
  opmodels::OpCalibration calibration(
      models, [&](std::string_view gpu) { return topology::names_device(device, gpu); }, f.report);
  for (const std::string& file : files) TRY(add_file(file, calibration));
  for (const std::string& text : calibration.count().remarks) remark(text);
  name_lock(given, calibration.count());
  TRY(check_outputs(outputs));
  std::vector<opmodels::OpKindErrors> kinds;
  if (f.report) {
    TRY_ASSIGN(kinds, errors_of(device, learned, calibration));
  }
  const Result<void> written = write_output_files(
      {{"--out", path, [&](FilesTogether& written) { return write_table(path, folder, calibration, written); }},
       text_file("--csv", f.csv, [&] { return opmodels::op_errors_csv(kinds); })});
  if (f.report && !takes_stdout(outputs)) {
    const std::size_t rows = calibration.count().rows;
    if (f.out.empty()) name_oddities(calibration);
    TRY(print(opmodels::op_errors_text(device.name, kinds, f.worst) +
              fmt::format("{} of {} rows{}\n", calibration.rows().size(), rows, left_out(calibration.count()))));
  }
  return written;
}

void add_ops(CLI::App& calibrate, Action& action) {
  auto f = std::make_shared<CalibrateFlags>();
  CLI::App* sub =
      calibrate.add_subcommand("ops", "Convert measured ops to a device's op table, which predictions use first");
  sub->add_option(
         "--input", f->inputs,
         "CSV in op_bench's format (gpu, op, dtype, sizes, latency_us), or a folder of such files; may be repeated")
      ->required()
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--device", f->device, "GPU: a device name (distsim list devices) or file")->required();
  sub->add_option(
         "--out", f->out,
         "Folder for NAME.ops; default: op_models of $DISTSIM_CONFIGS, else of the installation's configs, where "
         "it replaces the table that all predictions use")
      ->check(refuse_empty);
  CLI::Option* report = sub->add_flag(
      "--report", f->report,
      "Print how far predictions are from these measurements, op by op, before and after; writes no table without --out");
  sub->add_option("--csv", f->csv, "With --report: every measured op; - is standard output")
      ->check(refuse_empty)
      ->needs(report);
  sub->add_option("--worst", f->worst, "With --report: worst shapes shown for each kind of op (default 3)")
      ->check(CLI::Range(0u, 1000u))
      ->needs(report);
  sub->callback([f, sub, &action] { action = [f, sub] { return calibrate_ops(*f, *sub); }; });
}

struct GraphFlags {
  std::string cases, out, csv;
  bool report = false;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
};

/// Cases that could not be predicted, of which the first says why.
Result<void> check_graph_cases(const std::vector<study::GraphCase>& cases, const std::string& path) {
  std::size_t failed = 0;
  const study::GraphCase* first = nullptr;
  for (const study::GraphCase& c : cases) {
    if (c.failure.empty()) continue;
    if (failed++ == 0) first = &c;
  }
  if (failed == cases.size())
    return Error{"none of " + counted(failed, "case") + " could be used", path, first->failure};
  if (failed > 0) remark(fmt::format("{}: {} left out; the first: {}", path, counted(failed, "case"), first->failure));
  return {};
}

Result<void> calibrate_graph(const GraphFlags& f) {
  std::string folder = f.out;
  if (folder.empty() && !f.report) {
    TRY_ASSIGN(folder, default_folder());
  }
  const std::string path = folder.empty() ? "" : folder + "/" + pipeline::kGraphCorrectionFile;
  for (const std::string& ending : {std::string(".correction"), "/" + std::string(pipeline::kGraphCorrectionFile)})
    note_made_input(path, ending);
  const std::vector<std::pair<std::string, std::string>> outputs{{"--out", path}, {"--csv", f.csv}};
  TRY(check_outputs(outputs));
  TRY_ASSIGN(const auto in, open_input_stream(f.cases));
  TRY_ASSIGN(const study::CaseFile file, study::read_cases(*in, f.cases));
  const std::vector<study::GraphCase> cases = study::graph_cases(file, f.jobs);
  TRY(check_graph_cases(cases, f.cases));
  const std::vector<std::string> apart = study::contradictions(cases);
  for (std::size_t i = 0; i < apart.size() && i < 3; ++i) remark(f.cases + ": " + apart[i]);
  if (apart.size() > 3) remark(fmt::format("{}: likewise {}", f.cases, counted(apart.size() - 3, "more job")));
  const opmodels::GraphTraining how{.seed = f.seed};
  TRY_ASSIGN(const opmodels::GraphNetwork network, study::train_on(cases, how));
  const auto write_network = [&](FilesTogether& files) -> Result<void> {
    TRY(files.write(path, network.text()));
    remark(fmt::format("{}: trained on {}, {:.1f}% error left on them", path,
                       counted(network.examples(), "measured iteration"), 100 * network.residual()));
    return {};
  };
  const Result<void> written = write_output_files(
      {{"--out", path, write_network}, text_file("--csv", f.csv, [&] { return study::correction_csv(cases, how); })});
  if (f.report && !takes_stdout(outputs)) TRY(print(study::correction_table(cases, how)));
  return written;
}

void add_graph(CLI::App& calibrate, Action& action) {
  auto f = std::make_shared<GraphFlags>();
  CLI::App* sub = calibrate.add_subcommand(
      "graph", "Train the learned correction of graphs on measured iterations (docs/graph_correction.md)");
  sub->add_option("--cases", f->cases, "CSV of measured iterations, as for distsim validate")
      ->required()
      ->check(refuse_empty);
  sub->add_option("--out", f->out,
                  "Folder for graph.correction; default: op_models of $DISTSIM_CONFIGS, else of the installation's "
                  "configs, where it replaces the one there")
      ->check(refuse_empty);
  CLI::Option* report = sub->add_flag(
      "--report", f->report,
      "Print the errors on devices and on models left out of training; writes no correction without --out");
  sub->add_option("--csv", f->csv, "With --report: every case; - is standard output")
      ->check(refuse_empty)
      ->needs(report);
  sub->add_option("--seed", f->seed, "Seed of the first weights (default 1)");
  sub->add_option("--jobs", f->jobs, "Threads")->check(CLI::Range(1u, 256u));
  sub->callback([f, &action] { action = [f] { return calibrate_graph(*f); }; });
}

void declare_calibrate(CLI::App& self, Action& action) {
  self.require_subcommand(1);
  add_graph(self, action);
  add_ops(self, action);
  add_training(self, action);
}

constexpr Refusal kCalibrateRefuses[] = {
    {"", "found no command"},
};

}  // namespace

const Command calibrate_command{
    .name = "calibrate",
    .description = "Convert measured ops to a device's op table or training rows, or learn from measured iterations",
    .refuses = kCalibrateRefuses,
    .declare = declare_calibrate,
};

}  // namespace distsim::app
