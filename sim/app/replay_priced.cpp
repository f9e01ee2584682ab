#include "sim/app/replay_priced.hpp"

#include "base/output.hpp"
#include "base/text/csv.hpp"
#include "sim/api/priced_trace.hpp"
#include "sim/report/report.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::app {

Result<void> replay_priced(const PricedReplay& r) {
  traces::note_folders(r.traces);
  TRY(check_outputs({{"--csv", r.csv}, {"--json", r.json}}));
  TRY_ASSIGN(const report::Report report, api::priced_trace(r.traces, r.config, r.sets));
  return write_and_print(
      {text_file("--json", r.json, [&] { return report::to_json(report) + "\n"; }),
       text_file("--csv", r.csv,
                 [&] { return csv_line(report::csv_columns()) + csv_line(report::csv_values(report)); })},
      [&] { return report::to_text(report); });
}

}  // namespace distsim::app
