// What the GPUs that have device files are called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distsim::topology {

struct DeviceNames {
  std::string name;                  ///< of the file
  std::vector<std::string> aliases;  ///< may be empty: the file does not say what else it is called
};

class KnownDevices {
 public:
  KnownDevices() = default;
  /// Paths of device files, which are read where `called` needs them.
  explicit KnownDevices(std::vector<std::string> files);

  const std::vector<std::string>& names() const { return names_; }

  /// The devices that have `text` as their name or an alias, in any form in which names are compared (device_names.hpp).
  /// Files that cannot be read name nothing.
  std::vector<DeviceNames> called(std::string_view text) const;

 private:
  std::vector<std::string> files_, names_;
};

}  // namespace distsim::topology
