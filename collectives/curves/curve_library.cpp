#include "collectives/curves/curve_library.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/config/config_node.hpp"
#include "base/file.hpp"
#include "base/folder_files.hpp"
#include "base/log.hpp"
#include "base/text/counted.hpp"
#include "base/text/names/file_name.hpp"
#include "collectives/curves/curve_provenance.hpp"
#include "collectives/curves/link_limits.hpp"
#include "collectives/evidence.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::collectives {

namespace {

namespace fs = std::filesystem;

/// The file of a system or device (`folder`) beside the first of these curve folders that has one; empty where none has, as
/// for a name that leads elsewhere.
std::string file_beside(std::span<const std::string> curve_dirs, const char* folder, const std::string& name) {
  if (!is_file_name(name)) return "";
  for (const std::string& dir : curve_dirs) {
    const fs::path path = fs::path(dir) / ".." / folder / (name + ".yaml");
    std::error_code failed;
    if (fs::exists(path, failed)) return path.string();
  }
  return "";
}

/// Names of the device files beside these curve folders.
std::vector<std::string> devices_beside(const std::vector<std::string>& curve_dirs) {
  std::vector<std::string> folders, names;
  for (const std::string& dir : curve_dirs) folders.push_back((fs::path(dir) / ".." / "devices").string());
  for (const auto& files : files_by_folder(folders, ".yaml")) {
    for (const std::string& file : files) names.push_back(fs::path(file).stem().string());
  }
  return names;
}

/// A system with the links that curves were measured on.
struct MeasuredSpec {
  topology::ClusterSpec spec;
  bool other_gpu = false;  ///< than its file has
};

/// The system as it was when the curves of the first of these folders were measured.
Result<MeasuredSpec> measured_spec(const topology::Topology& topology, std::span<const std::string> curve_dirs) {
  const topology::ClusterSpec& now = topology.spec();
  const std::string path = now.name.empty() ? "" : file_beside(curve_dirs, "systems", now.name);
  if (path.empty()) return MeasuredSpec{now};
  TRY_ASSIGN(ConfigNode node, parse_yaml_file(path));
  TRY_ASSIGN(topology::ClusterSpec spec, topology::cluster_schema().read(node));
  const bool other_gpu = spec.device != now.device;  // which says nothing of the links
  spec.device = now.device;
  return MeasuredSpec{std::move(spec), other_gpu};
}

/// A system as curves were measured on it.
struct MeasuredSystem {
  topology::ClusterSpec spec;
  std::int64_t compute_capability = 0;
};

/// Another system than the one in question; nothing where its files are not beside the curves.
Result<std::optional<MeasuredSystem>> other_system(const std::string& name, std::span<const std::string> curve_dirs) {
  const std::string path = file_beside(curve_dirs, "systems", name);
  if (path.empty()) return std::optional<MeasuredSystem>();
  TRY_ASSIGN(const ConfigNode node, parse_yaml_file(path));
  TRY_ASSIGN(topology::ClusterSpec spec, topology::cluster_schema().read(node));
  const std::string device = file_beside(curve_dirs, "devices", spec.device);
  if (device.empty()) return std::optional<MeasuredSystem>();
  TRY_ASSIGN(const ConfigNode device_node, parse_yaml_file(device));
  TRY_ASSIGN(const topology::DeviceSpec gpu, topology::device_schema().read(device_node));
  return std::optional(MeasuredSystem{std::move(spec), gpu.compute_capability});
}

/// Facts of `ranks` GPUs on `nodes` nodes, evenly and from the first GPU of each node on.
Result<topology::GroupFacts> facts_of_shape(topology::ClusterSpec spec, std::int64_t compute_capability,
                                            std::uint32_t ranks, std::uint32_t nodes, topology::Siblings siblings) {
  const std::uint32_t per_node = ranks / nodes;
  spec.nodes = std::max<std::int64_t>({1, nodes, spec.gpu_links.domain_nodes});
  TRY_ASSIGN(topology::Topology topology, topology::Topology::build(spec, compute_capability));
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t i = 0; i < per_node; ++i) members.push_back(node * topology.gpus_per_node() + i);
  }
  return topology.facts(members, siblings);
}

/// Whether the lines before the first curve name the system: spares parsing the files of all other systems.
bool head_names(std::string_view text, const std::string& system) {
  return text.substr(0, text.find("curves {")).find('"' + system + '"') != std::string_view::npos;
}

std::string source_of(const Curve& c, const CurveSet& set) {
  std::string text = !c.label.empty() ? c.label : !set.hardware.empty() ? set.hardware.substr(0, 60) : set.system;
  if (!c.label.empty() || c.library.empty()) return text;
  return text + ", " + c.library.substr(0, 30);
}

/// A run that broke off may have left its last sizes unsettled; using it takes the user's consent.
Result<void> check_complete(const CurveSet& set, const CollectiveOptions& options, const std::string& file) {
  if (!set.partial || options.allow_partial) return {};
  return Error{"found curves of a run that did not end (partial), expected those of one that did", file,
               "measure again, or accept it with collectives.allow_partial: true or --allow-partial"};
}

std::string words_of(Origin origin) {
  return origin == Origin::user             ? ", as asked for"
         : origin == Origin::sibling_system ? ", of a system that is like this one"
         : origin == Origin::same_network   ? ", of a system with other GPUs behind the same NICs"
                                            : "";
}

void log_skipped(const std::string& file, const Curve& c, const std::string& why) {
  log_debug([&] {
    const std::string nodes =
        c.nodes == 0 ? "" : " on " + std::to_string(c.nodes) + (c.nodes == 1 ? " node" : " nodes");
    return file + ": curve of " + std::to_string(c.ranks) + " ranks" + nodes + " skipped: " + why;
  });
}

void log_other_system(const std::string& file) {
  log_debug([&] { return file + ": skipped, measured on another system"; });
}

class Loader {
 public:
  Loader(topology::ClusterSpec spec, std::int64_t compute_capability, const ModelConstants& constants)
      : Loader(MeasuredSpec{std::move(spec)}, compute_capability, constants) {}
  Loader(MeasuredSpec measured, std::int64_t compute_capability, const ModelConstants& constants)
      : spec_(std::move(measured.spec)),
        has_other_gpu_(measured.other_gpu),
        compute_capability_(compute_capability),
        constants_(constants) {}

  Result<void> add(const CurveSet& set, Origin origin, const std::string& file) {
    const std::size_t before = curves_.size();
    for (const Curve& c : set.curves) {
      if (!c.not_used.empty()) {
        log_skipped(file, c, c.not_used);
        continue;
      }
      const std::uint32_t nodes = nodes_of(c, spec_);
      if (origin == Origin::same_network && nodes == 1) {
        log_skipped(file, c, "measured inside a node, with other GPUs");
        continue;
      }
      if (c.ranks % nodes != 0 || c.ranks / nodes > spec_.gpus_per_node) {
        if (origin != Origin::user) {  // `gpus_per_node` was changed: the shipped curves are of another machine
          log_skipped(
              file, c,
              "the system has " + counted(static_cast<std::uint64_t>(spec_.gpus_per_node), "GPU") + " per node");
          continue;
        }
        return wrong_shape(c, nodes, file);
      }
      TRY_ASSIGN(const topology::GroupFacts* facts, facts_of({c.ranks, nodes, c.groups_at_once > 1}));
      TRY(check_links(c, *facts, file));
      if (origin == Origin::user) TRY(remark_far(c, *facts, file));
      Curve curve = curve_without_launch(c, *facts, constants_);
      if (curve.points.empty()) {
        log_skipped(file, c, "the launch floor hides the collective at every size");
        continue;
      }
      const Calibration calibration = calibration_of(curve, *facts, constants_);
      curves_.push_back({std::move(curve), *facts, origin, source_of(c, set), calibration, gpu_of(set)});
    }
    log_info([&] {
      return file + ": curves used: " + std::to_string(curves_.size() - before) + " of " +
             std::to_string(set.curves.size()) + words_of(origin);
    });
    return {};
  }
  /// Curves of other shapes than the system has are left to `add`.
  Result<void> check(const CurveSet& set, const std::string& file) {
    for (const Curve& c : set.curves) {
      const std::uint32_t nodes = nodes_of(c, spec_);
      if (!c.not_used.empty()) continue;
      if (c.ranks % nodes != 0 || c.ranks / nodes > spec_.gpus_per_node) return wrong_shape(c, nodes, file);
      TRY_ASSIGN(const topology::GroupFacts* facts, facts_of({c.ranks, nodes, c.groups_at_once > 1}));
      TRY(check_links(c, *facts, file));
      TRY(remark_far(c, *facts, file));
    }
    return {};
  }
  /// That curves of this system, or of a sibling of what its file describes, were measured on another GPU than it has; empty
  /// where they were not.
  std::string other_gpu(const CurveSet& set, const std::vector<std::string>& devices) const {
    return set.system == spec_.name || has_other_gpu_ ? other_gpu_remark(set, spec_, devices) : "";
  }
  /// Of curves of the user and of those that are checked; each once.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }
  std::vector<LibraryCurve> take() && { return std::move(curves_); }

 private:
  Result<void> remark_far(const Curve& c, const topology::GroupFacts& facts, const std::string& file) {
    TRY_ASSIGN(std::string far, far_above_model(c, facts, constants_, file));
    if (!far.empty()) remarks_.push_back(std::move(far));
    return {};
  }

  Error wrong_shape(const Curve& c, std::uint32_t nodes, const std::string& file) const {
    return {"found a curve of " + counted(c.ranks, "rank") + " on " + counted(nodes, "node") +
                ", expected a multiple of the nodes and at most " + std::to_string(spec_.gpus_per_node) + " per node" +
                (spec_.name.empty() ? "" : " (" + spec_.name + ")"),
            file, ""};
  }

  struct Shape {
    std::uint32_t ranks, nodes;
    bool siblings;
    auto operator<=>(const Shape&) const = default;
  };

  Result<const topology::GroupFacts*> facts_of(const Shape& key) {
    auto it = shapes_.find(key);
    if (it == shapes_.end()) {
      TRY_ASSIGN(topology::GroupFacts facts,
                 facts_of_shape(spec_, compute_capability_, key.ranks, key.nodes,
                                key.siblings ? topology::Siblings::active : topology::Siblings::idle));
      it = shapes_.emplace(key, std::move(facts)).first;
    }
    return &it->second;
  }

  std::map<Shape, topology::GroupFacts> shapes_;
  topology::ClusterSpec spec_;
  bool has_other_gpu_;  ///< MeasuredSpec::other_gpu
  std::int64_t compute_capability_;
  const ModelConstants& constants_;
  std::vector<LibraryCurve> curves_;
  std::vector<std::string> remarks_;
};

std::pair<double, double> numbers_of(const CurvePoint& p) { return {p.bytes, p.time_us}; }

bool names(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

/// A total order: of curves that are trusted alike the first one names a price (and, of many, the first ones make it),
/// which must not depend on the order of the files.
bool comes_before(const LibraryCurve& a, const LibraryCurve& b) {
  const auto key = [](const LibraryCurve& c) { return std::tie(c.source, c.facts.nodes, c.facts.ranks, c.curve.kind); };
  if (key(a) != key(b)) return key(a) < key(b);
  return std::ranges::lexicographical_compare(a.curve.points, b.curve.points, {}, numbers_of, numbers_of);
}

/// The system of the topology as its file describes it, with the GPUs that the topology has in a node; nothing where the
/// experiment names no such file.
std::optional<topology::ClusterSpec> described_of_user(const topology::Topology& topology,
                                                       const CollectiveOptions& options) {
  const topology::ClusterSpec& now = topology.spec();
  if (!options.described || options.described->name != now.name) return std::nullopt;
  topology::ClusterSpec out = *options.described;
  out.device = now.device;
  out.gpus_per_node = now.gpus_per_node;
  out.gpus_installed = now.gpus_installed;
  return out;
}

/// What the user's own curves were measured on.
topology::ClusterSpec spec_of_user(const topology::Topology& topology, const CollectiveOptions& options) {
  return described_of_user(topology, options).value_or(topology.spec());
}

/// The curves of `options.curve_files`.
Result<std::vector<LibraryCurve>> curves_of_user(const topology::Topology& topology, const CollectiveOptions& options,
                                                 const ModelConstants& constants, std::vector<std::string>* remarks) {
  if (options.curve_files.empty()) return std::vector<LibraryCurve>{};
  Loader loader(spec_of_user(topology, options), compute_capability_of(topology), constants);
  const std::vector<std::string> devices = devices_beside(options.curve_dirs);
  KnownCurves known;
  for (const std::string& file : options.curve_files) {
    TRY_ASSIGN(CurveSet set, read_curve_file(file));
    TRY(check_complete(set, options, file));
    TRY(check_dates(set, file));
    known.take(set, file, topology.spec().name);
    TRY(loader.add(set, Origin::user, file));
    std::vector<std::string> far = loader.take_remarks();
    if (remarks == nullptr) continue;
    remarks->insert(remarks->end(), far.begin(), far.end());
    for (std::string& line : provenance_remarks(set, topology.spec(), devices, file)) {
      if (!names(*remarks, line)) remarks->push_back(std::move(line));
    }
    remarks->insert(remarks->end(), set.remarks.begin(), set.remarks.end());
  }
  std::vector<LibraryCurve> curves = std::move(loader).take();
  std::ranges::stable_sort(curves, comes_before);
  return curves;
}

void append(std::vector<LibraryCurve>& out, std::vector<LibraryCurve> more) {
  for (LibraryCurve& c : more) out.push_back(std::move(c));
}

/// The curves of a file that were measured with other GPUs, with the facts of their own system.
Result<std::vector<LibraryCurve>> curves_of_network(const CurveSet& set, const std::string& file,
                                                    std::span<const std::string> curve_dirs,
                                                    const ModelConstants& constants) {
  TRY_ASSIGN(std::optional<MeasuredSystem> measured, other_system(set.system, curve_dirs));
  if (!measured) return std::vector<LibraryCurve>{};
  Loader loader(std::move(measured->spec), measured->compute_capability, constants);
  TRY(loader.add(set, Origin::same_network, file));
  return std::move(loader).take();
}

/// A file that is called like the system hides the shipped one: it must not be passed by without a word.
Result<void> check_called_so(const std::string& text, const std::string& system, const std::string& file) {
  if (file.substr(file.find_last_of('/') + 1) != system + ".curve.txtpb") return {};
  TRY_ASSIGN(const CurveSet set, parse_curve_text(text, file));
  return Error{"system: found " + in_quotes(set.system) + ", expected " + in_quotes(system) + ", as the file is called",
               file, ""};
}

/// Those of `files`, of the first of these folders, that were measured on a system of that name, or that say they speak
/// for it. `known`: the curves of folders before.
Result<std::vector<LibraryCurve>> curves_of_system(const std::string& system, const std::vector<std::string>& files,
                                                   std::span<const std::string> curve_dirs,
                                                   const CollectiveOptions& options, Loader loader,
                                                   const ModelConstants& constants, KnownCurves& known,
                                                   std::vector<std::string>* remarks) {
  std::vector<LibraryCurve> of_network;
  for (const std::string& file : files) {
    TRY_ASSIGN(const std::string text, read_file(file, kMaxCurveFileBytes));
    if (!head_names(text, system)) {
      TRY(check_called_so(text, system, file));
      log_other_system(file);
      continue;
    }
    TRY_ASSIGN(CurveSet set, parse_curve_text(text, file));
    const bool sibling = names(set.also_for, system), network = names(set.same_network, system);
    if (set.system != system && !sibling && !network) {
      log_other_system(file);
      continue;
    }
    TRY(check_complete(set, options, file));
    known.take(set, file, set.system);
    if (remarks != nullptr) {
      std::string other =
          set.system == system || sibling ? loader.other_gpu(set, devices_beside(options.curve_dirs)) : "";
      if (!other.empty()) remarks->push_back(file + ": " + other);
      remarks->insert(remarks->end(), set.remarks.begin(), set.remarks.end());
    }
    if (set.system == system || sibling) {
      TRY(loader.add(set, set.system == system ? Origin::own_system : Origin::sibling_system, file));
    } else {
      TRY_ASSIGN(std::vector<LibraryCurve> curves, curves_of_network(set, file, curve_dirs, constants));
      append(of_network, std::move(curves));
    }
  }
  std::vector<LibraryCurve> out = std::move(loader).take();
  append(out, std::move(of_network));
  return out;
}

}  // namespace

std::int64_t compute_capability_of(const topology::Topology& topology) {
  const std::uint32_t first = 0;
  return topology.facts({&first, 1}).compute_capability;
}

Result<std::vector<LibraryCurve>> load_curves(const topology::Topology& topology, const CollectiveOptions& options,
                                              const ModelConstants& constants, std::vector<std::string>* remarks) {
  if (!options.use_curves) {
    log_debug([] { return std::string("no curves used, as asked for"); });
    return std::vector<LibraryCurve>{};
  }
  TRY_ASSIGN(std::vector<LibraryCurve> out, curves_of_user(topology, options, constants, remarks));
  const auto files = files_by_folder(options.curve_dirs, ".curve.txtpb");
  KnownCurves known;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto dirs = std::span(options.curve_dirs).subspan(i);
    TRY_ASSIGN(MeasuredSpec spec, measured_spec(topology, dirs));
    Loader loader(std::move(spec), compute_capability_of(topology), constants);
    TRY_ASSIGN(std::vector<LibraryCurve> curves, curves_of_system(topology.spec().name, files[i], dirs, options,
                                                                  std::move(loader), constants, known, remarks));
    append(out, std::move(curves));
  }
  return out;
}

Result<void> check_curves(const CurveSet& set, const topology::ClusterSpec& spec, std::int64_t compute_capability,
                          const std::string& file, std::vector<std::string>& remarks) {
  Loader loader(spec, compute_capability, shipped_constants());
  TRY(loader.check(set, file));
  for (std::string& far : loader.take_remarks()) remarks.push_back(std::move(far));
  return {};
}

Result<std::optional<topology::ClusterSpec>> described_system(const topology::Topology& topology,
                                                              const CollectiveOptions& options) {
  if (!options.use_curves) return std::optional<topology::ClusterSpec>();
  if (!options.curve_files.empty()) return described_of_user(topology, options);
  const std::string& name = topology.spec().name;
  if (name.empty() || file_beside(options.curve_dirs, "systems", name).empty())
    return std::optional<topology::ClusterSpec>();
  TRY_ASSIGN(MeasuredSpec measured, measured_spec(topology, options.curve_dirs));
  return std::optional(std::move(measured.spec));
}

std::optional<topology::Topology> as_described(topology::ClusterSpec spec, const topology::Topology& topology) {
  spec.nodes = topology.spec().nodes;  // how many GPUs take part is the group's, not the links'
  spec.gpus_per_node = topology.spec().gpus_per_node;
  spec.gpus_installed = topology.spec().gpus_installed;
  const topology::ClusterSpec& now = topology.spec();
  const std::int64_t sockets = spec.host.sockets;  // the only part of a host that the links follow
  spec.host = now.host;
  spec.host.sockets = sockets;
  spec.aliases = now.aliases;
  spec.description = now.description;
  spec.source = now.source;
  if (spec == now) return std::nullopt;
  auto measured = topology::Topology::build(spec, compute_capability_of(topology));
  return measured.ok() ? std::optional(std::move(*measured)) : std::nullopt;
}

}  // namespace distsim::collectives
