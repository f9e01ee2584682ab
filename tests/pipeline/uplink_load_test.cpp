// Uplinks that other jobs use in part: laws over fabrics, oversubscribed or not, by whole predictions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

using Overrides = std::vector<std::string>;

/// One collective of 256 MiB over four nodes, two under a leaf.
double ms_of_collective(const std::string& collective, const Overrides& sets) {
  const std::string text =
      "cluster: {system: dgx_a100_80gb, nodes: 4, fabric: {kind: fat_tree, nodes_per_leaf: 2, leaves_per_pod: 16}}\n"
      "model: {kind: program, per_gpu_batch: 1, program: {steps: [{name: c, collective: " +
      collective + ", size: 256MiB}]}}\nframework: {name: pytorch}\n";
  const auto parsed = config::parse_experiment_text(text, "uplinks.yaml", sets);
  EXPECT_TRUE(parsed.ok()) << (parsed ? "" : parsed.error().text());
  const auto e = config::resolve(*parsed);
  EXPECT_TRUE(e.ok()) << (e ? "" : e.error().text());
  Passes passes;
  const auto p = predict(*e, passes);
  EXPECT_TRUE(p.ok()) << (p ? "" : p.error().text());
  return p ? p->report.iteration.ms() : 0;
}

Overrides with_load(Overrides sets, const std::string& load) {
  sets.push_back("engine.uplink_load=" + load);
  return sets;
}

constexpr const char* kCollectivesOfLoad[] = {"all_reduce", "all_to_all", "all_gather"};
constexpr const char* kLoads[] = {"0", "0.05", "0.2", "0.4", "0.6", "0.75", "0.85", "0.9", "0.95", "0.99"};

/// Also where the uplinks have all that the NICs below them can send.
TEST(UplinkLoad, TheTimeRisesWithTheLoadOnEveryFabric) {
  for (const char* kind : {"fat_tree", "rail_optimized", "dragonfly"}) {
    for (const char* ratio : {"1", "1.001", "2"}) {
      for (const char* jobs : {"1", "2"}) {
        for (const char* collective : kCollectivesOfLoad) {
          SCOPED_TRACE(std::string(kind) + " " + ratio + " " + jobs + " " + collective);
          const Overrides fabric{"cluster.fabric.kind=" + std::string(kind),
                                 "cluster.fabric.oversubscription=" + std::string(ratio),
                                 "engine.jobs=" + std::string(jobs)};
          double first = 0, before = 0;
          for (const char* load : kLoads) {
            const double ms = ms_of_collective(collective, with_load(fabric, load));
            EXPECT_GE(ms, before * (1 - 1e-9)) << load;
            if (first == 0) first = ms;
            before = ms;
          }
          EXPECT_GT(before, 3 * first);
        }
      }
    }
  }
}

/// No step where a fabric ceases to have all that its NICs can send.
TEST(UplinkLoad, NothingJumpsWhereOversubscriptionBegins) {
  for (const char* key : {"oversubscription", "spine_oversubscription"}) {
    for (const char* jobs : {"1", "2"}) {
      for (const char* load : kLoads) {
        for (const char* collective : kCollectivesOfLoad) {
          const auto at = [&](const char* ratio) {
            return ms_of_collective(collective, with_load({"cluster.fabric.leaves_per_pod=1",
                                                           "cluster.fabric." + std::string(key) + "=" + ratio,
                                                           "engine.jobs=" + std::string(jobs)},
                                                          load));
          };
          const double even = at("1");
          EXPECT_NEAR(at("1.0001"), even, 0.002 * even) << key << " " << jobs << " " << load << " " << collective;
        }
      }
    }
  }
}

/// A collective that has half of the uplinks takes what it takes where the fabric has half of them.
TEST(UplinkLoad, CostsWhatFewerUplinksCost) {
  for (const char* collective : kCollectivesOfLoad) {
    for (const auto& [load, ratio] : {std::pair("0.5", "2"), std::pair("0.8", "5"), std::pair("0.9", "10")}) {
      const double loaded = ms_of_collective(collective, with_load({}, load));
      const double stated = ms_of_collective(collective, {"cluster.fabric.oversubscription=" + std::string(ratio)});
      EXPECT_NEAR(loaded, stated, 0.03 * stated) << collective << " " << load;
    }
  }
}

/// Jobs and contention alone find enough uplinks in a fabric that is not oversubscribed, and no load is none.
TEST(UplinkLoad, NoneChangesNothing) {
  for (const char* kind : {"fat_tree", "rail_optimized"}) {
    for (const char* collective : kCollectivesOfLoad) {
      const std::string fabric = "cluster.fabric.kind=" + std::string(kind);
      const double plain = ms_of_collective(collective, {fabric});
      EXPECT_EQ(ms_of_collective(collective, {fabric, "engine.uplink_load=0"}), plain);
      EXPECT_EQ(ms_of_collective(collective, {fabric, "engine.contention=true"}), plain);
      EXPECT_NEAR(ms_of_collective(collective, {fabric, "engine.jobs=2"}), plain, 1e-6 * plain) << kind << collective;
    }
  }
}

/// Jobs that have a leaf each share pods with room for all of them: each is slowed by the load of its own leaf alone, which does
/// not jump where the load begins.
TEST(UplinkLoad, JobsWithLeavesOfTheirOwnAreSlowedAsOneIs) {
  for (const char* collective : kCollectivesOfLoad) {
    const Overrides fabric{"cluster.fabric.nodes_per_leaf=1", "cluster.fabric.leaves_per_pod=8"};
    const auto ms = [&](const char* jobs, const char* load) {
      Overrides sets = with_load(fabric, load);
      sets.push_back("engine.jobs=" + std::string(jobs));
      return ms_of_collective(collective, sets);
    };
    for (const char* load : {"0", "1e-9", "0.1", "0.5"}) {
      const double alone = ms("1", load);
      for (const char* jobs : {"2", "4"})
        EXPECT_NEAR(ms(jobs, load), alone, 0.01 * alone) << collective << jobs << load;
    }
    EXPECT_NEAR(ms("4", "1e-9"), ms("4", "0"), 0.01 * ms("4", "0")) << collective;
  }
}

/// A job that is alone under its leaf is not there among others, whose nodes lie between its own.
TEST(UplinkLoad, JobsUnderMoreLeavesAreSlowedByTheirLoad) {
  const Overrides two{"cluster.nodes=2", "engine.jobs=2"};
  EXPECT_GT(ms_of_collective("all_reduce", with_load(two, "0.9")), 2 * ms_of_collective("all_reduce", two));
  const Overrides one{"cluster.nodes=2"};
  EXPECT_EQ(ms_of_collective("all_reduce", with_load(one, "0.9")), ms_of_collective("all_reduce", one));
}

}  // namespace
}  // namespace distsim::pipeline
