#include "collectives/curves/curve_library.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
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
#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "collectives/curves/curve_provenance.hpp"
#include "collectives/curves/link_limits.hpp"
#include "collectives/evidence.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::collectives {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSource = 200;  // bytes of a label

/// The file of a system or device (`folder`) beside the first of these curve folders that has one; empty where none has, as
/// for a name that leads elsewhere.
std::string file_beside(std::span<const std::string> curve_dirs, const char* folder, const std::string& name) {
  if (!is_file_name(name)) return "";
  for (const std::string& dir : curve_dirs) {
    const fs::path path = fs::path(dir) / ".." / folder / (name + ".yaml");
    std::error_code failed;
    const bool bears_name = fs::symlink_status(path, failed).type() != fs::file_type::not_found;
    if (bears_name) return path.string();  // one that cannot be read is refused by its reader
  }
  return "";
}

/// The files of systems or devices (`folder`) beside these curve folders.
std::vector<std::string> files_beside(std::span<const std::string> curve_dirs, const char* folder) {
  std::vector<std::string> folders, out;
  for (const std::string& dir : curve_dirs) folders.push_back((fs::path(dir) / ".." / folder).string());
  for (std::vector<std::string>& files : files_by_folder(folders, ".yaml"))
    std::ranges::move(files, std::back_inserter(out));
  return out;
}

topology::KnownDevices devices_beside(std::span<const std::string> curve_dirs) {
  return topology::KnownDevices(files_beside(curve_dirs, "devices"));
}

/// The systems that have a file beside curve folders, which are read when one is asked for by an alias.
class SystemFiles {
 public:
  explicit SystemFiles(std::span<const std::string> curve_dirs) : curve_dirs_(curve_dirs) {}

  /// By its name or an alias; empty where there is none.
  std::string file_of(const std::string& name) {
    std::string path = file_beside(curve_dirs_, "systems", name);
    if (!path.empty()) return path;
    read();
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? "" : found->second;
  }
  /// With the aliases.
  std::vector<std::string> names() {
    read();
    std::vector<std::string> out;
    for (const auto& [name, file] : by_name_) out.push_back(name);
    return out;
  }

 private:
  void read() {
    if (std::exchange(is_read_, true)) return;
    for (const std::string& file : files_beside(curve_dirs_, "systems")) {
      by_name_.try_emplace(fs::path(file).stem().string(), file);
      std::error_code failed;
      if (!fs::is_regular_file(file, failed)) continue;  // a pipe is not read in passing
      const auto node = parse_yaml_file(file);           // one that is broken is said where it is used
      if (!node.ok()) continue;
      if (const ConfigNode* name = node->find("name")) by_name_.try_emplace(name->scalar, file);
      const ConfigNode* aliases = node->find("aliases");
      if (aliases == nullptr) continue;
      for (const ConfigNode& alias : aliases->items) by_name_.try_emplace(alias.scalar, file);
    }
  }

  std::span<const std::string> curve_dirs_;
  bool is_read_ = false;
  std::map<std::string, std::string> by_name_;
};

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
  const std::string path = SystemFiles(curve_dirs).file_of(name);
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

/// Whether the lines before the first curve may name the system: spares parsing the files of all other systems. A file may
/// say below which it is of.
bool head_may_name(std::string_view text, const topology::ClusterSpec& system) {
  const std::string_view head = curve_head(text);
  const auto has = [&](const std::string& words) { return head.find(words) != std::string_view::npos; };
  const auto has_name = [&](const std::string& name) { return has('"' + name + '"') || has("'" + name + "'"); };
  return !has("system") || has_name(system.name) || std::ranges::any_of(system.aliases, has_name);
}

/// The same of the whole file, wherever a user wrote it.
bool names_anywhere(const std::string& text, const std::string& file, const topology::ClusterSpec& system) {
  const auto set = parse_curve_text(text, file);
  return set.ok() &&
         (is_called(system, set->system) || is_among(system, set->also_for) || is_among(system, set->same_network));
}

/// In one line of printable characters: it stands in reports, tables and what --explain prints.
std::string source_of(const Curve& c, const CurveSet& set) {
  if (!c.label.empty()) return printable(c.label, kMaxSource);
  const std::string text = set.hardware.empty() ? printable(set.system) : printable(set.hardware, 60);
  return c.library.empty() ? text : text + ", " + printable(c.library, 30);
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
      if (const Result<void> shape = check_shape(c, nodes, set, file); !shape.ok()) {
        if (origin != Origin::user) {  // `gpus_per_node` was changed: the shipped curves are of another machine
          log_skipped(
              file, c,
              "the system has " + counted(static_cast<std::uint64_t>(spec_.gpus_per_node), "GPU") + " per node");
          continue;
        }
        return shape;
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
      TRY(check_shape(c, nodes, set, file));
      TRY_ASSIGN(const topology::GroupFacts* facts, facts_of({c.ranks, nodes, c.groups_at_once > 1}));
      TRY(check_links(c, *facts, file));
      TRY(remark_far(c, *facts, file));
    }
    return {};
  }
  /// That curves of this system (`own`), or of a sibling of what its file describes, were measured on another GPU than it has;
  /// empty where they were not.
  std::string other_gpu(const CurveSet& set, bool own, const topology::KnownDevices& devices) const {
    return own || has_other_gpu_ ? other_gpu_remark(set, spec_, compute_capability_, devices) : "";
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

  /// A file that lists its hosts says how many groups at once they had room for.
  Result<void> check_shape(const Curve& c, std::uint32_t nodes, const CurveSet& set, const std::string& file) const {
    const std::string per_node =
        std::to_string(spec_.gpus_per_node) + " per node" + (spec_.name.empty() ? "" : " (" + spec_.name + ")");
    if (c.ranks % nodes != 0 || c.ranks / nodes > spec_.gpus_per_node)
      return Error{"found a curve of " + counted(c.ranks, "rank") + " on " + counted(nodes, "node") +
                       ", expected a multiple of the nodes and at most " + per_node,
                   file, ""};
    const std::uint64_t room = set.hosts.size() * static_cast<std::uint64_t>(spec_.gpus_per_node);
    if (set.hosts.empty() || std::uint64_t{c.groups_at_once} * c.ranks <= room) return {};
    return Error{"groups_at_once: found " + counted(c.groups_at_once, "group") + " of " + counted(c.ranks, "rank") +
                     ", expected at most " + counted(room, "rank") + " in all, as many as its " +
                     counted(set.hosts.size(), "host") + " have GPUs, " + per_node,
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
  const std::int64_t capability = compute_capability_of(topology);
  Loader loader(spec_of_user(topology, options), capability, constants);
  const topology::KnownDevices devices = devices_beside(options.curve_dirs);
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
    for (std::string& line : provenance_remarks(set, topology.spec(), capability, devices, file)) {
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

/// What a file of a folder of curves says it is of, held against the systems that there are: its curves would be passed by
/// without a word. A system that is none may be one that has no file, with curves for one that has.
class NamedSystems {
 public:
  NamedSystems(const topology::ClusterSpec& priced, std::span<const std::string> curve_dirs)
      : priced_(priced), files_(curve_dirs) {}

  /// A line for each name that is none.
  std::vector<std::string> remarks(const std::string& text, const std::string& file) {
    const auto head = parse_curve_head(text, file);
    if (!head.ok()) return {head.error().text() + "; not used"};
    std::vector<std::string> out;
    const auto is_known = [&](const std::string& name) { return are(name); };
    if (!are(head->system) && std::ranges::none_of(head->also_for, is_known))
      out.push_back(remark("system", head->system, file));
    for (const auto& [field, others] :
         {std::pair("also_for", &head->also_for), {"same_network", &head->same_network}}) {
      for (const std::string& name : *others) {
        if (!are(name) && out.size() < kMostSaid) out.push_back(remark(field, name, file));
      }
    }
    return out;
  }

 private:
  static constexpr std::size_t kMostSaid = 8;  // of a file

  bool are(const std::string& name) { return is_called(priced_, name) || !files_.file_of(name).empty(); }

  std::string remark(const char* field, const std::string& name, const std::string& file) {
    std::vector<std::string> names = files_.names();
    names.push_back(priced_.name);
    const std::string nearest = nearest_spelling(name, names);
    return file + ": " + field + ": found " + in_quotes(name, 60) + ", expected a system that has a file in systems" +
           (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") + "; its curves are not used for it";
  }

  const topology::ClusterSpec& priced_;
  SystemFiles files_;
};

/// What is known from one folder of curves to the next.
struct Library {
  KnownCurves known;
  NamedSystems systems;
  std::vector<std::string>* remarks;  ///< may be nullptr
};

/// Those of `files`, of the first of these folders, that were measured on a system of that name, or that say they speak
/// for it. `of_user`: they did not come with the program, where each system that is named has a file.
Result<std::vector<LibraryCurve>> curves_of_system(const topology::ClusterSpec& system,
                                                   const std::vector<std::string>& files, bool of_user,
                                                   std::span<const std::string> curve_dirs,
                                                   const CollectiveOptions& options, Loader loader,
                                                   const ModelConstants& constants, Library& library) {
  std::vector<std::string>* const remarks = library.remarks;
  std::vector<LibraryCurve> of_network;
  for (const std::string& file : files) {
    TRY_ASSIGN(const std::string text, read_file(file, kMaxCurveFileBytes));
    const bool may_name = head_may_name(text, system) || (of_user && names_anywhere(text, file, system));
    if (!may_name) TRY(check_called_so(text, system.name, file));
    if (of_user && remarks != nullptr) {
      for (std::string& line : library.systems.remarks(text, file)) remarks->push_back(std::move(line));
    }
    if (!may_name) {
      log_other_system(file);
      continue;
    }
    TRY_ASSIGN(CurveSet set, parse_curve_text(text, file));
    const bool own = is_called(system, set.system), sibling = is_among(system, set.also_for);
    if (!own && !sibling && !is_among(system, set.same_network)) {
      log_other_system(file);
      continue;
    }
    TRY(check_complete(set, options, file));
    library.known.take(set, file, own ? system.name : set.system);
    if (remarks != nullptr) {
      std::string other = own || sibling ? loader.other_gpu(set, own, devices_beside(options.curve_dirs)) : "";
      if (!other.empty()) remarks->push_back(file + ": " + other);
      remarks->insert(remarks->end(), set.remarks.begin(), set.remarks.end());
    }
    if (own || sibling) {
      TRY(loader.add(set, own ? Origin::own_system : Origin::sibling_system, file));
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
  Library library{{}, {topology.spec(), options.curve_dirs}, remarks};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto dirs = std::span(options.curve_dirs).subspan(i);
    TRY_ASSIGN(MeasuredSpec spec, measured_spec(topology, dirs));
    Loader loader(std::move(spec), compute_capability_of(topology), constants);
    TRY_ASSIGN(std::vector<LibraryCurve> curves, curves_of_system(topology.spec(), files[i], dirs.size() > 1, dirs,
                                                                  options, std::move(loader), constants, library));
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
