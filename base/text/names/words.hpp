// Words: a fixed vocabulary and what each word stands for, as a configuration, a command line or a file writes it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"

namespace distsim {

template <class E>
using Words = std::vector<std::pair<std::string, E>>;

/// The value of a word. Error: "KEY: found 'WORD', expected one of A, B", with the nearest valid spelling.
template <class E>
Result<E> read_word(const std::string& key, std::string_view word, const Words<E>& words) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& [name, value] : words) {
    if (name == word) return value;
    names.push_back(name);
    list += (list.empty() ? "" : ", ") + name;
  }
  const std::string near = nearest_spelling(word, names);  // the list is in the line already
  return Error{key + ": found " + in_quotes(std::string(word)) + ", expected one of " + list, "",
               near.empty() ? "" : "did you mean '" + near + "'?"};
}

/// The word of a value that is in the vocabulary.
template <class E>
std::string_view word_of(const E& value, const Words<E>& words) {
  for (const auto& [name, v] : words) {
    if (v == value) return name;
  }
  return "?";
}

}  // namespace distsim
