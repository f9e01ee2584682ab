#include "sim/web/answers/kept_files.hpp"

#include <algorithm>
#include <utility>

#include "sim/web/answers/secret.hpp"

namespace distsim::web {

void KeptFiles::forget(std::chrono::steady_clock::time_point now) {
  while (!files_.empty() && (files_.size() > kMostFiles || bytes_ > kMostBytes || now - files_.front()->made > kAge)) {
    bytes_ -= files_.front()->text.size();
    files_.pop_front();
  }
}

std::string KeptFiles::keep(std::string name, std::string type, std::string text) {
  const auto now = std::chrono::steady_clock::now();
  auto file =
      std::make_shared<KeptFile>(KeptFile{random_secret(), std::move(name), std::move(type), std::move(text), now});
  const std::lock_guard lock(mutex_);
  bytes_ += file->text.size();
  files_.push_back(file);
  forget(now);
  return file->id;
}

void KeptFiles::tidy() {
  const std::lock_guard lock(mutex_);
  forget(std::chrono::steady_clock::now());
}

std::shared_ptr<const KeptFile> KeptFiles::find(std::string_view id) {
  const std::lock_guard lock(mutex_);
  forget(std::chrono::steady_clock::now());
  const auto it = std::ranges::find_if(files_, [&](const auto& f) { return is_secret(f->id, id); });
  return it == files_.end() ? nullptr : *it;
}

}  // namespace distsim::web
