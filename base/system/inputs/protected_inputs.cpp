#include "base/system/inputs/protected_inputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/system/inputs/link_target.hpp"

namespace distsim {
namespace {

/// Files that are read, while inputs are protected.
class Inputs {
  using NameTest = std::function<bool(std::string_view)>;
  using Identity = std::pair<dev_t, ino_t>;

 public:
  void protect() {
    const std::lock_guard lock(mutex_);
    protected_ = true;
    files_.clear();
    folders_.clear();
    endings_.clear();
    made_.clear();
  }
  bool are_protected() {
    const std::lock_guard lock(mutex_);
    return protected_;
  }
  void add(const struct stat& file) {
    const std::lock_guard lock(mutex_);
    if (protected_ && S_ISREG(file.st_mode)) files_.insert({file.st_dev, file.st_ino});
  }
  void add_folder(const struct stat& folder, NameTest takes) {
    const std::lock_guard lock(mutex_);
    if (protected_) folders_.emplace_back(Identity(folder.st_dev, folder.st_ino), std::move(takes));
  }
  void add_ending(const struct stat& folder, std::string_view ending) {
    const std::lock_guard lock(mutex_);
    if (protected_) endings_[{folder.st_dev, folder.st_ino}].emplace(ending);
  }
  void add_made(const std::string& path, std::string_view ending) {
    const std::lock_guard lock(mutex_);
    if (protected_) made_.emplace(path, ending);
  }
  bool contain(const struct stat& file) {
    const std::lock_guard lock(mutex_);
    return files_.contains({file.st_dev, file.st_ino});
  }
  /// Who reads a file of this path among those of a folder; empty where nobody does, or the output `as` is made for it.
  std::string reader_of(const std::string& path, const std::string& as) {
    const std::lock_guard lock(mutex_);
    struct stat folder {};
    if ((folders_.empty() && endings_.empty()) || ::stat(folder_of_file(path).c_str(), &folder) != 0) return "";
    const Identity place(folder.st_dev, folder.st_ino);
    const std::size_t slash = path.rfind('/');
    const std::string name = "/" + path.substr(slash + 1);  // npos + 1 is 0
    const auto ends = [&](const std::string& ending) {
      return name.ends_with(ending) && !made_.contains(std::pair(as, ending));
    };
    if (const auto known = endings_.find(place); known != endings_.end() && std::ranges::any_of(known->second, ends))
      return "predictions read";
    const bool taken = std::ranges::any_of(folders_, [&](const auto& known) {
      return known.first == place && known.second(std::string_view(name).substr(1));
    });
    return taken ? "this command reads" : "";
  }

 private:
  std::mutex mutex_;
  bool protected_ = false;
  std::set<Identity> files_;
  std::vector<std::pair<Identity, NameTest>> folders_;
  std::map<Identity, std::set<std::string>> endings_;
  std::set<std::pair<std::string, std::string>> made_;
};

Inputs& inputs() {
  static Inputs all;
  return all;
}

}  // namespace

void protect_inputs() { inputs().protect(); }

void note_input(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) == 0) inputs().add(info);
}

void note_input(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) inputs().add(info);
}

void note_input_folder(const std::string& folder, std::function<bool(std::string_view)> takes) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0) inputs().add_folder(info, std::move(takes));
}

void note_input_endings(const std::string& folder, std::string_view ending) {
  struct stat info {};
  if (inputs().are_protected() && ::stat(folder.c_str(), &info) == 0) inputs().add_ending(info, ending);
}

void note_made_input(const std::string& path, std::string_view ending) { inputs().add_made(path, ending); }

Result<void> check_not_read(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !inputs().contain(info)) return {};
  return Error{"found a file that this command reads, expected another one to write", path, ""};
}

Result<void> check_not_input(const std::string& path) {
  TRY(check_not_read(path));
  std::string reader = inputs().reader_of(path, path);
  if (reader.empty()) reader = inputs().reader_of(resolved_path(path), path);
  if (reader.empty()) return {};
  return Error{"found a file in a folder that " + reader + ", expected one elsewhere", path,
               "the next time it would be read with the others"};
}

}  // namespace distsim
