// Rows of tables that no model finds, and names that no table has.
#include <algorithm>
#include <set>

#include "base/text/counted.hpp"
#include "base/text/lower_case.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/serving/spec/compile.hpp"
#include "sim/serving/spec/model_pricer.hpp"

namespace distsim::serving {
namespace {

/// Kinds of GPU that the tables leave without times of a model, which then runs elsewhere only. A line for each model; one
/// that says itself where it runs has none.
void name_missing_times(const ServingSpec& spec, const Text& text, const ModelPricer& pricer,
                        std::vector<std::string>& lines) {
  constexpr std::size_t kMostNames = 6;
  for (std::size_t i = 0; i < spec.models.size() && !spec.times.empty(); ++i) {
    const ModelTimesSpec& m = spec.models[i];
    std::set<std::string> kinds;
    for (const GpuSpec& g : spec.gpus) {
      if (!pricer.prices(i, g)) kinds.insert(g.name);
    }
    if (kinds.empty() || !m.placed_on.empty() || m.refused) continue;
    std::string names;
    std::size_t shown = 0;
    for (const std::string& kind : kinds) {
      if (++shown <= kMostNames) names += (names.empty() ? "" : ", ") + printable(kind, 80);
    }
    if (shown > kMostNames) names += " and " + std::to_string(shown - kMostNames) + " more";
    const std::string key = "models[" + std::to_string(i) + "]";
    lines.push_back(position_in(text.root, key).text() + ": " + key + ": the tables of times have no rows of " +
                    printable(m.name, 80) + " on " + names + ", " +
                    std::string(agreeing(shown, "which runs", "which run")) + " none of its requests");
  }
}

/// The name among `known` that differs from `name` in its capitals only; empty: none.
std::string in_other_capitals(const std::string& name, const std::vector<std::string>& known) {
  const auto at =
      std::ranges::find_if(known, [&](const std::string& other) { return lower_case(other) == lower_case(name); });
  return at == known.end() ? "" : *at;
}

/// A name that no table has: where it is stated for the tables, or where they have it in other capitals.
void name_unknown(const Text& text, const std::string& where, const std::string& stated_key, const std::string& stated,
                  const std::string& name, const std::vector<std::string>& known, std::vector<std::string>& lines) {
  if (std::ranges::find(known, name) != known.end()) return;
  const std::string near = in_other_capitals(name, known);
  if (stated.empty() && near.empty()) return;
  const std::string key = where + "." + (stated.empty() ? "name" : stated_key);
  const std::string hint = near.empty() ? spelling_hint(name, known) : "did you mean " + in_quotes(near, 80) + "?";
  lines.push_back(position_in(text.root, key).text() + ": " + key + ": no table of times has " + in_quotes(name, 80) +
                  (hint.empty() ? "" : "; " + hint));
}

/// Files of which no row is of a model and GPUs of the experiment.
void name_unused_tables(const ServingSpec& spec, const Text& text, const ModelPricer& pricer,
                        std::vector<std::string>& lines) {
  std::set<std::string> models, gpus;
  for (const ModelTimesSpec& m : spec.models) models.insert(ModelPricer::name_in_tables(m));
  for (const GpuSpec& g : spec.gpus) gpus.insert(ModelPricer::name_in_tables(g));
  const auto pairs = pricer.table().pairs_of_files();
  for (std::size_t i = 0; i < spec.times.size(); ++i) {
    const std::string key = "times[" + std::to_string(i) + "]";
    const auto found = pairs.find(text.path_of(key, spec.times[i]));
    if (found != pairs.end() && std::ranges::any_of(found->second, [&](const auto& pair) {
          return models.contains(pair.first) && gpus.contains(pair.second);
        }))
      continue;
    const std::string first = found == pairs.end() ? ""
                                                   : ", it has " + printable(found->second[0].first, 80) + " on " +
                                                         printable(found->second[0].second, 80) +
                                                         (found->second.size() > 1 ? " and others" : "");
    lines.push_back(position_in(text.root, key).text() + ": " + key +
                    ": no effect, no row is of a model and a GPU of the experiment" + first);
  }
}

}  // namespace

std::vector<std::string> unmatched_times(const ServingSpec& spec, const Text& text, const ModelPricer& pricer) {
  std::vector<std::string> lines;
  if (spec.times.empty()) return lines;
  name_missing_times(spec, text, pricer, lines);
  const std::vector<std::string> models = pricer.table().models(), gpus = pricer.table().gpus();
  for (std::size_t i = 0; i < spec.models.size(); ++i) {
    const ModelTimesSpec& m = spec.models[i];
    name_unknown(text, "models[" + std::to_string(i) + "]", "table_name", m.table_name, ModelPricer::name_in_tables(m),
                 models, lines);
  }
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    const GpuSpec& g = spec.gpus[i];
    name_unknown(text, "gpus[" + std::to_string(i) + "]", "kind", g.kind, ModelPricer::name_in_tables(g), gpus, lines);
  }
  name_unused_tables(spec, text, pricer, lines);
  return lines;
}

}  // namespace distsim::serving
