// Machines for the tests, built from a few facts so that the figures can be worked out on paper.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "base/config/config_node.hpp"
#include "base/config/schema.hpp"
#include "base/file.hpp"
#include "collectives/collective_models.hpp"
#include "test_paths.hpp"

namespace distsim::collectives {

/// 8 GPUs on NVSwitch with 12 links of 25 GB/s, 8 NICs of 200 Gb/s: like a DGX A100.
inline topology::Topology a100_cluster(std::int64_t nodes, const std::string& name = "test_a100") {
  topology::ClusterSpec s;
  s.name = name;
  s.nodes = nodes;
  s.gpus_per_node = 8;
  s.device = "a100_sxm4_40gb";
  s.gpu_links.links_per_gpu = 12;
  s.gpu_links.bandwidth_per_link = BytesPerSecond(25e9);
  s.gpu_links.switches = 6;
  s.nic.count = 8;
  s.nic.bandwidth = BytesPerSecond(25e9);
  auto t = topology::Topology::build(s, 80);
  EXPECT_TRUE(t.ok()) << (t.ok() ? "" : t.error().text());
  return *t;
}

/// A shipped file, read with its schema.
template <class T>
T read_config(const std::string& relative, const Schema<T>& schema) {
  auto node = parse_yaml_file(test::config(relative));
  EXPECT_TRUE(node.ok()) << node.error().text();
  auto value = schema.read(*node);
  EXPECT_TRUE(value.ok()) << relative << ": " << value.error().text();
  return *value;
}

inline std::vector<std::uint32_t> first_ranks(std::uint32_t n) {
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

inline CollectiveModels models_of(const topology::Topology& t, const CollectiveOptions& options = {}) {
  auto m = CollectiveModels::create(t, options);
  EXPECT_TRUE(m.ok()) << (m.ok() ? "" : m.error().text());
  return *m;
}

/// Writes `text` to a fresh file and returns its path.
inline std::string file_with(const std::string& name, const std::string& text) {
  const std::string path = test::scratch_dir("coll_" + name) + "/" + name;
  EXPECT_TRUE(write_file_atomically(path, text).ok());
  return path;
}

/// What two processes of MPI measure between host memories, as collective_bench's text and its JSON say it.
inline std::string host_memory_log() {
  return "# Collective test starting: all_reduce_perf\n#  Rank  0 Group  0 Pid 7 on h device  0 [host] host memory\n"
         "#  Rank  1 Group  0 Pid 8 on h device  0 [host] host memory\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
         "     1048576        262144     float     sum      -1    50.00   20.97   20.97      0    50.00   20.97   20.97      0\n";
}
inline std::string host_memory_json() {
  return R"({"version": 1, "ranks": 2, "nodes": 1, "backend": "Open MPI v4.1.4", "device": "host memory", "tables": [)"
         R"({"collective": "all_reduce", "ranks": 2, "nodes": 1, "rows": [{"size": 1048576, "count": 262144, "type": "float", )"
         R"("out_of_place": {"time_us": 50, "algbw": 20.97, "busbw": 20.97}}]}]})";
}

inline graph::Collective op_of(graph::CollectiveKind kind, std::int64_t bytes) {
  return {kind, bytes, graph::DType::fp32, {}, {}};
}

inline constexpr graph::CollectiveKind kAllKinds[] = {
    graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_gather,   graph::CollectiveKind::reduce_scatter,
    graph::CollectiveKind::all_to_all, graph::CollectiveKind::all_to_all_v, graph::CollectiveKind::broadcast,
    graph::CollectiveKind::reduce,     graph::CollectiveKind::gather,       graph::CollectiveKind::scatter,
    graph::CollectiveKind::send_recv,  graph::CollectiveKind::barrier};

}  // namespace distsim::collectives
