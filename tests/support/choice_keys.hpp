// Keys with a fixed vocabulary: for every one of a schema, a misspelling is refused at its position with the nearest
// valid spelling. Driven by the schema, so that a new key is covered when it is declared.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/config/schema.hpp"

namespace distsim::test {

inline constexpr std::string_view kOneOf = "one of ", kEachOneOf = "list, each one of ";

/// The vocabulary of a key; empty where it has none.
inline std::vector<std::string> vocabulary_of(const FieldDoc& doc) {
  std::string_view list = doc.type;
  if (list.starts_with(kEachOneOf))
    list.remove_prefix(kEachOneOf.size());
  else if (list.starts_with(kOneOf))
    list.remove_prefix(kOneOf.size());
  else
    return {};
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(", ", begin), list.size());
    words.emplace_back(list.substr(begin, end - begin));
    begin = end + 2;
  }
  return words;
}

/// "a.b[].c" with the value x as flow YAML: "{a: {b: [{c: x}]}}".
inline std::string yaml_of(std::string_view key, const std::string& value) {
  if (key.empty()) return value;
  const std::size_t end = std::min(key.find('.'), key.size());
  std::string_view name = key.substr(0, end);
  const std::string inner = yaml_of(end == key.size() ? "" : key.substr(end + 1), value);
  const bool list = name.ends_with("[]");
  if (list) name.remove_suffix(2);
  return "{" + std::string(name) + ": " + (list ? "[" + inner + "]" : inner) + "}";
}

template <class S>
std::string refusal_of(const Schema<S>& schema, const std::string& text) {
  const auto node = parse_yaml(text, "x.yaml");
  if (!node.ok()) return node.error().text();
  const auto read = schema.read(*node);
  return read.ok() ? "" : read.error().text();
}

/// How many keys were checked.
template <class S>
int expect_misspellings_refused(const Schema<S>& schema) {
  int checked = 0;
  for (const FieldDoc& doc : schema.docs()) {
    const bool list = std::string_view(doc.type).starts_with(kEachOneOf);
    for (const std::string& word : vocabulary_of(doc)) {
      if (word.size() < 2) continue;  // a letter has no near spelling
      const std::string wrong = word + "x";
      const std::string text = refusal_of(schema, yaml_of(doc.key, list ? "[" + wrong + "]" : wrong));
      EXPECT_NE(text.find("found '" + wrong + "', expected one of "), std::string::npos) << doc.key << ": " << text;
      EXPECT_NE(text.find("x.yaml:1:"), std::string::npos) << doc.key << ": " << text;
      EXPECT_NE(text.find("did you mean '" + word + "'?"), std::string::npos) << doc.key << ": " << text;
    }
    checked += vocabulary_of(doc).empty() ? 0 : 1;
  }
  return checked;
}

}  // namespace distsim::test
