// Keys with a fixed vocabulary, over the schemas of all sections; and that no key is free text that decides something.
#include <set>

#include "choice_keys.hpp"
#include "sim/config/config.hpp"

namespace distsim::config {
namespace {

/// Calls f(schema) for every section of an experiment.
template <class F>
void for_every_section(const F& f) {
  f(topology::cluster_schema());
  f(topology::device_schema());
  f(workload::model_schema());
  f(workload::framework_schema());
  f(collectives::collective_schema());
  f(engine_schema());
}

TEST(Vocabulary, EveryMisspellingIsRefusedWithItsPosition) {
  int keys = 0;
  for_every_section([&](const auto& schema) { keys += test::expect_misspellings_refused(schema); });
  EXPECT_GT(keys, 0);
}

/// Keys whose text is shown, or names a file; code compares none of them with a word. A key that decides something is a
/// choice of its schema instead.
TEST(Vocabulary, NoFreeTextDecidesAnything) {
  const std::set<std::string> shown{
      "cluster.name",      "cluster.aliases", "cluster.description",        "cluster.host.cpu", "cluster.source",
      "device.name",       "device.aliases",  "device.architecture",        "device.source",    "model.name",
      "model.description", "model.source",    "model.program.steps[].name", "framework.name",   "framework.source"};
  const std::set<std::string> names_a_file{"cluster.device",
                                           "device.server",
                                           "collectives.curve_files",
                                           "collectives.constants",
                                           "model.parallel.placement_file",
                                           "model.graph.file"};
  const std::set<std::string> parsed_elsewhere{"model.program.steps[].collective",  // refused by parse_collective
                                               "model.llm.pattern",       // letters of blocks, refused by llm_schema
                                               "model.graph.checkpoint",  // patterns of the graph's modules
                                               "model.graph.units"};      // the same
  for_every_section([&](const auto& schema) {
    for (const FieldDoc& doc : schema.docs()) {
      const std::string key = schema.section() + "." + doc.key;
      if (doc.type.find("text") == std::string::npos) continue;
      EXPECT_TRUE(shown.contains(key) || names_a_file.contains(key) || parsed_elsewhere.contains(key))
          << key << " is free text: does code compare it? Then make it a choice; else add it here";
    }
  });
}

}  // namespace
}  // namespace distsim::config
