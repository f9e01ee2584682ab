// What the hardware allows, on all shipped devices and frameworks, and what overlap may cost.
#include <gtest/gtest.h>

#include "predicted_text.hpp"
#include "sanitizers.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/pipeline/kernel_time.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

using Sets = std::vector<std::string>;

struct Kernel {
  graph::Op op;
  double flops, bytes;  // of products; of tensors far beyond any L2
};
std::vector<Kernel> large_kernels() {
  const std::int64_t n = 16384, elements = std::int64_t{1} << 30;
  const double flops = 2.0 * double(n) * double(n) * double(n), bytes = 2.0 * double(elements);
  return {{graph::Gemm{1, n, n, n, graph::DType::fp16}, flops, 0},
          {graph::Gemm{1, n, n, n, graph::DType::fp32}, flops, 0},
          {graph::Elementwise{elements, 1, 1, 1, graph::DType::fp16}, 0, 2 * bytes},
          {graph::Copy{graph::CopyKind::d2d, elements}, 0, bytes}};
}

workload::Precision precision_of(const graph::Op& op) {
  const auto* g = std::get_if<graph::Gemm>(&op);
  return g != nullptr && g->dtype == graph::DType::fp32 ? workload::Precision::fp32 : workload::Precision::fp16;
}

/// Peak rate of a product's type at a clock.
double rate_at(Hertz clock, const topology::DeviceSpec& d, const graph::Op& op) {
  const auto* g = std::get_if<graph::Gemm>(&op);
  if (g == nullptr) return 0;
  return d.peak.at(std::string(graph::name_of(g->dtype))).value() *
         std::min(1.0, clock.value() / d.clock.boost.value());
}

void expect_within_hardware(const topology::DeviceSpec& device, const workload::FrameworkSpec& framework,
                            const opmodels::OpModels& models) {
  for (const Kernel& k : large_kernels()) {
    const auto cost = models.price(k.op);
    if (!cost.ok()) continue;  // a type that the device has not
    graph::TaskGraphBuilder b(1);
    b.add("kernel", {}, k.op);
    graph::CostedGraph c;
    c.graph = std::move(b).finish().value();
    c.costs.push_back(*cost);
    const KernelTime factors = kernel_time_of(framework, device, precision_of(k.op), 1);
    const HeldClock clock = held_clock(c, factors);
    ASSERT_TRUE(scale_kernels(c, factors, clock).ok());
    const double seconds = c.costs[OpId(0)].mean.seconds();
    EXPECT_LE(k.flops / seconds, 1.0001 * rate_at(clock.held, device, k.op)) << device.name << ", " << framework.name;
    EXPECT_LE(k.bytes / seconds, 1.0001 * device.hbm.bandwidth.value()) << device.name << ", " << framework.name;
  }
}

TEST(Physics, NoKernelPassesWhatItsDeviceAllows) {
  for (const std::string& name : config::names_in("devices")) {
    const topology::DeviceSpec device = config::load_device(name).value();
    const opmodels::OpModels models = op_models_of(device).value();
    for (const std::string& framework : config::names_in("frameworks"))
      expect_within_hardware(device, config::load_framework(framework).value(), models);
  }
}

/// Nor with any factors that a file may hold.
TEST(Physics, NoFactorMakesHardwareFaster) {
  topology::DeviceSpec device = config::load_device("h100_sxm5_80gb").value();
  const opmodels::OpModels models = op_models_of(device).value();
  workload::FrameworkSpec framework;
  for (const double factor : {0.2, 0.5, 0.8, 1.0}) {
    framework.kernels.matrix = framework.kernels.memory = factor;
    device.calibration.matrix_16bit = device.calibration.matrix_32bit = device.calibration.memory = factor;
    expect_within_hardware(device, framework, models);
  }
}

/// Nothing but products: an H100 at 700 W does not hold the clock of a short benchmark. A stream through memory does.
TEST(Physics, PowerHoldsProductsDownAndStreamsNot) {
  const topology::DeviceSpec device = config::load_device("h100_sxm5_80gb").value();
  const opmodels::OpModels models = op_models_of(device).value();
  const auto slower = [&](const graph::Op& op) {
    graph::TaskGraphBuilder b(1);
    b.add("kernel", {}, op);
    graph::CostedGraph c;
    c.graph = std::move(b).finish().value();
    c.costs.push_back(models.price(op).value());
    return held_clock(c, kernel_time_of(workload::FrameworkSpec{}, device, workload::Precision::fp16, 1)).slower();
  };
  EXPECT_GT(slower(graph::Gemm{1, 16384, 16384, 16384, graph::DType::bf16}), 1.02);
  EXPECT_EQ(slower(graph::Elementwise{std::int64_t{1} << 30, 1, 1, 1, graph::DType::bf16}), 1);
}

double iteration_ms_of(const std::string& config, Sets sets) {
  Passes passes;
  const auto experiment = config::load_experiment(test::config(config), sets);
  EXPECT_TRUE(experiment.ok()) << experiment.error().text();
  if (!experiment.ok()) return 0;
  const auto predicted = predict(*experiment, passes);
  EXPECT_TRUE(predicted.ok()) << predicted.error().text();
  return predicted.ok() ? predicted->report.iteration.ms() : 0;
}

Sets with(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// The same experiment with and without a kind of overlap.
void expect_overlap_pays(const char* key, const std::string& config, const Sets& sets, double most) {
  const double on = iteration_ms_of(config, with(sets, {std::string(key) + "=true"}));
  const double off = iteration_ms_of(config, with(sets, {std::string(key) + "=false"}));
  std::string all = config;
  for (const std::string& s : sets) all += " " + s;
  EXPECT_LE(on, most * off) << all << ": " << key;
}

/// Of dense models nothing runs beside gradients that wait. A recommender's then run beside the sparse updates, which
/// lose less to them than matrix products do: half a percent.
TEST(Physics, OverlapNeverCosts) {
  constexpr const char* kGradients = "framework.gradients.overlap";
  const std::size_t step = test::has_address_sanitizer() ? 3 : 1;
  const std::vector<std::string> frameworks = config::names_in("frameworks");
  for (std::size_t i = 0; i < frameworks.size(); i += step) {
    const std::string& framework = frameworks[i];
    for (const char* system : {"dgx1_v100_16gb", "dgx_a100_80gb", "dgx_h100"}) {
      for (const char* nodes : {"1", "4"}) {
        const Sets on{"framework.name=" + framework, std::string("cluster.system=") + system,
                      std::string("cluster.nodes=") + nodes, "model.memory_check=false"};
        expect_overlap_pays(kGradients, "bert_large_dgx_a100.yaml",
                            with(on, {"model.global_batch=4096", "model.accumulation=1"}), 1.001);
        expect_overlap_pays(kGradients, "resnet50_dgx_a100.yaml", on, 1.001);
        expect_overlap_pays(kGradients, "dgx_a100_4node.yaml", on, 1.005);
        expect_overlap_pays("framework.embedding.overlap_exchange", "dgx_a100_4node.yaml", on, 1.001);
      }
    }
  }
}

/// Where the host is the limit, the launches of gradient buckets come before that of the embedding gradients' exchange, which
/// starts so much later: a percent, not more.
TEST(Physics, OverlapOfAHostBoundRecommenderCostsAFewLaunches) {
  for (const char* system : {"gb200_nvl72", "gb300_nvl72"}) {
    for (const char* nodes : {"1", "2", "4"})
      expect_overlap_pays("framework.gradients.overlap", "dgx_a100_4node.yaml",
                          {std::string("cluster.system=") + system, std::string("cluster.nodes=") + nodes}, 1.015);
  }
}

/// A collective of which a part is hidden is one launch and one latency all the same. With sequence parallelism products in
/// chunks are more kernels, which a host that is the limit pays for.
TEST(Physics, OverlapOfTensorParallelismCostsNoLaunches) {
  for (const char* model : {"t5_3b_nemo", "llama3_8b"}) {
    for (const char* system : {"gb200_nvl72", "dgx_h100", "pcie_a100"}) {
      for (const char* tensor : {"2", "8"})
        expect_overlap_pays("parallel.overlap_tensor", "megatron_gpt_7_5b.yaml",
                            {std::string("model.name=") + model, std::string("cluster.system=") + system,
                             "cluster.nodes=4", "model.global_batch=32", "parallel.micro_batch=1",
                             "model.memory_check=false", "framework.name=megatron_core",
                             std::string("parallel.tensor=") + tensor, "parallel.sequence_parallel=false"},
                            1.001);
    }
  }
}

/// BERT on 4 nodes was slower with overlapped gradients than without; most of its all-reduces hide behind kernels.
TEST(Physics, OverlapHidesGradientsOfBert) {
  const Sets four{"cluster.nodes=4", "model.global_batch=2048", "model.accumulation=1"};
  const double on = iteration_ms_of("bert_large_dgx_a100.yaml", with(four, {"framework.gradients.overlap=true"}));
  const double off = iteration_ms_of("bert_large_dgx_a100.yaml", with(four, {"framework.gradients.overlap=false"}));
  EXPECT_LT(on, 0.98 * off);
}

/// Odd numbers of tokens, which an uneven split gives, made the gradients of weights slower than larger ones.
TEST(Physics, MoreUnevenExpertsAreNeverFaster) {
  for (const char* model : {"deepseek_v2_l4", "mixtral_8x7b", "qwen3_30b_a3b"}) {
    for (const char* system : {"dgx_a100_80gb", "dgx_h100", "kestrel_h100"}) {
      double last = 0;
      for (const char* imbalance : {"0", "0.01", "0.02", "0.05", "0.1", "0.15", "0.2", "0.5", "1", "1.5", "2", "3"}) {
        const std::string text =
            "cluster: {system: " + std::string(system) + ", nodes: 4}\nmodel: {name: " + model +
            ", per_gpu_batch: 0, global_batch: 256, memory_check: false, llm: {imbalance: " + imbalance +
            "}}\nframework: {name: megatron_core}\nparallel: {expert: 8}\n";
        const auto predicted = predicted_text(text);
        ASSERT_TRUE(predicted.ok()) << predicted.error().text();
        const double ms = predicted->report.iteration.ms();
        EXPECT_GE(ms, last) << model << ' ' << system << ' ' << imbalance;
        last = ms;
      }
    }
  }
}

/// Attention of a library that the device does not run is of another one, which is named.
TEST(Physics, AnotherLibraryOfAttentionIsNamed) {
  const auto named = [](const std::string& library) {
    const auto p = predicted_text(
        "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {name: gpt3_126m, global_batch: 64}\n"
        "parallel: {tensor: 1}\nframework: {name: megatron_core, kernels: {attention: flash, flash_library: " +
        library + "}}\n");
    std::string text;
    for (const graph::Assumption& a : p.value().report.context.assumptions)
      if (a.text.starts_with("flash attention of ")) text += a.text + "\n";
    return text;
  };
  EXPECT_EQ(named("flash3"),
            "flash attention of flash2: a100_sxm4_80gb does not run flash3 (framework.kernels.flash_library)\n");
  for (const char* library : {"best", "flash1", "flash2", "cudnn"}) EXPECT_EQ(named(library), "") << library;
}

}  // namespace
}  // namespace distsim::pipeline
