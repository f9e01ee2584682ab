#include "sim/report/html/html.hpp"

#include <algorithm>

#include "base/json/json_text.hpp"
#include "sim/report/html/page.hpp"
#include "sim/report/picture/stage_rows.hpp"
#include "sim/report/text/json_form.hpp"
#include "sim/report/text/path_table.hpp"
#include "sim/report/timeline/timeline_window.hpp"

namespace distsim::report {
namespace {

/// Of a page: what a picture of the ranks can show, and a cycle that somebody reads.
constexpr JsonForm kPageForm{.indent = -1, .most_ranks = 1024, .most_steps = 2000};
constexpr int kTextWidth = 120;
constexpr std::size_t kPagePathRows = 12;

using PageJson = nlohmann::ordered_json;

/// The critical cycle in a few rows: {"by_cause", "rows": [{"name", "where", "rank", "steps", "time_ms"}], "note"}.
std::string causes_json(const Report& r) {
  const PathTable path = path_table(r.critical_path, kPagePathRows);
  PageJson rows = PageJson::array();
  for (const PathRun& run : path.rows)
    rows.push_back(
        {{"name", run.name},
         {"where", run.phase ? std::string(graph::name_of(run.stream)) + ", " + phase_text(run.phase) : "host"},
         {"rank", path.rank_text(run)},
         {"steps", run.steps},
         {"time_ms", run.time.ms()}});
  if (path.left_out > 0)
    rows.push_back({{"name", path.left_out_text()},
                    {"where", ""},
                    {"rank", ""},
                    {"steps", nullptr},
                    {"time_ms", (r.iteration - path.shown).ms()}});
  return json_text(PageJson{{"by_cause", path.by_cause}, {"rows", std::move(rows)}, {"note", host_note(r)}});
}

std::string title_of(const ReportContext& c) {
  if (!c.title.empty()) return c.title;
  return c.model.empty() ? "Training iteration" : c.model + " on " + c.system;
}

}  // namespace

std::string page_members(const Report& r, const Played& played, const HtmlOptions& options) {
  const TimelineIndex index(played, r, options.max_ranks, {r.slowest_rank, r.fastest_rank}, true);
  const std::string others = "\"report\":" + to_json(r, kPageForm) + ",\"causes\":" + causes_json(r);
  const std::size_t left = options.max_bytes - std::min(others.size(), options.max_bytes);
  return others + ",\"timeline\":" + timeline_json(index, {.slices = options.max_slices, .bytes = left});
}

std::string to_html(const Report& r, const Played& played, const HtmlOptions& options) {
  const std::string schedule = options.pipeline == nullptr ? "" : schedule_json(played, *options.pipeline);
  HtmlOptions rest = options;
  rest.max_bytes -= std::min(rest.max_bytes, schedule.size() + options.links.size());
  const std::string data = "{\"kind\":\"report\"," + page_members(r, played, rest) +
                           ",\"schedule\":" + (schedule.empty() ? "null" : schedule) +
                           ",\"links\":" + (options.links.empty() ? "null" : options.links) + "}";
  return page_html({title_of(r.context), data, to_text(r, kTextWidth)});
}

}  // namespace distsim::report
