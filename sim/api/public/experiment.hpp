// What is asked about, and what happens when it cannot be answered.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "export.hpp"

namespace distsim::api {

/// An experiment: a YAML file, or its text. All keys: docs/config_reference.md.
struct Experiment {
  std::string file;  ///< its path; of a text, what messages call it and the folder that its paths start from
  std::optional<std::string> text;  ///< YAML (or JSON) in place of the file's; at most 1 MiB
  std::vector<std::string> sets;    ///< "KEY=VALUE", laid on it in order, as --set does: "cluster.nodes=8"

  static Experiment of_file(std::string path) { return {std::move(path), std::nullopt, {}}; }
  static Experiment of_text(std::string yaml, std::string called = "experiment") {
    return {std::move(called), std::move(yaml), {}};
  }
};

/// Input that has no answer. what() is the line that the command `distsim` prints: "file:line:column: problem; hint".
class DISTSIM_API ConfigError : public std::runtime_error {
 public:
  ConfigError(std::string where, std::string problem, std::string hint);
  ConfigError(const ConfigError&);
  ~ConfigError() override;

  const std::string& problem() const { return problem_; }  ///< "cluster.nodes: found 0, expected 1 or more"
  const std::string& hint() const { return hint_; }        ///< nearest spelling, or what to do; may be empty
  const std::string& where() const { return where_; }      ///< "x.yaml:12:5", "set cluster.nodes", or empty
  const std::string& file() const { return file_; }        ///< of where(); empty where the input is no file
  int line() const { return line_; }                       ///< from 1; 0: unknown
  int column() const { return column_; }                   ///< in bytes, from 1; 0: unknown

 private:
  std::string where_, problem_, hint_, file_;
  int line_ = 0, column_ = 0;
};

/// A call that its `stop` ended.
class DISTSIM_API Interrupted : public std::runtime_error {
 public:
  Interrupted();
  Interrupted(const Interrupted&);
  ~Interrupted() override;
};

/// Called about every 20 ms by the thread that made the call; true ends the call by Interrupted. Empty: nothing does.
using Stop = std::function<bool()>;

/// "0.1.0".
DISTSIM_API std::string version();

/// Folders whose systems/, devices/, models/, ... are found by name, the first in order of trust first: those of the
/// environment's DISTSIM_CONFIGS, then what was installed with the library. Errors: DISTSIM_CONFIGS names no folder.
DISTSIM_API std::vector<std::string> config_folders();

/// Names of what there is to choose from; `kind` is systems, devices, models or frameworks.
DISTSIM_API std::vector<std::string> names(const std::string& kind);

}  // namespace distsim::api
