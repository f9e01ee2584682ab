#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "sim/app/commands.hpp"
#include "sim/app/config_folders.hpp"
#include "sim/app/output.hpp"
#include "sim/app/validate.hpp"

namespace distsim {
namespace {

struct ValidateFlags {
  std::string cases, csv;
  unsigned jobs = 1;
};

/// The measured iterations that stand in the README.
std::string published_cases() {
  const auto folders = config_folders("validation", "");
  return folders.empty() ? "configs/validation/cases.csv" : folders.front() + "/cases.csv";
}

Result<void> run(const ValidateFlags& flags) {
  TRY(check_outputs({{"--csv", flags.csv}}));
  const std::string path = flags.cases.empty() ? published_cases() : flags.cases;
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{"cannot be opened for reading", path, ""};
  TRY_ASSIGN(const CaseFile file, read_cases(in, path));
  std::vector<ValidatedCase> validated;
  {
    Progress progress("distsim validate:", file.cases.size());
    validated = validate_cases(file, flags.jobs, [&] { progress.advance(); });
  }
  if (!flags.csv.empty()) TRY(write_file_atomically(flags.csv, validation_csv(file, validated)));
  return flags.csv == "-" ? Result<void>() : print(validation_summary(validated));
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ValidateFlags>();
  CLI::App* sub = app.add_subcommand("validate", "Predict measured iterations and print how far off the predictions are");
  sub->add_option("--cases", flags->cases, "CSV of measured iterations; default: the cases of the README")->check(refuse_empty);
  sub->add_option("--csv", flags->csv, "Write every case with its prediction as CSV; - is standard output")->check(refuse_empty);
  sub->add_option("--jobs", flags->jobs, "Threads")->check(CLI::Range(1u, 256u));
  sub->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace distsim
