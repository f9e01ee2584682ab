#include "sim/config/text_experiments.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace distsim::config {
namespace {

struct Texts {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> by_path;
  std::atomic<std::size_t> count{0};  ///< without the mutex: usually there are none
};

Texts& texts() {
  static Texts all;
  return all;
}

}  // namespace

TextExperiment::TextExperiment(std::string text, const std::string& file) {
  static std::atomic<std::uint64_t> made{0};
  path_ = file + "#" + std::to_string(++made);
  Texts& all = texts();
  const std::lock_guard lock(all.mutex);
  all.by_path.emplace(path_, std::move(text));
  all.count = all.by_path.size();
}

TextExperiment::~TextExperiment() {
  Texts& all = texts();
  const std::lock_guard lock(all.mutex);
  all.by_path.erase(path_);
  all.count = all.by_path.size();
}

std::optional<std::string> text_of_experiment(const std::string& path) {
  Texts& all = texts();
  if (all.count == 0) return std::nullopt;
  const std::lock_guard lock(all.mutex);
  const auto it = all.by_path.find(path);
  return it == all.by_path.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace distsim::config
