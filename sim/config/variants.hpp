// Variants: one experiment with many values of some keys, without reading its files again for each.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/config/config_path.hpp"
#include "base/result.hpp"
#include "sim/config/config.hpp"

namespace distsim::config {

/// The files that experiments name, each read once. May be used by several threads.
class NamedFiles {
 public:
  /// As read_named_file (config_folders.hpp). Errors are not kept.
  Result<ConfigNode> read(const ConfigNode& name, const std::string& key, const std::string& kind,
                          const std::string& experiment_folder);
  const std::vector<std::string>& curve_folders();

 private:
  std::shared_mutex mutex_;
  std::map<std::string, ConfigNode, std::less<>> files_;
  std::unique_ptr<const std::vector<std::string>> curve_folders_;
};

/// "KEY=VALUE" of --set.
Result<PathValue> parse_set(const std::string& set);

/// What is left to check of an experiment's text when its --set are laid on it: that it has known sections; a --set that a
/// later one replaces is warned of.
Result<void> check_parsed(const ConfigNode& root, const std::vector<std::string>& sets);

/// resolve() with files that may have been read before.
Result<Experiment> resolve(const ConfigNode& parsed, NamedFiles& files);

/// May be used by several threads.
class Variants {
 public:
  /// Error: the file cannot be read or parsed.
  static Result<std::shared_ptr<Variants>> of(const std::string& path);

  /// The same of a text that is in no file; `file` is what messages call it, and its folder is where paths start from.
  static Result<std::shared_ptr<Variants>> of_text(std::string_view text, const std::string& file);

  /// load_experiment(path, sets), from files as they were when they were first read.
  Result<Experiment> with(const std::vector<std::string>& sets);
  /// parse_experiment(path, sets).
  Result<ConfigNode> parsed(const std::vector<std::string>& sets);

 private:
  explicit Variants(ConfigNode text) : text_(std::move(text)) {}
  Result<const PathValue*> value_of(const std::string& set);

  const ConfigNode text_;
  NamedFiles files_;
  std::shared_mutex mutex_;
  std::map<std::string, PathValue, std::less<>> values_;  ///< by the whole --set
};

}  // namespace distsim::config
