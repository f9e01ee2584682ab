#include "sim/pipeline/device_models.hpp"

#include <set>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/text/printable.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "topology/devices/device_doubts.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::size_t kMaxUnknown = 1024;

Result<std::shared_ptr<const opmodels::LearnedModels>> read_learned_models() {
  const auto folders = config::config_folders("op_models", "");
  if (folders.empty()) return std::shared_ptr<const opmodels::LearnedModels>();
  TRY_ASSIGN(opmodels::LearnedModels models, opmodels::LearnedModels::load(folders));
  return std::make_shared<const opmodels::LearnedModels>(std::move(models));
}

constexpr std::size_t kMaxTableBytes = 64 << 20;

/// The first configs/op_models that has a table of that name. Errors: a table that is unreadable, damaged, or of another GPU.
Result<std::shared_ptr<const opmodels::MeasuredTable>> measured_table_of(const topology::DeviceSpec& device) {
  const std::string path = config::first_of_name(config::config_folders("op_models", ""), device.name + ".ops");
  if (path.empty()) {
    log_debug([&] { return "no measured ops of " + device.name; });
    return std::shared_ptr<const opmodels::MeasuredTable>();
  }
  TRY_ASSIGN(const std::string text, read_file(path, kMaxTableBytes));
  auto table = opmodels::parse_measured_table(text);
  if (!table.ok()) return Error{table.error().what, path, table.error().hint};
  if (!topology::names_device(device, table->device()))
    return Error{"device: found " + in_quotes(table->device(), 60) + ", expected " + in_quotes(device.name) +
                     ", as the file is called",
                 path, "write it with distsim calibrate ops --device " + device.name};
  log_info([&] { return "measured ops of " + device.name + " read from " + path; });
  return std::make_shared<const opmodels::MeasuredTable>(std::move(*table));
}

}  // namespace

Result<std::shared_ptr<const opmodels::LearnedModels>> shipped_learned_models() {
  static const Result<std::shared_ptr<const opmodels::LearnedModels>> models = read_learned_models();
  return models;
}

Result<opmodels::OpModels> op_models_of(const topology::DeviceSpec& device, const opmodels::OpModels* like) {
  TRY_ASSIGN(const auto learned, shipped_learned_models());
  if (like != nullptr && like->device().name == device.name)
    return opmodels::OpModels::create(device, learned, like->measured(), like);
  TRY_ASSIGN(const auto measured, measured_table_of(device));
  return opmodels::OpModels::create(device, learned, measured, like);
}

Result<const opmodels::OpModels*> DeviceModels::operator()(std::string_view gpu) {
  if (const auto known = models_.find(gpu); known != models_.end()) return &known->second;
  if (const auto unknown = unknown_.find(gpu); unknown != unknown_.end()) return unknown->second;
  const std::string name(gpu);
  const auto device = config::load_device(name);
  auto models = device.ok() ? op_models_of(*device) : Result<opmodels::OpModels>(device.error());
  if (models.ok()) return &models_.emplace(name, std::move(*models)).first->second;
  if (unknown_.size() >= kMaxUnknown) unknown_.clear();  // a hostile file with a new name on every row must not grow
  return unknown_.emplace(name, models.error()).first->second;
}

std::vector<std::string> DeviceModels::doubts() const {
  std::vector<std::string> out;
  std::set<std::string> said;
  for (const auto& [asked, models] : models_) {
    if (!said.insert(models.device().name).second) continue;
    for (const std::string& text : topology::device_doubts(models.device()))
      out.push_back(models.device().name + ": " + text);
  }
  return out;
}

}  // namespace distsim::pipeline
