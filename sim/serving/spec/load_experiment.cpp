#include <filesystem>

#include "base/text/printable.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/variants.hpp"
#include "sim/serving/spec/compile.hpp"
#include "sim/serving/spec/model_pricer.hpp"
#include "sim/serving/spec/price_store.hpp"

namespace distsim::serving {
namespace {

/// The part of a tree that "gpus[1].memory" names, as far as it is there.
const ConfigNode* deepest(const ConfigNode& root, std::string_view key) {
  const ConfigNode* at = &root;
  while (!key.empty()) {
    const std::size_t end = key.find_first_of(".[");
    const ConfigNode* next = at->find(key.substr(0, end));
    if (next == nullptr) return at;
    at = next;
    key = end == std::string_view::npos ? std::string_view() : key.substr(end);
    if (key.starts_with('[')) {
      const std::size_t close = key.find(']');
      const std::size_t index = std::stoul(std::string(key.substr(1, close - 1)));
      if (at->kind != ConfigNode::Kind::sequence || index >= at->items.size()) return at;
      at = &at->items[index];
      key.remove_prefix(close + 1);
    }
    if (key.starts_with('.')) key.remove_prefix(1);
  }
  return at;
}

/// The schema's paths begin with the name of the whole, here and in "a key of serving.load".
Error without_prefix(Error error) {
  for (const std::string_view prefix : {"serving.", "a key of serving."}) {
    const std::size_t at = prefix.starts_with('s') ? 0 : error.what.find(prefix);
    if (at != std::string::npos && error.what.substr(at).starts_with(prefix))
      error.what.erase(at + prefix.size() - std::string_view("serving.").size(), std::string_view("serving.").size());
  }
  return error;
}

Result<void> add_classes(const ServingSpec& spec, const Text& text, Scenario& out) {
  double weight = 0;
  for (std::size_t i = 0; i < spec.classes.size(); ++i) {
    const ClassSpec& c = spec.classes[i];
    for (const ServiceClass& other : out.classes) {
      if (other.name == c.name)
        return text.refuse("classes[" + std::to_string(i) + "].name",
                           "found " + in_quotes(c.name) + " twice, expected each class's name once");
    }
    out.classes.push_back(
        {c.name, c.weight, static_cast<std::int32_t>(c.priority), c.deadline.ps() > 0 ? c.deadline.ps() : kNever});
    weight += c.weight;
  }
  if (!spec.classes.empty() && weight <= 0)
    return text.refuse("classes", "found only weights of 0, expected one above 0");
  return {};
}

/// Sections that every experiment of training has, or may have, and none of serving.
Result<void> refuse_training(const ConfigNode& root) {
  for (const char* name : {"model", "framework", "device", "parallel"}) {
    const ConfigNode* section = root.find(name);
    if (section == nullptr || root.find("gpus") != nullptr) continue;
    return Error{
        std::string(name) + ": found a section of a training experiment, expected gpus, models, load and policies",
        section->where.text(),
        "distsim predict --config " + (root.where.file ? printable(*root.where.file) : "FILE") + " predicts it"};
  }
  return {};
}

using ChangeSpec = std::function<void(ServingSpec&)>;

Result<Experiment> compile(const ConfigNode& root, const ChangeSpec& change, PriceStore& prices) {
  if (root.kind != ConfigNode::Kind::map)
    return schema_detail::expected(root, "experiment", "a map with gpus, models, load and policies");
  TRY(refuse_training(root));
  auto spec = serving_schema().read(root);
  if (!spec.ok()) return without_prefix(spec.error());
  if (change) change(*spec);
  const Text text{root};
  Experiment e;
  e.path = root.where.file ? *root.where.file : "";
  e.title = spec->title.empty() ? std::filesystem::path(e.path).stem().string() : spec->title;
  e.scenario.residency = spec->residency;
  TRY_ASSIGN(const DeviceTable devices, DeviceTable::create(*spec, text));
  TRY(add_gpus(*spec, text, devices, e.scenario));
  TRY_ASSIGN(const ModelPricer pricer, ModelPricer::create(*spec, text, devices, prices));
  TRY(add_models(*spec, text, pricer, e.scenario, e.policy_options));
  TRY(add_classes(*spec, text, e.scenario));
  TRY_ASSIGN(e.load, make_load(*spec, text, e.scenario));
  e.policies = spec->policies;
  e.policy_options.batch = static_cast<std::uint32_t>(spec->batching.size);
  e.policy_options.delay_ps = spec->batching.delay.ps();
  e.find_warm_up = spec->run.warm_up < 0;
  e.run.warm_up = e.find_warm_up ? 0 : static_cast<std::uint64_t>(spec->run.warm_up);
  e.run.drop_late = spec->run.drop_late;
  if (spec->run.max_wait.ps() > 0) e.run.max_wait_ps = spec->run.max_wait.ps();
  e.run.max_in_system = static_cast<std::uint64_t>(spec->run.max_in_system);
  e.rates_per_s = spec->run.rates_per_s.empty() ? std::vector<double>{spec->load.rate_per_s} : spec->run.rates_per_s;
  e.confidence = spec->run.confidence;
  e.idle_keys_online = idle_keys(*spec, text, pricer, e.scenario);
  e.idle_keys = idle_keys_of_load(*spec, text, e.scenario, e.load);
  e.idle_keys.insert(e.idle_keys.end(), e.idle_keys_online.begin(), e.idle_keys_online.end());
  return e;
}

}  // namespace

Error Text::refuse(const std::string& key, const std::string& what, const std::string& hint) const {
  return Error{key + ": " + what, position_in(root, key).text(), hint};
}

std::string Text::path_of(const std::string& key, const std::string& text) const {
  const std::filesystem::path path = text;
  if (path.is_absolute()) return text;
  return (std::filesystem::path(config::folder_of_value(*deepest(root, key))) / path).lexically_normal().string();
}

SourcePos position_in(const ConfigNode& root, std::string_view key) { return deepest(root, key)->where; }

Result<Experiment> compile_experiment(const ConfigNode& parsed, const std::vector<std::string>& sets,
                                      const ChangeSpec& change, PriceStore* prices) {
  ConfigNode root = parsed;
  if (root.kind == ConfigNode::Kind::map) {
    for (const std::string& set : sets) {
      TRY_ASSIGN(const PathValue value, config::parse_set(set));
      TRY(set_config_path(root, value));
    }
  }
  PriceStore once;
  return compile(root, change, prices != nullptr ? *prices : once);
}

Result<Experiment> load_experiment(const std::string& path, const std::vector<std::string>& sets, PriceStore* prices) {
  TRY_ASSIGN(const ConfigNode root, parse_yaml_file(path));
  return compile_experiment(root, sets, nullptr, prices);
}

Result<Experiment> load_changed(const std::string& path, const std::vector<std::string>& sets,
                                const std::function<void(ServingSpec&)>& change, PriceStore* prices) {
  TRY_ASSIGN(const ConfigNode root, parse_yaml_file(path));
  return compile_experiment(root, sets, change, prices);
}

Result<Experiment> parse_experiment(std::string_view text, const std::string& file,
                                    const std::vector<std::string>& sets) {
  TRY_ASSIGN(const ConfigNode root, parse_yaml(text, file));
  return compile_experiment(root, sets, nullptr);
}

}  // namespace distsim::serving
