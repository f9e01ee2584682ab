#include <mutex>
#include <set>

#include "base/config/schema.hpp"
#include "base/log.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/config/config.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/config/text_experiments.hpp"
#include "sim/config/variants.hpp"

namespace distsim::config {
namespace {

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names{"title",    "description", "cluster",     "device", "model",
                                              "parallel", "framework",   "collectives", "engine"};
  return names;
}

/// Two of the sections that every experiment of serving has and none of training.
bool is_of_serving(const ConfigNode& root) {
  int found = 0;
  for (const char* name : {"gpus", "models", "load", "policies"}) found += root.find(name) != nullptr ? 1 : 0;
  return found >= 2;
}

Result<void> check_sections(const ConfigNode& root) {
  for (const ConfigNode::Entry& entry : root.entries) {
    bool known = false;
    for (const std::string& name : section_names()) known = known || name == entry.key;
    if (known) continue;
    if (is_of_serving(root))
      return Error{printable(entry.key) + ": found a section of a serving experiment, expected one of training",
                   entry.where.text(),
                   "distsim serving --config " + (root.where.file ? printable(*root.where.file) : "FILE") + " runs it"};
    return Error{printable(entry.key) + ": found an unknown section, expected a section of an experiment",
                 entry.where.text(), spelling_hint(entry.key, section_names())};
  }
  return {};
}

/// A study reads the same words many times.
bool is_first_time(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  return said.insert(line).second;
}

void name_replaced(const std::vector<std::string>& sets) {
  for (const ReplacedSet& replaced : replaced_sets(sets)) {
    const std::string line = "--set " + printable(replaced.set, 200) + ": " + replaced.why();
    if (is_first_time(line)) log_warn([&] { return line; });
  }
}

Result<ConfigNode> with_sets(ConfigNode root, const std::vector<std::string>& sets) {
  if (root.kind != ConfigNode::Kind::map)
    return schema_detail::expected(root, "experiment", "a map with the sections cluster and model");
  for (const std::string& set : sets) {
    TRY_ASSIGN(const PathValue value, parse_set(set));
    TRY(set_config_path(root, value));
  }
  TRY(check_parsed(root, sets));
  return root;
}

}  // namespace

Result<PathValue> parse_set(const std::string& set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0)
    return Error{"found " + in_quotes(set) + ", expected KEY=VALUE, e.g. cluster.nodes=8", "--set", ""};
  return parse_path_value(std::string_view(set).substr(0, equals), std::string_view(set).substr(equals + 1));
}

Result<void> check_parsed(const ConfigNode& root, const std::vector<std::string>& sets) {
  name_replaced(sets);
  return check_sections(root);
}

Result<ConfigNode> parse_experiment(const std::string& path, const std::vector<std::string>& sets) {
  if (const auto text = text_of_experiment(path)) return parse_experiment_text(*text, path, sets);
  TRY_ASSIGN(ConfigNode root, parse_yaml_file(path));
  log_info([&] { return "experiment read from " + path; });
  return with_sets(std::move(root), sets);
}

Result<ConfigNode> parse_experiment_text(std::string_view text, const std::string& file,
                                         const std::vector<std::string>& sets) {
  TRY_ASSIGN(ConfigNode root, parse_yaml(text, file));
  return with_sets(std::move(root), sets);
}

Result<Experiment> load_experiment(const std::string& path, const std::vector<std::string>& sets) {
  TRY_ASSIGN(const ConfigNode parsed, parse_experiment(path, sets));
  return resolve(parsed);
}

}  // namespace distsim::config
