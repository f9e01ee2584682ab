#include "mpi_bench/op/op_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/number_text.hpp"
#include "mpi_bench/common/usage_error.hpp"

namespace distsim::bench {
namespace {

std::string op_names() {
  std::string names;
  for (const MeasurableOp& op : measurable_ops()) names += (names.empty() ? "" : ",") + std::string(op.name);
  return names;
}

/// Whole numbers as given, before their ranges are checked.
struct RawNumbers {
  std::int64_t min_repetitions = RepetitionLimits().min_repetitions,
               max_repetitions = RepetitionLimits().max_repetitions, device = 0;
};

void declare(CLI::App& app, OpBenchOptions& o, std::string& grid, RawNumbers& raw) {
  app.add_option("--ops", o.ops, "Comma-separated list of ops (default: all): " + op_names())->type_name("NAMES");
  app.add_option("--dtypes", o.dtypes, "Comma-separated list of data types (default: all that the op supports)")
      ->type_name("NAMES");
  app.add_option("--grid", grid, "smoke (a few small shapes) or standard")
      ->type_name("smoke|standard")
      ->capture_default_str();
  app.add_option("--out", o.out, "Output folder for gemm.csv, conv2d.csv, elementwise_norm_softmax.csv, embedding.csv")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.add_option("--relative-error", o.limits.relative_error,
                 "Repeat until the relative standard error of the median is at most this (0.01 is 1 %)")
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--min-repetitions", raw.min_repetitions, "Minimum repetitions")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--max-repetitions", raw.max_repetitions, "Maximum repetitions")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--max-seconds", o.limits.max_seconds, "Maximum measured time per shape")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_flag("--flush-l2", o.flush_l2, "Flush the L2 cache before every launch (cold L2)");
  app.add_option("--device", raw.device, "CUDA device")->type_name("N")->capture_default_str();
  app.add_option("--gpu", o.gpu, "Name for the gpu column (default: the name the driver reports)")->type_name("NAME");
  app.add_flag("--list", o.list, "Print the grid and stop; needs no GPU");
}

template <class Number>
Error out_of_range(const char* flag, Number found, const char* expected) {
  std::ostringstream text;
  text << "found " << found << ", expected " << expected;
  return {text.str(), flag, ""};
}

Result<void> check(const RawNumbers& raw, OpBenchOptions& o) {
  RepetitionLimits& l = o.limits;
  if (!(l.relative_error > 0 && l.relative_error <= 1))
    return out_of_range("--relative-error", l.relative_error, "above 0, at most 1");
  if (raw.min_repetitions < 3 || raw.min_repetitions > 1'000'000)
    return out_of_range("--min-repetitions", raw.min_repetitions, "3 .. 1000000");
  if (raw.max_repetitions < raw.min_repetitions || raw.max_repetitions > 1'000'000)
    return out_of_range("--max-repetitions", raw.max_repetitions, "--min-repetitions .. 1000000");
  if (!(l.max_seconds > 0 && l.max_seconds <= 3600))
    return out_of_range("--max-seconds", l.max_seconds, "above 0, at most 3600");
  constexpr std::int64_t kMostDevices = 1024;
  if (raw.device < 0 || raw.device >= kMostDevices) return out_of_range("--device", raw.device, "0 .. 1023");
  l.min_repetitions = static_cast<int>(raw.min_repetitions);
  l.max_repetitions = static_cast<int>(raw.max_repetitions);
  o.device = static_cast<int>(raw.device);
  return {};
}

/// A list of the grid reads what selects its cases, a measurement all flags.
std::vector<std::string> idle_flags(const CLI::App& app, const OpBenchOptions& o) {
  static constexpr std::array kOfGrid{"--list", "--ops", "--dtypes", "--grid"};
  std::vector<std::string> remarks;
  for (const CLI::Option* option : app.get_options()) {
    if (!o.list || option->count() == 0 || std::ranges::find(kOfGrid, option->get_name()) != kOfGrid.end()) continue;
    remarks.push_back(option->get_name() + ": no effect, --list measures nothing");
  }
  return remarks;
}

}  // namespace

Result<OpBenchCommand> parse_op_bench(int argc, const char* const* argv) {
  CLI::App app(
      "Measures the latency of ops on one GPU over a grid of shapes. A restarted run continues where it stopped.",
      "op_bench");
  OpBenchOptions options;
  std::string grid = "standard";
  RawNumbers raw;
  declare(app, options, grid, raw);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_name() != "N") continue;
    option->transform(
        CLI::Validator([](std::string& text) { return plain_flag_number(text, FlagNumber::whole); }, std::string()));
    option->check([](const std::string& text) { return refuse_odd_number(text, FlagNumber::whole); });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return OpBenchCommand{app.help(), {}, {}};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  TRY_ASSIGN(options.ops, list_words("--ops", options.ops));
  TRY_ASSIGN(options.dtypes, list_words("--dtypes", options.dtypes));
  if (grid != "smoke" && grid != "standard")
    return Error{"found '" + grid + "', expected smoke or standard", "--grid",
                 spelling_hint(grid, {"smoke", "standard"})};
  options.grid = grid == "smoke" ? GridSize::smoke : GridSize::standard;
  TRY(check(raw, options));
  std::vector<std::string> remarks = idle_flags(app, options);
  return OpBenchCommand{std::nullopt, std::move(options), std::move(remarks)};
}

std::string timing_name(bool flush_l2) { return flush_l2 ? "evt_median_cold_l2" : "cudagraph_median_warm_l2"; }

std::string list_text(const std::vector<OpCase>& cases) {
  std::string text = csv_line({"op", "pass", "dtype", "shape", "extra", "operand_bytes", "flops"});
  for (const OpCase& c : cases) {
    std::string shape;
    for (const std::string& value : shape_values(c)) shape += (shape.empty() ? "" : "x") + value;
    char bytes[32], work[32];
    std::snprintf(bytes, sizeof bytes, "%.0f", operand_bytes(c));
    std::snprintf(work, sizeof work, "%.0f", flops(c));
    text += csv_line({c.op, c.pass, c.dtype, shape, extra_value(c), bytes, work});
  }
  return text;
}

}  // namespace distsim::bench
