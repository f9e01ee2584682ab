#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/config/config_path.hpp"
#include "base/config/schema.hpp"
#include "base/file.hpp"
#include "base/text/counted.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/config/config.hpp"
#include "sim/config/config_folders.hpp"
#include "sim/config/variants.hpp"
#include "sim/workload/placement/placement_file.hpp"
#include "sim/workload/specs/samples.hpp"

namespace distsim::config {
namespace {

constexpr const char* kDefaultFramework = "pytorch";

ConfigNode text_node(const std::string& text, SourcePos where) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::scalar;
  node.scalar = text;
  node.where = std::move(where);
  return node;
}

void erase_key(ConfigNode& map, std::string_view key) {
  std::erase_if(map.entries, [&](const ConfigNode::Entry& entry) { return entry.key == key; });
}

void set_key(ConfigNode& map, const std::string& key, ConfigNode value) {
  erase_key(map, key);
  map.entries.push_back({key, value.where, std::move(value)});
}

/// A batch given one way replaces a named model's batch given the other way.
void keep_one_batch(ConfigNode& base, const ConfigNode& over) {
  if (over.find("per_gpu_batch") && !over.find("global_batch")) erase_key(base, "global_batch");
  if (over.find("global_batch") && !over.find("per_gpu_batch")) erase_key(base, "per_gpu_batch");
}

bool was_set(const ConfigNode* node) { return node != nullptr && node->where.line == 0; }

/// A title that was written for another experiment: --set changes what is trained, or on what.
bool is_stale_title(const ConfigNode& parsed) {
  const ConfigNode* title = parsed.find("title");
  if (title == nullptr || was_set(title)) return false;
  static constexpr std::array<std::pair<const char*, const char*>, 6> facts{{{"cluster", "system"},
                                                                             {"cluster", "nodes"},
                                                                             {"cluster", "gpus_per_node"},
                                                                             {"device", "name"},
                                                                             {"model", "name"},
                                                                             {"model", "kind"}}};
  return std::ranges::any_of(facts, [&](const auto& fact) {
    const ConfigNode* section = parsed.find(fact.first);
    return section != nullptr && was_set(section->find(fact.second));
  });
}

/// A key that is nearly the one that names the section's file is not taken for a key of the file.
Result<void> check_naming_key(const ConfigNode& section, const std::string& path, const std::string& naming,
                              std::vector<std::string> known) {
  known.push_back(naming);
  for (const ConfigNode::Entry& entry : section.entries) {
    if (std::ranges::find(known, entry.key) == known.end() && nearest_spelling(entry.key, known) == naming)
      return schema_detail::unknown_key(entry, path, known);
  }
  return {};
}

/// The section's first key that is none, with its place and the nearest spelling.
Result<void> check_keys(const ConfigNode& section, const std::string& path, const std::vector<std::string>& known) {
  for (const ConfigNode::Entry& entry : section.entries) {
    if (std::ranges::find(known, entry.key) == known.end()) return schema_detail::unknown_key(entry, path, known);
  }
  return {};
}

const Schema<topology::ClusterSpec>& cluster_keys() {
  static const auto schema = topology::cluster_schema();
  return schema;
}
const Schema<topology::DeviceSpec>& device_keys() {
  static const auto schema = topology::device_schema();
  return schema;
}
const Schema<workload::ModelSpec>& model_keys() {
  static const auto schema = workload::model_schema();
  return schema;
}
const Schema<workload::ParallelSpec>& parallel_keys() {
  static const auto schema = workload::parallel_schema();
  return schema;
}
const Schema<EngineSpec>& engine_keys() {
  static const auto schema = engine_schema();
  return schema;
}
const Schema<workload::FrameworkSpec>& framework_keys() {
  static const auto schema = workload::framework_schema();
  return schema;
}

/// Which file lies under a section.
struct Naming {
  std::string section;             ///< "model"
  std::string key;                 ///< the key of the section that names the file
  std::string kind;                ///< folder of configs/
  std::vector<std::string> known;  ///< the other keys of the section
};

bool says_the_same(const ConfigNode& a, const ConfigNode& b) {
  return a.kind == b.kind && a.kind != ConfigNode::Kind::map && a.scalar == b.scalar &&
         std::ranges::equal(a.items, b.items, says_the_same);
}

/// A named model with another kind is none any more: only keys of it are taken.
bool is_of_another_kind(const ConfigNode& section, const ConfigNode& base) {
  const ConfigNode *own = section.find("kind"), *named = base.find("kind");
  return own != nullptr && named != nullptr && !says_the_same(*own, *named);
}

/// One experiment on its way to its merged form.
class Merger {
 public:
  Merger(const ConfigNode& parsed, NamedFiles& files)
      : parsed_(parsed), files_(files), folder_(folder_of_value(parsed)) {}

  /// The device's file without the keys of the experiment; nothing where the experiment has none.
  const std::optional<ConfigNode>& described_device() const { return described_device_; }
  /// The same of the system's file.
  const std::optional<ConfigNode>& described_system() const { return described_system_; }

  /// What the system's file says it is called; empty where there is none.
  const std::string& system() const { return system_; }
  /// The file of the model; empty where there is none.
  const std::string& model_file() const { return model_file_; }

  Result<ConfigNode> merge() {
    merged_.kind = ConfigNode::Kind::map;
    merged_.where = parsed_.where;
    copy("title");
    copy("description");
    TRY(add_cluster());
    TRY(add_device());
    TRY(add_named({"model", "name", "models", model_keys().keys()}));
    TRY(add_framework());
    TRY(add_parallel());
    copy("collectives");
    copy("engine");
    return std::move(merged_);
  }

 private:
  void copy(const std::string& key) {
    if (const ConfigNode* node = parsed_.find(key)) set_key(merged_, key, *node);
  }

  /// The section with the file that it names laid under it; a section that names none stands for itself.
  Result<ConfigNode> expand(ConfigNode section, const Naming& naming) {
    TRY(check_naming_key(section, naming.section, naming.key, naming.known));
    const ConfigNode* name = section.find(naming.key);
    if (!name) return section;
    TRY_ASSIGN(ConfigNode base, files_.read(*name, naming.section + "." + naming.key, naming.kind, folder_));
    erase_key(section, naming.key);
    if (naming.section == "cluster" && parsed_.find("collectives")) described_system_ = base;
    if (const ConfigNode* own = base.find("name"); own != nullptr && naming.section == "cluster") system_ = own->scalar;
    if (base.where.file != nullptr && naming.section == "model") model_file_ = *base.where.file;
    keep_one_batch(base, section);
    if (naming.section == "model" && is_of_another_kind(section, base)) erase_key(base, "name");
    TRY(merge_config(base, section));
    return base;
  }

  /// A device alone stands for the server that it usually comes in; its links described in place, for themselves.
  Result<void> add_cluster() {
    const Naming naming{"cluster", "system", "systems", cluster_keys().keys()};
    const ConfigNode* section = parsed_.find("cluster");
    const bool map = section != nullptr && section->kind == ConfigNode::Kind::map;
    const ConfigNode* device = map ? section->find("device") : nullptr;
    if (device == nullptr || section->find("system") || section->find("gpu_links")) return add_section(naming, section);
    TRY_ASSIGN(const ConfigNode file, files_.read(*device, "cluster.device", "devices", folder_));
    const ConfigNode* server = file.find("server");
    if (server == nullptr) return add_section(naming, section);
    ConfigNode served = *section;
    set_key(served, "system", text_node(server->scalar, device->where));
    return add_section(naming, &served);
  }

  Result<void> add_named(const Naming& naming) { return add_section(naming, parsed_.find(naming.section)); }

  Result<void> add_section(const Naming& naming, const ConfigNode* section) {
    if (!section) {
      return Error{
          naming.section + ": missing, expected a section with " + naming.key + ": a file in configs/" + naming.kind,
          parsed_.where.text(), ""};
    }
    if (section->kind != ConfigNode::Kind::map) {
      return schema_detail::expected(*section, naming.section,
                                     "a map with " + naming.key + ": a file in configs/" + naming.kind);
    }
    TRY_ASSIGN(ConfigNode expanded, expand(*section, naming));
    set_key(merged_, naming.section, std::move(expanded));
    return {};
  }

  /// Error: a key of the layout that the experiment gives as one of the model, and otherwise as its own.
  Result<void> check_given_once(const ConfigNode& section) const {
    const ConfigNode* model = parsed_.find("model");
    const ConfigNode* other =
        model != nullptr && model->kind == ConfigNode::Kind::map ? model->find("parallel") : nullptr;
    if (other == nullptr || other->kind != ConfigNode::Kind::map) return {};
    for (const ConfigNode::Entry& entry : other->entries) {
      const ConfigNode* same = section.find(entry.key);
      if (same == nullptr || says_the_same(*same, entry.value)) continue;
      return schema_detail::expected(entry.value, "model.parallel." + entry.key,
                                     same->describe() + ", as parallel." + entry.key + " is; give one of the two");
    }
    return {};
  }

  /// The layout that the model's file suggests, with the experiment's keys on top.
  Result<void> add_parallel() {
    ConfigNode& model = *merged_.find("model");
    ConfigNode base;
    base.kind = ConfigNode::Kind::map;
    base.where = model.where;
    if (const ConfigNode* suggested = model.find("parallel")) base = *suggested;
    if (const ConfigNode* section = parsed_.find("parallel")) {
      if (section->kind != ConfigNode::Kind::map || base.kind != ConfigNode::Kind::map)
        return schema_detail::expected(*section, "parallel", "a map, e.g. {tensor: 8}");
      TRY(check_given_once(*section));
      TRY(merge_config(base, *section));
    }
    erase_key(model, "parallel");
    set_key(merged_, "parallel", std::move(base));
    return {};
  }

  /// A section that names no profile, or none at all, is of the default one.
  Result<void> add_framework() {
    const Naming naming{"framework", "name", "frameworks", framework_keys().keys()};
    ConfigNode section;
    section.kind = ConfigNode::Kind::map;
    section.where = parsed_.where;
    if (const ConfigNode* given = parsed_.find("framework")) section = *given;
    if (section.kind == ConfigNode::Kind::map && !section.find("name")) {
      TRY(check_naming_key(section, naming.section, naming.key, naming.known));
      set_key(section, "name", text_node(kDefaultFramework, section.where));
    }
    return add_section(naming, &section);
  }

  /// The device that the section or else the system names, with the section's keys on top.
  Result<void> add_device() {
    ConfigNode section;
    section.kind = ConfigNode::Kind::map;
    section.where = parsed_.where;
    if (const ConfigNode* given = parsed_.find("device")) section = *given;
    if (section.kind != ConfigNode::Kind::map)
      return schema_detail::expected(section, "device", "a map, e.g. {name: a100_sxm4_80gb}");
    ConfigNode& cluster = *merged_.find("cluster");
    const bool by_cluster = !section.find("name");
    const ConfigNode* name = by_cluster ? cluster.find("device") : section.find("name");
    if (!name) {
      TRY(check_keys(cluster, "cluster", cluster_keys().keys()));  // a misspelt one is why it is missing
      return Error{"cluster.system: missing, expected a file in configs/systems", cluster.where.text(),
                   "a cluster that is described in place needs cluster.device, a file in configs/devices"};
    }
    TRY_ASSIGN(ConfigNode base, files_.read(*name, by_cluster ? "cluster.device" : "device.name", "devices", folder_));
    erase_key(section, "name");
    if (!section.entries.empty()) described_device_ = base;
    name_described_device(*name, base);
    TRY(merge_config(base, section));
    set_key(cluster, "device", text_node(base.find("name")->scalar, name->where));  // aliases and paths end here
    set_key(merged_, "device", std::move(base));
    return {};
  }

  /// As add_device writes it: aliases and paths end in the name of the device's file. `name` gave `device`.
  void name_described_device(const ConfigNode& name, const ConfigNode& device) {
    ConfigNode* own = described_system_ ? described_system_->find("device") : nullptr;
    if (own == nullptr) return;
    const auto file = says_the_same(*own, name) ? Result<ConfigNode>(device)
                                                : files_.read(*own, "cluster.device", "devices", folder_);
    if (file.ok()) *own = text_node(file->find("name")->scalar, own->where);
  }

  const ConfigNode& parsed_;
  NamedFiles& files_;
  std::string folder_, system_, model_file_;
  ConfigNode merged_;
  std::optional<ConfigNode> described_device_, described_system_;
};

template <class S>
Result<S> read_section(const ConfigNode& merged, const std::string& name, const Schema<S>& schema) {
  return schema.read(*merged.find(name), name);
}

/// Where a file lies that `node` names: found from the file that the node stands in.
std::string place_of(const ConfigNode& node, const std::string& file) {
  const std::filesystem::path path = file;
  return path.is_relative() ? (folder_of_value(node) / path).lexically_normal().string() : file;
}

void place_collective_files(collectives::CollectiveOptions& options, const ConfigNode& section) {
  const ConfigNode* files = section.find("curve_files");
  for (std::size_t i = 0; i < options.curve_files.size(); ++i)
    options.curve_files[i] = place_of(files->items[i], options.curve_files[i]);
  if (!options.constants.empty()) options.constants = place_of(*section.find("constants"), options.constants);
}

/// The files that the section names are opened only where collectives are priced; they are inputs all the same.
void note_collective_files(const collectives::CollectiveOptions& options) {
  for (const std::string& file : options.curve_files) note_input(file);
  if (!options.constants.empty()) note_input(options.constants);
}

Result<collectives::CollectiveOptions> read_collectives(const ConfigNode& merged, NamedFiles& files) {
  static const Schema<collectives::CollectiveOptions> schema = collectives::collective_schema();
  collectives::CollectiveOptions options;
  if (const ConfigNode* section = merged.find("collectives")) {
    TRY_ASSIGN(options, schema.read(*section, "collectives"));
    place_collective_files(options, *section);
  }
  options.curve_dirs = files.curve_folders();
  if (options.constants.empty()) options.constants = changed_constants();
  note_collective_files(options);
  return options;
}

/// For curves of the user: the system's file without the keys of the experiment. One that is not complete without them
/// describes nothing.
void describe_system(collectives::CollectiveOptions& options, const std::optional<ConfigNode>& described) {
  if (options.curve_files.empty() || !described) return;
  if (auto read = cluster_keys().read(*described, "cluster"); read.ok()) options.described = std::move(*read);
}

/// Embedding tables' places, where the experiment names a file of them; found from the file that names it.
Result<void> read_placement(Experiment& e) {
  const std::string& file = e.model.parallel.tables.placement_file;
  if (file.empty()) return {};
  const ConfigNode& node = *e.merged.find("parallel")->find("placement_file");
  const std::string path = place_of(node, file);
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown))
    return schema_detail::expected(node, "parallel.placement_file", "a file of tables' places that exists");
  TRY_ASSIGN(e.model.parallel.tables.plans, workload::read_placement_file(path));
  return {};
}

/// The device of `merged`, with itself as its file describes it. A file that is not complete without the experiment's
/// keys describes nothing.
Result<topology::DeviceSpec> read_device(const ConfigNode& merged, const std::optional<ConfigNode>& described) {
  TRY_ASSIGN(topology::DeviceSpec device, read_section(merged, "device", device_keys()));
  topology::DeviceSpec file = device;
  if (described) {
    if (auto read = device_keys().read(*described, "device"); read.ok()) file = std::move(*read);
  }
  device.described.push_back(std::move(file));
  return device;
}

/// One of the two. 0 stands for a batch that is not given; where that is all there is, it is the one to correct.
Result<void> check_batch(const ConfigNode& merged, const workload::ModelSpec& model) {
  if (model.global_batch > 0 && model.per_gpu_batch > 0) return at_its_place(workload::both_batches(model), merged);
  if (model.global_batch > 0 || model.per_gpu_batch > 0) return {};
  for (const char* key : {"global_batch", "per_gpu_batch"}) {
    const ConfigNode* section = merged.find("model");
    const ConfigNode* batch = section != nullptr ? section->find(key) : nullptr;
    if (batch != nullptr)
      return Error{std::string("model.") + key + ": found " + in_quotes(batch->scalar) + ", expected 1 or more samples",
                   batch->where.text(), ""};
  }
  return {};
}

/// Where a section is a file with the experiment's keys on top, what it lacks is to be added to the experiment.
void place_sections(ConfigNode& merged, const ConfigNode& parsed) {
  for (ConfigNode::Entry& section : merged.entries) {
    const ConfigNode* own = parsed.find(section.key);
    if (own != nullptr && own->where.line > 0) section.value.where = own->where;
  }
}

/// Text of a top-level key, or `fallback` where it is absent.
Result<std::string> read_text(const ConfigNode& merged, const std::string& key, const std::string& fallback) {
  const ConfigNode* node = merged.find(key);
  return node ? schema_detail::read_string(*node, key) : Result<std::string>(fallback);
}

template <class S>
Result<S> load_by_name(const std::string& name, const std::string& what, const std::string& kind,
                       const Schema<S>& schema) {
  TRY_ASSIGN(const ConfigNode file, read_named_file(text_node(name, {}), what, kind, ""));
  return schema.read(file, what);
}

}  // namespace

Result<ConfigNode> merge_named_files(const ConfigNode& parsed) {
  NamedFiles files;
  return Merger(parsed, files).merge();
}

Result<Experiment> resolve(const ConfigNode& parsed) {
  NamedFiles files;
  return resolve(parsed, files);
}

Result<Experiment> resolve(const ConfigNode& parsed, NamedFiles& files) {
  Experiment e;
  e.path = parsed.where.file ? *parsed.where.file : "";
  Merger merger(parsed, files);
  TRY_ASSIGN(e.merged, merger.merge());
  e.system = merger.system();
  e.model_file = merger.model_file();
  TRY_ASSIGN(e.title, read_text(e.merged, "title", std::filesystem::path(e.path).stem().string()));
  TRY(read_text(e.merged, "description", ""));
  TRY_ASSIGN(e.cluster, read_section(e.merged, "cluster", cluster_keys()));
  TRY_ASSIGN(e.device, read_device(e.merged, merger.described_device()));
  TRY_ASSIGN(e.model, read_section(e.merged, "model", model_keys()));
  TRY(check_batch(e.merged, e.model));
  TRY_ASSIGN(e.model.parallel, read_section(e.merged, "parallel", parallel_keys()));
  TRY(read_placement(e));
  TRY_ASSIGN(e.framework, read_section(e.merged, "framework", framework_keys()));
  TRY_ASSIGN(e.collectives, read_collectives(e.merged, files));
  describe_system(e.collectives, merger.described_system());
  if (e.merged.find("engine")) {
    TRY_ASSIGN(e.engine, read_section(e.merged, "engine", engine_keys()));
  }
  if (is_stale_title(parsed))
    e.title = e.model.shown_name() + " on " + counted(static_cast<std::uint64_t>(e.cluster.nodes), "node") + " of " +
              (e.cluster.name.empty() ? e.device.name : e.cluster.name);
  place_sections(e.merged, parsed);
  return e;
}

Result<topology::ClusterSpec> load_system(const std::string& name) {
  return load_by_name(name, "system", "systems", cluster_keys());
}
Result<topology::DeviceSpec> load_device(const std::string& name) {
  return load_by_name(name, "device", "devices", device_keys());
}

Result<topology::DeviceSpec> load_device_of_driver(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".yaml");
  if (!name.empty() && !is_path) {
    if (auto device = load_device(name)) return device;
  }
  return Error{"found no device for " + in_quotes(name), "", ""};
}

Result<workload::ModelSpec> load_model(const std::string& name) {
  return load_by_name(name, "model", "models", model_keys());
}
Result<workload::FrameworkSpec> load_framework(const std::string& name) {
  return load_by_name(name, "framework", "frameworks", framework_keys());
}

}  // namespace distsim::config
