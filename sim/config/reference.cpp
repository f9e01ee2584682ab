#include "sim/config/reference.hpp"

#include <algorithm>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/config/config.hpp"

namespace distsim::config {
namespace {

using Section = ReferenceSection;

template <class S>
Section section_of(const Schema<S>& schema, const FieldDoc& naming) {
  Section section{schema.section(), schema.doc(), {}};
  if (!naming.key.empty()) section.keys.push_back(naming);
  for (const FieldDoc& doc : schema.docs()) {
    if (doc.key != naming.key) section.keys.push_back(doc);
  }
  for (FieldDoc& doc : section.keys) doc.key = section.name + "." + doc.key;
  return section;
}

Section top_level() {
  return {"experiment",
          "Top-level keys.",
          {{"title", "text", "", "name of the file", "Title of the report."},
           {"description", "text", "", "none", "Free text."}}};
}

std::vector<Section> sections() {
  return {
      top_level(),
      section_of(
          topology::cluster_schema(),
          {"system", "name or path", "", "absent",
           "File in configs/systems whose values this section overrides; without it the section describes the whole system."}),
      section_of(topology::device_schema(), {"name", "name or path", "", "cluster.device",
                                             "File in configs/devices whose values this section overrides."}),
      section_of(
          workload::model_schema(),
          {"name", "name or path", "", "absent",
           "File in configs/models whose values this section overrides; without it the section describes the whole model."}),
      section_of(workload::parallel_schema(), {}),
      section_of(
          workload::framework_schema(),
          {"name", "name or path", "", "pytorch",
           "File in configs/frameworks whose values this section overrides, also where it is not named. A profile of your own is a file, "
           "in which keys that it lacks have the defaults below."}),
      section_of(collectives::collective_schema(), {}),
      section_of(engine_schema(), {})};
}

struct UnitLine {
  std::string type, units;
};

std::vector<UnitLine> unit_lines() {
  std::vector<UnitLine> lines;
  for (const Dimension d : {Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second,
                            Dimension::flops_per_second, Dimension::hertz, Dimension::watts}) {
    lines.push_back({schema_detail::dimension_name(d), unit_help(d)});
  }
  return lines;
}

constexpr const char* kIntroduction =
    "An experiment names a system, a model and a framework; any of their keys can be overridden in the experiment or with `--set section.key=value`. "
    "Precedence, highest first: `--set`, the experiment, the named file, the default below. List items are addressed by index from 0: "
    "`--set model.dlrm.tables.3.rows=1000`. A name is a file name without `.yaml` in `systems/`, `devices/`, `models/` or `frameworks/` next to the experiment, in "
    "the folders of `$DISTSIM_CONFIGS` (separated by colons), or in the `configs/` shipped with distsim, or an alias listed in such a file; a value that ends in `.yaml` is a path. A required key may be omitted if the section names a "
    "file.";

constexpr const char* kUnitRule =
    "Quantities need a unit; a bare number is an error. K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024; B is bytes, b is bits. "
    "Bandwidths are per direction.\n\n"
    "Numbers are decimal, as in YAML 1.2, in files, with `--set`, in flags and in tables: 4096, 4e9, 0.5. A whole number, where one "
    "is asked for, has no point: 65536 or 4e9, but not 8.0 or 6.5536e4. `_` between digits and zeros in front are refused, since readers differ about them: 010 is 8 to some.";

/// A '|' would end the cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string markdown_row(const FieldDoc& d) {
  return "| `" + d.key + "` | " + cell(d.type) + " | " + cell(d.range) + " | " + cell(d.fallback) + " | " +
         cell(d.doc) + " |\n";
}

/// `text` in lines of at most `width` bytes, each after `indent`; words stay whole.
std::string wrapped(const std::string& text, const std::string& indent, std::size_t width) {
  std::string out, line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > width) {
      out += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return out + indent + line + "\n";
}

}  // namespace

std::string facts_of(const FieldDoc& d) {
  std::string facts = d.type;
  if (!d.range.empty()) facts += ", " + d.range;
  if (d.fallback == "required")
    facts += ", required";
  else if (!d.fallback.empty())
    facts += ", default: " + d.fallback;
  return facts;
}

std::string reference_markdown() {
  std::string out =
      "# Configuration reference\n\n<!-- Generated: distsim list config --markdown > docs/config_reference.md -->\n\n";
  out += std::string(kIntroduction) + "\n\n## Units\n\n" + kUnitRule + "\n\n| type | units |\n|---|---|\n";
  for (const UnitLine& line : unit_lines()) out += "| " + line.type + " | " + line.units + " |\n";
  for (const Section& section : sections()) {
    out += "\n## " + section.name + "\n\n" + section.doc +
           "\n\n| key | type | range | default | meaning |\n|---|---|---|---|---|\n";
    for (const FieldDoc& d : section.keys) out += markdown_row(d);
  }
  return out;
}

std::vector<ReferenceSection> reference_sections() { return sections(); }

std::vector<std::string> config_keys() {
  std::vector<std::string> keys;
  for (const Section& section : sections()) {
    for (const FieldDoc& d : section.keys) keys.push_back(d.key);
  }
  return keys;
}

/// Nothing for a key that is in no section.
static const FieldDoc* find_doc(const std::string& key) {
  static const std::vector<Section> all = sections();
  for (const Section& section : all) {
    const auto it = std::ranges::find(section.keys, key, &FieldDoc::key);
    if (it != section.keys.end()) return &*it;
  }
  return nullptr;
}

std::string default_of(const std::string& key) {
  const FieldDoc* doc = find_doc(key);
  return doc == nullptr ? "" : doc->fallback;
}

std::vector<std::string> choices_of(const std::string& key) {
  constexpr std::string_view kBegin = "one of ";
  const FieldDoc* doc = find_doc(key);
  if (doc == nullptr) return {};
  const bool all = doc->type.starts_with(kBegin);
  if (!all && !doc->type.starts_with("automatic, ")) return {};
  std::vector<std::string> words;
  for (std::size_t at = all ? kBegin.size() : 0; at < doc->type.size();) {
    const std::size_t end = std::min(doc->type.find(", ", at), doc->type.size());
    const std::string word = doc->type.substr(at, end - at);
    if (all || word.find_first_of(" '<>") == std::string::npos) words.push_back(word);
    at = end + 2;
  }
  return words;
}

std::optional<Error> moved_key(const std::string& key) {
  ConfigNode root;
  root.kind = ConfigNode::Kind::map;
  if (!set_config_path(root, key, "0").ok() || root.entries.empty()) return std::nullopt;
  const std::string& section = root.entries.front().key;
  const ConfigNode& node = root.entries.front().value;
  const auto refusal = [&](const auto& schema) -> std::optional<Error> {
    const auto read = schema.read(node, section);
    const bool moved = !read.ok() && (read.error().what.find("found an old key") != std::string::npos ||
                                      read.error().what.find("found a removed key") != std::string::npos);
    return moved ? std::optional(read.error()) : std::nullopt;
  };
  if (section == "framework") return refusal(workload::framework_schema());
  if (section == "device") return refusal(topology::device_schema());
  return section == "model" ? refusal(workload::model_schema()) : std::nullopt;
}

std::string reference_text() {
  constexpr std::size_t kWidth = 100;
  std::string out = wrapped(kIntroduction, "", kWidth) + "\n" + wrapped(kUnitRule, "", kWidth);
  for (const UnitLine& line : unit_lines()) out += "  " + line.type + ": " + line.units + "\n";
  for (const Section& section : sections()) {
    out += "\n" + section.name + ": " + section.doc + "\n";
    for (const FieldDoc& d : section.keys) {
      out += "  " + d.key + "  (" + facts_of(d) + ")\n";
      if (!d.doc.empty()) out += wrapped(d.doc, "      ", kWidth);
    }
  }
  return out;
}

bool is_for_people(std::string_view key) { return key == "title" || key == "description" || key == "source"; }

}  // namespace distsim::config
