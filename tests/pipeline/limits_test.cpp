// What limits a whole prediction: the first line of the report must survive the what-if that it suggests.
#include <gtest/gtest.h>

#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

report::Report report_with(const std::vector<std::string>& sets, report::Detail detail = report::Detail::report) {
  const config::Experiment e = config::load_experiment(test::config("dgx_a100_4node.yaml"), sets).value();
  Passes passes;
  CostModelCache cache;
  return predict(e, passes, cache, kPlayedMicroSteps, detail).value().report;
}

std::string limiter_text(const report::Report& r) {
  return r.limits.limited_by ? report::text_of(*r.limits.limited_by) : "";
}

/// A host whose calls take ten times as long: the network does not matter, and nothing in the report says that it does.
TEST(LimitedBy, TheHostLoopWhateverTheNicsDo) {
  std::optional<Duration> iteration;
  for (const char* rate : {"200 Gb/s", "400 Gb/s", "1600 Gb/s"}) {
    const report::Report r =
        report_with({"cluster.host.dispatch_scale=10", std::string("cluster.nic.bandwidth=") + rate});
    EXPECT_EQ(limiter_text(r), "host loop") << rate;
    EXPECT_TRUE(r.cycle_closed) << rate;
    EXPECT_EQ(iteration.value_or(r.iteration), r.iteration) << rate;
    iteration = r.iteration;
    EXPECT_LT(r.exposed_comm.ps(), r.iteration.ps() / 100) << rate;
    for (const report::CollectiveTime& c : r.collectives) EXPECT_LT(c.exposed.ps(), r.iteration.ps() / 100) << c.name;
    Duration host;
    for (const report::CriticalStep& s : r.critical_path) host += s.on_host() ? s.time : Duration();
    EXPECT_GT(host.ps(), r.iteration.ps() * 9 / 10) << rate;
  }
}

/// The GPU has nothing to do while samples are decoded: that is the host's time, and no op of the GPU.
TEST(LimitedBy, WaitingForSamplesIsNoCompute) {
  const auto played = [](const std::string& rate) {
    const config::Experiment e =
        config::load_experiment(test::config("resnet50_dgx_a100.yaml"), {"framework.input.decode_rate=" + rate})
            .value();
    Passes passes;
    return predict(e, passes).value().report;
  };
  const report::Report slow = played("5000"), fast = played("1000000");
  EXPECT_GT(slow.iteration.ps(), 3 * fast.iteration.ps());
  EXPECT_NEAR(slow.compute.ms(), fast.compute.ms(), 0.02 * fast.compute.ms());
  EXPECT_GT(slow.host_bound.ps(), slow.iteration.ps() / 2);
  EXPECT_EQ(slow.compute + slow.exposed_comm + slow.waiting + slow.host_bound + slow.idle, slow.iteration);
  for (const report::OpKindTime& op : slow.ops) EXPECT_NE(op.kind, "host_work");
}

TEST(LimitedBy, TheInputWhereSamplesAreSlowToPrepare) {
  const report::Report r = report_with({"framework.input.per_sample=10 us", "framework.input.overlap=true"});
  EXPECT_EQ(limiter_text(r), "input");
  EXPECT_EQ(r.exposed_comm, Duration());
}

/// The cores of a node decode for all of its GPUs: an iteration is no shorter than that, whether the next batch is copied
/// ahead or not, and all else is hidden behind it.
TEST(LimitedBy, TheDecodingOfANode) {
  for (const char* overlap : {"true", "false"}) {
    const report::Report r = report_with({"model.name=resnet50_v1_5", "model.global_batch=0", "model.per_gpu_batch=64",
                                          "framework.name=mxnet_horovod", "framework.input.decode_rate=1000",
                                          std::string("framework.input.overlap=") + overlap});
    EXPECT_EQ(limiter_text(r), "input") << overlap;
    EXPECT_GE(r.iteration.seconds(), 8 * 64 / 1000.0) << overlap;
    EXPECT_LT(r.iteration.seconds(), 1.02 * 8 * 64 / 1000.0) << overlap;
  }
  const auto fast = [](const char* rate) {
    return report_with({"model.name=resnet50_v1_5", "model.global_batch=0", "model.per_gpu_batch=64",
                        "framework.name=mxnet_horovod", std::string("framework.input.decode_rate=") + rate})
        .iteration;
  };
  EXPECT_NEAR(fast("1e9").ms() / fast("0").ms(), 1, 0.001);
}

/// On a slow network most of the iteration is exposed, and that is the slack of what comes next.
/// Whatever takes longest: preparing, copying, decoding or the GPU.
TEST(Input, OverlapIsNeverSlower) {
  for (const char* model : {"dlrm_mlperf", "tfde_synthetic_tiny"}) {
    for (const char* per_sample : {"10 ns", "200 ns", "10 us"}) {
      for (const char* decode : {"0", "5e6"}) {
        const auto with = [&](const char* overlap) {
          return report_with({std::string("model.name=") + model,
                              std::string("framework.input.per_sample=") + per_sample,
                              std::string("framework.input.decode_rate=") + decode,
                              std::string("framework.input.overlap=") + overlap})
              .iteration;
        };
        EXPECT_LE(with("true"), with("false")) << model << ", " << per_sample << ", decode " << decode;
      }
    }
  }
}

TEST(LimitedBy, TheNetworkByWhatItSaves) {
  const report::Report r = report_with({"cluster.nic.bandwidth=25 Gb/s"});
  EXPECT_EQ(limiter_text(r), "network");
  EXPECT_EQ(r.limits.slack, r.exposed_comm);
  EXPECT_GT(r.exposed_comm + r.exposed_comm, r.iteration);
}

TEST(LimitedBy, TheSlowGpu) {
  const report::Report r = report_with({"engine.slow_gpus=[{rank: 9, speed: 0.3}]"});
  EXPECT_EQ(limiter_text(r), "waiting for rank 9");
  const report::Report mended = report_with({});
  EXPECT_NEAR(r.limits.slack.ms(), (r.iteration - mended.iteration).ms(), 0.1 * r.iteration.ms());
}

/// Studies read figures only: the same ones.
TEST(LimitedBy, FiguresAreThoseOfTheReport) {
  const report::Report whole = report_with({}), figures = report_with({}, report::Detail::figures);
  EXPECT_EQ(figures.iteration, whole.iteration);
  EXPECT_EQ(figures.exposed_comm, whole.exposed_comm);
  EXPECT_EQ(figures.ranks, whole.ranks);
  EXPECT_EQ(figures.limits.limited_by, whole.limits.limited_by);
}

}  // namespace
}  // namespace distsim::pipeline
