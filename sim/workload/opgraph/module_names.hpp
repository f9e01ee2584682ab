// Modules of a graph by their names, as the labels of its calls and the names of its parameters have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace distsim::workload {

/// Numbers modules that patterns name: "*" stands for one part of a name, "blocks.*" for blocks.0, blocks.1, ...
class ModuleNames {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  explicit ModuleNames(const std::vector<std::string>& patterns) : patterns_(patterns), used_(patterns.size(), false) {}

  /// The number of the module that begins the label; kNone where no pattern names one.
  std::uint32_t of(std::string_view label);
  const std::vector<std::string>& names() const { return names_; }
  /// Patterns that have named none.
  std::vector<std::string> unused() const;

 private:
  std::vector<std::string> patterns_;
  std::vector<bool> used_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<std::string> names_;
};

}  // namespace distsim::workload
