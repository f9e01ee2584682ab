// A plan as a page.
#include "base/json/json_text.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/page.hpp"
#include "sim/study/plan/plan.hpp"

namespace distsim::study {

std::string plan_html(const Plan& plan) {
  const std::string title = printable(plan.subject, 200) + ": plan";
  nlohmann::json columns = nlohmann::json::array();
  for (const std::size_t k : shown_keys(plan)) columns.push_back({{"key", plan.keys[k]}, {"head", plan.heads[k]}});
  const nlohmann::json head{{"kind", "plan"}, {"title", title}, {"summary", plan_summary(plan)}, {"columns", columns}};
  std::string data = json_text(head);
  data.back() = ',';
  return report::page_html({title, data + "\"plan\":" + plan_json(plan) + "}", plan_text(plan)});
}

}  // namespace distsim::study
