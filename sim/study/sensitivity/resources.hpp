// Resources: what a cluster has more or less of, each as one number that a factor makes better or worse.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/config.hpp"

namespace distsim::study {

/// Where a resource is.
enum class Level : std::uint8_t { gpu, nvlink, pcie, nic, fabric, host, input, ranks };
std::string_view name_of(Level level);

/// The factors of a sensitivity, each on how good the resource is: bandwidth and rates are multiplied by it, times and
/// latencies divided. The last stands for no limit.
inline constexpr std::array kFactors{0.5, 0.9, 1.1, 2.0, std::numeric_limits<double>::infinity()};

/// What "no limit" is computed as: a millionth of the time is below a picosecond for anything that takes a microsecond.
inline constexpr double kNoLimit = 1e6;

/// A figure of an experiment. It refers to the experiment.
struct Figure {
  std::string key;
  double good = 0;  ///< the larger the better; not a number: not known
  std::function<void(double factor)> improve;
};

struct Resource {
  std::string_view name;   ///< "nic_bandwidth", as in the column `resource`
  std::string_view words;  ///< "NIC bandwidth"
  Level level = Level::gpu;
  std::string_view keys;  ///< the configuration keys that the factor changes
  bool (*present)(const config::Experiment&) = nullptr;
  std::vector<Figure> (*figures)(config::Experiment&) = nullptr;  ///< null: memory, which sensitivity.cpp treats itself
  bool in_workload = false;  ///< changes the work of an iteration, not only what it takes

  /// Precondition: it has figures.
  void improve(config::Experiment& e, double factor) const {
    for (const Figure& figure : figures(e)) figure.improve(factor);
  }
};

/// All resources, in the order of the table. Times that the user gives (steps of `kind: program`) belong to none.
std::span<const Resource> resources();

}  // namespace distsim::study
