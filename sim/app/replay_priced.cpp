#include "sim/app/replay_priced.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "base/output.hpp"
#include "base/text/csv.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/report/report.hpp"

namespace distsim::app {
namespace {

std::vector<std::pair<std::string, std::string>> outputs_of_priced(const PricedReplay& r) {
  return {{"--csv", r.csv}, {"--json", r.json}};
}

/// A path as a value of --set, which is YAML.
std::string quoted_value(const std::string& path) {
  std::string out = "'";
  for (const char c : std::filesystem::absolute(path).string())
    out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Result<void> replay_priced(const PricedReplay& r) {
  if (r.traces.size() != 1)
    return Error{"--priced: found " + std::to_string(r.traces.size()) +
                     " traces, expected one execution trace: the recorded rank stands for all",
                 "", ""};
  if (r.config.empty())
    return Error{"--priced: found no --config, expected the experiment whose cluster runs the trace", "", ""};
  TRY(check_outputs(outputs_of_priced(r)));
  std::vector<std::string> sets = r.sets;
  sets.push_back("model.kind=graph");
  sets.push_back("model.graph.file=" + quoted_value(r.traces.front()));
  pipeline::Passes passes;
  TRY_ASSIGN(const pipeline::Prediction prediction, pipeline::predict(r.config, sets, passes));
  const report::Report& report = prediction.report;
  TRY(check_outputs(outputs_of_priced(r)));
  if (!r.json.empty()) TRY(write_file_atomically(r.json, report::to_json(report) + "\n"));
  if (!r.csv.empty())
    TRY(write_file_atomically(r.csv, csv_line(report::csv_columns()) + csv_line(report::csv_values(report))));
  if (takes_stdout(outputs_of_priced(r))) return {};
  return print(report::to_text(report));
}

}  // namespace distsim::app
