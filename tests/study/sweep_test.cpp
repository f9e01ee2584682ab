#include "sim/study/sweep.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "base/text/csv.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

TEST(ParseAxis, SplitsAtTopLevelCommas) {
  const SweepAxis axis = parse_axis("model.dlrm.top_mlp=[512, 1],[1024, 512, 1]").value();
  EXPECT_EQ(axis.key, "model.dlrm.top_mlp");
  EXPECT_EQ(axis.values, (std::vector<std::string>{"[512, 1]", "[1024, 512, 1]"}));
}

TEST(ParseAxis, RefusesWhatIsNoAxis) {
  EXPECT_FALSE(parse_axis("cluster.nodes").ok());
  EXPECT_FALSE(parse_axis("=1,2").ok());
  EXPECT_FALSE(parse_axis("cluster.nodes=1,,2").ok());
}

SweepRequest flagship(std::vector<SweepAxis> axes, Scaling scaling = Scaling::strong) {
  return {test::config("dgx_a100_4node.yaml"), {}, std::move(axes), scaling, 1};
}

TEST(Sweep, NodesScaleStrongly) {
  const SweepRequest request = flagship({{"cluster.nodes", {"1", "2", "4", "8", "16"}}});
  const auto points = sweep(request, [] {}).value();
  ASSERT_EQ(points.size(), 5u);
  for (const auto& p : points) {
    ASSERT_EQ(p.error, "");
    EXPECT_EQ(p.global_batch, 65536);
  }
  EXPECT_DOUBLE_EQ(points[0].efficiency, 1.0);
  EXPECT_LT(points[4].report.compute, points[0].report.compute);            // a sixteenth of the samples each
  EXPECT_GT(points[4].report.exposed_comm, points[0].report.exposed_comm);  // across nodes now
  EXPECT_LT(points[4].efficiency, 1.0);
}

/// Efficiency compares with the fewest GPUs at equal other values, whatever the order of the axes; a faster NIC is no
/// better scaling.
TEST(Sweep, EfficiencyIsOfGpuCounts) {
  const auto points =
      sweep(flagship({{"cluster.nic.bandwidth", {"50 Gb/s", "200 Gb/s"}}, {"cluster.nodes", {"4", "1"}}}), [] {
      }).value();
  ASSERT_EQ(points.size(), 4u);
  EXPECT_DOUBLE_EQ(points[1].efficiency, 1.0);
  EXPECT_DOUBLE_EQ(points[3].efficiency, 1.0);
  EXPECT_LT(points[0].efficiency, points[2].efficiency);
  EXPECT_LT(points[2].efficiency, 1.0);
}

TEST(Sweep, WeakScalingKeepsSamplesPerGpu) {
  const auto points = sweep(flagship({{"cluster.nodes", {"1", "4"}}}, Scaling::weak), [] {}).value();
  ASSERT_EQ(points[1].error, "");
  EXPECT_EQ(points[0].global_batch, 65536);
  EXPECT_EQ(points[1].global_batch, 4 * 65536);
}

/// Also where the model gives its batch per GPU.
TEST(Sweep, StrongScalingKeepsTheGlobalBatch) {
  SweepRequest request = flagship({{"cluster.nodes", {"1", "4"}}});
  request.sets = {"model.global_batch=0", "model.per_gpu_batch=2048"};
  const auto points = sweep(request, [] {}).value();
  ASSERT_EQ(points[1].error, "");
  EXPECT_EQ(points[0].global_batch, 8 * 2048);
  EXPECT_EQ(points[1].global_batch, 8 * 2048);
  EXPECT_EQ(points[1].report.context.samples, 8 * 2048);
}

/// A row is computed with the batch that it is labelled with.
TEST(Sweep, WeakScalingRefusesASweptGlobalBatch) {
  const auto points =
      sweep(flagship({{"model.global_batch", {"1024", "2048"}}, {"cluster.nodes", {"1", "2"}}}, Scaling::weak), [] {});
  ASSERT_FALSE(points.ok());
  EXPECT_NE(points.error().what.find("--scaling: found weak"), std::string::npos);
}

TEST(Sweep, FirstAxisVariesSlowestAndThreadsDoNotMatter) {
  SweepRequest request = flagship({{"cluster.nodes", {"1", "2"}}, {"model.global_batch", {"32768", "65536"}}});
  const auto one = sweep(request, [] {}).value();
  request.jobs = 3;
  const auto three = sweep(request, [] {}).value();
  ASSERT_EQ(one.size(), 4u);
  EXPECT_EQ(one[1].values, (std::vector<std::string>{"1", "65536"}));
  EXPECT_EQ(one[2].values, (std::vector<std::string>{"2", "32768"}));
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].report.digest, three[i].report.digest);
  EXPECT_EQ(sweep_csv(request, one), sweep_csv(request, three));
}

TEST(Sweep, PointWithoutPredictionKeepsItsPlace) {
  const SweepRequest request = flagship({{"cluster.nodes", {"1", "2"}}, {"model.global_batch", {"3", "65536"}}});
  const auto points = sweep(flagship({{"model.global_batch", {"65536", "3"}}}), [] {}).value();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].error, "");
  EXPECT_NE(points[1].error, "") << "3 samples on 32 GPUs cannot be trained";
  std::istringstream csv(sweep_csv(flagship({{"model.global_batch", {"65536", "3"}}}), points));
  CsvReader reader = CsvReader::open(csv, "sweep").value();
  EXPECT_TRUE(reader.next().value().has_value());
  const auto failed = reader.next().value();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ((*failed)[reader.column("iteration_ms").value()], "");
  EXPECT_EQ((*failed)[reader.column("error").value()], points[1].error);
}

}  // namespace
}  // namespace distsim::study
