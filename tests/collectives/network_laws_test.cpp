// Laws of prices on every shipped system with its curves: a better link is never slower, more bytes never cost less,
// more nodes never cost less at the same size, and nothing jumps where a curve begins or ends.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "collective_fixture.hpp"
#include "collectives/algorithms/algorithm.hpp"
#include "collectives/curves/curve_library.hpp"
#include "collectives/curves/link_limits.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::collectives {
namespace {

using graph::CollectiveKind;

constexpr double kSlack = 1.001;  // a tenth of a percent
const std::vector<double> kSizes{8, 4096, 65536, 1 << 20, 12e6, 1 << 28, 4e9};

struct System {
  std::string name;
  topology::ClusterSpec spec;
  std::int64_t capability;
};

std::vector<System> all_systems() {
  std::vector<System> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::config("systems"))) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = entry.path().stem().string();
    const topology::ClusterSpec spec = read_config("systems/" + name + ".yaml", topology::cluster_schema());
    const topology::DeviceSpec device = read_config("devices/" + spec.device + ".yaml", topology::device_schema());
    out.push_back({name, spec, device.compute_capability});
  }
  return out;
}

bool has_network(const System& s) { return s.spec.nic.count > 0 && s.spec.gpu_links.domain_nodes <= 1; }

topology::Topology built(const System& s, std::int64_t nodes) {
  topology::ClusterSpec spec = s.spec;
  spec.nodes = std::max<std::int64_t>(nodes, spec.gpu_links.domain_nodes);
  return *topology::Topology::build(spec, s.capability);
}

CollectiveModels with_curves(const topology::Topology& t) {
  CollectiveOptions options;
  options.curve_dirs = {test::config("curves")};
  return models_of(t, options);
}

graph::Cost cost_of(const CollectiveModels& models, CollectiveKind kind, const topology::GroupFacts& facts,
                    double bytes) {
  return *models.price({kind, static_cast<std::int64_t>(bytes), graph::DType::fp32, {}, {}}, facts);
}

/// An NVLink domain that the job does not fill has few NICs, but few GPUs that use them, too.
/// A way across nodes is none in one of them: prices there, and what they are taken from, are those without it.
TEST(NetworkLaws, AnExchangeAcrossNodesChangesNothingInsideOne) {
  for (const System& s : all_systems()) {
    if (s.spec.gpu_links.domain_nodes > 1) continue;
    const topology::Topology t = built(s, 1);
    std::vector<std::uint32_t> all(t.ranks());
    std::iota(all.begin(), all.end(), 0u);
    const auto with = [&](Exchange way) {
      CollectiveOptions options;
      options.curve_dirs = {test::config("curves")};
      options.exchange = way;
      return models_of(t, options);
    };
    const CollectiveModels grouped = with(Exchange::grouped);
    for (const Exchange way : {Exchange::hierarchical, Exchange::rdma}) {
      const CollectiveModels other = with(way);
      for (const double bytes : kSizes) {
        const graph::Cost a = cost_of(grouped, CollectiveKind::all_to_all, t.facts(all), bytes),
                          b = cost_of(other, CollectiveKind::all_to_all, t.facts(all), bytes);
        EXPECT_EQ(a.mean, b.mean) << s.name << " " << bytes;
        EXPECT_EQ(a.basis, b.basis) << s.name << " " << bytes;
      }
    }
  }
}

/// Of a job on one node: whether its NIC reads the memory of GPUs is nobody's business there.
TEST(NetworkLaws, AnAdapterChangesNothingInsideANode) {
  for (const System& s : all_systems()) {
    if (!has_network(s) || !s.spec.gpu_links.has_nvlink()) continue;
    System other = s;
    other.spec.nic.gpu_direct = !s.spec.nic.gpu_direct;
    const topology::Topology t = built(s, 1), u = built(other, 1);
    std::vector<std::uint32_t> all(t.ranks());
    std::iota(all.begin(), all.end(), 0u);
    for (const bool curves : {false, true}) {
      const CollectiveModels a = curves ? with_curves(t) : models_of(t), b = curves ? with_curves(u) : models_of(u);
      for (const CollectiveKind kind :
           {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
        for (const double bytes : kSizes)
          EXPECT_EQ(cost_of(a, kind, t.facts(all), bytes).mean, cost_of(b, kind, u.facts(all), bytes).mean)
              << s.name << " " << bytes;
      }
    }
  }
}

TEST(NetworkLaws, APartOfAnNvlinkDomainDoesNotHoldUpAnExchange) {
  for (const System& s : all_systems()) {
    const std::int64_t domain = s.spec.gpu_links.domain_nodes;
    if (domain < 2) continue;
    const topology::Topology t = built(s, 8 * domain);
    const CollectiveModels models = with_curves(t);
    const auto exchange_of = [&](std::int64_t nodes) {
      std::vector<std::uint32_t> members(static_cast<std::size_t>(nodes) * t.gpus_per_node());
      std::iota(members.begin(), members.end(), 0u);
      return cost_of(models, CollectiveKind::all_to_all, t.facts(members), 1 << 28).mean.us();
    };
    for (const std::int64_t domains : {2, 3, 7}) {
      const double full = exchange_of(domains * domain), next = exchange_of((domains + 1) * domain);
      for (const std::int64_t more : {std::int64_t{1}, domain / 2, domain - 1}) {
        EXPECT_GT(exchange_of(domains * domain + more), 0.95 * full) << s.name << ", " << domains << " and " << more;
        // Of a small part's bytes nearly all cross, of a full domain's (domains - 1) / domains.
        EXPECT_LT(exchange_of(domains * domain + more), 1.5 * next) << s.name << ", " << domains << " and " << more;
      }
    }
  }
}

/// Carried from two trays to more, a curve made them cheaper.
TEST(NetworkLaws, MoreGpusOfAnNvlinkDomainNeverReduceFasterThanTheNearestThatWereMeasured) {
  for (const System& s : all_systems()) {
    const std::int64_t domain = s.spec.gpu_links.domain_nodes;
    if (domain < 3) continue;
    const topology::Topology t = built(s, domain);
    const CollectiveModels models = with_curves(t);
    for (const double bytes : kSizes) {
      double least = 0;
      for (std::int64_t nodes = 1; nodes <= domain; ++nodes) {
        const auto ranks = static_cast<std::uint32_t>(nodes) * t.gpus_per_node();
        const graph::Cost cost = cost_of(models, CollectiveKind::all_reduce, t.facts(first_ranks(ranks)), bytes);
        const bool measured = cost.basis == graph::Basis::measured;
        EXPECT_TRUE(measured || cost.mean.us() * kSlack >= least) << s.name << ", " << bytes << " on " << nodes;
        if (measured) least = cost.mean.us();
      }
    }
  }
}

/// A job has as few domains as hold it, in nearly equal parts. Latency is another matter: NCCL's rings and trees take more
/// steps within a larger domain, which small all-reduces feel.
TEST(NetworkLaws, ALargerNvlinkDomainIsNeverSlower) {
  for (const System& s : all_systems()) {
    if (s.name != "dgx_a100_80gb" && s.name != "dgx_h100" && s.name != "gb200_nvl72") continue;
    for (std::int64_t nodes = 1; nodes <= 24; ++nodes) {
      std::map<std::pair<CollectiveKind, double>, double> least;
      for (std::int64_t domain = 1; domain <= nodes; ++domain) {
        topology::ClusterSpec spec = s.spec;
        spec.nodes = nodes;
        spec.gpu_links.domain_nodes = domain;
        const topology::Topology t = *topology::Topology::build(spec, s.capability);
        const CollectiveModels models = models_of(t);
        const topology::GroupFacts facts = t.facts(first_ranks(t.ranks()));
        for (const CollectiveKind kind : {CollectiveKind::all_to_all, CollectiveKind::all_reduce}) {
          for (const double bytes : kSizes) {
            if (kind == CollectiveKind::all_reduce && bytes < kSizes.back()) continue;
            const double us = cost_of(models, kind, facts, bytes).mean.us();
            const auto at = least.try_emplace({kind, bytes}, us).first;
            EXPECT_LE(us, at->second * kSlack)
                << s.name << " " << graph::name_of(kind) << " of " << bytes << " on " << nodes << " in " << domain;
            at->second = std::min(at->second, us);
          }
        }
      }
    }
  }
}

bool is_measured(graph::Basis basis) {
  return basis == graph::Basis::measured || basis == graph::Basis::interpolated || basis == graph::Basis::extrapolated;
}

/// As the models price all collectives of NCCL on such groups of the first nodes; `free`: with all that NCCL may choose from,
/// which tells the groups that were measured.
void expect_more_nodes_cost_no_less(const CollectiveModels& models, const CollectiveModels& free,
                                    const topology::Topology& t, const std::vector<std::uint32_t>& node_counts) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::broadcast, CollectiveKind::reduce}) {
    std::vector<double> most(kSizes.size(), 0);
    for (const std::uint32_t nodes : node_counts) {
      const topology::GroupFacts facts = t.facts(first_ranks(nodes * t.gpus_per_node()));
      for (std::size_t i = 0; i < kSizes.size(); ++i) {
        const graph::Cost c = cost_of(models, kind, facts, kSizes[i]);
        if (!is_measured(cost_of(free, kind, facts, kSizes[i]).basis)) {
          EXPECT_GE(c.mean.us() * kSlack, most[i]) << graph::name_of(kind) << " " << nodes << " " << kSizes[i];
        }
        most[i] = std::max(most[i], c.mean.us());
      }
    }
  }
}

TEST(NetworkLaws, MoreNodesNeverCostLessUnlessMeasuredSo) {
  for (const System& s : all_systems()) {
    if (!has_network(s)) continue;
    SCOPED_TRACE(s.name);
    const topology::Topology t = built(s, 128);
    const CollectiveModels models = with_curves(t);
    expect_more_nodes_cost_no_less(models, models, t, {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128});
  }
}

/// Each group has another share of what NCCL would take, and so another ratio of what it may to that.
TEST(NetworkLaws, MoreNodesNeverCostLessWithAStatedProtocol) {
  for (const System& s : all_systems()) {
    if (!has_network(s)) continue;
    SCOPED_TRACE(s.name);
    const topology::Topology t = built(s, 128);
    const CollectiveModels free = with_curves(t);
    for (const Protocol protocol : kProtocols) {
      CollectiveOptions options;
      options.curve_dirs = {test::config("curves")};
      options.protocols = {protocol};
      expect_more_nodes_cost_no_less(models_of(t, options), free, t, {2, 4, 8, 32, 48, 64, 96, 128});
    }
  }
}

/// A curve of the user weighs most on larger groups too, also where the system has one of the very group.
TEST(NetworkLaws, MoreNodesThanTheUserMeasuredCostNoLess) {
  for (const System& s : all_systems()) {
    if (s.name != "abci_a") continue;
    const topology::Topology t = built(s, 8);
    CollectiveOptions options;
    options.curve_dirs = {test::config("curves")};
    options.curve_files = {
        file_with("slow.curve.txtpb",
                  "version: 1 curves { kind: \"all_reduce\" ranks: 16 nodes: 2 launch: \"mpi\" points { bytes: 1048576 "
                  "time_us: 1500 } points { bytes: 16777216 time_us: 24347 } }\n")};
    const CollectiveModels models = models_of(t, options);
    const auto us = [&](std::uint32_t nodes) {
      return cost_of(models, CollectiveKind::all_reduce, t.facts(first_ranks(8 * nodes)), 1 << 24).mean.us();
    };
    EXPECT_NEAR(us(2), 24347, 2500);  // of two points, smoothed
    EXPECT_GE(us(8) * kSlack, us(2));
    return;
  }
  FAIL() << "no abci_a";
}

/// What NCCL is not allowed costs nothing where it would not have taken it, and never makes it faster.
TEST(NetworkLaws, ARestrictedChoiceCostsAtLeastTheFreeOneUnlessMeasured) {
  for (const System& s : all_systems()) {
    if (!has_network(s)) continue;
    const topology::Topology t = built(s, 8);
    const CollectiveModels free = with_curves(t);
    for (const AlgorithmInfo* algorithm : algorithms()) {
      if (algorithm->exchange || algorithm->reduction) continue;
      CollectiveOptions options;
      options.curve_dirs = {test::config("curves")};
      options.algorithms = {algorithm};
      const CollectiveModels restricted = models_of(t, options);
      for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter}) {
        for (const std::uint32_t nodes : {3u, 8u}) {
          const topology::GroupFacts facts = t.facts(first_ranks(nodes * t.gpus_per_node()));
          for (const double bytes : kSizes) {
            const double us = cost_of(free, kind, facts, bytes).mean.us();
            const graph::Cost c = cost_of(restricted, kind, facts, bytes);
            EXPECT_TRUE(is_measured(c.basis) || c.mean.us() * kSlack >= us)
                << s.name << " " << graph::name_of(kind) << " " << algorithm->name << " " << nodes << " " << bytes;
          }
        }
      }
    }
  }
}

TEST(NetworkLaws, ToForceWhatNcclChoosesChangesNothing) {
  const auto us_of = [](const char* system, CollectiveKind kind, std::uint32_t nodes, double bytes,
                        const CollectiveOptions& choice) {
    for (const System& s : all_systems()) {
      if (s.name != system) continue;
      CollectiveOptions options = choice;
      options.curve_dirs = {test::config("curves")};
      const topology::Topology t = built(s, nodes);
      return cost_of(models_of(t, options), kind, t.facts(first_ranks(t.ranks())), bytes).mean.us();
    }
    return 0.0;
  };
  CollectiveOptions simple, ll128;
  simple.protocols = {Protocol::simple};
  ll128.protocols = {Protocol::ll128};
  const double tree = us_of("dgx_h100", CollectiveKind::all_reduce, 8, 1 << 26, {});
  EXPECT_GT(tree, 0);
  EXPECT_DOUBLE_EQ(us_of("dgx_h100", CollectiveKind::all_reduce, 8, 1 << 26, simple), tree);
  const double ring = us_of("abci_a", CollectiveKind::reduce_scatter, 5, 43556136, {});
  EXPECT_GT(ring, 0);
  EXPECT_DOUBLE_EQ(us_of("abci_a", CollectiveKind::reduce_scatter, 5, 43556136, ll128), ring);
}

TEST(NetworkLaws, OneProcessForAllGpusOfANodeIsNeverFasterUnlessMeasured) {
  for (const System& s : all_systems()) {
    const topology::Topology t = built(s, has_network(s) ? 8 : 1);
    const CollectiveModels each = with_curves(t);
    CollectiveOptions options;
    options.curve_dirs = {test::config("curves")};
    options.launch = Launch::single_process;
    const CollectiveModels one = models_of(t, options);
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::broadcast,
                                      CollectiveKind::reduce_scatter, CollectiveKind::all_to_all}) {
      for (const std::uint32_t ranks : std::set<std::uint32_t>{t.gpus_per_node(), t.ranks()}) {
        if (ranks < 2) continue;
        const topology::GroupFacts facts = t.facts(first_ranks(ranks));
        for (const double bytes : kSizes) {
          const graph::Cost c = cost_of(one, kind, facts, bytes);
          EXPECT_TRUE(is_measured(c.basis) || c.mean.us() * kSlack >= cost_of(each, kind, facts, bytes).mean.us())
              << s.name << " " << graph::name_of(kind) << " " << ranks << " " << bytes;
        }
      }
    }
  }
}

/// What a curve of another system or kind shows of the links does not make them carry more than they can.
TEST(NetworkLaws, NoPriceIsAboveWhatTheLinksCarryUnlessMeasured) {
  for (const System& s : all_systems()) {
    if (!has_network(s)) continue;
    const topology::Topology t = built(s, 8);
    const CollectiveModels models = with_curves(t);
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
          CollectiveKind::broadcast, CollectiveKind::reduce}) {
      for (const std::uint32_t nodes : {1u, 2u, 3u, 8u}) {
        const std::uint32_t ranks = nodes * t.gpus_per_node();
        if (ranks < 2) continue;
        const topology::GroupFacts facts = t.facts(first_ranks(ranks));
        const double most = highest_busbw(kind, facts);
        for (const double bytes : {1e9, 7.5e9, 64e9}) {
          const graph::Cost c = cost_of(models, kind, facts, bytes);
          if (is_measured(c.basis)) continue;
          EXPECT_LE(bytes * graph::busbw_factor(kind, ranks) / c.mean.seconds(), most * kSlack)
              << s.name << " " << graph::name_of(kind) << " " << nodes << " " << bytes;
        }
      }
    }
  }
}

TEST(NetworkLaws, MoreBytesNeverCostLessAndNothingJumps) {
  for (const System& s : all_systems()) {
    const topology::Topology t = built(s, has_network(s) ? 4 : 1);
    const CollectiveModels models = with_curves(t);
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                      CollectiveKind::all_to_all, CollectiveKind::broadcast}) {
      for (const std::uint32_t nodes : {1u, 2u, 4u}) {
        const std::uint32_t ranks = nodes * t.gpus_per_node();
        if (ranks < 2 || nodes > t.nodes()) continue;
        const topology::GroupFacts facts = t.facts(first_ranks(ranks));
        double before = 0;
        for (double bytes = 1024; bytes < 64e9; bytes *= 1.01) {
          const double us = cost_of(models, kind, facts, bytes).mean.us();
          ASSERT_GE(us * (1 + 1e-9), before) << s.name << " " << graph::name_of(kind) << " " << ranks << " " << bytes;
          if (before > 0) {
            ASSERT_LT(us, 1.2 * before) << s.name << " " << graph::name_of(kind) << " " << ranks << " " << bytes;
          }
          before = us;
        }
      }
    }
  }
}

/// Just below and just above every measured size of every shipped curve the price is that of the size.
TEST(NetworkLaws, NothingJumpsAtAMeasuredSize) {
  CollectiveOptions options;
  options.curve_dirs = {test::config("curves")};
  std::size_t points = 0;
  for (const System& s : all_systems()) {
    const topology::Topology t = built(s, 1);
    const auto library = load_curves(t, options, shipped_constants());
    ASSERT_TRUE(library.ok()) << s.name;
    const CollectiveModels models = with_curves(t);
    for (const LibraryCurve& c : *library) {
      if (c.facts.ranks < 2) continue;
      for (const CurvePoint& p : c.curve.points) {
        if (p.bytes < 1e6) continue;  // a byte is no small change
        const double us = cost_of(models, c.curve.kind, c.facts, p.bytes).mean.us();
        for (const double next : {p.bytes - 1, p.bytes + 1})
          ASSERT_NEAR(cost_of(models, c.curve.kind, c.facts, next).mean.us() / us, 1, 1e-4)
              << s.name << " " << graph::name_of(c.curve.kind) << " " << c.facts.ranks << " " << p.bytes;
        ++points;
      }
    }
  }
  EXPECT_GT(points, 500u);
}

/// One figure of the links, made better by a factor.
struct Better {
  const char* name;
  void (*apply)(topology::ClusterSpec&, double);
};
const Better kBetter[] = {
    {"NIC bandwidth",
     [](topology::ClusterSpec& s, double f) { s.nic.bandwidth = BytesPerSecond(s.nic.bandwidth.value() * f); }},
    {"NIC latency",
     [](topology::ClusterSpec& s, double f) {
       s.nic.latency = Duration::picoseconds(static_cast<std::int64_t>(static_cast<double>(s.nic.latency.ps()) / f));
     }},
    {"NICs", [](topology::ClusterSpec& s,
                double f) { s.nic.count = static_cast<std::int64_t>(static_cast<double>(s.nic.count) * f); }},
    {"NVLink bandwidth",
     [](topology::ClusterSpec& s, double f) {
       s.gpu_links.bandwidth_per_link = BytesPerSecond(s.gpu_links.bandwidth_per_link.value() * f);
     }},
    {"NVLink latency",
     [](topology::ClusterSpec& s, double f) {
       s.gpu_links.latency =
           Duration::picoseconds(static_cast<std::int64_t>(static_cast<double>(s.gpu_links.latency.ps()) / f));
     }},
    {"PCIe bandwidth",
     [](topology::ClusterSpec& s, double f) { s.pcie.bandwidth = BytesPerSecond(s.pcie.bandwidth.value() * f); }},
    {"CPU interconnect",
     [](topology::ClusterSpec& s, double f) {
       s.pcie.cpu_interconnect = BytesPerSecond(s.pcie.cpu_interconnect.value() * f);
     }},
};

/// Data that is staged in host memory passes the links that peers use, and the memory beside.
TEST(NetworkLaws, PeerAccessIsNeverSlowerThanStaging) {
  for (const System& s : all_systems()) {
    if (s.spec.gpu_links.has_nvlink() || s.spec.gpus_per_node < 2) continue;
    for (const std::int64_t sockets : {1, 2}) {
      for (const std::int64_t per_switch : {1, 2, 4}) {
        System staged = s;
        staged.spec.host.sockets = sockets;
        staged.spec.pcie.gpus_per_switch = per_switch;
        staged.spec.pcie.peer_to_peer = false;
        System peers = staged;
        peers.spec.pcie.peer_to_peer = true;
        const std::int64_t nodes = has_network(s) ? 4 : 1;
        const topology::Topology slow = built(staged, nodes), fast = built(peers, nodes);
        const CollectiveModels slow_models = with_curves(slow), fast_models = with_curves(fast);
        for (const std::uint32_t ranks : {2u, slow.gpus_per_node(), slow.ranks()}) {
          for (const CollectiveKind kind :
               {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
            for (const double bytes : kSizes)
              EXPECT_LE(cost_of(fast_models, kind, fast.facts(first_ranks(ranks)), bytes).mean.us(),
                        kSlack * cost_of(slow_models, kind, slow.facts(first_ranks(ranks)), bytes).mean.us())
                  << s.name << " " << sockets << " sockets, " << per_switch << " a switch, " << graph::name_of(kind)
                  << " " << ranks << " ranks " << bytes;
          }
        }
      }
    }
  }
}

/// Curves of NCCL's free choice, and a choice that it is refused: the ratio of the two models falls faster than they rise.
TEST(NetworkLaws, ALargerMessageIsNeverCheaperWhateverNcclIsRefused) {
  const topology::ClusterSpec spec = read_config("systems/dgx_h100.yaml", topology::cluster_schema());
  using Refused = std::pair<const char*, std::vector<Protocol>>;
  for (const auto& [algorithm, protocols] : {Refused{"Tree", {Protocol::simple}}, Refused{"Ring", {Protocol::ll}},
                                             Refused{"Ring", {Protocol::simple}}, Refused{"Ring", {}}}) {
    CollectiveOptions options;
    options.curve_dirs = {test::config("curves")};
    options.algorithms = {*read_word("algorithms", algorithm, nccl_algorithm_words())};
    options.protocols = protocols;
    for (const std::int64_t nodes : {2, 512}) {
      const topology::Topology t = built({"dgx_h100", spec, 90}, nodes);
      const CollectiveModels models = models_of(t, options);
      for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
        double before = 0;
        for (double bytes = 8; bytes < 1e10; bytes *= 2) {
          const double us = cost_of(models, kind, t.facts(first_ranks(t.ranks())), bytes).mean.us();
          EXPECT_GE(us, before / kSlack) << algorithm << ", " << protocols.size() << " protocols, " << nodes
                                         << " nodes, " << bytes;
          before = us;
        }
      }
    }
  }
}

/// What a root sends or receives passes its PCIe port, from the own node and from the others.
TEST(NetworkLaws, ARootWithoutNvlinkIsNoFasterThanItsPort) {
  constexpr double kBytes = 1 << 30;
  for (const System& s : all_systems()) {
    if (s.spec.gpu_links.has_nvlink() || !has_network(s)) continue;
    for (const std::int64_t nodes : {2, 3, 6}) {
      const topology::Topology t = built(s, nodes);
      const double from_others = kBytes * (t.ranks() - 1) / t.ranks();
      for (const CollectiveKind kind : {CollectiveKind::gather, CollectiveKind::scatter}) {
        const double us = cost_of(with_curves(t), kind, t.facts(first_ranks(t.ranks())), kBytes).mean.us();
        EXPECT_LE(from_others / (us * 1e-6), s.spec.pcie.bandwidth.value())
            << s.name << ", " << nodes << " nodes, " << graph::name_of(kind);
      }
    }
  }
}

TEST(NetworkLaws, ABetterLinkIsNeverSlower) {
  for (const System& s : all_systems()) {
    const std::int64_t nodes = has_network(s) ? 4 : 1;
    const topology::Topology now = built(s, nodes);
    const CollectiveModels models = with_curves(now);
    for (const Better& better : kBetter) {
      for (const double factor : {1.01, 1.1, 2.0, 4.0}) {
        System improved = s;
        better.apply(improved.spec, factor);
        const topology::Topology then = built(improved, nodes);
        const CollectiveModels with_better = with_curves(then);
        for (const std::uint32_t group : std::set<std::uint32_t>{1, std::min(4u, now.nodes()), now.nodes()}) {
          const std::uint32_t ranks = group * now.gpus_per_node();
          if (ranks < 2) continue;
          for (const CollectiveKind kind :
               {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all}) {
            for (const double bytes : kSizes) {
              const graph::Cost cost_now = cost_of(models, kind, now.facts(first_ranks(ranks)), bytes),
                                cost_then = cost_of(with_better, kind, then.facts(first_ranks(ranks)), bytes);
              const double before = cost_now.mean.us(), after = cost_then.mean.us();
              EXPECT_LE(cost_then.channels * after, kSlack * cost_now.channels * before)
                  << "takes SMs for longer: " << s.name << " " << better.name << " x" << factor << " "
                  << graph::name_of(kind) << " " << ranks << " ranks " << bytes;
              EXPECT_LE(after, kSlack * before) << s.name << " " << better.name << " x" << factor << " "
                                                << graph::name_of(kind) << " " << ranks << " ranks " << bytes;
              if (factor < 1.05) {
                EXPECT_GE(after, before / 1.2) << s.name << " " << better.name << " " << bytes;
              }
            }
          }
        }
      }
    }
  }
}

/// Inside a node without NVLink NCCL takes the GPUs' own NICs where PCIe is slower: no link of either way is better slower,
/// and a NIC far away is no way.
TEST(NetworkLaws, BetterPcieAndNearerNicsAreNeverSlowerInsideANode) {
  for (System s : all_systems()) {
    if (s.spec.gpu_links.has_nvlink() || !has_network(s) || s.spec.nic.count < s.spec.gpus_per_node) continue;
    CollectiveOptions options;
    options.use_curves = false;
    const auto price = [&](double pcie, double nic_us, double bytes) {
      System other = s;
      other.spec.pcie.bandwidth = BytesPerSecond(pcie * s.spec.pcie.bandwidth.value());
      other.spec.pcie.cpu_interconnect = BytesPerSecond(pcie * s.spec.pcie.cpu_interconnect.value());
      other.spec.nic.latency = Duration::microseconds(static_cast<std::int64_t>(nic_us));
      const topology::Topology t = built(other, 1);
      const auto members = first_ranks(static_cast<std::uint32_t>(s.spec.gpus_per_node));
      return cost_of(models_of(t, options), CollectiveKind::all_reduce, t.facts(members), bytes).mean.us();
    };
    for (const double bytes : {8., 65536., 1e6, 16e6, 256e6}) {
      double before = price(0.5, 3, bytes);
      for (const double pcie : {0.9, 1., 1.2, 1.4, 1.6, 2., 3., 4., 8.}) {
        const double now = price(pcie, 3, bytes);
        EXPECT_LE(now, before * kSlack) << s.name << " " << bytes << " " << pcie;
        before = now;
      }
      EXPECT_GE(price(1, 900, bytes), price(1, 3, bytes)) << s.name << " " << bytes;
      EXPECT_GE(price(1, 3, bytes), price(1, 1, bytes)) << s.name << " " << bytes;
    }
  }
}

/// One GPU in each node has no link within it, whatever its rate: prices are those of the network.
std::vector<std::uint32_t> first_of_each_node(const topology::Topology& t, std::uint32_t nodes) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t node = 0; node < nodes; ++node) members.push_back(node * t.gpus_per_node());
  return members;
}

TEST(NetworkLaws, OneGpuInEachNodeCostsWhatItsNicTakes) {
  constexpr double kFarBelow = 30;  // of a NIC: LL, TCP and host memory on the way
  for (const System& s : all_systems()) {
    if (!has_network(s)) continue;
    for (const std::uint32_t nodes : {2u, 4u, 20u}) {
      const topology::Topology t = built(s, nodes);
      const topology::GroupFacts facts = t.facts(first_of_each_node(t, nodes));
      for (const bool curves : {false, true}) {
        const CollectiveModels models = curves ? with_curves(t) : models_of(t);
        for (const CollectiveKind kind : kAllKinds) {
          const double least = cost_of(models, kind, facts, 8).mean.us();
          EXPECT_LT(least, 2000) << s.name << " " << graph::name_of(kind) << " " << nodes;
          for (const double bytes : kSizes) {
            const double nic_us = 2 * bytes / facts.node_bandwidth.value() * 1e6;
            EXPECT_LT(cost_of(models, kind, facts, bytes).mean.us(), kFarBelow * (least + nic_us))
                << s.name << " " << graph::name_of(kind) << " " << nodes << " " << bytes;
          }
        }
      }
    }
  }
}

TEST(NetworkLaws, TheNetworkLimitsOneGpuInEachNode) {
  const topology::Topology t = a100_cluster(4);
  const Channels c = channels_of(t.facts(first_of_each_node(t, 4)), ModelConstants{});
  for (const CollectiveKind kind : kAllKinds) {
    if (kind == CollectiveKind::barrier) continue;
    for (const Candidate& x : candidates_for(kind, c)) EXPECT_EQ(x.limit, "network") << graph::name_of(kind);
  }
}

/// A curve of one GPU in each of four nodes, carried to other numbers of them by the ratio of the model.
TEST(NetworkLaws, ACurveOfOneGpuInEachNodeIsCarriedToOthers) {
  std::string log = "# nodes: 4  ranks: 4\n# OSU MPI-CUDA Gather Latency Test v7.3\n# Size       Avg Latency(us)\n";
  for (int bytes = 4; bytes <= 1 << 20; bytes *= 2)
    log += std::to_string(bytes) + "    " + std::to_string(30 + 4 * bytes / 2000) + ".00\n";
  CollectiveOptions options;
  options.curve_files = {file_with("one_gpu_each.log", log)};
  for (const std::uint32_t nodes : {2u, 3u, 8u}) {
    const topology::Topology t = a100_cluster(8);
    const CollectiveModels models = models_of(t, options);
    for (const double bytes : {100., 65536., 1e6, 64e6}) {
      const double us = cost_of(models, CollectiveKind::gather, t.facts(first_of_each_node(t, nodes)), bytes).mean.us();
      EXPECT_GT(us, 5) << nodes << " " << bytes;
      EXPECT_LT(us, 10 * (60 + bytes / 2000)) << nodes << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace distsim::collectives
