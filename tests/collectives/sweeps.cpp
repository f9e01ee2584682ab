#include "sweeps.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <optional>

#include "base/check.hpp"
#include "base/config/config_node.hpp"
#include "base/text/csv.hpp"
#include "collectives/logs/nccl_tests_reader.hpp"
#include "test_data.hpp"
#include "test_paths.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::collectives {

namespace {

struct Machine {
  const char* part;    ///< of the sweep's file name; with a trailing '_', its beginning
  const char* system;  ///< file of configs/systems that describes it
};

// First match counts.
const Machine kMachines[] = {
    {"abci_sharp", "abci_a"},
    {"coreweave", "dgx_a100_80gb"},
    {"karpenter_tcp", "g4dn_t4"},
    {"a10043", "dgx_a100_80gb"},
    {"aws_p4d", "p4d_a100_40gb"},
    {"deepops_dgxa100", "dgx_a100_40gb"},
    {"gpu4", "oci_gpu4"},
    {"pcie_a100", "pcie_a100"},
    {"gb200_", "gb200_nvl72"},
    {"a100_1n8g_all_reduce_dkh", "dgx_a100_80gb"},
    {"thanos", "dgx_a100_80gb"},
    {"superbench", "azure_nd_a100_v4"},
    {"aws_p3dn", "p3dn_v100_32gb"},
    {"v100_dgx2", "dgx2_v100_32gb"},
    {"dgx2h", "dgx2h_v100_32gb"},
    {"dgx1_roce", "dgx1_v100_32gb"},
    {"kestrel", "kestrel_h100"},
    {"gh200", "gh200_cscs"},
    {"h20_", "hgx_h20"},
    {"a3high", "gcp_a3_high"},
    {"a3mega", "gcp_a3_mega"},
    {"aws_p5", "p5_h100"},
    {"xe9680", "xe9680_h100"},
    {"h100_", "hgx_h100"},
    {"h200_", "hgx_h200"},
    {"b200_", "dgx_b200"},
    {"l40s", "pcie_l40s"},
    {"rtx4090", "pcie_rtx4090"},
    {"rtx6000d", "pcie_rtx6000d"},
    {"t4_", "g4dn_t4"},
    {"rtx5090", "g4dn_t4"},
    {"a100_", "dgx_a100_40gb"},
};

/// Sweeps that no model should be judged by: congested or misconfigured networks, ranks that share a GPU, NICs that
/// nobody names.
const char* const kUnusable[] = {"congested", "dgx1_roce", "superpod", "samegpu",   "cscs_tcp",  "gpu4_2022", "kestrel",
                                 "gdrsys",    "issue290",  "issue319", "coreweave", "karpenter", "abci_sharp"};

bool begins(const std::string& text, const char* part) { return text.starts_with(part); }

/// ABCI's files end in "abci" and begin with the GPU; vTrain's V100 node is a DGX-1 with NVLinks between some pairs
/// only.
std::string system_of(const std::string& name) {
  if (name.ends_with("_abci")) return begins(name, "a100_") ? "abci_a" : "abci_v";
  if (name.ends_with("_vtrain") && begins(name, "v100_")) return "dgx1_v100_16gb";
  for (const Machine& m : kMachines) {
    const bool pinned = std::string_view(m.part).ends_with('_');
    if (pinned ? begins(name, m.part) : name.find(m.part) != std::string::npos) return m.system;
  }
  CHECK(false) << "no machine for sweep " << name;
  return "";
}

template <class T>
T read_config(const std::string& relative, const Schema<T>& schema) {
  auto node = parse_yaml_file(test::config(relative));
  CHECK(node.ok()) << node.error().text();
  auto value = schema.read(*node);
  CHECK(value.ok()) << value.error().text();
  return *value;
}

topology::GroupFacts facts_of(const std::string& system, const Curve& c) {
  topology::ClusterSpec spec = read_config("systems/" + system + ".yaml", topology::cluster_schema());
  const topology::DeviceSpec device = read_config("devices/" + spec.device + ".yaml", topology::device_schema());
  spec.nodes = std::max<std::int64_t>(c.nodes, spec.gpu_links.domain_nodes);
  auto topology = topology::Topology::build(spec, device.compute_capability);
  CHECK(topology.ok()) << system << ": " << topology.error().text();
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < c.nodes; ++node) {
    for (std::uint32_t i = 0; i < c.ranks / c.nodes; ++i) members.push_back(node * topology->gpus_per_node() + i);
  }
  return topology->facts(members);
}

}  // namespace

std::vector<Sweep> load_sweeps() {
  const std::string index = test::data("collectives/index.csv");
  std::vector<Sweep> out;
  std::ifstream in(index);
  auto csv = CsvReader::open(in, index);
  CHECK(csv.ok()) << csv.error().text();
  const std::size_t file = csv->require("file").value(), group = csv->require("cls").value();
  for (auto row = csv->next(); row.ok() && *row; row = csv->next()) {
    const std::string path = test::data("collectives/" + (**row)[file]);
    auto set = read_curve_file(path);
    CHECK(set.ok()) << set.error().text();
    Sweep s;
    s.name = (**row)[file].substr(0, (**row)[file].size() - 4);
    s.group = (**row)[group];
    s.system = system_of(s.name);
    s.usable = std::none_of(std::begin(kUnusable), std::end(kUnusable),
                            [&](const char* part) { return s.name.find(part) != std::string::npos; });
    s.known_launch = s.name.find("_torch") == std::string::npos;
    Curve& curve = set->curves.front();
    s.mode = {curve.single_process, curve.cuda_graph, selection_for(curve.kind, selection_of_settings(curve.settings))};
    s.curve = {curve, facts_of(s.system, curve), Origin::own_system, s.name};
    out.push_back(std::move(s));
  }
  return out;
}

double Errors::quantile(double q) const {
  if (values.empty()) return 0;
  std::vector<double> v = values;
  std::sort(v.begin(), v.end());
  const double at = q * static_cast<double>(v.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, v.size() - 1);
  return v[below] + (at - static_cast<double>(below)) * (v[above] - v[below]);
}

double Errors::mean() const {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace distsim::collectives
