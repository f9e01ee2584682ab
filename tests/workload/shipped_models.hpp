// The models and frameworks of configs/, templates filled.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/config/config_node.hpp"
#include "base/config/template_text.hpp"
#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/model_spec.hpp"
#include "test_paths.hpp"

namespace distsim::workload {

inline std::vector<std::string> stems_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::config(folder))) {
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Names in configs/models; a template with 64 for each of its placeholders.
inline std::vector<std::string> shipped_model_names() {
  std::vector<std::string> out;
  for (std::string name : stems_in("models")) {
    for (std::size_t open; (open = name.find('{')) != std::string::npos;)
      name.replace(open, name.find('}') - open + 1, "64");
    out.push_back(std::move(name));
  }
  return out;
}

/// Its text, from a file of that name or from a template; nothing where there is neither.
inline std::optional<std::string> shipped_model_text(const std::string& name) {
  const auto text_of = [](const std::string& stem) {
    std::ifstream in(test::config("models/" + stem + ".yaml"));
    return (std::ostringstream() << in.rdbuf()).str();
  };
  for (const std::string& stem : stems_in("models")) {
    if (stem == name) return text_of(stem);
    if (const auto values = match_template(stem, name)) return fill_template(text_of(stem), *values, stem).value();
  }
  return {};
}

inline ModelSpec shipped_model(const std::string& name) {
  const auto text = shipped_model_text(name);
  CHECK(text.has_value()) << "no model " << name;
  auto model = model_schema().read(parse_yaml(*text, name).value(), "model");
  CHECK(model.ok()) << model.error().text();
  if (model->name.empty()) model->name = name;
  return std::move(model).value();
}

inline FrameworkSpec shipped_framework(const std::string& name) {
  auto framework =
      framework_schema().read(parse_yaml_file(test::config("frameworks/" + name + ".yaml")).value(), "framework");
  CHECK(framework.ok()) << framework.error().text();
  return std::move(framework).value();
}

}  // namespace distsim::workload
