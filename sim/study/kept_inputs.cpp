#include "sim/study/kept_inputs.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/config/config_folders.hpp"

namespace distsim::study {
namespace {

constexpr std::uint64_t kUsesOfModels = 5'000;
constexpr std::size_t kMostWatched = 2'000;
constexpr const char* kKinds[] = {"systems", "devices",     "models",    "frameworks",
                                  "curves",  "collectives", "op_models", "ops"};

std::string surroundings_of_process() {
  std::error_code none;
  const char* set = std::getenv("DISTSIM_CONFIGS");
  return std::filesystem::current_path(none).string() + '\n' + (set ? set : "");
}

}  // namespace

void KeptInputs::renew() {
  kept_ = {std::make_shared<config::NamedFiles>(), std::make_shared<pipeline::CostModelCache>(), kept_.generation + 1};
  used_ = 0;
  stamps_.clear();
  known_.clear();
  for (const std::string& root : config::config_folders("", "")) {
    stamps_.push_back(stamp_of(root));
    for (const char* kind : kKinds) stamps_.push_back(stamp_of(root + "/" + kind));
  }
}

KeptInputs::Inputs KeptInputs::use() {
  std::string now = surroundings_of_process();
  const std::lock_guard lock(mutex_);
  if (!kept_.files || now != surroundings_ || stamps_.size() > kMostWatched || !are_unchanged(stamps_)) {
    surroundings_ = std::move(now);
    renew();
  }
  if (++used_ % kUsesOfModels == 0) kept_.models = std::make_shared<pipeline::CostModelCache>();
  return kept_;
}

void KeptInputs::watch(const Inputs& inputs, const std::string& folder, std::vector<FileStamp> read) {
  const std::lock_guard lock(mutex_);
  if (inputs.generation != kept_.generation) return;  // nothing of it is kept
  if (!folder.empty() && !known_.contains(folder)) {
    known_.emplace(folder, stamps_.size());
    for (const char* kind : kKinds) stamps_.push_back(stamp_of(folder + "/" + kind));
  }
  for (FileStamp& stamp : read) {
    const auto [it, fresh] = known_.try_emplace(stamp.path, stamps_.size());
    if (fresh)
      stamps_.push_back(std::move(stamp));
    else if (stamps_.size() > it->second && stamps_[it->second].path == stamp.path && stamps_[it->second] != stamp)
      kept_.files = nullptr;  // it changed while it was used: what is kept may be of either
  }
}

}  // namespace distsim::study
