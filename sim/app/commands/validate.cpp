#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/system/inputs/open_input.hpp"
#include "base/system/signals.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/earlier_results.hpp"
#include "sim/app/named_inputs.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/study/validate/idle_columns.hpp"
#include "sim/study/validate/validate.hpp"
#include "sim/study/validate/validate_plot.hpp"

namespace distsim::app {
namespace {

struct ValidateFlags {
  std::string cases, csv, explain, plot;
  unsigned jobs = 1;
};

/// The measured iterations that stand in the README.
std::string published_cases() {
  const std::string file = config::config_file("validation", "cases.csv");
  return file.empty() ? "configs/validation/cases.csv" : file;
}

/// What the cases say of their experiments.
std::vector<std::string> texts_of_cases(const study::CaseFile& file) {
  std::set<std::string> values;
  for (const study::Case& c : file.cases) {
    for (std::size_t i = 0; i < std::min(c.fields.size(), file.header.size()); ++i)
      if (std::ranges::find(file.carried, file.header[i]) == file.carried.end()) values.insert(c.fields[i]);
    for (const study::Setting& setting : c.settings) values.insert(setting.text);
  }
  return {values.begin(), values.end()};
}

/// Columns that say nothing: of the experiments, or of what was measured.
void name_unused(const study::CaseFile& file, const std::vector<study::ValidatedCase>& validated,
                 const std::string& path, unsigned jobs) {
  std::string idle;
  for (const std::string& column : study::columns_without_effect(file, jobs))
    idle += (idle.empty() ? "" : ", ") + printable(column, 80);
  if (!idle.empty()) log_warn([&] { return path + ": no effect on the cases tried, two of each model: " + idle; });
  const bool asked = std::ranges::find(file.header, "measured_ms") != file.header.end();
  const auto empty = std::ranges::count_if(file.cases, [](const study::Case& c) {
    const auto cell = c.cells.find("measured_ms");
    return cell == c.cells.end() || cell->second.empty();
  });
  const bool measured = static_cast<std::size_t>(empty) < file.cases.size();
  if (asked && !measured)
    log_warn([&] { return path + ": measured_ms: every cell is empty; nothing to compare with"; });
  if (const std::string apart = study::measured_apart(file, validated); !apart.empty()) log_warn([&] { return apart; });
  if (const std::string again = study::measured_again(file, validated); !again.empty()) log_warn([&] { return again; });
  if (asked && measured && empty > 0)
    log_warn([&] {
      return path + ": measured_ms: found " + counted(static_cast<std::uint64_t>(empty), "empty cell") + ", which " +
             std::string(agreeing(static_cast<std::uint64_t>(empty), "is", "are")) + " compared with nothing";
    });
}

Result<void> run(const ValidateFlags& flags) {
  TRY(check_outputs({{"--csv", flags.csv}, {"--plot", flags.plot}}));
  if (!flags.explain.empty() && !(flags.csv + flags.plot).empty()) {
    return Error{"--explain: found it together with " + std::string(flags.csv.empty() ? "--plot" : "--csv") +
                     ", expected one of them",
                 "", ""};
  }
  const std::string path = flags.cases.empty() ? published_cases() : flags.cases;
  TRY_ASSIGN(const auto in, open_input_stream(path));
  TRY_ASSIGN(const study::CaseFile file, study::read_cases(*in, path));
  TRY(check_named_inputs({{"--csv", flags.csv}, {"--plot", flags.plot}}, {"", {}, texts_of_cases(file)}));
  if (!file.carried.empty()) {
    std::string names;
    for (const std::string& column : file.carried) names += (names.empty() ? "" : ", ") + printable(column, 80);
    log_warn([&] { return path + ": carried along, not used: " + names; });
  }
  if (!flags.explain.empty()) {
    TRY_ASSIGN(const std::string text, study::explain_case(file, flags.explain));
    return print(text);
  }
  std::vector<study::ValidatedCase> validated;
  {
    const EarlyEnd early;
    ProgressLine progress("distsim validate:", file.cases.size());
    validated = study::validate_cases(file, flags.jobs, [&] { progress.advance(); });
  }
  name_unused(file, validated, path, flags.jobs);
  const bool nothing = std::ranges::none_of(validated, [](const auto& v) { return v.failure.empty(); });
  const EarlierResults earlier(nothing, {flags.csv, flags.plot});
  const std::string csv = earlier.gives_way(flags.csv) ? flags.csv : "",
                    plot = earlier.gives_way(flags.plot) ? flags.plot : "";
  const Result<void> written = write_output_files(
      {{"--csv", csv, [&](FilesTogether& files) { return files.write(csv, study::validation_csv(file, validated)); }},
       {"--plot", plot, [&](FilesTogether& files) { return files.write(plot, study::validation_plot(validated)); }}});
  if (!takes_stdout({{"", flags.csv}, {"", flags.plot}})) TRY(print(study::validation_summary(validated)));
  TRY(written);
  if (end_asked()) return Error{"interrupted: the cases that are left have that as their error", path, ""};
  const auto of_all = [&](auto counts) {
    return std::to_string(std::ranges::count_if(validated, counts)) + " of " + counted(validated.size(), "case");
  };
  const auto lacks = [](const study::ValidatedCase& v) { return !v.predicted; };
  const auto refused = [](const study::ValidatedCase& v) { return v.predicted && !v.failure.empty(); };
  const bool some_refused = std::ranges::any_of(validated, refused);
  if (std::ranges::any_of(validated, lacks) && !std::ranges::all_of(validated, lacks))
    log_warn([&] { return path + ": " + of_all(lacks) + " could not be predicted"; });
  if (some_refused && !nothing)
    log_warn([&] { return path + ": measured_ms: refused in " + of_all(refused) + ", which count in no table"; });
  if (!nothing) return {};
  const std::string unchanged = earlier.unchanged();
  return Error{"none of " + counted(validated.size(), "case") +
                   (some_refused ? " could be compared with what was measured" : " could be predicted"),
               path, validated.front().failure + (unchanged.empty() ? "" : "; " + unchanged)};
}

void declare_validate(CLI::App& self, Action& action) {
  auto flags = std::make_shared<ValidateFlags>();
  self.add_option("--cases", flags->cases,
                  "CSV of experiments, a column per configuration key; default: configs/validation/cases.csv")
      ->check(refuse_empty);
  self.add_option("--csv", flags->csv, "Write every case with its prediction as CSV; - is standard output")
      ->check(refuse_empty);
  self.add_option("--plot", flags->plot,
                  "Plot predicted against measured times and each scaling series as SVG; - is standard output")
      ->check(refuse_empty);
  self.add_option("--explain", flags->explain,
                  "CASE_ID: break down one prediction and show which uncertain term could explain its error")
      ->check(refuse_empty);
  self.add_option("--jobs", flags->jobs, "Threads")->check(CLI::Range(1u, 256u));
  self.callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

constexpr Refusal kValidateRefuses[] = {
    {"--cases no_such.csv", "no_such.csv"},
    {"--explain no_such_case", "no_such_case"},
};

}  // namespace

const Command validate_command{
    .name = "validate",
    .description = "Predict the experiments of a case file and compare with what was measured",
    .refuses = kValidateRefuses,
    .declare = declare_validate,
};

}  // namespace distsim::app
