// Random sets of embedding tables in the setting of DreamShard (NeurIPS 2022) and NeuroShard (MLSys 2023): from a pool of
// 856 tables, of which those of facebookresearch/dlrm_datasets are the model (not part of distsim): rows log-uniform from
// 100 to 40 million, pooling factor 200^(u^2) as in sim/study/random_dlrm.hpp, dims drawn from the given ones; batch 65536.
#pragma once

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/random.hpp"
#include "experiment_text.hpp"

namespace distsim::test {

inline const std::vector<int> kNeuroShardDims{4, 8, 16, 32, 64, 128};
inline const std::vector<int> kDreamShardDims{4, 8, 16, 32, 64, 128, 256, 512, 768};

struct TableTask {
  int tables = 100, nodes = 1, gpus_per_node = 8;
  std::uint64_t seed = 1;
  std::vector<int> dims = kDreamShardDims;
  std::string system = "dgx_a100_80gb", framework = "torchrec";
  std::string more;  ///< of the section dlrm
};

inline std::string text_of(const TableTask& task) {
  constexpr std::size_t kPool = 856;
  Random pool_random(2021);
  struct Table {
    long rows;
    double pooling;
    std::uint64_t dim;
  };
  std::vector<Table> pool;
  for (std::size_t i = 0; i < kPool; ++i) {
    const long rows = std::lround(100 * std::pow(4e5, pool_random.uniform()));
    const double u = pool_random.uniform();
    pool.push_back({rows, std::round(100 * std::pow(200, u * u)) / 100, pool_random.next()});
  }
  Random random(Random(task.seed).next() + static_cast<std::uint64_t>(task.tables));
  std::ostringstream out;
  out << "cluster:\n  system: " << task.system << "\n  nodes: " << task.nodes
      << "\n  gpus_per_node: " << task.gpus_per_node
      << "\nmodel:\n  kind: dlrm\n  global_batch: 65536\n  precision: fp32\n  optimizer: sgd\n"
         "  dlrm:\n    bottom_mlp: [512, 128]\n    top_mlp: [512, 256, 1]\n    interaction: concat\n"
      << task.more << "    tables:\n";
  for (int i = 0; i < task.tables; ++i) {  // without replacement, until the pool has been through
    const std::size_t k = static_cast<std::size_t>(i) % kPool;
    if (k + 1 < kPool) std::swap(pool[k], pool[k + random.below(kPool - k)]);
    out << "      - {rows: " << pool[k].rows << ", pooling_factor: " << pool[k].pooling
        << ", dim: " << task.dims[pool[k].dim % task.dims.size()] << "}\n";
  }
  out << "framework: {name: " << task.framework << "}\n";
  return out.str();
}

}  // namespace distsim::test
