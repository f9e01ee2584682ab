#include "opmodels/learned/learned_models.hpp"

#include <algorithm>

#include "base/file.hpp"
#include "base/folder_files.hpp"
#include "base/log.hpp"
#include "opmodels/learned/forest_file.hpp"
#include "opmodels/learned/references.hpp"

namespace distsim::opmodels {
namespace {

constexpr double kOctavesOfTrust = 2;  // chosen: beyond the sizes trained on, until nothing learned is left
constexpr double kLibrarySpread =
    0.08;  // 80 % of the pairs of framework versions in aiconfigurator's bf16 products lie within this of each other
constexpr double kOctavesPerCapability = 1.0 / 30;  // chosen: a generation (capability + 10) is a third of an octave
constexpr double kLearnedFrom = 0.4;                // chosen: trust from which the basis is `learned`
constexpr std::size_t kMaxFileBytes = 64 << 20;

using UsedFeatures = std::array<float, FeatureVector::kMax>;

UsedFeatures used_features(const LearnedModel& model, const FeatureVector& x) {
  UsedFeatures used;
  for (std::size_t i = 0; i < model.features.size(); ++i) used[i] = x.values[model.features[i].index];
  return used;
}

double bounded_log(double value) { return std::clamp(value, -LearnedModels::kMaxLog, LearnedModels::kMaxLog); }

double size_trust(const LearnedModel& model, const FeatureVector& x) {
  double outside = 0;
  for (const LearnedModel::Feature& feature : model.features) {
    if (!feature.bounded) continue;
    const double value = x.values[feature.index];
    outside = std::max({outside, feature.low - value, value - feature.high});
  }
  return std::clamp(1 - outside / kOctavesOfTrust, 0.0, 1.0);
}

double device_trust(const LearnedModel& model, const FeatureVector& x) {
  LearnedModel::Device mine;
  std::copy_n(x.values.begin() + (x.count - kDeviceFeatures), kDeviceFeatures, mine.begin());
  double nearest = 1;
  for (const LearnedModel::Device& known : model.devices) nearest = std::min(nearest, device_distance(known, mine));
  return std::max(kStrangerTrust, 1 - nearest);
}

/// Two independent spreads: that of the model, and that between versions of a library on one GPU.
double with_library(double log_spread) { return std::sqrt(log_spread * log_spread + kLibrarySpread * kLibrarySpread); }

double blend(double learned, double analytic, double trust) { return trust * learned + (1 - trust) * analytic; }

/// Adds the model of a file.
Result<void> add_file(const std::string& path, LearnedModels& models) {
  TRY_ASSIGN(const std::string bytes, read_file(path, kMaxFileBytes));
  auto model = parse_forest_file(bytes);
  if (!model.ok()) return Error{model.error().what, path, model.error().hint};
  if (models.find(model->kernel))
    return Error{"kernel: found a second model of " + std::string(name_of(model->kernel)) + ", expected one", path, ""};
  models.add(std::move(*model));
  log_info([&] { return "learned op model read from " + path; });
  return {};
}

}  // namespace

LearnedModel::Answer LearnedModel::ask(const FeatureVector& x) const {
  const UsedFeatures used = used_features(*this, x);
  const std::span<const float> values(used.data(), features.size());
  Answer answer;
  answer.trust = trust(x);
  if (answer.trust == 0) return answer;
  answer.log_ratio = bounded_log(median.value(values));
  answer.log_low = -with_library(std::clamp(low.value(values), -LearnedModels::kMaxLog, 0.0));
  answer.log_high = with_library(std::clamp(high.value(values), 0.0, LearnedModels::kMaxLog));
  return answer;
}

double LearnedModel::trust(const FeatureVector& x) const { return size_trust(*this, x) * device_trust(*this, x); }

double LearnedModel::log_correction(const FeatureVector& x) const {
  const UsedFeatures used = used_features(*this, x);
  const double trusted = trust(x);
  return trusted == 0 ? 0 : trusted * bounded_log(median.value({used.data(), features.size()}));
}

double device_distance(const LearnedModel::Device& a, const LearnedModel::Device& b) {
  double distance = static_cast<double>(std::abs(a.back() - b.back())) * kOctavesPerCapability;
  for (std::size_t i = 0; i + 1 < a.size(); ++i)
    distance = std::max(distance, static_cast<double>(std::abs(a[i] - b[i])));
  return distance;
}

void LearnedModels::add(LearnedModel model) {
  model.source = "learned " + std::string(name_of(model.kernel));
  auto& place = models_[static_cast<std::size_t>(model.kernel)];
  place = std::make_shared<const LearnedModel>(std::move(model));
}

Result<LearnedModels> LearnedModels::load(const std::vector<std::string>& folders) {
  LearnedModels models;
  for (const std::vector<std::string>& files : files_by_folder(folders, ".forest")) {
    for (const std::string& path : files) TRY(add_file(path, models));
  }
  return models;
}

double learned_seconds(const DeviceRates& device, const KernelSample& sample) {
  const LearnedModel* model = device.learned && sample.kernel ? device.learned->find(*sample.kernel) : nullptr;
  return model == nullptr ? sample.seconds : sample.seconds * std::exp(model->log_correction(sample.features));
}

OpTime learned_time(const DeviceRates& device, const KernelSample& sample, Spread analytic) {
  const LearnedModel* model = device.learned && sample.kernel ? device.learned->find(*sample.kernel) : nullptr;
  if (model == nullptr) return {sample.seconds, analytic};
  const LearnedModel::Answer answer = model->ask(sample.features);
  const Spread spread{blend(1 - std::exp(answer.log_low), analytic.low, answer.trust),
                      blend(std::exp(answer.log_high) - 1, analytic.high, answer.trust)};
  OpTime time{sample.seconds * std::exp(answer.trust * answer.log_ratio), spread};
  if (answer.trust < kLearnedFrom) return time;
  time.basis = graph::Basis::learned;
  time.source = model->source;
  return time;
}

}  // namespace distsim::opmodels
