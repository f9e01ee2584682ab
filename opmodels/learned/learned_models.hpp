// LearnedModels: measured over analytic time of single kernels, learned offline (scripts/train_op_models.py), one file
// of configs/op_models per kernel.
//
//   seconds = analytic * exp(trust * f)
//   f          forest on the kernel's features, within [-kMaxLog, kMaxLog]
//   trust      product of two: of the sizes, 1 inside those it was trained on, falling to 0 two octaves outside of
//   them;
//              of the device, 1 for one it was trained on, falling to a half at a GPU unlike any of them (an octave in
//              SMs, flops per byte, ...), which halves the error of a correction learned elsewhere (docs/op_models.md)
//   low, high  10th and 90th percentile of measured / predicted, from two small forests, and the spread between
//   versions
//              of a library; blended with the analytic band
// The basis is `learned` from a trust of 0.4 up, `analytic` below.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "opmodels/learned/forest.hpp"
#include "opmodels/learned/learned_kernels.hpp"
#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

/// One file: the features it uses, where they were known, and its forests.
struct LearnedModel {
  struct Feature {
    std::uint8_t index = 0;  ///< into feature_names(kernel)
    bool bounded = false;    ///< a size: trust falls outside of low..high
    float low = 0, high = 0;
  };
  using Device = std::array<float, kDeviceFeatures>;
  LearnedKernel kernel = LearnedKernel::streaming;
  std::vector<Feature> features;
  /// What the ratios among a device's features leave open, and where it was measured well.
  struct Scale {
    double hbm = 0;       ///< bytes/s, data sheet
    double floor = 0;     ///< seconds of an empty kernel
    unsigned widths = 0;  ///< bytes of an element (1, 2, 4, 8) that it is a reference for, added up
  };
  std::vector<Device> devices;  ///< that it was trained on
  std::vector<Scale> scales;    ///< of the devices; empty in files that do not state it
  std::string data;             ///< what it was trained on
  std::string source;           ///< "learned product16": Cost::source
  Forest median{0}, low{0}, high{0};

  struct Answer {
    double log_ratio = 0, log_low = 0, log_high = 0;  ///< low and high relative to the median
    double trust = 0;
  };
  Answer ask(const FeatureVector& features) const;
  /// Only the trust, which asks no tree.
  double trust(const FeatureVector& features) const;
  /// Only trust times log_ratio, a third of the work.
  double log_correction(const FeatureVector& features) const;
};

/// How far apart two devices are: the largest difference among their features, in octaves; generations count a third of
/// one for each 10 of capability.
double device_distance(const LearnedModel::Device& a, const LearnedModel::Device& b);

class LearnedModels {
 public:
  static constexpr double kMaxLog = 2.0;

  /// All *.forest files of the folders, where a file hides those of the same name in later ones. Folders without
  /// any are no error. Errors: as parse_forest_file, with the file's path; two files for one kernel.
  static Result<LearnedModels> load(const std::vector<std::string>& folders);
  static Result<LearnedModels> load(const std::string& folder) { return load(std::vector<std::string>{folder}); }

  void add(LearnedModel model);
  const LearnedModel* find(LearnedKernel kernel) const { return models_[static_cast<std::size_t>(kernel)].get(); }

 private:
  std::array<std::shared_ptr<const LearnedModel>, kLearnedKernels> models_;
};

/// Trees know measured sizes by heart and may predict that a larger size is cheaper, which a library, that can always
/// run a problem inside a larger one, makes rare. So a learned time is kept to at most this multiple of what a larger
/// size takes. Chosen: measured kernels that do fall when a size doubles mostly fall by less (docs/op_models.md).
inline constexpr double kLargestFall = 1.1;
/// Multiple of the analytic time from which the learned one of a product is compared with those of larger sizes.
/// Chosen: nearly all falls start at a time that far above the analytic one, and below it the comparison is not worth
/// its time.
inline constexpr double kSuspectProduct = 1.2;

/// The sample's time by the learned model where the device has one for it, else the analytic one with its own band.
OpTime learned_time(const DeviceRates& device, const KernelSample& sample, Spread analytic);
/// Only its seconds.
double learned_seconds(const DeviceRates& device, const KernelSample& sample);

}  // namespace distsim::opmodels
