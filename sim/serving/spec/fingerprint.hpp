// Whether two experiments are the same to the emulator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {

/// Text of all that results depend on: equal texts, equal results. Titles and paths are not part of it, nor are settings of
/// batches where no policy makes any.
std::string fingerprint(const Experiment& experiment);

/// Of --set that were laid on a file, those without which the experiment is the same.
std::vector<std::string> sets_without_effect(const std::string& path, const std::vector<std::string>& sets,
                                             PriceStore* prices = nullptr);

/// The experiment with these --set laid on it.
using WithSets = std::function<Result<Experiment>(const std::vector<std::string>& sets)>;
std::vector<std::string> sets_without_effect(const WithSets& experiment, const std::vector<std::string>& sets);

/// A line for each of these and for each key of the file that changes nothing, once.
std::vector<std::string> without_effect(const WithSets& experiment, const std::vector<std::string>& sets);
std::vector<std::string> without_effect(const std::string& path, const std::vector<std::string>& sets,
                                        PriceStore* prices = nullptr);

/// The same where requests come as lines. Of the load only the seed counts then, and nothing that is found from a whole run.
std::vector<std::string> without_effect_online(const std::string& path, const std::vector<std::string>& sets);

}  // namespace distsim::serving
