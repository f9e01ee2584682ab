#include "sim/study/validate/case_file.hpp"

#include <algorithm>
#include <array>
#include <istream>

#include "base/text/csv.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/number_text.hpp"
#include "base/text/printable.hpp"
#include "sim/config/reference.hpp"
#include "sim/study/validate/experiment_values.hpp"

namespace distsim::study {
namespace {

constexpr std::array<std::string_view, 8> kLabels{"case_id", "measured_ms", "series", "family",
                                                  "tier",    "source",      "notes",  "finetune"};

bool is_label(const std::string& column) { return std::find(kLabels.begin(), kLabels.end(), column) != kLabels.end(); }

/// The first part of a dotted name is a section of an experiment.
bool looks_like_key(const std::string& column) {
  static constexpr std::array<std::string_view, 7> sections{"cluster.",   "device.",      "model.", "parallel.",
                                                            "framework.", "collectives.", "engine."};
  return std::any_of(sections.begin(), sections.end(), [&](std::string_view s) { return column.starts_with(s); });
}

/// Keys of lists end in "[].key" in the reference; a column names an item, "model.dlrm.tables.3.rows".
std::string without_items(const std::string& column) {
  std::string out;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const bool index =
        column[i] == '.' && i + 1 < column.size() && std::isdigit(static_cast<unsigned char>(column[i + 1]));
    if (!index) {
      out += column[i];
      continue;
    }
    while (i + 1 < column.size() && std::isdigit(static_cast<unsigned char>(column[i + 1]))) ++i;
    out += "[]";
  }
  return out;
}

/// A key of the reference, or a name of one's own in a map of free names ("device.peak.tf32").
bool is_key(const std::string& key, const std::vector<std::string>& known) {
  const auto is_part = [](const std::string& part, const std::string& whole) {
    return part.size() > whole.size() && part[whole.size()] == '.' && part.starts_with(whole);
  };
  return std::ranges::any_of(known, [&](const std::string& k) {
    return k == key ||
           (is_part(key, k) && std::ranges::none_of(known, [&](const auto& other) { return is_part(other, k); }));
  });
}

/// A column that is nearly a key or a label is taken for a misspelling, not carried along.
Result<void> check_other_column(const std::string& column, const std::vector<std::string>& keys,
                                const std::string& where) {
  if (is_label(column)) return {};
  const std::string expected = column.find('.') != std::string::npos
                                   ? nearest_spelling(column, keys)
                                   : nearest_spelling(column, {kLabels.begin(), kLabels.end()});
  const bool section = column.find('.') == std::string::npos && looks_like_key(column + ".");
  if (expected.empty() && !section) return {};
  return Error{"column " + in_quotes(column) + ": found " + (section ? "a section" : "an unknown column") +
                   ", expected a configuration key, a label or a name unlike them",
               where, did_you_mean(column, expected)};
}

Error unknown_column(const std::string& column, const std::string& key, const std::vector<std::string>& known,
                     const std::string& where) {
  if (const auto moved = config::moved_key(key)) return {"column " + moved->what, where, moved->hint};
  return {"column " + in_quotes(column) + ": found an unknown key, expected a configuration key", where,
          spelling_hint(key, known)};
}

/// Of "cluster.nic" and "cluster.nic.count" in one row, one would hide the other.
Result<void> check_overlaps(const std::vector<std::string>& keys, const std::string& where) {
  for (const std::string& part : keys) {
    for (const std::string& whole : keys) {
      if (part.starts_with(whole + "."))
        return Error{
            "column " + in_quotes(part) + ": found a part of the column " + in_quotes(whole) + ", expected one of them",
            where, ""};
    }
  }
  return {};
}

/// Columns that are keys; a misspelt one is an error.
Result<std::vector<std::string>> key_columns(const std::vector<std::string>& header, const std::string& where) {
  static const std::vector<std::string> known = config::config_keys();
  std::vector<std::string> keys;
  for (const std::string& column : header) {
    if (!looks_like_key(column)) continue;
    const std::string key = without_items(column);
    const bool there = is_key(key, known);
    if (!there) return unknown_column(column, key, known, where);
    keys.push_back(column);
  }
  TRY(check_overlaps(keys, where));
  if (keys.empty()) return keys;  // a table may read the columns
  for (const std::string& column : header) {
    if (!looks_like_key(column)) TRY(check_other_column(column, known, where));
  }
  return keys;
}

/// Spreadsheets write 8 as 8.0.
std::string plain_number(const std::string& text) {
  const std::size_t point = text.find('.');
  if (point == std::string::npos || point == 0 || text.find_first_not_of('0', point + 1) != std::string::npos)
    return text;
  return text.find_first_not_of("-0123456789") == point && point + 1 < text.size() ? text.substr(0, point) : text;
}

TemplateValues row_cells(const std::vector<std::string>& header, const std::vector<std::string>& row) {
  TemplateValues cells;
  for (std::size_t i = 0; i < header.size(); ++i) cells[header[i]] = plain_number(row[i]);
  return cells;
}

std::string cell(const Case& c, std::string_view column) {
  const auto it = c.cells.find(column);
  return it == c.cells.end() ? "" : it->second;
}

Result<std::optional<double>> measured_of(const Case& c, const CaseFile& file) {
  std::string text = cell(c, "measured_ms");
  if (text.empty() && file.table) text = file.table->label("measured_ms", c.cells);
  if (text.empty()) return std::optional<double>();
  const Result<double> value = parse_quantity(text, Dimension::none);
  if (!value || *value <= 0)
    return Error{"measured_ms: found " + in_quotes(text) + ", expected a positive number", c.where, number_hint(text)};
  return std::optional(*value);
}

/// Cases of one series differ in the number of GPUs and the batch that goes with it.
bool scales(const Setting& s) {
  return s.key == "cluster.nodes" || s.key == "cluster.gpus_per_node" || s.key == "model.global_batch";
}

void label(Case& c, const CaseFile& file) {
  c.id = cell(c, "case_id").empty()
             ? c.where
             : c.fields[static_cast<std::size_t>(std::find(file.header.begin(), file.header.end(), "case_id") -
                                                 file.header.begin())];
  if (file.table && cell(c, "case_id").empty()) {
    if (std::string id = file.table->label("case_id", c.cells); !id.empty()) c.id = std::move(id);
  }
  c.tier = cell(c, "tier");
  c.family = file.table ? file.table->label("family", c.cells) : cell(c, "family");
  if (c.family.empty()) c.family = c.setting("model.name");
  c.series = file.table ? file.table->label("series", c.cells) : cell(c, "series");
}

/// Tables of language models name what is trained in a column without a section.
void add_training(Case& c) {
  const bool of_llm = std::any_of(c.settings.begin(), c.settings.end(),
                                  [](const Setting& s) { return s.key.starts_with("model.llm."); });
  const std::string text = cell(c, "finetune");
  if (of_llm && !text.empty()) c.settings.push_back({"model.llm.training", text});
}

Case case_of(std::vector<std::string> row, const CaseFile& file, const std::vector<std::string>& keys,
             const std::string& where) {
  Case c;
  c.where = where;
  c.cells = row_cells(file.header, row);
  c.fields = std::move(row);
  if (file.table) c.settings = file.table->plain_settings(c.cells);
  for (const std::string& key : keys) {
    if (std::string text = cell(c, key); !text.empty()) c.settings.push_back({key, std::move(text)});
  }
  add_training(c);
  label(c, file);
  auto measured = measured_of(c, file);
  if (measured.ok())
    c.measured_ms = *measured;
  else
    c.failure = measured.error().text();
  return c;
}

/// The table that reads these columns, or an error that says what a case file needs.
Result<std::shared_ptr<const ColumnTable>> table_for(const std::vector<std::string>& header, const std::string& where) {
  TRY_ASSIGN(std::vector<ColumnTable> tables, load_column_tables());
  for (ColumnTable& table : tables) {
    if (table.reads(header)) return std::make_shared<const ColumnTable>(std::move(table));
  }
  return Error{
      "found no column that is a configuration key, expected columns such as cluster.system, cluster.nodes, "
      "model.name, or those of a table in configs/validation/columns",
      where, ""};
}

std::vector<std::string> carried_columns(const CaseFile& file) {
  std::vector<std::string> out;
  if (file.table) return out;
  for (const std::string& column : file.header) {
    if (!looks_like_key(column) && !is_label(column)) out.push_back(column);
  }
  return out;
}

/// Cases are asked for by their ids. `seen`: where each stands.
void check_id(CaseFile& file, std::map<std::string, std::string>& seen) {
  Case& c = file.cases.back();
  if (std::ranges::find(file.header, "case_id") == file.header.end()) return;
  std::string wrong;
  if (cell(c, "case_id").empty()) {
    wrong = "found nothing, expected an id";
  } else if (const auto [it, fresh] = seen.emplace(c.id, c.where); !fresh) {
    wrong = "found " + in_quotes(c.id) + " again, expected another id (the first is " + it->second + ")";
  }
  if (!wrong.empty() && c.failure.empty()) c.failure = c.where + ": case_id: " + wrong;
}

Result<ConfigNode> node_of(const std::vector<Setting>& settings, const std::string& where) {
  ConfigNode root;
  root.kind = ConfigNode::Kind::map;
  root.where.file = std::make_shared<const std::string>(where);
  for (const Setting& s : settings) TRY(set_config_path(root, s.key, s.text, where));
  return root;
}

}  // namespace

std::string Case::setting(const std::string& key) const {
  for (const Setting& s : settings) {
    if (s.key == key) return s.text;
  }
  return "";
}

std::string text_at(const ConfigNode& merged, const std::string& key) {
  const ConfigNode* node = &merged;
  for (std::size_t begin = 0; node && begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    node = node->find(std::string_view(key).substr(begin, dot - begin));
    begin = dot + 1;
  }
  if (!node) return "";
  return node->kind == ConfigNode::Kind::scalar ? node->scalar : "present";
}

Result<CaseFile> read_cases(std::istream& in, const std::string& name) {
  TRY_ASSIGN(CsvReader csv, CsvReader::open(in, name));
  CaseFile file;
  file.header = csv.header();
  TRY_ASSIGN(const std::vector<std::string> keys, key_columns(file.header, name + ":1"));
  if (keys.empty()) {
    TRY_ASSIGN(file.table, table_for(file.header, name + ":1"));
  }
  file.carried = carried_columns(file);
  std::map<std::string, std::string> ids;
  for (;;) {
    TRY_ASSIGN(auto row, csv.next());
    if (!row) break;
    file.cases.push_back(case_of(std::move(*row), file, keys, csv.position()));
    check_id(file, ids);
  }
  if (file.cases.empty()) return Error{"found no cases, expected at least one row below the header", name, ""};
  return file;
}

std::string resolved(const Setting& s, const ResolvedNames& names) {
  const auto known = names.find(s.key);
  const bool is_path = s.text.find('/') != std::string::npos || s.text.ends_with(".yaml");
  return known == names.end() || known->second.empty() || is_path ? s.text : known->second;
}

std::string cells_text(const Case& c, const ResolvedNames& names) {
  std::string out;
  ResolvedNames by_text;  // a cell says no key
  for (const Setting& s : c.settings) by_text.emplace(s.text, resolved(s, names));
  for (const auto& [column, text] : c.cells) {
    if (is_label(column) && column != "finetune") continue;
    const auto known = by_text.find(text);
    const auto whole = parse_integer(text);
    out += column + "=" + (known != by_text.end() ? known->second : whole.ok() ? std::to_string(*whole) : text) + "\n";
  }
  return out;
}

std::string series_text(const CaseFile& file, const Case& c, const ResolvedNames& names) {
  std::string out = c.series;
  if (file.table) return out;
  for (const Setting& s : c.settings) {
    if (!scales(s)) out += "|" + s.key + "=" + plain_value(s.key, resolved(s, names));
  }
  return out;
}

Result<ConfigNode> config_of(const Case& c) { return node_of(c.settings, c.where); }

Result<config::Experiment> experiment_of(const CaseFile& file, const Case& c) {
  std::vector<Setting> settings = c.settings;
  if (file.table) {
    const auto key_text = [&](const std::vector<Setting>& so_far, const std::string& key) -> Result<std::string> {
      TRY_ASSIGN(const ConfigNode parsed, node_of(so_far, c.where));
      TRY_ASSIGN(const ConfigNode merged, config::merge_named_files(parsed));
      return text_at(merged, key);
    };
    auto all = file.table->settings(c.cells, key_text);
    if (!all.ok())
      return Error{all.error().what, all.error().where.empty() ? c.where : all.error().where, all.error().hint};
    settings = std::move(*all);
  }
  TRY_ASSIGN(const ConfigNode parsed, node_of(settings, c.where));
  TRY_ASSIGN(config::Experiment e, config::resolve(parsed));
  e.title = c.id;
  if (c.measured_ms) e.model.memory_check = false;  // it ran
  return e;
}

}  // namespace distsim::study
