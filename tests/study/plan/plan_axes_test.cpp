#include <gtest/gtest.h>

#include "sim/study/plan/experiment_file.hpp"
#include "sim/study/plan/plan.hpp"

namespace distsim::study {
namespace {

TEST(PlanAxes, RangesAreWholeNumbers) {
  EXPECT_EQ(parse_axis("a.b=2..4").value().values, (std::vector<std::string>{"2", "3", "4"}));
  EXPECT_EQ(parse_axis("a.b=25 MiB,1").value().values.size(), 2u);
  EXPECT_EQ(parse_axis("a.b=../x.yaml").value().values.size(), 1u);  // a path
  EXPECT_FALSE(parse_axis("a.b=4..2").ok());
  EXPECT_FALSE(parse_axis("a.b=1..1000000000000").ok());
  EXPECT_FALSE(parse_axis("a.b=").ok());
  EXPECT_EQ(parse_axis("a.b=1..3,2").error().text(), "--set a.b: found '2' twice, expected each value once");
}

TEST(PlanAxes, GpusDouble) {
  EXPECT_EQ(parse_gpus("64..512").value(), (std::vector<std::int64_t>{64, 128, 256, 512}));
  EXPECT_EQ(parse_gpus("8,24").value(), (std::vector<std::int64_t>{8, 24}));
  for (const char* text : {"0..8", "8..4", "x", "-8", "8,0", "1..99999999999"})
    EXPECT_FALSE(parse_gpus(text).ok()) << text;
}

TEST(ExperimentFile, YamlParsesToTheSame) {
  const std::string text =
      "a: {b: [1, -2, 2.5e3], c: \"8\", d: null, e: \"x: y # \\\"z\\\"\"}\n"
      "'odd key: x': 25 MiB\n"
      "empty: {}\n"
      "list: [{x: 1}, [2], ~]\n"
      "range: -1e-3\n";
  const ConfigNode first = parse_yaml(text, "a").value();
  const std::string once = yaml_of(first);
  const auto again = parse_yaml(once, "b");
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << once;
  EXPECT_EQ(yaml_of(*again), once);
  EXPECT_EQ(again->find("a")->find("e")->scalar, "x: y # \"z\"");
  EXPECT_TRUE(again->find("a")->find("c")->quoted);
  EXPECT_EQ(again->find("range")->scalar, "-1e-3");
}

}  // namespace
}  // namespace distsim::study
