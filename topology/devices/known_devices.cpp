#include "topology/devices/known_devices.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/config/config_node.hpp"
#include "base/file.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::topology {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostDeviceBytes = 1 << 20;

DeviceNames names_in_file(const std::string& text, const std::string& file, std::string stem) {
  DeviceNames out{std::move(stem), {}};
  const auto node = parse_yaml(text, file);
  if (!node.ok()) return out;
  if (const ConfigNode* name = node->find("name"); name != nullptr && name->scalar != out.name)
    out.aliases.push_back(name->scalar);
  if (const ConfigNode* aliases = node->find("aliases")) {
    for (const ConfigNode& alias : aliases->items) out.aliases.push_back(alias.scalar);
  }
  return out;
}

}  // namespace

KnownDevices::KnownDevices(std::vector<std::string> files) : files_(std::move(files)) {
  for (const std::string& file : files_) names_.push_back(fs::path(file).stem().string());
}

std::vector<DeviceNames> KnownDevices::called(std::string_view text) const {
  std::vector<DeviceNames> out;
  const std::string asked = normal_gpu_name(text);
  if (asked.empty() || text.find(',') != text.npos) return out;  // of a sentence: no name has a comma
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::error_code failed;
    if (!fs::is_regular_file(files_[i], failed)) continue;  // a pipe is not read in passing
    const auto read = read_file(files_[i], kMostDeviceBytes);
    const bool is_its_name = normal_gpu_name(names_[i]) == asked;
    // To parse all files takes long.
    if (!read.ok() || (!is_its_name && normal_gpu_name(*read).find(asked) == std::string::npos)) continue;
    DeviceNames device = names_in_file(*read, files_[i], names_[i]);
    const auto is_asked = [&](const std::string& alias) { return normal_gpu_name(alias) == asked; };
    if (is_its_name || std::ranges::any_of(device.aliases, is_asked)) out.push_back(std::move(device));
  }
  return out;
}

}  // namespace distsim::topology
