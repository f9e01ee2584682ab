// Predictions for a page: what is read once for many of them, and the last few results, which a timeline is cut from.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/config/variants.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/report/timeline/timeline_window.hpp"
#include "sim/study/kept_inputs.hpp"

namespace distsim::web {

/// GPUs of one experiment at most: a prediction of so many takes about a second and some hundred megabytes.
inline constexpr std::int64_t kMostGpus = 131'072;

/// An experiment of the page and its prediction.
struct Shown {
  std::string text;
  ConfigNode parsed;
  config::Experiment experiment;
  pipeline::Prediction prediction;
  std::shared_ptr<const report::TimelineIndex> timeline() const;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const report::TimelineIndex> timeline_;
};

/// May be used by several threads.
class Predictions {
 public:
  /// `experiment_file`: what texts are called in messages, and the folder that their paths start from.
  explicit Predictions(std::string experiment_file);

  const std::string& file() const { return file_; }

  /// The experiment of a text. Errors: those of the configuration; a path out of the folders that a page may read; more than
  /// kMostGpus.
  Result<config::Experiment> resolve(const ConfigNode& parsed);
  Result<ConfigNode> parse(const std::string& text) const;
  /// What a page may not ask for, of an experiment that was parsed elsewhere: a path out of its folders, too many GPUs.
  Result<void> check(const ConfigNode& parsed);

  /// One of the last few, or a new one.
  Result<std::shared_ptr<const Shown>> of(const std::string& text);

  std::shared_ptr<pipeline::CostModelCache> models();

  /// One more folder that paths may lead into; canonical.
  void open_folder(const std::string& folder);

  /// Whether files and models were forgotten since the last call: what was made of them may be another now.
  bool is_renewed();

 private:
  study::KeptInputs::Inputs kept();
  Result<void> check_paths(const ConfigNode& parsed) const;
  std::shared_ptr<const Shown> find(const std::string& text);
  void keep(std::shared_ptr<const Shown> shown);

  const std::string file_;
  mutable std::shared_mutex folders_mutex_;
  std::vector<std::string> folders_;
  std::mutex mutex_;
  study::KeptInputs inputs_;
  std::uint64_t generation_ = 0;  ///< of the results that are kept
  std::atomic<bool> renewed_{false};
  std::deque<std::shared_ptr<const Shown>> shown_;  ///< the last one first
};

}  // namespace distsim::web
