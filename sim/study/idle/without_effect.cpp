#include "sim/study/idle/without_effect.hpp"

#include <map>
#include <numeric>
#include <utility>

#include "base/log.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/idle_together.hpp"
#include "sim/study/idle/asked.hpp"
#include "sim/study/idle/comparison.hpp"
#include "sim/study/workers.hpp"

namespace distsim::study {
namespace {

/// The experiment's text with several of its keys, and of those of a model file of the user's own, taken away.
ConfigNode without_all(const ConfigNode& parsed, const std::vector<idle::Given>& given,
                       const std::vector<std::size_t>& some) {
  ConfigNode rest = parsed;
  bool of_model = false;
  for (const std::size_t i : some) {
    const bool of_experiment = idle::find_at(parsed, given[i].path) != nullptr;
    if (of_experiment) rest = idle::without(rest, given[i].path);
    of_model = of_model || !of_experiment;
  }
  if (!of_model) return rest;
  const auto resolved = config::resolve(rest);
  if (!resolved.ok()) return rest;
  rest = idle::with_own_model(rest, *resolved);
  for (const std::size_t i : some) {
    const bool of_experiment = idle::find_at(parsed, given[i].path) != nullptr;
    if (!of_experiment && idle::find_at(rest, given[i].path) != nullptr) rest = idle::without(rest, given[i].path);
  }
  return rest;
}

}  // namespace

std::optional<bool> has_effect(const ConfigNode& parsed, const std::string& key, pipeline::CostModelCache& cache) {
  const LogSilence silence;
  const idle::Asked::Effect effect = idle::Asked(parsed, cache).effect_of(idle::path_of(key));
  return effect == idle::Asked::Effect::some || effect == idle::Asked::Effect::none
             ? std::optional(effect == idle::Asked::Effect::some)
             : std::nullopt;
}

std::string IdleArgument::text() const { return printable(argument, 200) + ": " + says; }

std::vector<IdleArgument> replaced_arguments(const std::vector<std::string>& sets) {
  std::vector<IdleArgument> out;
  for (const config::ReplacedSet& replaced : config::replaced_sets(sets))
    out.push_back({"--set " + replaced.set, replaced.why()});
  return out;
}

std::vector<IdleArgument> sets_without_effect(const std::vector<VariedExperiment>& experiments,
                                              const std::vector<std::string>& sets, const std::string& of, bool are_all,
                                              unsigned jobs) {
  struct Asking {
    idle::SetKey key;
    const std::string* set;
  };
  std::vector<Asking> keys;
  std::vector<idle::Question> questions;
  for (const std::string& set : sets) {
    for (idle::SetKey& key : idle::keys_of(set)) {
      const bool replaced = std::ranges::any_of(
          experiments, [&](const VariedExperiment& e) { return idle::is_replaced(set, key, e.sets); });
      if (replaced) continue;
      idle::Question& question = questions.emplace_back(key.path, std::vector<std::size_t>(experiments.size()), true);
      std::iota(question.in.begin(), question.in.end(), std::size_t{0});
      keys.push_back({std::move(key), &set});
    }
  }
  const std::vector<idle::Idle> found = idle::answers_to(questions, experiments, jobs);
  std::vector<std::size_t> idle;
  const Asking* list = nullptr;  // that is idle as a whole: its keys are not named, too
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Asking& key = keys[i];
    const bool within = list != nullptr && list->set == key.set && idle::is_inside(key.key.path, list->key.path);
    if (found[i].value_or(0) == 0 || within) continue;
    idle.push_back(i);
    list = &key;
  }
  const auto matter = [&](const std::vector<std::size_t>& some) {
    std::vector<idle::Path> paths;
    for (const std::size_t i : some) paths.push_back(keys[i].key.path);
    return idle::depend_on(experiments, paths, jobs);
  };
  std::vector<IdleArgument> out;
  for (const std::size_t i : config::idle_together(std::move(idle), matter)) {
    const Asking& key = keys[i];
    const std::string tried = are_all ? "the prediction" + of : "the " + counted(*found[i], "prediction") + " tried";
    out.push_back({"--set " + key.key.set, "no effect on " + tried});
  }
  return out;
}

std::vector<std::string> map_keys_without_effect(const std::vector<TriedMap>& tried, unsigned jobs) {
  std::map<idle::Path, std::vector<std::size_t>> keys;
  std::vector<VariedExperiment> experiments;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    for (idle::SetKey& key : idle::keys_of(tried[i].set)) keys[std::move(key.path)].push_back(i);
    experiments.push_back(tried[i].experiment);
  }
  std::vector<idle::Question> questions;
  for (const auto& [path, in] : keys) questions.emplace_back(path, in, false);
  const std::vector<idle::Idle> found = idle::answers_to(questions, experiments, jobs);
  std::vector<std::string> out;
  const idle::Path* list = nullptr;
  for (std::size_t i = 0; i < questions.size(); ++i) {  // a list stands before its keys
    const idle::Path& path = questions[i].path;
    if (found[i].value_or(0) == 0 || (list != nullptr && idle::is_inside(path, *list))) continue;
    out.push_back(idle::dotted(path));
    list = &path;
  }
  return out;
}

std::vector<IdleArgument> sets_without_effect(const std::string& file, const std::vector<std::string>& sets) {
  if (sets.empty()) return {};
  const auto experiment = config::Variants::of(file);
  return experiment ? sets_without_effect({{*experiment, sets}}, sets) : std::vector<IdleArgument>();
}

std::vector<GivenKey> keys_without_effect(const ConfigNode& parsed, const config::Experiment& experiment,
                                          const report::Report& report, bool trials, unsigned jobs,
                                          pipeline::CostModelCache& cache) {
  std::vector<idle::Given> given;
  idle::Path path;
  const ConfigNode text = idle::with_own_model(parsed, experiment);
  idle::collect(text, path, given);
  const idle::Comparison comparison(experiment, report, trials, cache);
  std::vector<char> idle(given.size(), 0);
  const auto compare = [&](std::size_t i) {
    const LogSilence silence;
    // Without a key of the experiment, that of its model's file holds.
    const bool of_experiment = idle::find_at(parsed, given[i].path) != nullptr;
    idle[i] = comparison.is_idle(of_experiment ? parsed : text, given[i]) ? 1 : 0;
  };
  // Nothing is said of a key for which memory does not suffice: the prediction itself is there.
  (void)for_each_index(given.size(), jobs, compare, [] {});
  std::vector<std::size_t> named;
  const idle::Path* list = nullptr;  // that is idle as a whole: its keys are not named, too
  for (std::size_t i = 0; i < given.size(); ++i) {
    const idle::Path& key = given[i].path;
    if (idle[i] == 0 || (list != nullptr && idle::is_inside(key, *list))) continue;
    named.push_back(i);
    list = &key;
  }
  const auto matter = [&](const std::vector<std::size_t>& some) {
    const LogSilence silence;
    return comparison.differs(without_all(parsed, given, some));
  };
  std::vector<GivenKey> out;
  for (const std::size_t i : config::idle_together(std::move(named), matter))
    out.push_back({idle::dotted(given[i].path), given[i].value->where.text()});
  return out;
}

std::string describe(const std::vector<GivenKey>& keys) {
  std::string text;
  for (const GivenKey& k : keys) {
    const bool set = k.where.starts_with("--set");
    text += (text.empty() ? "no effect on this prediction: " : ", ") + printable(k.key, 120) + " (" +
            (set ? "--set" : printable(k.where, 200)) + ")";
  }
  return text;
}

void add_to_assumptions(const std::string& described, report::Report& report) {
  if (described.empty()) return;
  auto& assumptions = report.context.assumptions;
  assumptions.insert(assumptions.begin(), {graph::AssumptionKind::settings, described});
}

}  // namespace distsim::study
