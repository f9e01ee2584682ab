// Prints the tables of docs/recommenders.md on planning tables:
//
//   plan_tables_report tasks      random tasks against the greedy plans and the bounds
//   plan_tables_report published  models whose plans are published, played
//   plan_tables_report FILE [KEY=VALUE]...   one experiment, in full
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/file.hpp"
#include "sim/study/plan_tables/plan_tables.hpp"
#include "table_tasks.hpp"

namespace distsim {
namespace {

/// Of the processor: other work on the machine does not count.
double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

/// Of the seeds of one kind of task.
struct Summary {
  int planned = 0, compared = 0;  ///< with a plan, and with a greedy plan beside it
  double greedy = 0, ours = 0, below = 0, least = 1, gap = 0, worst = 0, linear = 0, slowest = 0;
  std::string_view by;

  void add(const study::TablesPlan& plan, double seconds) {
    ++planned;
    gap += plan.gap();
    worst = std::max(worst, plan.gap());
    linear += plan.packing.most / plan.linear_bound - 1;
    slowest = std::max(slowest, seconds);
    const study::GreedyRow* best = nullptr;
    for (const study::GreedyRow& g : plan.greedy) {
      if (g.most && (best == nullptr || *g.most < *best->most)) best = &g;
    }
    if (best == nullptr) return;
    ++compared;
    by = best->by;
    greedy += *best->most;
    ours += plan.packing.most;
    below += 1 - plan.packing.most / *best->most;
    least = std::min(least, 1 - plan.packing.most / *best->most);
  }

  std::string text() const {
    const std::string against = compared == 0
                                    ? "does not fit | | | "
                                    : fmt::format("{:.2f} ({}) | {:.2f} | {:.1f} % | {:.1f} %", 1e3 * greedy / compared,
                                                  by, 1e3 * ours / compared, 100 * below / compared, 100 * least);
    return fmt::format("{} | {:.2f} % | {:.2f} % | {:.2f} % | {:.2f}", against, 100 * gap / planned, 100 * worst,
                       100 * linear / planned, slowest);
  }
};

Summary summary_of(test::TableTask task) {
  Summary out;
  for (task.seed = 1; task.seed <= 5; ++task.seed) {
    const auto e = test::experiment_of(test::text_of(task));
    pipeline::CostModelCache cache;
    const auto models = cache.models({e.cluster, e.device, e.collectives});
    CHECK(models.ok()) << models.error().text();
    const auto start = std::clock();
    const auto plan = study::search_tables(e, {}, cache);
    if (plan.ok()) out.add(*plan, seconds_since(start));  // else too large for so few GPUs
  }
  return out;
}

void report_tasks() {
  fmt::print(
      "| dims | tables | GPUs | best greedy, ms | ours, ms | below it | least | gap | worst gap | gap to the LP | s "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& dims : {test::kNeuroShardDims, test::kDreamShardDims}) {
    for (const auto& [nodes, gpus] : {std::pair{1, 4}, {1, 8}, {2, 8}, {16, 8}}) {
      for (const int tables : {50, 100, 200, 1000}) {
        if (tables == 1000 && nodes < 16) continue;
        const Summary s =
            summary_of({.tables = tables, .nodes = nodes, .gpus_per_node = gpus, .seed = 1, .dims = dims});
        if (s.planned == 0) continue;
        fmt::print("| {} to {} | {} | {} | {} |\n", dims.front(), dims.back(), tables, nodes * gpus, s.text());
        std::fflush(stdout);
      }
    }
  }
}

/// A published model, with its published plan, which the experiment's own placement reproduces.
struct Published {
  const char *model, *system, *framework;
  int nodes, batch;
};
constexpr Published kPublished[] = {{"dlrm_dcnv2_mlperf", "dgx_h100", "hugectr", 1, 55296},
                                    {"dlrm_dcnv2_mlperf", "dgx_h100", "hugectr", 8, 135168},
                                    {"dlrm_dcnv2_mlperf", "dgx_h100", "hugectr", 16, 135168},
                                    {"tfde_synthetic_tiny", "dgx_a100_80gb", "tf2_distributed_embeddings", 1, 65536},
                                    {"tfde_synthetic_small", "dgx_a100_80gb", "tf2_distributed_embeddings", 1, 65536},
                                    {"tfde_synthetic_medium", "dgx_a100_80gb", "tf2_distributed_embeddings", 1, 65536},
                                    {"tfde_synthetic_medium", "dgx_a100_80gb", "tf2_distributed_embeddings", 4, 65536},
                                    {"tfde_synthetic_large", "dgx_a100_80gb", "tf2_distributed_embeddings", 4, 65536},
                                    {"tfde_synthetic_large", "dgx_a100_80gb", "tf2_distributed_embeddings", 16, 65536},
                                    {"tfde_synthetic_jumbo", "dgx_a100_80gb", "tf2_distributed_embeddings", 16, 65536}};

void report_published() {
  fmt::print("| model | GPUs | published, ms | ours, same exchange, ms | ours, ms | with | s |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const Published& row : kPublished) {
    const auto e = test::experiment_of(fmt::format(
        "cluster: {{system: {}, nodes: {}}}\nmodel: {{name: {}, global_batch: {}}}\nframework: {{name: {}}}\n",
        row.system, row.nodes, row.model, row.batch, row.framework));
    pipeline::CostModelCache cache;
    const auto start = std::clock();
    const auto plan = study::plan_tables(e, {}, cache);
    CHECK(plan.ok()) << plan.error().text();
    double own = 0, same = 0;
    for (const study::PlayedPlan& p : plan->played) {  // the fastest first
      if (!p.figures || !p.sets.empty()) continue;
      if (same == 0) same = p.figures->iteration.seconds();
      if (p.placement.tables.empty()) own = p.figures->iteration.seconds();
    }
    const study::PlayedPlan& best = plan->played[plan->winner];
    std::string sets;
    for (const std::string& s : best.sets) sets += (sets.empty() ? "" : ", ") + s;
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} | {} | {:.1f} |\n", row.model, row.nodes * 8,
               own > 0 ? fmt::format("{:.2f}", 1e3 * own) : "does not fit", 1e3 * same,
               1e3 * best.figures->iteration.seconds(), sets.empty() ? "-" : sets, seconds_since(start));
    std::fflush(stdout);
  }
}

int report_one(const std::string& path, const std::vector<std::string>& sets) {
  const auto text = read_file(path, 1 << 24);
  CHECK(text.ok()) << text.error().text();
  const auto e = test::experiment_of(*text, sets);
  pipeline::CostModelCache cache;
  const auto start = std::clock();
  const auto plan = study::plan_tables(e, {}, cache);
  if (!plan.ok()) {
    fmt::print("{}\n", plan.error().text());
    return 2;
  }
  fmt::print("{}{:.2f} s\n", study::describe(*plan), seconds_since(start));
  return 0;
}

}  // namespace
}  // namespace distsim

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "tasks";
  if (what == "tasks") return distsim::report_tasks(), 0;
  if (what == "published") return distsim::report_published(), 0;
  return distsim::report_one(what, {argv + 2, argv + argc});
}
