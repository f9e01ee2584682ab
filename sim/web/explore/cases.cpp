// The measured iterations that come with distsim, predicted; and why each prediction is what it is.
#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "base/system/inputs/open_input.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/study/plan/experiment_file.hpp"
#include "sim/study/validate/validate.hpp"
#include "sim/web/answers/answers.hpp"
#include "sim/web/messages/body.hpp"

namespace distsim::web {
namespace {

using Json = nlohmann::json;

Result<study::CaseFile> shipped_cases() {
  const std::string path = config::config_file("validation", "cases.csv");
  if (path.empty())
    return Error{"found no validation/cases.csv in the configuration folders, expected the one that comes with distsim",
                 "", ""};
  TRY_ASSIGN(const auto in, open_input_stream(path));
  return study::read_cases(*in, path);
}

/// What the row says beside its keys: where it was published, remarks.
std::string cell_of(const study::CaseFile& file, const study::Case& c, std::string_view column) {
  const auto at = std::ranges::find(file.header, column);
  const auto place = static_cast<std::size_t>(at - file.header.begin());
  return place < c.fields.size() ? c.fields[place] : "";
}

Json case_json(const study::CaseFile& file, const study::ValidatedCase& v) {
  Json out{{"id", v.source->id},
           {"family", v.source->family},
           {"series", v.source->series},
           {"tier", v.source->tier},
           {"source", cell_of(file, *v.source, "source")},
           {"notes", cell_of(file, *v.source, "notes")},
           {"measured_ms", v.source->measured_ms ? Json(*v.source->measured_ms) : Json()}};
  if (!v.failure.empty()) {
    out["failure"] = v.failure;
    return out;
  }
  out.update({{"framework", v.framework},
              {"model", v.model},
              {"system", v.system},
              {"precision", v.precision},
              {"nodes", v.nodes},
              {"gpus", v.gpus},
              {"predicted_ms", number(v.predicted_ms)},
              {"low_ms", number(v.low_ms)},
              {"high_ms", number(v.high_ms)},
              {"basis", v.basis},
              {"limited_by", v.limited_by},
              {"parts_ms", v.parts_ms}});
  if (v.measured()) out["error"] = number(v.error());
  return out;
}

}  // namespace

Result<std::string> Answers::cases(const Message& m, const Meanwhile& meanwhile) {
  TRY_ASSIGN(const study::CaseFile file, shipped_cases());
  std::size_t done = 0;
  const auto tell = [&] {
    meanwhile.tell(dumped({{"id", m.id}, {"type", "progress"}, {"done", ++done}, {"total", file.cases.size()}}));
  };
  const std::vector<study::ValidatedCase> validated = study::validate_cases(file, 1, tell);
  Json cases = Json::array();
  for (const study::ValidatedCase& v : validated) cases.push_back(case_json(file, v));
  return dumped({{"id", m.id},
                 {"type", "cases"},
                 {"cases", std::move(cases)},
                 {"summary", study::validation_summary(validated)}});
}

/// {"case": its id}: the explanation, and the experiment as a text that the page can go on with.
Result<std::string> Answers::one_case(const Message& m) {
  TRY_ASSIGN(const std::string id, string_in(m.body, "case"));
  TRY_ASSIGN(const study::CaseFile file, shipped_cases());
  TRY_ASSIGN(const std::string explanation, study::explain_case(file, id));
  const auto it = std::ranges::find(file.cases, id, &study::Case::id);
  Json out{{"id", m.id}, {"type", "case"}, {"case", id}, {"explanation", explanation}};
  if (!file.table) {
    TRY_ASSIGN(const ConfigNode config, study::config_of(*it));
    out["text"] = study::yaml_of(config);
  }
  return dumped(out);
}

}  // namespace distsim::web
