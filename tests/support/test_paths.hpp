// Where tests find the project's files and, where it is at hand, the shared measurements that are not part of the
// project.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace distsim::test {

inline std::string root() { return DISTSIM_ROOT; }
inline std::string config(const std::string& relative) { return root() + "/configs/" + relative; }

/// Path of a file in ../shared/data, or empty where it is absent. Tests that need it skip and say so.
inline std::string shared_data(const std::string& relative) {
  const std::string path = root() + "/../shared/data/" + relative;
  return std::filesystem::exists(path) ? path : "";
}

/// A fresh empty folder for a test's files, removed by the caller or with the machine.
inline std::string scratch_dir(const std::string& name) {
  const auto dir = std::filesystem::temp_directory_path() / ("distsim_test_" + name + "_" + std::to_string(::getpid()));
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir.string();
}

}  // namespace distsim::test
