#include "sim/web/answers/named_paths.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/config/config_path.hpp"
#include "base/config/schema.hpp"
#include "sim/config/config_folders.hpp"

namespace distsim::web {
namespace {

namespace fs = std::filesystem;

struct NamingKey {
  std::string_view key;
  bool always_path;  ///< else a word without a slash is a name
};

/// Every key whose value is a file.
constexpr std::array kNamingKeys{NamingKey{"cluster.system", false},
                                 NamingKey{"cluster.device", false},
                                 NamingKey{"device.name", false},
                                 NamingKey{"device.server", false},
                                 NamingKey{"model.name", false},
                                 NamingKey{"model.graph.file", true},
                                 NamingKey{"framework.name", false},
                                 NamingKey{"model.parallel.placement_file", true},
                                 NamingKey{"parallel.placement_file", true},
                                 NamingKey{"collectives.curve_files", true},
                                 NamingKey{"collectives.constants", true}};

bool is_path_like(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml");
}

bool lies_within(const fs::path& file, const std::vector<std::string>& folders) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  return !error && std::ranges::any_of(folders, [&](const std::string& folder) {
    return real.native().starts_with(folder.ends_with('/') ? folder : folder + "/");
  });
}

Result<void> check_scalar(const ConfigNode& node, const NamingKey& naming, const std::vector<std::string>& folders) {
  if (node.kind != ConfigNode::Kind::scalar || node.scalar.empty()) return {};
  if (!naming.always_path && !is_path_like(node.scalar)) return {};
  const fs::path path(node.scalar);
  if (lies_within(path.is_absolute() ? path : fs::path(config::folder_of_value(node)) / path, folders)) return {};
  return schema_detail::expected(node, std::string(naming.key), "a file in the folders that the page may read",
                                 "the configuration folders, $DISTSIM_CONFIGS, and the folder of --config");
}

}  // namespace

std::vector<std::string> open_folders(const std::string& experiment_file) {
  std::vector<fs::path> roots;
  for (const std::string& folder : config::config_folders("", "")) roots.emplace_back(folder);
  if (!experiment_file.empty()) roots.emplace_back(config::folder_of_path(experiment_file));
  std::vector<std::string> out;
  for (const fs::path& root : roots) {
    std::error_code error;
    const fs::path real = fs::canonical(root, error);
    if (!error) out.push_back(real.string());
  }
  return out;
}

Result<void> check_named_paths(const ConfigNode& parsed, const std::vector<std::string>& folders) {
  for (const NamingKey& naming : kNamingKeys) {
    const ConfigNode* node = node_at(parsed, naming.key);
    if (node == nullptr) continue;
    TRY(check_scalar(*node, naming, folders));
    for (const ConfigNode& item : node->items) TRY(check_scalar(item, naming, folders));
  }
  return {};
}

}  // namespace distsim::web
