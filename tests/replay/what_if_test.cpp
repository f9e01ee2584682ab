#include "sim/replay/whatif/what_if.hpp"

#include <gtest/gtest.h>

#include "sim/replay/whatif/device_ratio.hpp"
#include "sim/replay/whatif/kernel_edits.hpp"
#include "trace_builder.hpp"

namespace distsim::replay {
namespace {

/// Three kernels that queue behind each other: two elementwise ones of 100 and 60 us, then a GEMM of 200: 10..110,
/// 112..172, 174..374.
traces::TraceJob three_kernels() {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.launch(host, 0, stream, "elementwise_add", 10, 100);
  b.launch(host, 10, stream, "elementwise_mul", 112, 60);
  b.launch(host, 20, stream, "sgemm_128x64", 174, 200);
  b.finish();
  return job;
}

topology::DeviceSpec device(const std::string& name, double tflops, double gigabytes) {
  topology::DeviceSpec d;
  d.name = name;
  d.compute_capability = 80;
  d.sm_count = 100;
  d.clock = {Hertz(1e9), Hertz(1e9)};
  d.peak["fp32"] = d.peak["vector_fp32"] = FlopsPerSecond(tflops * 1e12);
  d.hbm = {Bytes(80'000'000'000), BytesPerSecond(gigabytes * 1e9)};
  d.l2 = {Bytes(40 << 20), BytesPerSecond(4 * gigabytes * 1e9)};
  d.launch.kernel_floor = Duration::microseconds(2);
  d.pcie_bandwidth = BytesPerSecond(25e9);
  return d;
}

/// The multiplication is removed: the GEMM follows the addition after its own gap, at 112.
TEST(KernelEdits, RemovedKernelsTakeNoTime) {
  Replay r(three_kernels());
  const auto edits = edit_kernels({"_mul$"}, {}, r.graph, r.costs);
  ASSERT_TRUE(edits.ok());
  EXPECT_EQ(edits->removed, 1u);
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 112);
}

/// Addition and multiplication become one of 100 us; the GEMM follows at 112.
TEST(KernelEdits, FusedKernelsTakeAsLongAsTheLongest) {
  Replay r(three_kernels());
  r.set_us(0, 0, 60);
  r.set_us(0, 1, 100);
  const auto edits = edit_kernels({}, {"elementwise"}, r.graph, r.costs);
  ASSERT_TRUE(edits.ok());
  EXPECT_EQ(edits->fused, 2u);
  r.run();
  EXPECT_DOUBLE_EQ(r.end_us(0, 0), 110);
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 112);
}

/// Of two steps, of which the first ends and the second begins with a GEMM: each has a kernel left, at its own time.
TEST(KernelEdits, KernelsOfTwoStepsAreNotFused) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  for (int i = 0; i < 3; ++i) {
    b.launch(host, 300 * i, stream, "gemm", 300 * i + 10, 60);
    b.launch(host, 300 * i + 10, stream, "gemm", 300 * i + 72, 60);
    b.step(300 * i, 300 * i + 300);
  }
  b.finish();
  Replay r(std::move(job));
  EXPECT_EQ(edit_kernels({}, {"gemm"}, r.graph, r.costs)->fused, 6u);
  r.run();
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(r.start_us(0, 2 * i), 295.0 * i + 10) << "a launch call of 5 us less in each step";
    EXPECT_DOUBLE_EQ(r.end_us(0, 2 * i) - r.start_us(0, 2 * i), 60);
  }
}

/// A copy on another stream waits for the first of two GEMMs, the longer of which is the second: they stay two.
TEST(KernelEdits, KernelsThatOthersWaitBetweenAreNotFused) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream(), other = b.stream();
  b.launch(host, 0, stream, "gemm", 10, 100);
  b.launch(host, 10, stream, "gemm", 112, 300);
  b.call(host, traces::RuntimeCall::stream_wait_event, 16, 1);
  b.launch(host, 20, other, "copy", 112, 50);
  b.finish();
  Replay r(std::move(job));
  const bool waits = std::ranges::any_of(r.graph.waits, [&](const auto& w) { return w.second == r.node(0, 0); });
  ASSERT_TRUE(waits);
  EXPECT_EQ(edit_kernels({}, {"gemm"}, r.graph, r.costs)->fused, 0u);
}

/// Alone there is nothing to fuse with.
TEST(KernelEdits, ASingleKernelIsNotFused) {
  Replay r(three_kernels());
  EXPECT_EQ(edit_kernels({}, {"gemm"}, r.graph, r.costs)->fused, 0u);
}

/// A removed collective holds nobody up: rank 1's next kernel starts without waiting for rank 0.
TEST(KernelEdits, RemovedCollectivesDoNotJoin) {
  traces::TraceJob job;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RankBuilder b(job, rank);
    const auto host = b.thread(), stream = b.stream();
    b.collective(
        b.launch(host, rank == 0 ? 300 : 0, stream, "ncclAllReduce", rank == 0 ? 310 : 10, rank == 0 ? 50 : 350),
        graph::CollectiveKind::all_reduce, 1024);
    b.launch(host, 320, stream, "update", 362, 10);
    b.finish();
  }
  match_collectives_in_order(job);
  Replay r(std::move(job));
  ASSERT_TRUE(edit_kernels({"^nccl"}, {}, r.graph, r.costs).ok());
  r.run();
  EXPECT_LT(r.start_us(1, 1), 362);
}

/// Nothing on any device would be left: 0 ms is no answer.
TEST(KernelEdits, RemovingEverythingIsRefused) {
  Replay r(three_kernels());
  for (const std::vector<std::string>& all : {std::vector<std::string>{".*"}, {"gemm", "elementwise"}}) {
    const auto edits = edit_kernels(all, {}, r.graph, r.costs);
    ASSERT_FALSE(edits.ok());
    EXPECT_NE(edits.error().text().find("leaves no kernel and no copy"), std::string::npos) << edits.error().text();
  }
}

/// Steps of 300 us, each an addition at 10 and a GEMM at 150. Without the addition a step begins with its GEMM: 300 us
/// still.
TEST(KernelEdits, StepsBeginWithTheFirstKernelThatIsLeft) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  for (int i = 0; i < 3; ++i) {
    b.launch(host, 300 * i, stream, "add", 300 * i + 10, i == 1 ? 80 : 100);
    b.launch(host, 300 * i + 140, stream, "gemm", 300 * i + 150, 60);
    b.step(300 * i, 300 * i + 300);
  }
  b.finish();
  Replay r(std::move(job));
  ASSERT_TRUE(edit_kernels({"add"}, {}, r.graph, r.costs).ok());
  r.run();
  const std::vector<StepResult> steps = step_results(r.graph, r.times);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].basis, StepBasis::device_start_to_start);
  EXPECT_DOUBLE_EQ(steps[0].replayed * 1e-6, 295);  // the launch's own 5 us are removed too, in each step
  EXPECT_DOUBLE_EQ(steps[1].replayed * 1e-6, 295);
}

/// The GPU is busy for 20 ms with what was launched before the recording began; meanwhile the host launches ten kernels, 1 ms
/// apart.
traces::TraceJob late_first(bool in_two_streams) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream(), other = in_two_streams ? b.stream() : stream;
  b.launch(host, 0, stream, "fill", 20'000, 10);
  if (in_two_streams) b.call(host, traces::RuntimeCall::stream_wait_event, 20, 1);
  for (int i = 0; i < 10; ++i) b.launch(host, 400 + 1000 * i, other, i < 2 ? "copy" : "gemm", 20'012 + 102 * i, 100);
  b.finish();
  return job;
}

/// What held up a kernel that is taken out holds up what comes after it.
TEST(KernelEdits, WithoutTheFirstKernelNothingTakesLonger) {
  for (const bool in_two_streams : {false, true}) {
    const Replay measured(late_first(in_two_streams));
    const std::int64_t whole = step_results(measured.graph, measured.times)[0].replayed;
    for (const auto& [remove, fuse] : {std::pair<std::vector<std::string>, std::vector<std::string>>{{"fill"}, {}},
                                       {{"fill", "copy"}, {}},
                                       {{}, {"gemm"}},
                                       {{}, {"fill|copy"}},
                                       {{"fill"}, {"copy|gemm"}}}) {
      Replay r(late_first(in_two_streams));
      ASSERT_TRUE(edit_kernels(remove, fuse, r.graph, r.costs).ok());
      r.run();
      EXPECT_GE(r.start_us(0, 10), 19'900);
      EXPECT_LE(step_results(r.graph, r.times)[0].replayed, whole);
    }
  }
}

/// Without launches, in a list of the GPU's work, the time before the first and a wait of 50 us in between stay.
TEST(KernelEdits, GapsThatNoDeviceHasStay) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto stream = b.stream(), other = b.stream();
  b.kernel(other, "copy", 0, 40);
  b.kernel(stream, "fill", 100, 10);
  b.kernel(stream, "add", 112, 100);
  b.kernel(stream, "fill", 262, 10);
  b.kernel(stream, "add", 274, 100);
  b.finish();
  Replay r(std::move(job));
  ASSERT_TRUE(edit_kernels({"fill"}, {}, r.graph, r.costs).ok());
  r.run();
  EXPECT_DOUBLE_EQ(r.start_us(0, 2), 102);
  EXPECT_DOUBLE_EQ(r.start_us(0, 4), 202 + 50 + 2);
}

TEST(KernelEdits, BadExpressionsAreRefused) {
  Replay r(three_kernels());
  EXPECT_NE(edit_kernels({"("}, {}, r.graph, r.costs).error().text().find("expected a regular expression"),
            std::string::npos);
  EXPECT_NE(edit_kernels({}, {"nonesuch"}, r.graph, r.costs).error().text().find("which no kernel's name matches"),
            std::string::npos);
  EXPECT_FALSE(edit_kernels({std::string(5000, 'a')}, {}, r.graph, r.costs).ok());
}

/// Twice the memory bandwidth: 2 + (100 - 2) / 2 = 51 us; four times the FP32 rate: 200 / 4 = 50 us for a GEMM of
/// unknown shape; a kernel at the floor stays.
TEST(DeviceRatio, StreamingByBandwidthMatrixByPeak) {
  const Replay r(three_kernels());
  const auto slow = opmodels::OpModels::create(device("slow", 10, 1000)),
             fast = opmodels::OpModels::create(device("fast", 40, 2000));
  ASSERT_TRUE(slow.ok() && fast.ok());
  DeviceRatio ratio(*slow, *fast);
  const traces::TraceRank& rank = r.job.ranks[0];
  EXPECT_EQ(ratio.scaled(r.job, rank, rank.device_records[0], 100'000'000), 51'000'000);
  EXPECT_EQ(ratio.scaled(r.job, rank, rank.device_records[2], 200'000'000), 50'000'000);
  EXPECT_EQ(ratio.scaled(r.job, rank, rank.device_records[0], 1'500'000), 1'500'000);
  EXPECT_EQ(ratio.by_peak(), 1u);
}

/// With a recorded shape the ratio is that of the op models.
TEST(DeviceRatio, MatrixByShapeWhereItWasRecorded) {
  traces::TraceJob job = three_kernels();
  traces::OpInputs in;
  in.tensors = {{{4096, 1024}, "float"}, {{1024, 2048}, "float"}};
  job.inputs.push_back(in);
  traces::HostRecord mm;
  mm.name = job.names.intern("aten::mm");
  mm.inputs = 0;
  job.ranks[0].host_records.push_back(mm);
  job.ranks[0].device_records[2].op = static_cast<std::uint32_t>(job.ranks[0].host_records.size() - 1);
  const auto op = matrix_op(job, job.ranks[0], job.ranks[0].device_records[2]);
  ASSERT_TRUE(op.has_value());
  const auto& gemm = std::get<graph::Gemm>(*op);
  EXPECT_EQ(gemm.m, 4096);
  EXPECT_EQ(gemm.n, 2048);
  EXPECT_EQ(gemm.k, 1024);
  const auto slow = opmodels::OpModels::create(device("slow", 10, 1000)),
             fast = opmodels::OpModels::create(device("fast", 40, 2000));
  DeviceRatio ratio(*slow, *fast);
  const double expected = 200e6 * double(fast->price(*op)->mean.ps()) / double(slow->price(*op)->mean.ps());
  EXPECT_NEAR(double(ratio.scaled(job, job.ranks[0], job.ranks[0].device_records[2], 200'000'000)), expected, 2);
  EXPECT_EQ(ratio.by_shape(), 1u);
}

TEST(KernelKinds, AreToldFromNames) {
  traces::DeviceRecord kernel;
  EXPECT_EQ(kernel_kind(kernel, "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"), KernelKind::matrix);
  EXPECT_EQ(kernel_kind(kernel, "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>"),
            KernelKind::streaming);
  EXPECT_EQ(kernel_kind(kernel, "void cudnn::ops::nchwToNhwcKernel<float>"), KernelKind::streaming);
  EXPECT_EQ(matrix_dtype("cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4"), graph::DType::tf32);
  EXPECT_EQ(matrix_dtype("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"), graph::DType::bf16);
  EXPECT_EQ(matrix_dtype("volta_sgemm_64x64_nt"), graph::DType::fp32);
  kernel.kind = traces::DeviceRecordKind::memcpy;
  kernel.direction = traces::CopyDirection::host_to_device;
  EXPECT_EQ(kernel_kind(kernel, "Memcpy HtoD"), KernelKind::host_copy);
}

TEST(WhatIf, HostAndBatchScaleWhatTheyShould) {
  const Replay r(three_kernels());
  WhatIf w;
  w.host_scale = 2;
  w.batch_scale = 3;
  const auto changed = apply(w, r.graph);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->changes.size(), 2u);
  EXPECT_EQ(changed->costs[r.node(0, 0)], 2'000'000 + 3 * 98'000'000);  // above the shortest kernel of 2 us
  const auto played = play(changed->graph, changed->costs);
  EXPECT_EQ(played->start[r.node(0, 0)], 10'000'000);  // launched at 0; the latency is the device's
  EXPECT_TRUE(changes_nothing(WhatIf()));
}

/// A network of two nodes: a rank's all-reduce took 900 us where the model says p: what is beyond is waiting, and stays
/// when the bandwidth is halved.
TEST(WhatIf, WaitingInACollectiveIsNotScaled) {
  traces::TraceJob job;
  RankBuilder b(job, 0);
  const auto host = b.thread(), stream = b.stream();
  b.collective(b.launch(host, 0, stream, "ncclAllReduce", 10, 90'000), graph::CollectiveKind::all_reduce, 64 << 20);
  b.finish();
  job.world_size = 2;
  const Replay r(std::move(job));
  topology::ClusterSpec spec;
  spec.name = "two";
  spec.nodes = 2;
  spec.gpus_per_node = 1;
  spec.device = "a";
  spec.gpu_links = {&topology::nvswitch_shape, 12, BytesPerSecond(25e9), 6, Duration::nanoseconds(700), false, 1};
  spec.nic.count = 1;
  spec.nic.bandwidth = BytesPerSecond(25e9);
  const auto network = [](const topology::ClusterSpec& s) {
    auto topology = topology::Topology::build(s, 80);
    EXPECT_TRUE(topology.ok()) << (topology.ok() ? "" : topology.error().text());
    auto models = collectives::CollectiveModels::create(*topology, collectives::CollectiveOptions{});
    EXPECT_TRUE(models.ok()) << (models.ok() ? "" : models.error().text());
    return std::pair(std::move(*topology), std::move(*models));
  };
  const auto before = network(spec);
  spec.nic.bandwidth = BytesPerSecond(spec.nic.bandwidth.value() / 2);
  const auto after = network(spec);
  WhatIf w;
  w.from_ranks = w.to_ranks = 2;
  w.from_network = {&before.first, &before.second};
  w.to_network = {&after.first, &after.second};
  const auto changed = apply(w, r.graph);
  ASSERT_TRUE(changed.ok());
  graph::Collective op;
  op.bytes = 64 << 20;
  const std::vector<std::uint32_t> both{0, 1};
  const std::int64_t p = before.second.price(op, before.first.facts(both))->mean.ps(),
                     q = after.second.price(op, after.first.facts(both))->mean.ps();
  ASSERT_GT(q, p);
  ASSERT_LT(p, 90'000'000'000);
  EXPECT_EQ(changed->costs[r.node(0, 0)], 90'000'000'000 - p + q);
}

}  // namespace
}  // namespace distsim::replay
