#include "sim/config/variants.hpp"

#include <mutex>
#include <utility>

#include "sim/config/config_folders.hpp"

namespace distsim::config {

Result<ConfigNode> NamedFiles::read(const ConfigNode& name, const std::string& key, const std::string& kind,
                                    const std::string& experiment_folder) {
  if (name.kind != ConfigNode::Kind::scalar) return read_named_file(name, key, kind, experiment_folder);
  std::string id = name.scalar;
  for (const std::string& part : {kind, folder_of_value(name), experiment_folder}) (id += '\0') += part;
  {
    const std::shared_lock lock(mutex_);
    if (const auto it = files_.find(id); it != files_.end()) return it->second;
  }
  TRY_ASSIGN(ConfigNode file, read_named_file(name, key, kind, experiment_folder));
  const std::unique_lock lock(mutex_);
  return files_.try_emplace(std::move(id), std::move(file)).first->second;
}

const std::vector<std::string>& NamedFiles::curve_folders() {
  const std::unique_lock lock(mutex_);
  if (!curve_folders_) curve_folders_ = std::make_unique<const std::vector<std::string>>(config::curve_folders());
  return *curve_folders_;
}

Result<std::shared_ptr<Variants>> Variants::of(const std::string& path) {
  TRY_ASSIGN(ConfigNode text, parse_experiment(path, {}));
  return std::shared_ptr<Variants>(new Variants(std::move(text)));
}

Result<std::shared_ptr<Variants>> Variants::of_text(std::string_view text, const std::string& file) {
  TRY_ASSIGN(ConfigNode parsed, parse_experiment_text(text, file, {}));
  return std::shared_ptr<Variants>(new Variants(std::move(parsed)));
}

Result<const PathValue*> Variants::value_of(const std::string& set) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto it = values_.find(set); it != values_.end()) return &it->second;
  }
  TRY_ASSIGN(PathValue value, parse_set(set));
  const std::unique_lock lock(mutex_);
  return &values_.try_emplace(set, std::move(value)).first->second;
}

Result<ConfigNode> Variants::parsed(const std::vector<std::string>& sets) {
  ConfigNode root = text_;
  for (const std::string& set : sets) {
    TRY_ASSIGN(const PathValue* const value, value_of(set));
    TRY(set_config_path(root, *value));
  }
  TRY(check_parsed(root, sets));
  return root;
}

Result<Experiment> Variants::with(const std::vector<std::string>& sets) {
  TRY_ASSIGN(const ConfigNode root, parsed(sets));
  return resolve(root, files_);
}

}  // namespace distsim::config
