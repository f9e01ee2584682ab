#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "test_paths.hpp"

namespace distsim::test {
namespace {

/// Removes folders when the process ends; not in a child that a test forked.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (::getpid() != process_) return;
    std::error_code ignored;
    for (const std::filesystem::path& folder : folders_) std::filesystem::remove_all(folder, ignored);
  }

  void keep_until_the_end(const std::filesystem::path& folder) { folders_.push_back(folder); }

 private:
  pid_t process_ = ::getpid();
  std::vector<std::filesystem::path> folders_;
};

Scratch& scratch() {
  static Scratch it;
  return it;
}

}  // namespace

std::string root() { return DISTSIM_ROOT; }

std::string scratch_dir(const std::string& name) {
  const auto dir = std::filesystem::temp_directory_path() / ("distsim_test_" + name + "_" + std::to_string(::getpid()));
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  scratch().keep_until_the_end(dir);
  return dir.string();
}

}  // namespace distsim::test
