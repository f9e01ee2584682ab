#include "sim/study/recipes/recipe.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/config/schema.hpp"
#include "base/text/names/spelling.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/study/plan/experiment_file.hpp"

namespace distsim::study {
namespace {

constexpr std::array<std::pair<const char*, Find>, 4> kFinds{
    {{"nothing", Find::nothing}, {"knee", Find::knee}, {"scaling", Find::scaling}, {"comparison", Find::comparison}}};

Result<std::string> text_of_node(const ConfigNode& node, const std::string& key) {
  if (node.kind != ConfigNode::Kind::scalar || node.scalar.empty()) return schema_detail::expected(node, key, "a text");
  return node.scalar;
}

Result<std::vector<std::string>> texts_of_node(const ConfigNode& node, const std::string& key) {
  if (node.kind != ConfigNode::Kind::sequence) return schema_detail::expected(node, key, "a list of KEY=VALUE");
  std::vector<std::string> out;
  for (const ConfigNode& item : node.items) {
    TRY_ASSIGN(std::string text, text_of_node(item, key));
    out.push_back(std::move(text));
  }
  return out;
}

/// As --set takes it: an item of a list is one value, or one range.
std::string text_of_item(const ConfigNode& item) {
  const bool is_nested = item.kind == ConfigNode::Kind::map || item.kind == ConfigNode::Kind::sequence;
  return is_nested ? flow_of(item) : as_one_value(item.scalar);
}

/// "KEY: values" of `vary`, "KEY: {a: b}", or "KEY: [a, b]".
std::string text_of_entry(const ConfigNode::Entry& entry) {
  const ConfigNode& value = entry.value;
  if (value.kind != ConfigNode::Kind::sequence)
    return entry.key + "=" + (value.kind == ConfigNode::Kind::map ? text_of_item(value) : value.scalar);
  std::string values;
  for (const ConfigNode& item : value.items) values += (&item == &value.items.front() ? "" : ",") + text_of_item(item);
  return entry.key + "=" + values;
}

template <class T>
Result<T> at_entry(Result<T> result, const ConfigNode::Entry& entry) {
  if (result.ok()) return result;
  return Error{"vary: " + result.error().what, entry.where.text(), result.error().hint};
}

/// Counted before the values of the first are made.
Result<std::vector<SweepAxis>> axes_of_entries(const std::vector<ConfigNode::Entry>& entries) {
  std::vector<double> counts;
  for (const ConfigNode::Entry& entry : entries) {
    TRY_ASSIGN(const double count, at_entry(count_values(text_of_entry(entry)), entry));
    counts.push_back(count);
    TRY(at_entry(count_points(counts), entry));
  }
  std::vector<SweepAxis> axes;
  for (const ConfigNode::Entry& entry : entries) {
    TRY_ASSIGN(SweepAxis axis, at_entry(parse_axis(text_of_entry(entry)), entry));
    axes.push_back(std::move(axis));
  }
  return axes;
}

/// What cannot be read, or has no effect, is said of the place where it is written.
Result<void> check_sets(const ConfigNode& list, const std::vector<std::string>& sets) {
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto parsed = config::parse_set(sets[i]);
    if (!parsed.ok()) return Error{"set: " + parsed.error().what, list.items[i].where.text(), parsed.error().hint};
  }
  for (const config::ReplacedSet& replaced : config::replaced_sets(sets))
    return Error{"set: found the key " + in_quotes(config::key_of_set(replaced.set)) + " twice, expected one value",
                 list.where.text(), ""};
  return {};
}

Result<SweepAxis> axis_of_variants(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::sequence || node.items.size() < 2)
    return schema_detail::expected(node, "variants", "a list of two or more, each with name and set");
  static const std::vector<std::string> known{"name", "set"};
  SweepAxis axis{"variant", {}, {}};
  for (const ConfigNode& item : node.items) {
    for (const ConfigNode::Entry& entry : item.entries) {
      if (std::ranges::find(known, entry.key) == known.end())
        return schema_detail::unknown_key(entry, "variants", known);
    }
    const ConfigNode *name = item.find("name"), *set = item.find("set");
    if (name == nullptr) return schema_detail::expected(item, "variants", "a map with name and set");
    TRY_ASSIGN(std::string text, text_of_node(*name, "variants.name"));
    if (std::ranges::find(axis.values, text) != axis.values.end())
      return Error{"variants.name: found " + in_quotes(text) + " twice, expected each variant's name once",
                   name->where.text(), ""};
    std::vector<std::string> sets;
    if (set != nullptr) {
      TRY_ASSIGN(sets, texts_of_node(*set, "variants.set"));
    }
    axis.values.push_back(std::move(text));
    axis.sets.push_back(std::move(sets));
  }
  return axis;
}

Result<Find> find_of_node(const ConfigNode& node) {
  std::vector<std::string> words;
  for (const auto& [word, find] : kFinds) {
    if (node.scalar == word) return find;
    words.emplace_back(word);
  }
  return schema_detail::expected(node, "find", "one of nothing, knee, scaling, comparison",
                                 spelling_hint(node.scalar, words));
}

Result<void> read_entry(Recipe& recipe, const ConfigNode::Entry& entry, const std::string& path) {
  static const std::vector<std::string> known{"title", "description", "config",  "set",
                                              "vary",  "variants",    "scaling", "find"};
  const ConfigNode& value = entry.value;
  if (std::ranges::find(known, entry.key) == known.end())
    return Error{printable(entry.key) + ": found an unknown key, expected a key of a study", entry.where.text(),
                 spelling_hint(entry.key, known)};
  if (entry.key == "title") {
    TRY_ASSIGN(recipe.title, text_of_node(value, entry.key));
  } else if (entry.key == "config") {
    TRY_ASSIGN(const std::string file, text_of_node(value, entry.key));
    const std::filesystem::path given(file);
    recipe.request.config =
        given.is_absolute() ? file
                            : (std::filesystem::path(config::folder_of_path(path)) / given).lexically_normal().string();
  } else if (entry.key == "set") {
    TRY_ASSIGN(recipe.request.sets, texts_of_node(value, entry.key));
    TRY(check_sets(value, recipe.request.sets));
  } else if (entry.key == "vary") {
    if (value.kind != ConfigNode::Kind::map)
      return schema_detail::expected(value, entry.key, "a map from keys to values");
    TRY_ASSIGN(std::vector<SweepAxis> axes, axes_of_entries(value.entries));
    std::ranges::move(axes, std::back_inserter(recipe.request.axes));
  } else if (entry.key == "variants") {
    TRY_ASSIGN(SweepAxis axis, axis_of_variants(value));
    recipe.request.axes.insert(recipe.request.axes.begin(), std::move(axis));
  } else if (entry.key == "scaling") {
    if (value.scalar != "weak" && value.scalar != "strong")
      return schema_detail::expected(value, entry.key, "strong or weak");
    recipe.request.scaling = value.scalar == "weak" ? Scaling::weak : Scaling::strong;
    recipe.request.scaling_asked = value.where.text() + ": scaling";
  } else if (entry.key == "find") {
    TRY_ASSIGN(recipe.find, find_of_node(value));
  }
  return {};
}

}  // namespace

Result<Recipe> load_recipe(const std::string& name) {
  std::string path = name;
  if (!name.ends_with(".yaml") && !name.ends_with(".yml")) {
    path = name.find('/') == std::string::npos ? config::config_file("studies", name + ".yaml") : "";
    if (path.empty())
      return Error{"--study: found '" + name + "', expected a name of configs/studies or a path that ends in .yaml", "",
                   spelling_hint(name, config::names_in("studies"))};
  }
  TRY_ASSIGN(const ConfigNode file, parse_yaml_file(path));
  if (file.kind != ConfigNode::Kind::map) return schema_detail::expected(file, "study", "a map with vary or variants");
  Recipe recipe{path, {}, Find::nothing};
  for (const ConfigNode::Entry& entry : file.entries) TRY(read_entry(recipe, entry, path));
  if (const std::string twice = key_given_twice(recipe.request.axes); !twice.empty()) {
    std::vector<SweepAxis> varied = recipe.request.axes;
    std::erase_if(varied, [](const SweepAxis& axis) { return !axis.sets.empty(); });
    if (key_given_twice(varied).empty())
      return Error{"vary: found the key " + in_quotes(twice) + ", which a variant sets, expected one of them", path,
                   ""};
    return Error{"vary: found the key " + in_quotes(twice) + " twice, expected one list of values", path, ""};
  }
  if (const std::string twice = key_given_twice(recipe.request.axes, recipe.request.sets); !twice.empty())
    return Error{"vary: found the key " + in_quotes(twice) + ", which set has, expected one of them", path, ""};
  return recipe;
}

}  // namespace distsim::study
