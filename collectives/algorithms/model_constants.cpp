#include "collectives/algorithms/model_constants.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/config/config_node.hpp"
#include "base/text/names/spelling.hpp"
#include "base/text/number_text.hpp"
#include "collectives/shipped_constants_text.hpp"
#include "collectives/shipped_text.hpp"

namespace distsim::collectives {

namespace {

template <class Array>
std::span<double> flat(Array& a) {
  if constexpr (std::is_same_v<Array, double>) {
    return {&a, 1};
  } else {
    return {reinterpret_cast<double*>(&a),
            sizeof(a) / sizeof(double)};  // an array (of arrays) of doubles has no padding
  }
}

void append_tuning(NcclTuning& n, std::vector<ConstantField>& out) {
  const auto add = [&out](std::string_view key, auto& member) { out.push_back({key, flat(member)}); };
  add("nccl_ring_base", n.ring_base);
  add("nccl_tree_base", n.tree_base);
  add("nccl_ring_nvlink", n.ring_nvlink);
  add("nccl_ring_pci", n.ring_pci);
  add("nccl_ring_net", n.ring_net);
  add("nccl_tree_nvlink", n.tree_nvlink);
  add("nccl_tree_pci", n.tree_pci);
  add("nccl_tree_net", n.tree_net);
  add("nccl_nvls_intra", n.nvls_intra);
  add("nccl_nvls_tree_net", n.nvls_tree_net);
  add("nccl_collnet_intra", n.collnet_intra);
  add("nccl_collnet_per_rank", n.collnet_per_rank);
  add("nccl_collnet_net", n.collnet_net);
  add("nccl_pat_base", n.pat_base);
  add("nccl_pat_net", n.pat_net);
  add("nccl_pat_pipelining", n.pat_pipelining);
  add("nccl_pat_per_rank", n.pat_per_rank);
  add("nccl_pat_share", n.pat_share);
  add("nccl_net_overhead", n.net_overhead);
  add("nccl_ll_max", n.ll_max);
  add("nccl_ring_ll128_per_channel", n.ring_ll128_per_channel);
  add("nccl_tree_ll128_per_channel", n.tree_ll128_per_channel);
  add("nccl_tree_per_channel", n.tree_per_channel);
  add("nccl_nvls_tree_per_channel", n.nvls_tree_per_channel);
  add("nccl_tree_correction", n.tree_correction);
}

Result<double> figure_of(const ConfigNode& node, std::string_view key) {
  const auto v = node.kind == ConfigNode::Kind::scalar ? plain_number(node.scalar) : std::nullopt;
  if (v && *v >= 0 && *v <= 1e6) return *v;
  return Error{std::string(key) + ": found " + node.describe() + ", expected a number from 0 to 1e6", node.where.text(),
               number_hint(node.scalar)};
}

Result<void> flatten(const ConfigNode& node, std::string_view key, std::vector<double>& out) {
  if (node.kind != ConfigNode::Kind::sequence) {
    TRY_ASSIGN(const double v, figure_of(node, key));
    out.push_back(v);
    return {};
  }
  for (const ConfigNode& item : node.items) TRY(flatten(item, key, out));
  return {};
}

/// Rates and shares of rates without an alternative: with 0, a collective would never end. A share of NVLS, trees
/// or PAT may be 0; a ring is left.
bool is_indispensable(std::string_view key) {
  constexpr std::string_view keys[] = {"link_gbps",      "nvlink_usable",       "ring_simple_share",   "ring_net_share",
                                       "exchange_share", "exchange_net_share",  "exchange_pcie_share", "send_share",
                                       "efa_share",      "no_gpu_direct_share", "pcie_ring_share",     "fill_gbps"};
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

Result<void> read_field(const ConfigNode& node, const ConstantField& field) {
  std::vector<double> values;
  TRY(flatten(node, field.key, values));
  if (values.size() != field.values.size()) {
    return Error{std::string(field.key) + ": found " + std::to_string(values.size()) + " numbers, expected " +
                     std::to_string(field.values.size()),
                 node.where.text(), ""};
  }
  if (const double least = *std::min_element(values.begin(), values.end());
      is_indispensable(field.key) && least < 1e-3) {
    return Error{std::string(field.key) + ": found " + std::to_string(least) + ", expected at least 0.001",
                 node.where.text(), ""};
  }
  std::copy(values.begin(), values.end(), field.values.begin());
  return {};
}

Error unknown(const ConfigNode::Entry& entry, const std::vector<ConstantField>& fields) {
  std::vector<std::string> known;
  for (const ConstantField& f : fields) known.emplace_back(f.key);
  return Error{"found the key '" + entry.key + "', expected a constant of the collective model", entry.where.text(),
               spelling_hint(entry.key, known)};
}

Result<void> check_version(const ConfigNode& root, const std::string& file) {
  const ConfigNode* version = root.find("version");
  if (version != nullptr && version->kind == ConfigNode::Kind::scalar && version->scalar == "1") return {};
  return Error{"version: found " + (version ? version->describe() : "nothing") + ", expected 1",
               version ? version->where.text() : file, ""};
}

}  // namespace

std::vector<ConstantField> fields_of(ModelConstants& c) {
  std::vector<ConstantField> out;
  const auto add = [&out](std::string_view key, auto& member) { out.push_back({key, flat(member)}); };
  append_tuning(c.nccl, out);
  add("link_gbps", c.link_gbps);
  add("nvlink_usable", c.nvlink_usable);
  add("ring_simple_share", c.ring_simple_share);
  add("ring_net_share", c.ring_net_share);
  add("tree_simple_share", c.tree_simple_share);
  add("nvls_share", c.nvls_share);
  add("nvls_half_share", c.nvls_half_share);
  add("sharp_share", c.sharp_share);
  add("exchange_share", c.exchange_share);
  add("exchange_net_share", c.exchange_net_share);
  add("exchange_pcie_share", c.exchange_pcie_share);
  add("send_share", c.send_share);
  add("efa_share", c.efa_share);
  add("no_gpu_direct_share", c.no_gpu_direct_share);
  add("pcie_ring_share", c.pcie_ring_share);
  add("reference_net", c.reference_net);
  add("reference_nvlink", c.reference_nvlink);
  add("reference_pcie", c.reference_pcie);
  add("efa_hop", c.efa_hop);
  add("tcp_hop", c.tcp_hop);
  add("pipelined_base_share", c.pipelined_base_share);
  add("exchange_base", c.exchange_base);
  add("exchange_per_peer", c.exchange_per_peer);
  add("exchange_per_net_peer", c.exchange_per_net_peer);
  add("exchange_simple", c.exchange_simple);
  add("send_base", c.send_base);
  add("gather_per_peer", c.gather_per_peer);
  add("hierarchical_phase", c.hierarchical_phase);
  add("hierarchical_per_message", c.hierarchical_per_message);
  add("host_per_gpu", c.host_per_gpu);
  add("host_per_pair", c.host_per_pair);
  add("ramp_ll", c.ramp_ll);
  add("ramp_bulk", c.ramp_bulk);
  add("latency_share", c.latency_share);
  add("ramp_exchange", c.ramp_exchange);
  add("ramp_hops", c.ramp_hops);
  add("fill_per_node", c.fill_per_node);
  add("fill_gbps", c.fill_gbps);
  return out;
}

Result<ModelConstants> read_constants(std::string_view text, const std::string& file, const ModelConstants& base,
                                      bool complete) {
  TRY_ASSIGN(const ConfigNode root, parse_yaml(text, file));
  TRY(check_version(root, file));
  ModelConstants out = base;
  const auto fields = fields_of(out);
  for (const ConfigNode::Entry& entry : root.entries) {
    if (entry.key == "version") continue;
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const ConstantField& f) { return f.key == entry.key; });
    if (field == fields.end()) return unknown(entry, fields);
    TRY(read_field(entry.value, *field));
  }
  for (const ConstantField& f : fields) {
    if (complete && root.find(f.key) == nullptr)
      return Error{std::string(f.key) + ": missing, expected " + std::to_string(f.values.size()) + " numbers", file,
                   ""};
  }
  return out;
}

ModelConstants with_launch_scaled(const ModelConstants& constants, double scale) {
  ModelConstants out = constants;
  const double more = (scale - 1) * constants.nccl.ring_base[2];  // of a kernel with Simple
  for (PerProtocol* base : {&out.nccl.ring_base, &out.nccl.tree_base}) {
    for (double& us : *base) us *= scale;
  }
  for (double* whole : {&out.nccl.nvls_intra, &out.nccl.collnet_net}) *whole = std::max(0.0, *whole + more);
  for (double* base : {&out.nccl.pat_base, &out.exchange_base, &out.send_base, &out.hierarchical_phase,
                       &out.host_per_gpu, &out.host_per_pair})
    *base *= scale;
  return out;
}

std::string_view shipped_constants_file() { return kShippedConstantsText; }

const ModelConstants& shipped_constants() {
  static const ModelConstants constants = [] {
    auto read = read_constants(kShippedConstantsText, "configs/collectives/nccl.yaml", ModelConstants{}, true);
    CHECK(read.ok()) << read.error().text();
    return *read;
  }();
  return constants;
}

}  // namespace distsim::collectives
