// ColumnTable: how the columns of a case file that are no configuration keys become keys. One YAML file a table, in
// configs/validation/columns; a case file that has every column under `columns`, and no column that is a key, is read
// through it.
//
//   columns: [model_id, system_id, nodes, gpus]
//   refuse:
//     - {unless_zero: "${gpus % nodes}", text: "gpus: found ${gpus} on ${nodes} nodes, expected the same number on
//     each"}
//   keys:
//     model.name: ${model_id}                       # text with ${...}, see base/config/template_text.hpp
//     cluster.gpus_per_node: ${gpus / nodes}
//     framework.name:                               # or cases, of which the first that applies decides
//       - {when: {framework_id: pytorch, model.kind: dlrm}, value: pytorch_dlrm}
//       - {value: "${framework_id}"}
//     parallel.data_parallel_below:
//       - {when: {case_id: "mlperf-v3[.]0-.*"}, value: 1 B}
//       - {}                                        # leaves the key as it is
//   labels: {family: "${model_id}"}                 # for the summary: family, series, tier; case_id and measured_ms where no
//                                                     column has these names
//
// A condition's name is a column or, with a dot, a key of the experiment as the keys above it make it (absent: empty);
// its value is a regular expression (RE2) for the whole text. A key none of whose cases applies is an error of the row.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/config/template_text.hpp"
#include "base/result.hpp"
#include "base/text/names/name_pattern.hpp"

namespace distsim::study {

/// A configuration key and the text that a row gives it.
struct Setting {
  std::string key, text;
};

class ColumnTable {
 public:
  static Result<ColumnTable> parse(const ConfigNode& file);

  /// Whether a case file with this header is read through this table.
  bool reads(const std::vector<std::string>& header) const;

  /// Text of a key of the experiment that the settings so far describe; empty where it is absent.
  using KeyText = std::function<Result<std::string>(const std::vector<Setting>&, const std::string& key)>;

  /// The settings of a row. Errors name the column or key to blame.
  Result<std::vector<Setting>> settings(const TemplateValues& cells, const KeyText& key_text) const;

  /// The settings that depend on columns only, for grouping rows without looking at any file.
  std::vector<Setting> plain_settings(const TemplateValues& cells) const;

  /// `family`, `series`, `tier`, `case_id` or `measured_ms` as the table makes it; empty where it says nothing.
  std::string label(const std::string& name, const TemplateValues& cells) const;

 private:
  struct Condition {
    std::string name;
    NamePattern pattern;
    bool of_key() const { return name.find('.') != std::string::npos; }
  };
  struct Case {
    std::vector<Condition> when;
    std::optional<std::string> value;
  };
  struct Rule {
    std::string name;  ///< key or label
    std::vector<Case> cases;
    bool needs_keys() const;
  };
  struct Refusal {
    std::string unless_zero, text;
  };

  static Result<Rule> parse_rule(const ConfigNode::Entry& entry);
  static Result<Case> parse_case(const ConfigNode& node, const std::string& path);
  static Result<bool> applies(const Case& c, const TemplateValues& cells,
                              const std::function<Result<std::string>(const std::string&)>& key_text);

  std::vector<std::string> columns_;
  std::vector<Refusal> refusals_;
  std::vector<Rule> keys_, labels_;
};

/// The tables of configs/validation/columns, those of $DISTSIM_CONFIGS first.
Result<std::vector<ColumnTable>> load_column_tables();

}  // namespace distsim::study
