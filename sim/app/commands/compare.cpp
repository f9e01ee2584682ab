#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/output.hpp"
#include "sim/app/commands.hpp"
#include "sim/app/unheeded.hpp"
#include "sim/study/compare.hpp"

namespace distsim::app {
namespace {

struct CompareFlags {
  std::vector<std::string> files, sets;
  std::string csv, html;
};

/// The overrides in one --set: KEY=VALUE, or several of them separated by spaces.
std::vector<std::string> overrides_of(const std::string& group) {
  std::vector<std::string> out;
  constexpr const char* kBlanks = " \t\n\r\f\v";  // no stream: one that lacks memory drops words without saying so
  for (std::size_t begin = group.find_first_not_of(kBlanks); begin < group.size();) {
    const std::size_t end = std::min(group.find_first_of(kBlanks, begin), group.size());
    const std::string word = group.substr(begin, end - begin);
    begin = group.find_first_not_of(kBlanks, end);
    if (word.find('=') == std::string::npos && !out.empty())
      out.back() += " " + word;  // a value with a space: "25 GB/s"
    else
      out.push_back(word);
  }
  return out;
}

/// Several files are compared with each other, each with all of --set; one file is compared with itself under each --set.
Result<std::vector<study::Side>> sides_of(const CompareFlags& f) {
  std::vector<study::Side> sides;
  if (std::ranges::any_of(f.sets, [](const std::string& group) { return overrides_of(group).empty(); }))
    return Error{"--set: found nothing, expected 'KEY=VALUE KEY=VALUE ...'", "", ""};
  if (f.files.size() == 1) {
    sides.push_back({f.files.front(), f.files.front(), {}});
    for (const std::string& group : f.sets) sides.push_back({group, f.files.front(), overrides_of(group)});
    if (sides.size() > 1) return sides;
    return Error{"found one experiment, expected two files, or one and --set", "", ""};
  }
  std::vector<std::string> all;
  for (const std::string& group : f.sets) {
    for (std::string& one : overrides_of(group)) all.push_back(std::move(one));
  }
  for (const std::string& file : f.files) sides.push_back({file, file, all});
  return sides;
}

Result<void> run(const CompareFlags& flags) {
  TRY(check_outputs({{"--csv", flags.csv}, {"--html", flags.html}}));
  TRY_ASSIGN(const std::vector<study::Side> sides, sides_of(flags));
  TRY_ASSIGN(const study::Comparison found, study::compare(sides));
  name_idle(study::compare_without_effect(sides));
  return write_and_print({text_file("--csv", flags.csv, [&] { return study::comparison_csv(found); }),
                          text_file("--html", flags.html, [&] { return study::comparison_html(found); })},
                         [&] { return study::comparison_text(found); });
}

void declare_compare(CLI::App& self, Action& action) {
  auto flags = std::make_shared<CompareFlags>();
  self.add_option("experiments", flags->files, "Experiment files; the first is what the others are compared with")
      ->required();
  self.add_option(
          "--set", flags->sets,
          "'KEY=VALUE KEY=VALUE ...': with one file, one more experiment to compare, the file with these overrides; with "
          "several files, overrides for all of them; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  self.add_option("--csv", flags->csv, "Write one CSV row per experiment; - is standard output")->check(refuse_empty);
  self.add_option("--html", flags->html, "Write a page with all timelines on one axis; - is standard output")
      ->check(refuse_empty);
  self.callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

constexpr Refusal kCompareRefuses[] = {
    {"", "experiments: missing"},
    {"configs/dgx_a100_4node.yaml", "expected two files"},
    {"configs/dgx_a100_4node.yaml no_such.yaml", "no_such.yaml"},
    {"configs/dgx_a100_4node.yaml --set cluster.nodes=0", "cluster.nodes"},
};

}  // namespace

const Command compare_command{
    .name = "compare",
    .description = "Compare experiments: inputs that differ, where the time goes, range of the ratio",
    .refuses = kCompareRefuses,
    .declare = declare_compare,
};

}  // namespace distsim::app
