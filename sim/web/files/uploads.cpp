#include "sim/web/files/uploads.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/web/answers/secret.hpp"

namespace distsim::web {

namespace fs = std::filesystem;

Result<Upload> Uploads::begin(std::string_view name) {
  TRY_ASSIGN(const std::string folder, folder_.path());
  const std::lock_guard lock(mutex_);
  Upload out{random_secret(), plain_file_name(name), folder + "/" + std::to_string(next_++), 0};
  std::error_code error;
  fs::create_directory(out.path, error);
  if (error) return Error{"found no place for the file: " + error.message(), "", ""};
  out.path += "/" + out.name;
  return out;
}

void Uploads::finish(Upload upload) {
  const std::lock_guard lock(mutex_);
  bytes_ += upload.bytes;
  files_.push_back(std::move(upload));
  while (files_.size() > 1 && (files_.size() > kMostFiles || bytes_ > kMostBytes)) {
    bytes_ -= files_.front().bytes;
    drop(files_.front());
    files_.pop_front();
  }
}

void Uploads::drop(const Upload& upload) {
  std::error_code error;
  fs::remove_all(fs::path(upload.path).parent_path(), error);
}

Result<std::vector<std::string>> Uploads::paths(const std::vector<std::string>& ids) const {
  std::vector<std::string> out;
  const std::lock_guard lock(mutex_);
  for (const std::string& id : ids) {
    const auto it = std::ranges::find_if(files_, [&](const Upload& f) { return is_secret(f.id, id); });
    if (it == files_.end())
      return Error{"files: found one that the server does not have, or no longer has", "message", "send it again"};
    out.push_back(it->path);
  }
  return out;
}

}  // namespace distsim::web
