#include "sim/study/validate/case_columns.hpp"

#include <algorithm>

#include "base/config/schema.hpp"
#include "base/text/printable.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"

namespace distsim::study {
namespace {

Result<std::string> text_of(const ConfigNode& node, const std::string& path) {
  return schema_detail::read_string(node, path);
}

Result<std::vector<std::string>> list_of_names(const ConfigNode& file, const std::string& key) {
  const ConfigNode* node = file.find(key);
  if (!node || node->kind != ConfigNode::Kind::sequence || node->items.empty())
    return schema_detail::expected(node ? *node : file, key, "a list of column names");
  std::vector<std::string> names;
  for (const ConfigNode& item : node->items) {
    TRY_ASSIGN(std::string name, text_of(item, key));
    names.push_back(std::move(name));
  }
  return names;
}

Result<void> check_keys(const ConfigNode& map, const std::string& path, const std::vector<std::string>& known) {
  for (const ConfigNode::Entry& entry : map.entries) {
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      return schema_detail::unknown_key(entry, path, known);
  }
  return {};
}

}  // namespace

bool ColumnTable::Rule::needs_keys() const {
  return std::any_of(cases.begin(), cases.end(), [](const Case& c) {
    return std::any_of(c.when.begin(), c.when.end(), [](const Condition& w) { return w.of_key(); });
  });
}

Result<ColumnTable::Case> ColumnTable::parse_case(const ConfigNode& node, const std::string& path) {
  Case out;
  if (node.kind == ConfigNode::Kind::scalar) {
    out.value = node.scalar;
    return out;
  }
  if (node.kind != ConfigNode::Kind::map) return schema_detail::expected(node, path, "a text or {when, value}");
  TRY(check_keys(node, path, {"when", "value"}));
  if (const ConfigNode* value = node.find("value")) {
    TRY_ASSIGN(out.value, text_of(*value, path + ".value"));
  }
  const ConfigNode* when = node.find("when");
  if (!when) return out;
  if (when->kind != ConfigNode::Kind::map)
    return schema_detail::expected(*when, path + ".when", "a map of columns to expressions");
  for (const ConfigNode::Entry& entry : when->entries) {
    TRY_ASSIGN(const std::string expression, text_of(entry.value, path + ".when." + entry.key));
    auto pattern = NamePattern::compile("^(?:" + expression + ")$");
    if (!pattern) return Error{path + ".when." + entry.key + ": " + pattern.error().what, entry.where.text(), ""};
    out.when.push_back({entry.key, std::move(*pattern)});
  }
  return out;
}

Result<ColumnTable::Rule> ColumnTable::parse_rule(const ConfigNode::Entry& entry) {
  Rule rule{entry.key, {}};
  if (entry.value.kind != ConfigNode::Kind::sequence) {
    TRY_ASSIGN(Case only, parse_case(entry.value, entry.key));
    rule.cases.push_back(std::move(only));
    return rule;
  }
  for (std::size_t i = 0; i < entry.value.items.size(); ++i) {
    TRY_ASSIGN(Case c, parse_case(entry.value.items[i], entry.key + "[" + std::to_string(i) + "]"));
    rule.cases.push_back(std::move(c));
  }
  return rule;
}

Result<ColumnTable> ColumnTable::parse(const ConfigNode& file) {
  ColumnTable table;
  if (file.kind != ConfigNode::Kind::map) return schema_detail::expected(file, "columns", "a map");
  TRY(check_keys(file, "table", {"description", "columns", "refuse", "keys", "labels"}));
  TRY_ASSIGN(table.columns_, list_of_names(file, "columns"));
  if (const ConfigNode* refuse = file.find("refuse")) {
    for (const ConfigNode& item : refuse->items) {
      const ConfigNode *unless_zero = item.find("unless_zero"), *text = item.find("text");
      if (!unless_zero || !text) return schema_detail::expected(item, "refuse", "{unless_zero, text}");
      table.refusals_.push_back({unless_zero->scalar, text->scalar});
    }
  }
  for (auto [section, rules] : {std::pair("keys", &table.keys_), std::pair("labels", &table.labels_)}) {
    const ConfigNode* node = file.find(section);
    if (!node) continue;
    if (node->kind != ConfigNode::Kind::map) return schema_detail::expected(*node, section, "a map");
    for (const ConfigNode::Entry& entry : node->entries) {
      TRY_ASSIGN(Rule rule, parse_rule(entry));
      rules->push_back(std::move(rule));
    }
  }
  for (const Rule& label : table.labels_) {
    if (label.needs_keys())
      return Error{"labels." + label.name + ": found a condition on a key, expected conditions on columns",
                   file.where.text(), ""};
  }
  return table;
}

bool ColumnTable::reads(const std::vector<std::string>& header) const {
  return std::all_of(columns_.begin(), columns_.end(), [&](const std::string& column) {
    return std::find(header.begin(), header.end(), column) != header.end();
  });
}

Result<bool> ColumnTable::applies(const Case& c, const TemplateValues& cells,
                                  const std::function<Result<std::string>(const std::string&)>& key_text) {
  for (const Condition& condition : c.when) {
    std::string text;
    if (condition.of_key()) {
      TRY_ASSIGN(text, key_text(condition.name));
    } else if (const auto it = cells.find(condition.name); it != cells.end()) {
      text = it->second;
    }
    if (!condition.pattern.found_in(text)) return false;
  }
  return true;
}

Result<std::vector<Setting>> ColumnTable::settings(const TemplateValues& cells, const KeyText& key_text) const {
  for (const Refusal& refusal : refusals_) {
    TRY_ASSIGN(const std::string value, fill_template(refusal.unless_zero, cells, ""));
    if (value == "0") continue;
    TRY_ASSIGN(const std::string text, fill_template(refusal.text, cells, ""));
    return Error{printable(text), "", ""};
  }
  std::vector<Setting> out;
  const auto text_of_key = [&](const std::string& key) { return key_text(out, key); };
  for (const Rule& rule : keys_) {
    bool decided = false;
    for (const Case& c : rule.cases) {
      TRY_ASSIGN(decided, applies(c, cells, text_of_key));
      if (!decided) continue;
      if (!c.value) break;
      TRY_ASSIGN(std::string text, fill_template(*c.value, cells, ""));
      if (!text.empty()) out.push_back({rule.name, std::move(text)});
      break;
    }
    if (decided) continue;
    std::string seen;
    for (const Condition& w : rule.cases.front().when) {
      const auto it = cells.find(w.name);
      if (it != cells.end()) seen += (seen.empty() ? "" : ", ") + w.name + " " + in_quotes(it->second);
    }
    return Error{rule.name + ": found " + (seen.empty() ? "nothing" : seen) +
                     ", expected what a case of the column table describes",
                 "", ""};
  }
  return out;
}

std::vector<Setting> ColumnTable::plain_settings(const TemplateValues& cells) const {
  std::vector<Setting> out;
  const auto no_keys = [](const std::string&) { return Result<std::string>(std::string()); };
  for (const Rule& rule : keys_) {
    if (rule.needs_keys()) continue;
    for (const Case& c : rule.cases) {
      if (!*applies(c, cells, no_keys)) continue;
      auto text = c.value ? fill_template(*c.value, cells, "") : Result<std::string>(std::string());
      if (text.ok() && !text->empty()) out.push_back({rule.name, std::move(*text)});
      break;
    }
  }
  return out;
}

std::string ColumnTable::label(const std::string& name, const TemplateValues& cells) const {
  const auto no_keys = [](const std::string&) { return Result<std::string>(std::string()); };
  for (const Rule& rule : labels_) {
    if (rule.name != name) continue;
    for (const Case& c : rule.cases) {
      if (!*applies(c, cells, no_keys)) continue;
      const auto text = c.value ? fill_template(*c.value, cells, "") : Result<std::string>(std::string());
      return text.ok() ? *text : "";
    }
  }
  return "";
}

Result<std::vector<ColumnTable>> load_column_tables() {
  std::vector<ColumnTable> tables;
  for (const std::string& name : config::names_in("validation/columns")) {
    TRY_ASSIGN(const ConfigNode file, parse_yaml_file(config::config_file("validation/columns", name + ".yaml")));
    TRY_ASSIGN(ColumnTable table, ColumnTable::parse(file));
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace distsim::study
