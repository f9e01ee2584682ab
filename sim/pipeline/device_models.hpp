// Op models of devices by name, with what the project ships and the user has measured.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "opmodels/learned/learned_models.hpp"
#include "opmodels/op_models.hpp"

namespace distsim::pipeline {

/// The learned models of configs/op_models, read once a process. Errors: a file that is damaged or of another version.
Result<std::shared_ptr<const opmodels::LearnedModels>> shipped_learned_models();

/// Models of one device, all tiers. `like`: models made before, with which they share what they have in common.
Result<opmodels::OpModels> op_models_of(const topology::DeviceSpec& device, const opmodels::OpModels* like = nullptr);

/// Models of the devices that an input file names, built once each; a name that failed keeps its error.
class DeviceModels {
 public:
  Result<const opmodels::OpModels*> operator()(std::string_view gpu);
  /// What their figures say against each other (device_doubts.hpp), of all devices that were asked for, each once.
  std::vector<std::string> doubts() const;

 private:
  std::map<std::string, opmodels::OpModels, std::less<>> models_;
  std::map<std::string, Error, std::less<>> unknown_;
};

}  // namespace distsim::pipeline
