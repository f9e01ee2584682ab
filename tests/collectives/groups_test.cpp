// Groups as jobs have them, on the systems that are shipped: inside a node, rails, uneven nodes, NVLink domains of
// racks, SHARP, PCIe boxes with a NIC a GPU.
#include <gtest/gtest.h>

#include "base/config/config_node.hpp"
#include "collective_fixture.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::collectives {
namespace {

topology::Topology cluster_of(const std::string& system, std::int64_t nodes, bool sharp = false) {
  topology::ClusterSpec spec = read_config("systems/" + system + ".yaml", topology::cluster_schema());
  const topology::DeviceSpec device = read_config("devices/" + spec.device + ".yaml", topology::device_schema());
  spec.nodes = nodes;
  spec.fabric.sharp = sharp;
  auto t = topology::Topology::build(spec, device.compute_capability);
  EXPECT_TRUE(t.ok()) << t.error().text();
  return *t;
}

double price_us(const topology::Topology& t, graph::CollectiveKind kind, std::int64_t bytes,
                const std::vector<std::uint32_t>& members, topology::Siblings siblings = topology::Siblings::idle) {
  CollectiveOptions options;
  options.use_curves = false;
  auto cost = models_of(t, options).price(op_of(kind, bytes), t.facts(members, siblings));
  EXPECT_TRUE(cost.ok()) << cost.error().text();
  return cost->mean.us();
}

constexpr std::int64_t kLarge = std::int64_t{1} << 30;

TEST(Groups, ARailHasOneNicAndSharesItWithNobody) {
  // DGX A100, 4 nodes: rail 3 is GPU 3 of each node with its own NIC of 25 * 0.96 GB/s. A ring of 4 moves 2 * 3/4 of
  // the buffer: 1 GiB takes 68.5 ms at 0.98 of that rate.
  const topology::Topology t = cluster_of("dgx_a100_80gb", 4);
  const std::vector<std::uint32_t> rail{3, 11, 19, 27};
  EXPECT_NEAR(price_us(t, graph::CollectiveKind::all_reduce, kLarge, rail), 1.5 * kLarge / (0.98 * 24e3), 0.05 * 68e3);
  // All eight rails at once: each GPU has a NIC of its own, so nothing changes.
  EXPECT_NEAR(price_us(t, graph::CollectiveKind::all_reduce, kLarge, rail, topology::Siblings::active) /
                  price_us(t, graph::CollectiveKind::all_reduce, kLarge, rail),
              1, 0.001);
  // With 4 NICs for 8 GPUs two rails share one.
  const topology::Topology half = cluster_of("abci_a", 4);
  EXPECT_NEAR(price_us(half, graph::CollectiveKind::all_reduce, kLarge, rail, topology::Siblings::active) /
                  price_us(half, graph::CollectiveKind::all_reduce, kLarge, rail),
              2, 0.1);
}

TEST(Groups, InsideANodeNvlinkDecidesWhicheverGpusTakePart) {
  const topology::Topology t = cluster_of("dgx_a100_80gb", 4);
  const double first = price_us(t, graph::CollectiveKind::all_gather, kLarge, {0, 1, 2, 3}),
               last = price_us(t, graph::CollectiveKind::all_gather, kLarge, {28, 29, 30, 31});
  EXPECT_EQ(first, last);
  EXPECT_LT(first, 0.5 * price_us(t, graph::CollectiveKind::all_gather, kLarge, {0, 8, 16, 24}))
      << "the same ranks, one a node";
}

TEST(Groups, TheFullestNodeDecidesAnUnevenExchange) {
  // 8 + 2 GPUs: what leaves the full node is 8 * 2/10 of the buffer over its 8 NICs; with 5 + 5 it is 5 * 5/10 over 5.
  const topology::Topology t = cluster_of("dgx_a100_80gb", 2);
  const std::vector<std::uint32_t> uneven{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, even{0, 1, 2, 3, 4, 8, 9, 10, 11, 12};
  const double a = price_us(t, graph::CollectiveKind::all_reduce, kLarge, uneven),
               b = price_us(t, graph::CollectiveKind::all_reduce, kLarge, even);
  EXPECT_GT(a, b) << "two NICs of the small node carry the rings";
}

TEST(Groups, ARackOfNvlinkIsOneNode) {
  // GB200 NVL72: 8 trays of 4 GPUs are 32 GPUs without a network between them; the same 32 GPUs on DGX B200 have one.
  const topology::Topology rack = cluster_of("gb200_nvl72", 18), boxes = cluster_of("dgx_b200", 4);
  EXPECT_EQ(rack.facts(first_ranks(32)).nodes, 1u);
  EXPECT_LT(price_us(rack, graph::CollectiveKind::all_reduce, kLarge, first_ranks(32)),
            0.6 * price_us(boxes, graph::CollectiveKind::all_reduce, kLarge, first_ranks(32)));
  // GB300 NVL72 with 64 GPUs reaches 930 GB/s busbw: 16 GiB in 36.4 ms.
  const topology::Topology gb300 = cluster_of("gb300_nvl72", 18);
  EXPECT_NEAR(price_us(gb300, graph::CollectiveKind::all_reduce, std::int64_t{16} << 30, first_ranks(64)), 36.4e3,
              0.15 * 36.4e3);
}

TEST(Groups, SwitchesThatReduceCarryTheDataOnce) {
  // ABCI A, 2 nodes with SHARP: 105 GB/s busbw at 2 GB, where a ring ends at the NICs' 96. Without SHARP there is no
  // such choice.
  const topology::Topology plain = cluster_of("abci_a", 2), sharp = cluster_of("abci_a", 2, true);
  CollectiveOptions options;
  options.use_curves = false;
  options.algorithms = {*read_word("algorithms", "CollnetDirect", nccl_algorithm_words())};
  const graph::Collective op = op_of(graph::CollectiveKind::all_reduce, 2 * kLarge);
  const graph::Cost with = *models_of(sharp, options).price(op, sharp.facts(first_ranks(16)));
  const graph::Cost without = *models_of(plain, options).price(op, plain.facts(first_ranks(16)));
  EXPECT_NEAR(2.0 * kLarge / with.mean.us() / 1000 * 15 / 8, 105, 10);
  EXPECT_EQ(with.source, "NCCL model: collnet Simple");
  EXPECT_EQ(without.source.find("collnet"), std::string_view::npos);
}

TEST(Groups, ANicBesideEachGpuServesPcieNodesToo) {
  // RTX 6000D: 2 nodes reach the NIC's rate, 49.7 GB/s busbw. One node is no slower than two.
  const topology::Topology t = cluster_of("pcie_rtx6000d", 2);
  const double one = price_us(t, graph::CollectiveKind::all_reduce, kLarge, first_ranks(8)),
               two = price_us(t, graph::CollectiveKind::all_reduce, kLarge, first_ranks(16));
  EXPECT_LE(one, 1.02 * two);
  EXPECT_NEAR(kLarge / two / 1000 * 15 / 8, 49.7, 6);
}

std::string curve_of_company(int groups_at_once, double scale) {
  std::string text = "curves { kind: \"all_reduce\" ranks: 4 nodes: 1 launch: \"mpi\"";
  if (groups_at_once > 0) text += " groups_at_once: " + std::to_string(groups_at_once);
  for (const double bytes : {1024.0, 1048576.0, 1073741824.0})
    text += " points { bytes: " + std::to_string(static_cast<std::int64_t>(bytes)) +
            " time_us: " + std::to_string(scale * (20 + bytes / 1e5)) + " }";
  return text + " }\n";
}

double price_with(const std::string& curves, topology::Siblings siblings, std::uint32_t ranks = 4) {
  const topology::Topology t = a100_cluster(2);
  CollectiveOptions options;
  options.curve_files = {
      file_with("company.curve.txtpb", "version: 1 system: \"test_a100\" device: \"a100_sxm4_40gb\"\n" + curves)};
  auto cost = models_of(t, options)
                  .price(op_of(graph::CollectiveKind::all_reduce, 1 << 20), t.facts(first_ranks(ranks), siblings));
  EXPECT_TRUE(cost.ok()) << cost.error().text();
  return cost->mean.us();
}

TEST(Groups, OneShapeAloneAndBesideOthersAreTwoCurves) {
  const double at = 20 + 1048576 / 1e5;
  const std::string both = curve_of_company(2, 3) + curve_of_company(1, 1);
  EXPECT_NEAR(price_with(both, topology::Siblings::idle), at, 0.05 * at);
  EXPECT_NEAR(price_with(both, topology::Siblings::active), 3 * at, 0.05 * 3 * at);
  // The only curve applies to both, and so does a log that does not state it.
  EXPECT_NEAR(price_with(curve_of_company(2, 3), topology::Siblings::idle), 3 * at, 0.05 * 3 * at);
  EXPECT_NEAR(price_with(curve_of_company(0, 2), topology::Siblings::active), 2 * at, 0.01 * at);
  EXPECT_NEAR(price_with(curve_of_company(0, 2), topology::Siblings::idle), 2 * at, 0.01 * at);
}

/// Used as asked for, but said: a curve of host memory, or of another GPU, for this system.
TEST(Groups, CurvesOfAnotherDeviceAreRemarkedUpon) {
  const topology::Topology t = a100_cluster(2);
  const auto remarks = [&](const std::string& device) {
    CollectiveOptions options;
    options.curve_files = {file_with("device.curve.txtpb", "version: 1 system: \"test_a100\" device: \"" + device +
                                                               "\"\n" + curve_of_company(1, 1))};
    return models_of(t, options).remarks();
  };
  EXPECT_TRUE(remarks("NVIDIA A100-SXM4-80GB").empty());
  EXPECT_TRUE(remarks("").empty());
  EXPECT_EQ(remarks("host memory"),
            std::vector<std::string>{"using curves measured on 'host memory' for a100_sxm4_40gb"});
  EXPECT_EQ(remarks("NVIDIA H100 80GB HBM3").size(), 1u);
  EXPECT_EQ(remarks("NVIDIA A100-PCIE-40GB").size(), 1u);
}

/// So are logs of such a run, whatever their author says of the hardware.
TEST(Groups, LogsOfHostMemoryAreRemarkedUpon) {
  const topology::Topology t = a100_cluster(1);
  const auto remarks = [&](const std::string& name, const std::string& text) {
    CollectiveOptions options;
    options.curve_files = {file_with(name, text)};
    return models_of(t, options).remarks();
  };
  const std::vector<std::string> said{"using curves measured on 'host memory' for a100_sxm4_40gb"};
  EXPECT_EQ(remarks("host.log", host_memory_log()), said);
  EXPECT_EQ(remarks("host.log", "# hardware: a node of the new cluster\n" + host_memory_log()), said);
  EXPECT_EQ(remarks("host.json", host_memory_json()), said);
  std::string gpu = host_memory_json();
  gpu.replace(gpu.find("host memory"), 11, "NVIDIA A100-SXM4-40GB");
  EXPECT_TRUE(remarks("gpu.json", gpu).empty());
}

/// A named curve is used whatever its system, and that is said; a sibling that the file speaks for is none.
TEST(Groups, CurvesOfAnotherSystemAreRemarkedUpon) {
  const topology::Topology t = a100_cluster(2);
  const auto remarks = [&](const std::string& head) {
    CollectiveOptions options;
    options.curve_files = {file_with("system.curve.txtpb", "version: 1 " + head + " " + curve_of_company(1, 1))};
    return models_of(t, options).remarks();
  };
  EXPECT_TRUE(remarks("system: \"test_a100\"").empty());
  EXPECT_TRUE(remarks("").empty());
  EXPECT_TRUE(remarks("system: \"other\" also_for: \"test_a100\"").empty());
  EXPECT_EQ(remarks("system: \"other\""), std::vector<std::string>{"using curves of the system 'other' for test_a100"});
  EXPECT_EQ(remarks("system: \"other\" device: \"NVIDIA H200\"").size(), 1u) << "another GPU says it all";
}

TEST(Groups, CurvesThatAreNotUsedAreRemarkedUpon) {
  CollectiveOptions options;
  options.curve_files = {
      file_with("host_2n4r.txt", "# OSU MPI Allreduce Latency Test v5.7\n# Size  Avg Latency(us)\n8 5.5\n")};
  const std::vector<std::string> remarks = models_of(a100_cluster(2), options).remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("host_2n4r.txt: not used: host buffers, not GPU memory"), std::string::npos) << remarks[0];
}

/// Ranks without nodes are taken as a group of as few nodes as hold them, and that is said.
TEST(Groups, NodesThatAreNotStatedAreRemarkedUpon) {
  const topology::Topology t = a100_cluster(2);
  const auto remarks = [&](const std::string& nodes) {
    const std::string row = " 1048576 262144 float sum -1 50.00 20.97 36.70 0 50.00 20.97 36.70 0\n";
    CollectiveOptions options;
    options.curve_files = {file_with("nodes_all_reduce.log", "# " + nodes +
                                                                 " gpus: 8\n# size count type redop root time "
                                                                 "algbw busbw #wrong time algbw busbw #wrong\n" +
                                                                 row)};
    return models_of(t, options).remarks();
  };
  EXPECT_TRUE(remarks("nodes: 1").empty());
  ASSERT_EQ(remarks("").size(), 1u);
  EXPECT_NE(remarks("")[0].find("nodes: not stated for 8 ranks, taken as 1 node, as few as hold them"),
            std::string::npos)
      << remarks("")[0];
}

/// What the reader says of a log is said wherever the log is used: here a size measured twice, far apart.
TEST(Groups, WhatAReaderSaysOfALogIsRemarkedUpon) {
  std::string log =
      "# nccl-tests version 2.13.6 all_reduce_perf\n# nThread 1 nGpus 8 minBytes 1048576 maxBytes 2097152\n#\n# Using "
      "devices\n";
  for (int i = 0; i < 8; ++i)
    log += "#  Rank  " + std::to_string(i) + " Group  0 Pid   100 on    node1 device  " + std::to_string(i) +
           " [0x07] NVIDIA A100-SXM4-80GB\n";
  log +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "     1048576        262144     float     sum      -1    50.00   20.97   36.70      0    50.00   20.97   36.70   0\n"
      "     1048576        262144     float     sum      -1   500.00    2.10    3.67      0   500.00    2.10    3.67   0\n"
      "     2097152        524288     float     sum      -1   300.00    6.99   12.23      0   300.00    6.99   12.23   0\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 17.5333\n#\n";
  CollectiveOptions options;
  options.curve_files = {file_with("twice.log", log)};
  const std::vector<std::string> remarks = models_of(a100_cluster(2), options).remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("B took 50 to 500 us; the median is used"), std::string::npos) << remarks[0];
}

/// The same models are asked twice: what they keep must not answer for the other group.
TEST(Groups, AKeptPriceIsOfOneCompanyAlone) {
  const topology::Topology t = a100_cluster(2);
  CollectiveOptions options;
  options.curve_files = {file_with("kept.curve.txtpb", "version: 1 system: \"test_a100\" device: \"a100_sxm4_40gb\"\n" +
                                                           curve_of_company(2, 3) + curve_of_company(1, 1))};
  const CollectiveModels models = models_of(t, options);
  const auto price = [&](topology::Siblings siblings) {
    return models.price(op_of(graph::CollectiveKind::all_reduce, 1 << 20), t.facts(first_ranks(4), siblings))
        ->mean.us();
  };
  const double idle = price(topology::Siblings::idle), active = price(topology::Siblings::active);
  EXPECT_GT(active, 2 * idle);
}

TEST(Groups, AFullNodeHasNoOthersBesideIt) {
  const topology::Topology t = a100_cluster(2);
  EXPECT_FALSE(t.facts(first_ranks(8), topology::Siblings::active).beside_others);
  EXPECT_TRUE(t.facts(first_ranks(4), topology::Siblings::active).beside_others);
  EXPECT_FALSE(t.facts(first_ranks(4), topology::Siblings::idle).beside_others);
}

}  // namespace
}  // namespace distsim::collectives
