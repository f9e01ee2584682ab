#include "sweeps.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <optional>

#include "base/csv.hpp"
#include "collectives/nccl_tests_reader.hpp"
#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim::test {

namespace {

using namespace collectives;

struct Machine {
  const char* prefix;  ///< of the sweep's file name, or a part of it behind '*'
  const char* system;
  int compute_capability;
  IntraNode links;
  int gpus, links_per_gpu;
  double link_gbps;
  int nics;
  double nic_gbit, net_us;
  const char* transport = "infiniband";
  int domain = 1;
};

// First match counts. A system of "" has hardware that its log leaves open.
const Machine kMachines[] = {
    {"abci_sharp", "abci_a_sharp", 80, IntraNode::nvswitch, 8, 12, 25, 4, 200, 2.0},
    {"coreweave", "", 80, IntraNode::nvswitch, 8, 12, 25, 4, 200, 2.0},
    {"karpenter_tcp", "", 70, IntraNode::none, 1, 0, 0, 1, 100, 20, "tcp"},
    {"a10043", "a100_roce", 80, IntraNode::nvswitch, 8, 12, 25, 8, 200, 2.0, "roce"},
    {"aws_p4d", "p4d", 80, IntraNode::nvswitch, 8, 12, 25, 4, 100, 15, "efa"},
    {"deepops_dgxa100", "dgx_a100", 80, IntraNode::nvswitch, 8, 12, 25, 8, 200, 2.0},
    {"gpu4", "oci_gpu4", 80, IntraNode::nvswitch, 8, 12, 25, 16, 100, 2.0, "roce"},
    {"pcie_a100", "pcie_a100", 80, IntraNode::pcie, 4, 0, 0, 1, 200, 2.0},
    {"a100_", "abci_a", 80, IntraNode::nvswitch, 8, 12, 25, 4, 200, 2.0},
    {"aws_p3dn", "p3dn", 70, IntraNode::hybrid_cube_mesh, 8, 6, 25, 1, 100, 15, "efa"},
    {"v100_dgx2", "dgx2", 70, IntraNode::nvswitch, 16, 6, 25, 8, 100, 2.0},
    {"dgx2h", "dgx2", 70, IntraNode::nvswitch, 16, 6, 25, 8, 100, 2.0},
    {"dgx1_roce", "dgx1", 70, IntraNode::hybrid_cube_mesh, 8, 6, 25, 2, 100, 2.0, "roce"},
    {"vtrain", "dgx1", 70, IntraNode::hybrid_cube_mesh, 8, 6, 25, 4, 100, 2.0},
    {"v100_", "abci_v", 70, IntraNode::full_mesh, 4, 6, 25, 2, 100, 2.0},
    {"kestrel", "kestrel", 90, IntraNode::full_mesh, 4, 18, 25, 2, 200, 2.0, "slingshot"},
    {"gh200", "alps", 90, IntraNode::full_mesh, 4, 18, 25, 4, 200, 2.0, "slingshot"},
    {"h20_", "h20", 90, IntraNode::nvswitch, 2, 18, 25, 2, 400, 2.0, "roce"},
    {"a3high", "a3high", 90, IntraNode::nvswitch, 8, 18, 25, 4, 200, 20, "tcp"},
    {"a3mega", "a3mega", 90, IntraNode::nvswitch, 8, 18, 25, 8, 200, 15, "tcp"},
    {"aws_p5", "p5", 90, IntraNode::nvswitch, 8, 18, 25, 32, 100, 15, "efa"},
    {"h100_", "hgx_h100", 90, IntraNode::nvswitch, 8, 18, 25, 8, 400, 2.0},
    {"h200_", "hgx_h100", 90, IntraNode::nvswitch, 8, 18, 25, 8, 400, 2.0},
    {"gb200_", "gb200", 100, IntraNode::nvswitch, 4, 18, 50, 4, 400, 2.0, "infiniband", 18},
    {"b200_", "hgx_b200", 100, IntraNode::nvswitch, 8, 18, 50, 8, 400, 2.0},
    {"l40s", "l40s", 89, IntraNode::pcie, 4, 0, 0, 1, 100, 2.0},
    {"rtx4090", "rtx4090", 89, IntraNode::pcie, 8, 0, 0, 1, 100, 2.0},
    {"rtx6000d", "rtx6000d", 120, IntraNode::pcie, 8, 0, 0, 8, 400, 2.0, "roce"},
    {"t4_", "g4dn", 75, IntraNode::none, 1, 0, 0, 1, 100, 15, "efa"},
    {"rtx5090", "", 120, IntraNode::none, 1, 0, 0, 1, 10, 30, "tcp"},
};

const char* const kUnusable[] = {"congested", "dgx1_roce", "superpod", "samegpu", "cscs_tcp", "gpu4_2022", "kestrel", "gdrsys",
                                 "issue290", "issue319", "forced_", "coreweave", "karpenter", "abci_sharp"};

const Machine& machine_of(const std::string& name) {
  for (const Machine& m : kMachines) {
    const bool pinned = m.prefix[std::string(m.prefix).size() - 1] == '_';
    if (pinned ? name.starts_with(m.prefix) : name.find(m.prefix) != std::string::npos) return m;
  }
  CHECK(false) << "no machine for sweep " << name;
  return kMachines[0];
}

ClusterSpec spec_of(const Machine& m, const std::string& name) {
  ClusterSpec s;
  s.name = name;
  s.gpus_per_node = m.gpus;
  s.gpu_links.kind = m.links;
  s.gpu_links.links_per_gpu = m.links_per_gpu;
  s.gpu_links.bandwidth_per_link = BytesPerSecond(m.link_gbps * 1e9);
  s.gpu_links.switches = m.links == IntraNode::nvswitch ? 6 : 0;
  s.gpu_links.multicast = m.links == IntraNode::nvswitch && m.compute_capability >= 90;
  s.gpu_links.domain_nodes = m.domain;
  s.pcie.bandwidth = BytesPerSecond(m.compute_capability < 80 ? 13e9 : m.compute_capability < 90 ? 26e9 : 52e9);
  if (m.compute_capability >= 120) s.pcie.cpu_interconnect = BytesPerSecond(50e9);
  s.pcie.peer_to_peer = std::string(m.system) != "rtx4090";
  s.nic.count = m.nics;
  s.nic.bandwidth = BytesPerSecond(m.nic_gbit / 8 * 1e9);
  s.nic.latency = Duration::nanoseconds(static_cast<std::int64_t>(m.net_us * 1000));
  s.nic.transport = m.transport;
  s.nic.gpu_direct = std::string(m.system) != "g4dn";
  return s;
}

GroupFacts facts_of(const Machine& m, const Curve& c, const std::string& name) {
  ClusterSpec spec = spec_of(m, name);
  spec.nodes = std::max<std::int64_t>(c.nodes, m.domain);
  auto topology = Topology::build(spec, m.compute_capability);
  CHECK(topology.ok()) << name << ": " << topology.error().text();
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < c.nodes; ++node) {
    for (std::uint32_t i = 0; i < c.ranks / c.nodes; ++i) members.push_back(node * topology->gpus_per_node() + i);
  }
  return topology->facts(members);
}

}  // namespace

std::vector<Sweep> load_sweeps() {
  const std::string index = shared_data("collectives/index.csv");
  std::vector<Sweep> out;
  if (index.empty()) return out;
  std::ifstream in(index);
  auto csv = CsvReader::open(in, index);
  CHECK(csv.ok()) << csv.error().text();
  const std::size_t file = csv->require("file").value(), group = csv->require("cls").value();
  for (auto row = csv->next(); row.ok() && *row; row = csv->next()) {
    const std::string path = shared_data("collectives/" + (**row)[file]);
    auto set = read_curve_file(path);
    CHECK(set.ok()) << set.error().text();
    Sweep s;
    s.name = (**row)[file].substr(0, (**row)[file].size() - 4);
    s.group = (**row)[group];
    const Machine& machine = machine_of(s.name);
    s.system = machine.system;
    s.usable = std::none_of(std::begin(kUnusable), std::end(kUnusable), [&](const char* part) { return s.name.find(part) != std::string::npos; });
    Curve& curve = set->curves.front();
    curve.settings.clear();
    s.mode = {curve.single_process, curve.cuda_graph};
    s.curve = {curve, facts_of(machine, curve, s.name), Origin::own_system, s.name};
    out.push_back(std::move(s));
  }
  return out;
}

double Errors::median() const {
  if (values.empty()) return 0;
  std::vector<double> v = values;
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : 0.5 * (v[v.size() / 2 - 1] + v[v.size() / 2]);
}

double Errors::mean() const { return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()); }

}  // namespace distsim::test
