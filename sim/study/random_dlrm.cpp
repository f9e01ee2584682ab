#include "sim/study/random_dlrm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.hpp"
#include "base/text/csv.hpp"
#include "base/text/number_text.hpp"
#include "sim/workload/dlrm/dlrm_plan.hpp"

namespace distsim::study {
namespace {

constexpr double kLeastTables = 9.1, kMostTables = 16.9;  // per GPU
constexpr double kHeavyPooling = 20;
constexpr double kMemoryShare = 0.8;
constexpr std::array<std::int64_t, 4> kWidths{32, 64, 128, 256};
constexpr std::size_t kPoolTables = 856;
constexpr double kLeastRows = 100, kMostRows = 40e6, kMostPooling = 200;
constexpr std::uint64_t kPoolSeed = 2021;  // of the stand-in: one pool, whatever the tasks' seed
constexpr int kMostDraws = 1000;

std::vector<PoolTable> stand_in_pool() {
  Random random(kPoolSeed);
  std::vector<PoolTable> pool(kPoolTables);
  for (PoolTable& t : pool) {
    t.rows = std::llround(kLeastRows * std::pow(kMostRows / kLeastRows, random.uniform()));
    const double u = random.uniform();
    t.pooling_factor = std::round(100 * std::pow(kMostPooling, u * u)) / 100;
  }
  return pool;
}

struct Draw {
  std::vector<PoolTable> tables;
  std::vector<std::int64_t> widths;

  std::int64_t bytes_of(std::size_t i) const { return tables[i].rows * widths[i] * 4; }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < tables.size(); ++i) sum += bytes_of(i);
    return sum;
  }
  double mean_pooling() const {
    double sum = 0;
    for (const PoolTable& t : tables) sum += t.pooling_factor;
    return sum / static_cast<double>(tables.size());
  }
};

class Generator {
 public:
  explicit Generator(const RandomDlrmRequest& request)
      : r_(request), pool_(request.pool.empty() ? stand_in_pool() : request.pool) {
    const double gpus = static_cast<double>(request.cluster.nodes * request.cluster.gpus_per_node);
    least_ = static_cast<std::uint64_t>(kLeastTables * gpus);
    most_ = static_cast<std::uint64_t>(kMostTables * gpus) - 1;  // the published range ends before it
    gpu_bytes_ = kMemoryShare * static_cast<double>(request.device.hbm.capacity.value());
    memory_ = gpu_bytes_ * gpus;
  }

  Result<void> check() const {
    if (pool_.size() >= most_) return {};
    return Error{"tables: found a pool of " + std::to_string(pool_.size()) + ", expected at least " +
                     std::to_string(most_) + " for this number of GPUs",
                 "", ""};
  }

  Result<RandomDlrm> task(std::uint32_t index) const {
    // Streams of different tasks are apart: the seed is mixed before the number is added.
    Random random(Random(r_.seed).next() + index);
    const bool heavy = index % 2 == 0;
    for (int i = 0; i < kMostDraws; ++i) {
      const Draw draw = drawn(random);
      if ((draw.mean_pooling() >= kHeavyPooling) == heavy && fits(draw)) return written(draw, index, heavy);
    }
    return Error{std::string("tables: found no ") + (heavy ? "heavy" : "light") + " set of " + std::to_string(least_) +
                     " to " + std::to_string(most_) + " tables in " + std::to_string(kMostDraws) + " draws that fits " +
                     r_.device.name + ", expected one",
                 r_.system, "use more GPUs or another pool"};
  }

 private:
  Draw drawn(Random& random) const {
    Draw draw;
    draw.tables = pool_;
    const std::uint64_t n = least_ + random.below(most_ - least_ + 1);
    for (std::uint64_t i = 0; i < n; ++i) std::swap(draw.tables[i], draw.tables[i + random.below(pool_.size() - i)]);
    draw.tables.resize(n);
    draw.widths.assign(n, kWidths[random.below(kWidths.size())]);
    for (std::int64_t& w : draw.widths) {
      if (r_.mixed_widths) w = kWidths[random.below(kWidths.size())];
    }
    return draw;
  }

  /// In all, and every table on one GPU.
  bool fits(const Draw& draw) const {
    for (std::size_t i = 0; i < draw.tables.size(); ++i) {
      if (static_cast<double>(draw.bytes_of(i)) > gpu_bytes_) return false;
    }
    return static_cast<double>(draw.bytes()) <= memory_;
  }

  RandomDlrm written(const Draw& draw, std::uint32_t index, bool heavy) const {
    RandomDlrm out;
    out.name = fmt::format("random_dlrm_{}_{:02}", r_.seed, index);
    out.tables = draw.tables.size();
    out.bytes = draw.bytes();
    out.mean_pooling = draw.mean_pooling();
    out.heavy = heavy;
    out.experiment = text_of(draw, out);
    return out;
  }

  std::string text_of(const Draw& draw, const RandomDlrm& task) const {
    const std::int64_t width = r_.mixed_widths ? kWidths[2] : draw.widths.front();
    std::string text = fmt::format(
        "# Written by `distsim generate` with seed {}; ranges of the random tasks of owensgroup/ml_perf_model.\n"
        "title: {}, {} tables, {}\n\n"
        "cluster:\n  system: {}\n  nodes: {}\n  gpus_per_node: {}\n\n"
        "model:\n  description: {}\n  kind: dlrm\n  global_batch: {}\n  precision: fp32\n  optimizer: sgd\n"
        "  dlrm:\n    dense_features: 512\n    embedding_dim: {}\n    bottom_mlp: [1024, 256, {}]\n"
        "    top_mlp: [1024, 512, 256, 1]\n    interaction: {}\n    embedding_optimizer: sgd\n"
        "    tables:\n",
        r_.seed, task.name, task.tables, task.heavy ? "heavy" : "light", r_.system, r_.cluster.nodes,
        r_.cluster.gpus_per_node, task.name, r_.global_batch, width, width, r_.mixed_widths ? "concat" : "dot");
    for (std::size_t i = 0; i < draw.tables.size(); ++i) {
      const PoolTable& t = draw.tables[i];
      text += fmt::format("      - {{rows: {}, pooling_factor: {}", t.rows, t.pooling_factor);
      text += r_.mixed_widths ? fmt::format(", dim: {}}}\n", draw.widths[i]) : "}\n";
    }
    text += "\nframework:\n  name: pytorch_dlrm\n";
    // With fewer GPUs no framework gives the bottom MLP one of its own, and the key would have no effect.
    const std::int64_t gpus = r_.cluster.nodes * r_.cluster.gpus_per_node;
    return gpus > workload::kMostRanksThatShareTheBottom ? text + "  embedding:\n    bottom_mlp_on_one_rank: false\n"
                                                         : text;
  }

  const RandomDlrmRequest& r_;
  std::vector<PoolTable> pool_;
  std::uint64_t least_ = 0, most_ = 0;
  double gpu_bytes_ = 0, memory_ = 0;
};

Result<double> number_at(const CsvReader& reader, const std::vector<std::string>& row, std::size_t column, double least,
                         double most) {
  const std::string& text = row[column];
  const auto value = plain_number(text);
  if (value && *value >= least && *value <= most) return *value;
  return Error{fmt::format("{}: found '{}', expected a number from {:g} to {:g}", reader.header()[column],
                           text.substr(0, 40), least, most),
               reader.position(), ""};
}

}  // namespace

Result<std::vector<RandomDlrm>> random_dlrms(const RandomDlrmRequest& request) {
  const Generator generator(request);
  TRY(generator.check());
  std::vector<RandomDlrm> out;
  for (std::uint32_t i = 0; i < request.tasks; ++i) {
    TRY_ASSIGN(RandomDlrm task, generator.task(i));
    out.push_back(std::move(task));
  }
  return out;
}

Result<std::vector<PoolTable>> read_table_pool(std::istream& in, const std::string& name) {
  constexpr std::size_t kMostTablesRead = 100'000;
  TRY_ASSIGN(CsvReader reader, CsvReader::open(in, name));
  TRY_ASSIGN(const std::size_t rows, reader.require("rows"));
  TRY_ASSIGN(const std::size_t pooling, reader.require("pooling_factor"));
  std::vector<PoolTable> pool;
  for (;;) {
    TRY_ASSIGN(const auto row, reader.next());
    if (!row) break;
    TRY_ASSIGN(const double count, number_at(reader, *row, rows, 1, 1e12));
    if (count != std::floor(count))
      return Error{"rows: found " + in_quotes((*row)[rows].substr(0, 40)) + ", expected a whole number",
                   reader.position(), ""};
    TRY_ASSIGN(const double factor, number_at(reader, *row, pooling, 1e-6, 1e6));
    if (pool.size() == kMostTablesRead)
      return Error{"tables: found more than 100000, expected at most that", reader.position(), ""};
    pool.push_back({std::llround(count), factor});
  }
  if (pool.empty()) return Error{"tables: found none, expected at least one", name, ""};
  return pool;
}

}  // namespace distsim::study
