#include "sim/app/replay_priced.hpp"

#include "base/file.hpp"
#include "base/output.hpp"
#include "base/text/csv.hpp"
#include "sim/api/priced_trace.hpp"
#include "sim/report/report.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::app {
namespace {

std::vector<std::pair<std::string, std::string>> outputs_of_priced(const PricedReplay& r) {
  return {{"--csv", r.csv}, {"--json", r.json}};
}

}  // namespace

Result<void> replay_priced(const PricedReplay& r) {
  traces::note_folders(r.traces);
  TRY(check_outputs(outputs_of_priced(r)));
  TRY_ASSIGN(const report::Report report, api::priced_trace(r.traces, r.config, r.sets));
  TRY(check_outputs(outputs_of_priced(r)));
  FilesTogether files;
  if (!r.json.empty()) TRY(files.write(r.json, report::to_json(report) + "\n"));
  if (!r.csv.empty()) TRY(files.write(r.csv, csv_line(report::csv_columns()) + csv_line(report::csv_values(report))));
  TRY(files.keep());
  if (takes_stdout(outputs_of_priced(r))) return {};
  return print(report::to_text(report));
}

}  // namespace distsim::app
