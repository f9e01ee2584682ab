#include "sim/serving/spec/device_table.hpp"

#include "sim/config/config.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/serving/spec/compile.hpp"

namespace distsim::serving {
namespace {

/// "device: found ..." of a lookup by name, whose key is another one here.
std::string without_key(const std::string& what) { return what.starts_with("device: ") ? what.substr(8) : what; }

}  // namespace

Result<DeviceTable> DeviceTable::create(const ServingSpec& spec, const Text& text) {
  DeviceTable out;
  const opmodels::OpModels* like = nullptr;
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    const std::string& name = spec.gpus[i].device;
    if (name.empty() || out.prices_.contains(name)) continue;
    const std::string key = "gpus[" + std::to_string(i) + "].device";
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".yaml");
    const std::string& source = out.sources_[name] = is_path ? text.path_of(key, name) : name;
    const auto device = config::load_device(source);
    if (!device.ok()) return text.refuse(key, without_key(device.error().what), device.error().hint);
    auto models = pipeline::op_models_of(*device, like);
    if (!models.ok()) return text.refuse(key, models.error().what, models.error().hint);
    auto plain = opmodels::OpModels::create(*device);
    if (!plain.ok()) return text.refuse(key, plain.error().what, plain.error().hint);
    like = &out.prices_.emplace(name, DevicePrices{std::move(*models), std::move(*plain)}).first->second.all;
  }
  return out;
}

}  // namespace distsim::serving
