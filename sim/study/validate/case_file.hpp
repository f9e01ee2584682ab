// Case files: tables of experiments, one per row. A column whose name is a configuration key ("cluster.nodes",
// "model.name") sets that key; an empty cell leaves it. case_id, measured_ms, series, family and tier describe the
// case; other columns are carried along unless they are nearly one of these. A file of other columns is read through a table of configs/validation/columns
// (case_columns.hpp).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/config/config.hpp"
#include "sim/study/validate/case_columns.hpp"

namespace distsim::study {

struct Case {
  std::vector<std::string> fields;  ///< the input row, repeated in the output
  std::string where;                ///< "cases.csv:12"
  std::string id, family, tier;
  std::string series;  ///< a label; series_text says which cases are of one
  std::optional<double> measured_ms;
  std::string failure;            ///< why the row cannot be used; empty where it can
  TemplateValues cells;           ///< by column, "8.0" written as "8"
  std::vector<Setting> settings;  ///< what the row says of its experiment before any file is looked at

  /// Text of a setting; empty where the row says nothing of it.
  std::string setting(const std::string& key) const;
};

struct CaseFile {
  std::vector<std::string> header;
  std::vector<std::string> carried;  ///< columns that say nothing of the experiment or the case
  std::vector<Case> cases;
  std::shared_ptr<const ColumnTable> table;  ///< null where the columns are keys
};

/// Errors: no CSV, no case, a column that looks like a key and is none (nearest spelling), columns that neither name
/// keys nor belong to a table. A row that cannot be used keeps its place with the reason in `failure`.
Result<CaseFile> read_cases(std::istream& in, const std::string& name);

/// Names of files by the keys that give them ("cluster.system"), where a case may give an alias.
using ResolvedNames = std::map<std::string, std::string>;

/// The text of a setting, or the name that it is an alias of. A path stays what it is: its file may have the name of another.
std::string resolved(const Setting& setting, const ResolvedNames& names);

/// All that a row says but for its labels. Aliases are replaced by the names in `names`.
std::string cells_text(const Case& c, const ResolvedNames& names);

/// The same for all cases of a series: its label and, unless a column table gives that, all that a row says of its experiment
/// but for the GPUs and the batch that goes with them.
std::string series_text(const CaseFile& file, const Case& c, const ResolvedNames& names);

/// What a case says of its experiment, before any file is looked at; of a file whose columns are keys.
Result<ConfigNode> config_of(const Case& c);

/// The experiment of a case. What was measured ran: no estimate of its memory refuses it. Errors name the row and the key to
/// blame.
Result<config::Experiment> experiment_of(const CaseFile& file, const Case& c);

/// Text of a dotted key of a configuration; empty where it is absent, "present" where it is no scalar.
std::string text_at(const ConfigNode& config, const std::string& key);

}  // namespace distsim::study
