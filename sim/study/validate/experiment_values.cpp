#include "sim/study/validate/experiment_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/config/schema.hpp"
#include "sim/config/reference.hpp"

namespace distsim::study {
namespace {

/// What the reference says of a key; null: nothing, as of the names in a map.
const FieldDoc* doc_of(const std::string& key) {
  static const auto all = [] {
    std::map<std::string, FieldDoc> docs;
    for (config::ReferenceSection& section : config::reference_sections()) {
      for (FieldDoc& doc : section.keys) docs.emplace(doc.key, std::move(doc));
    }
    return docs;
  }();
  const auto found = all.find(key);
  return found == all.end() ? nullptr : &found->second;
}

/// The rest of a type that begins so: "list of time" is a list, each of which is a time.
std::string_view type_within(std::string_view type, std::string_view begin) {
  return type.starts_with(begin) ? type.substr(begin.size()) : std::string_view();
}

std::string value_of_type(std::string_view type, const std::string& text) {
  if (type == "integer") {
    const auto whole = parse_integer(text);
    return whole.ok() ? std::to_string(*whole) : text;
  }
  for (const Dimension d : {Dimension::none, Dimension::bytes, Dimension::seconds, Dimension::bytes_per_second,
                            Dimension::flops_per_second, Dimension::hertz, Dimension::watts}) {
    if (type != schema_detail::dimension_name(d)) continue;
    const auto value = parse_quantity(text, d);
    return value.ok() ? fmt::format("{:.17g}", *value) : text;
  }
  return text;
}

class ExperimentValues {
 public:
  /// `place`: of the node, with the numbers of items; `key`: as the reference has it; `type`: of a node that it does not have.
  void add(const ConfigNode& node, const std::string& place, const std::string& key, std::string_view type) {
    const FieldDoc* doc = doc_of(key);
    if (doc != nullptr) type = doc->type;
    switch (node.kind) {
      case ConfigNode::Kind::null:
        return line(place, "");
      case ConfigNode::Kind::scalar:
        if (doc == nullptr || value_of_type(type, node.scalar) != value_of_type(type, doc->fallback))
          line(place, value_of_type(type, node.scalar));
        return;
      case ConfigNode::Kind::sequence:
        return add_list(node, place, key, type, doc);
      case ConfigNode::Kind::map:
        if (doc != nullptr && doc->fallback == "absent") line(place, "{}");  // what is there counts, though it be empty
        for (const ConfigNode::Entry& entry : node.entries) {
          if (!config::is_for_people(entry.key))
            add(entry.value, within(place, entry.key), within(key, entry.key), type_within(type, "map to "));
        }
        return;
    }
  }

  std::string text() && {
    std::ranges::sort(lines_);
    std::string out;
    for (const std::string& l : lines_) out += l + "\n";
    return out;
  }

 private:
  static std::string within(const std::string& place, const std::string& key) {
    return place.empty() ? key : place + "." + key;
  }
  void line(const std::string& place, const std::string& value) { lines_.push_back(place + "=" + value); }

  void add_list(const ConfigNode& list, const std::string& place, const std::string& key, std::string_view type,
                const FieldDoc* doc) {
    const bool plain =
        std::ranges::all_of(list.items, [](const ConfigNode& i) { return i.kind == ConfigNode::Kind::scalar; });
    if (!plain) {
      line(place, std::to_string(list.items.size()));
      for (std::size_t i = 0; i < list.items.size(); ++i)
        add(list.items[i], place + "[" + std::to_string(i) + "]", key + "[]", type_within(type, "list of "));
      return;
    }
    std::string values;
    for (const ConfigNode& item : list.items)
      values += (values.empty() ? "[" : ", ") + value_of_type(type_within(type, "list of "), item.scalar);
    values = values.empty() ? "empty" : values + "]";
    if (doc == nullptr || values != doc->fallback) line(place, values);
  }

  std::vector<std::string> lines_;
};

}  // namespace

std::string plain_value(const std::string& key, const std::string& text) {
  const FieldDoc* doc = doc_of(key);
  return doc == nullptr ? text : value_of_type(doc->type, text);
}

std::string values_text(const ConfigNode& merged) {
  ExperimentValues values;
  values.add(merged, "", "", "");
  return std::move(values).text();
}

}  // namespace distsim::study
