// Curves of a folder of the user: whose they are, and what is said of those that are nobody's.
#include <gtest/gtest.h>

#include <filesystem>

#include "collective_fixture.hpp"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {
namespace {

constexpr const char* kCurve =
    "curves { kind: \"all_reduce\" ranks: 16 nodes: 2 launch: \"mpi\" label: \"own bench\" points { bytes: 1024 time_us: 40 } "
    "points { bytes: 1048576 time_us: 120 } points { bytes: 1073741824 time_us: 10000 } }\n";

topology::Topology named_system() {
  topology::ClusterSpec spec = a100_cluster(2, "dgx_a100_80gb").spec();
  spec.aliases = {"selene"};
  return *topology::Topology::build(spec, 80);
}

/// Models of dgx_a100_80gb, alias selene, with a curve file of this text before the shipped ones.
CollectiveModels with_file(const std::string& text) {
  const std::string folder = test::scratch_dir("curve_folders") + "/curves";
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(write_file_atomically(folder + "/own.curve.txtpb", text).ok());
  CollectiveOptions options;
  options.curve_dirs = {folder, test::config("curves")};
  return models_of(named_system(), options);
}

graph::Cost price_of(const CollectiveModels& models) {
  graph::Collective op;
  op.kind = graph::CollectiveKind::all_reduce;
  op.bytes = 1 << 20;
  return *models.price(op, named_system().facts(first_ranks(16)));
}

TEST(CurveFolders, AnAliasIsTheSystem) {
  const std::string by_name = std::string("version: 1 system: \"dgx_a100_80gb\"\n") + kCurve;
  const CollectiveModels named = with_file(by_name);
  EXPECT_TRUE(named.remarks().empty());
  const CollectiveModels none = with_file(std::string("version: 1 system: \"eos\"\n") + kCurve);
  ASSERT_NE(price_of(named).mean, price_of(none).mean);
  for (const std::string& head :
       {"version: 1 system: \"selene\"\n" + std::string(kCurve), "version: 1 system: 'selene'\n" + std::string(kCurve),
        "version: 1\n" + std::string(kCurve) + "system: \"dgx_a100_80gb\"\n"}) {
    const CollectiveModels models = with_file(head);
    EXPECT_TRUE(models.remarks().empty()) << head << models.remarks().front();
    EXPECT_EQ(price_of(models).mean, price_of(named).mean) << head;
  }
  const CollectiveModels sibling =
      with_file("version: 1 system: \"dgx_h100\" also_for: \"dgx_a100_80gb\"\n" + std::string(kCurve));
  const CollectiveModels by_alias =
      with_file("version: 1 system: \"eos\" also_for: \"selene\"\n" + std::string(kCurve));
  ASSERT_NE(price_of(sibling).mean, price_of(none).mean);
  EXPECT_EQ(price_of(by_alias).mean, price_of(sibling).mean);
  const CollectiveModels network =
      with_file("version: 1 system: \"dgx_h100\" same_network: \"dgx_a100_80gb\"\n" + std::string(kCurve));
  const CollectiveModels of_alias =
      with_file("version: 1 system: \"eos\" same_network: \"selene\"\n" + std::string(kCurve));
  ASSERT_NE(price_of(network).mean, price_of(none).mean);
  EXPECT_EQ(price_of(of_alias).mean, price_of(network).mean);
}

TEST(CurveFolders, CurvesOfNoKnownSystemAreNamed) {
  const auto remarks = [](const std::string& head) {
    return with_file("version: 1 " + head + "\n" + kCurve).remarks();
  };
  for (const char* known :
       {"system: \"dgx_h100\"", "system: \"eos\"", "system: \"my_box\" also_for: [\"dgx_a100_80gb\"]",
        "system: \"my_box\" also_for: [\"dgx_h100\"]"})
    EXPECT_TRUE(remarks(known).empty()) << known;
  const struct {
    const char *head, *said;
  } unknown[] = {{"system: \"unnamed\"",
                  "own.curve.txtpb: system: found 'unnamed', expected a system that has a file in systems; its"},
                 {"system: \"dgx_a100_80g\"", "systems; did you mean 'dgx_a100_80gb'?"},
                 {"device: \"x\"", "system: found '', expected a system"},
                 {"system: \"my_box\" same_network: \"dgx_a100_80gb\"", "system: found 'my_box', expected a system"},
                 {"system: \"dgx_h100\" also_for: [\"dgx_h200\", \"dgx_a100_80gbx\"]",
                  "also_for: found 'dgx_a100_80gbx', expected a"},
                 {"system: \"dgx_h100\" same_network: \"seleen\"",
                  "same_network: found 'seleen', expected a system that has a file in "
                  "systems; did you mean 'selene'?"},
                 {"system: \"dgx_a100_80gb\" also_for: \"nobody\"", "also_for: found 'nobody'"},
                 {"system: \"dgx_h100", "own.curve.txtpb:1:"}};
  for (const auto& [head, said] : unknown) {
    const std::vector<std::string> lines = remarks(head);
    ASSERT_EQ(lines.size(), 1u) << head;
    EXPECT_NE(lines[0].find(said), std::string::npos) << lines[0];
  }
}

/// A copy of a curve that must not be used, beside one that may.
TEST(CurveFolders, ACopyThatIsNotUsedHidesNoneThatIs) {
  const auto set_of = [](const char* more) {
    std::string text = std::string("version: 1 system: \"x\"\n") + kCurve;
    return *parse_curve_text(text.insert(text.find("points"), more), "x");
  };
  KnownCurves known;
  const auto kept = [&](const char* more) {
    CurveSet set = set_of(more);
    known.take(set, "x", "x");
    return set.curves.size();
  };
  EXPECT_EQ(kept("not_used: \"by mistake\" "), 1u);
  EXPECT_EQ(kept(""), 1u);
  EXPECT_EQ(kept(""), 0u) << "measured once";
  EXPECT_EQ(kept("not_used: \"by mistake\" "), 0u);
}

}  // namespace
}  // namespace distsim::collectives
