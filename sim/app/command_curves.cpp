// distsim curves: measurements of collectives into a curve file, and a look at one.
#include <CLI/CLI.hpp>

#include <memory>

#include "collectives/curve_import.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/config.hpp"
#include "sim/app/output.hpp"

namespace distsim {
namespace {

using namespace collectives;

struct CurveFlags {
  std::vector<std::string> files;
  std::string system, out = "-", date;
};

Result<void> import_logs(const CurveFlags& f) {
  TRY(check_outputs({{"--out", f.out}}));
  TRY_ASSIGN(const ClusterSpec spec, load_system(f.system));
  TRY_ASSIGN(const CurveSet set, import_curves({f.files, spec.name, spec.device, f.date}));
  TRY(write_file_atomically(f.out, curve_text(set)));
  std::uint32_t flagged = 0;
  std::size_t points = 0;
  for (const Curve& c : set.curves) {
    flagged += c.flagged;
    points += c.points.size();
  }
  std::fprintf(stderr, "distsim: %zu curves, %zu sizes", set.curves.size(), points);
  if (flagged > 0) std::fprintf(stderr, "; %u rows left out because they contradict themselves", flagged);
  std::fprintf(stderr, "\n");
  return {};
}

Result<void> show_files(const CurveFlags& f) {
  for (const std::string& file : f.files) {
    TRY_ASSIGN(const CurveSet set, read_curve_file(file));
    TRY(print(show_curves(set)));
  }
  return {};
}

}  // namespace

void add_curves(CLI::App& app, Action& action) {
  CLI::App* curves = app.add_subcommand("curves", "Measured collectives: logs into a curve file, and what a file holds and lacks");
  curves->require_subcommand(1);
  auto f = std::make_shared<CurveFlags>();
  CLI::App* import = curves->add_subcommand("import", "Write one curve file from nccl-tests logs of a system");
  import->add_option("logs", f->files, "nccl-tests logs or curve files")->required();
  import->add_option("--system", f->system, "Name of the system they were measured on (distsim list systems) or its file")->required();
  import->add_option("--date", f->date, "Date of the measurement, 2026-11-20, where the log does not say");
  import->add_option("--out", f->out, "Curve file to write, NAME.curve.txtpb; - is standard output (the default)");
  import->callback([f, &action] { action = [f] { return import_logs(*f); }; });
  CLI::App* show = curves->add_subcommand("show", "Draw the curves of files in the terminal and list what is missing");
  show->add_option("files", f->files, "Curve files or nccl-tests logs")->required();
  show->callback([f, &action] { action = [f] { return show_files(*f); }; });
}

}  // namespace distsim
