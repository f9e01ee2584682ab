#include "collectives/curves/curve_library.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/config/config_node.hpp"
#include "base/file.hpp"
#include "base/text/counted.hpp"
#include "collectives/evidence.hpp"

namespace distsim::collectives {

namespace {

namespace fs = std::filesystem;

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

std::vector<std::string> files_of(const std::string& dir) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator it(dir, failed), end; !failed && it != end; it.increment(failed)) {
    if (ends_with(it->path().string(), ".curve.txtpb")) out.push_back(it->path().string());
  }
  std::sort(out.begin(), out.end());  // the order of a directory is not repeatable
  return out;
}

/// The system as it was when its curves were measured.
Result<topology::ClusterSpec> measured_spec(const topology::Topology& topology, const std::string& curve_dir) {
  const topology::ClusterSpec& now = topology.spec();
  const fs::path path = fs::path(curve_dir) / ".." / "systems" / (now.name + ".yaml");
  std::error_code failed;
  if (curve_dir.empty() || now.name.empty() || !fs::exists(path, failed)) return now;
  TRY_ASSIGN(ConfigNode node, parse_yaml_file(path.string()));
  TRY_ASSIGN(topology::ClusterSpec spec, topology::cluster_schema().read(node));
  return spec.device == now.device ? spec : now;  // another GPU is another system, whatever its name
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

/// A log may leave the number of nodes open: as few as hold the ranks.
std::uint32_t nodes_of(const Curve& c, const topology::ClusterSpec& spec) {
  if (c.nodes != 0) return c.nodes;
  const auto per_node = static_cast<std::uint32_t>(spec.gpus_per_node);
  return (c.ranks + per_node - 1) / per_node;
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
  return Error{"partial: found true, expected curves from a run that finished", file,
               "measure again, or accept it with collectives.allow_partial: true or --allow-partial"};
}

class Loader {
 public:
  Loader(topology::ClusterSpec spec, std::int64_t compute_capability, const ModelConstants& constants)
      : spec_(std::move(spec)), compute_capability_(compute_capability), constants_(constants) {}

  Result<void> add(const CurveSet& set, Origin origin, const std::string& file) {
    for (const Curve& c : set.curves) {
      if (!c.not_used.empty()) continue;
      const std::uint32_t nodes = nodes_of(c, spec_);
      if (c.ranks % nodes != 0 || c.ranks / nodes > spec_.gpus_per_node) {
        if (origin != Origin::user) continue;  // `gpus_per_node` was changed: the shipped curves are of another machine
        return Error{"found a curve of " + counted(c.ranks, "rank") + " on " + counted(nodes, "node") +
                         ", expected a multiple of the nodes and at most " + std::to_string(spec_.gpus_per_node) +
                         " per node" + (spec_.name.empty() ? "" : " (" + spec_.name + ")"),
                     file, ""};
      }
      TRY_ASSIGN(const topology::GroupFacts* facts, facts_of({c.ranks, nodes, c.groups_at_once > 1}));
      curves_.push_back({c, *facts, origin, source_of(c, set), calibration_of(c, *facts, constants_), set.device});
    }
    return {};
  }
  std::vector<LibraryCurve> take() && { return std::move(curves_); }

 private:
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
  std::int64_t compute_capability_;
  const ModelConstants& constants_;
  std::vector<LibraryCurve> curves_;
};

std::int64_t compute_capability_of(const topology::Topology& topology) {
  const std::uint32_t first = 0;
  return topology.facts({&first, 1}).compute_capability;
}

}  // namespace

Result<std::vector<LibraryCurve>> load_curves(const topology::Topology& topology, const CollectiveOptions& options,
                                              const ModelConstants& constants) {
  if (!options.use_curves) return std::vector<LibraryCurve>{};
  const std::int64_t compute_capability = compute_capability_of(topology);
  TRY_ASSIGN(topology::ClusterSpec spec, measured_spec(topology, options.curve_dir));
  Loader user(topology.spec(), compute_capability, constants), system(std::move(spec), compute_capability, constants);
  for (const std::string& file : options.curve_files) {
    TRY_ASSIGN(CurveSet set, read_curve_file(file));
    TRY(check_complete(set, options, file));
    TRY(user.add(set, Origin::user, file));
  }
  const std::string& name = topology.spec().name;
  for (const std::string& file : files_of(options.curve_dir)) {
    TRY_ASSIGN(const std::string text, read_file(file, kMaxCurveFileBytes));
    if (!head_names(text, name)) continue;
    TRY_ASSIGN(CurveSet set, parse_curve_text(text, file));
    const bool sibling = std::find(set.also_for.begin(), set.also_for.end(), name) != set.also_for.end();
    if (set.system != name && !sibling) continue;
    TRY(check_complete(set, options, file));
    TRY(system.add(set, set.system == name ? Origin::own_system : Origin::sibling_system, file));
  }
  std::vector<LibraryCurve> out = std::move(user).take();
  for (LibraryCurve& c : std::move(system).take()) out.push_back(std::move(c));
  return out;
}

}  // namespace distsim::collectives
