// Where tests find the project's files.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace distsim::test {

/// The folder of this checkout.
std::string root();
inline std::string config(const std::string& relative) { return root() + "/configs/" + relative; }

/// A fresh empty folder for a test's files, removed by the caller or with the machine.
inline std::string scratch_dir(const std::string& name) {
  const auto dir = std::filesystem::temp_directory_path() / ("distsim_test_" + name + "_" + std::to_string(::getpid()));
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir.string();
}

}  // namespace distsim::test
