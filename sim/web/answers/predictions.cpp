#include "sim/web/answers/predictions.hpp"

#include <algorithm>
#include <utility>

#include "sim/config/config_folders.hpp"
#include "sim/web/answers/named_paths.hpp"

namespace distsim::web {
namespace {

/// Results that are kept, and what they may hold together, in steps times ranks; the last one is kept in any case.
constexpr std::size_t kMostShown = 8;
constexpr std::size_t kMostHeld = 4'000'000;

std::size_t held_by(const Shown& shown) {
  const engine::Program& program = shown.prediction.lowered->program;
  return program.steps.size() * program.ranks;
}

Result<void> check_size(const config::Experiment& e) {
  const std::int64_t gpus = e.cluster.nodes * e.cluster.gpus_per_node;
  if (gpus <= kMostGpus) return {};
  return Error{"cluster.nodes: found " + std::to_string(gpus) + " GPUs, expected at most " + std::to_string(kMostGpus) +
                   " on the page",
               "", "the command line predicts more"};
}

Result<config::Experiment> resolved(const ConfigNode& parsed, config::NamedFiles& files) {
  TRY_ASSIGN(config::Experiment e, config::resolve(parsed, files));
  TRY(check_size(e));
  return e;
}

}  // namespace

std::shared_ptr<const report::TimelineIndex> Shown::timeline() const {
  const std::lock_guard lock(mutex_);
  if (!timeline_) timeline_ = std::make_shared<const report::TimelineIndex>(prediction.played(), prediction.report);
  return timeline_;
}

Predictions::Predictions(std::string experiment_file)
    : file_(experiment_file.empty() ? "experiment.yaml" : experiment_file), folders_(open_folders(experiment_file)) {}

/// Results that were made of files that have changed are forgotten.
study::KeptInputs::Inputs Predictions::kept() {
  auto inputs = inputs_.use();
  const std::lock_guard lock(mutex_);
  if (inputs.generation > generation_) {
    generation_ = inputs.generation;
    shown_.clear();
    renewed_ = true;
  }
  return inputs;
}

bool Predictions::is_renewed() {
  kept();
  return renewed_.exchange(false);
}

std::shared_ptr<pipeline::CostModelCache> Predictions::models() { return kept().models; }

void Predictions::open_folder(const std::string& folder) {
  const std::unique_lock lock(folders_mutex_);
  if (std::ranges::find(folders_, folder) == folders_.end()) folders_.push_back(folder);
}

Result<void> Predictions::check_paths(const ConfigNode& parsed) const {
  const std::shared_lock lock(folders_mutex_);
  return check_named_paths(parsed, folders_);
}

Result<ConfigNode> Predictions::parse(const std::string& text) const {
  TRY_ASSIGN(ConfigNode parsed, config::parse_experiment_text(text, file_, {}));
  TRY(check_paths(parsed));
  return parsed;
}

Result<void> Predictions::check(const ConfigNode& parsed) {
  TRY(check_paths(parsed));
  const Result<config::Experiment> e = inputs_.read(
      config::folder_of_path(file_), [&](const auto& inputs) { return config::resolve(parsed, *inputs.files); });
  return e.ok() ? check_size(*e) : Result<void>();  // the prediction says what is wrong
}

Result<config::Experiment> Predictions::resolve(const ConfigNode& parsed) {
  return inputs_.read(config::folder_of_path(file_),
                      [&](const auto& inputs) { return resolved(parsed, *inputs.files); });
}

std::shared_ptr<const Shown> Predictions::find(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find_if(shown_, [&](const auto& s) { return s->text == text; });
  if (it == shown_.end()) return nullptr;
  std::rotate(shown_.begin(), it, it + 1);
  return shown_.front();
}

void Predictions::keep(std::shared_ptr<const Shown> shown) {
  const std::lock_guard lock(mutex_);
  shown_.push_front(std::move(shown));
  std::size_t held = 0, count = 0;
  for (const auto& s : shown_) {
    held += held_by(*s);
    if (count > 0 && (held > kMostHeld || count == kMostShown)) break;
    ++count;
  }
  shown_.resize(count);
}

Result<std::shared_ptr<const Shown>> Predictions::of(const std::string& text) {
  kept();  // forgets what is out of date
  if (auto known = find(text)) return known;
  auto out = std::make_shared<Shown>();
  out->text = text;
  TRY_ASSIGN(out->parsed, parse(text));
  const auto predicted = inputs_.read(config::folder_of_path(file_), [&](const auto& inputs) -> Result<void> {
    TRY_ASSIGN(out->experiment, resolved(out->parsed, *inputs.files));
    pipeline::Passes passes;
    TRY_ASSIGN(out->prediction, pipeline::predict(out->experiment, passes, *inputs.models));
    return {};
  });
  TRY(predicted);
  keep(out);
  return std::shared_ptr<const Shown>(std::move(out));
}

}  // namespace distsim::web
