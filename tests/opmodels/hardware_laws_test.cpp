// Laws of prices in the hardware, for every op of the registry over many shapes on the shipped devices: a device with a
// better figure is never slower and never jumps, and newer generations are not slower than older ones.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <random>

#include "base/config/config_node.hpp"
#include "opmodels/learned/learned_models.hpp"
#include "opmodels/limits.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "opmodels/registry.hpp"
#include "test_paths.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::opmodels {
namespace {

std::shared_ptr<const LearnedModels> shipped_models() {
  static const auto models = std::make_shared<const LearnedModels>(*LearnedModels::load(test::config("op_models")));
  return models;
}

topology::DeviceSpec shipped_device(const std::string& name) {
  const auto node = parse_yaml_file(test::config("devices/" + name + ".yaml"));
  EXPECT_TRUE(node.ok()) << name;
  return *topology::device_schema().read(*node);
}

OpModels models_of_spec(const topology::DeviceSpec& spec) { return *OpModels::create(spec, shipped_models()); }

std::int64_t sized(std::mt19937& random, double low, double high) {
  return static_cast<std::int64_t>(std::exp2(low + (high - low) * (static_cast<double>(random()) / 4294967296.0)));
}

template <class T, std::size_t n>
T one_of(std::mt19937& random, const T (&values)[n]) {
  return values[random() % n];
}

constexpr graph::DType kTypes[] = {graph::DType::fp16, graph::DType::bf16, graph::DType::fp32};
constexpr graph::DType kMatrixTypes[] = {graph::DType::fp16, graph::DType::bf16, graph::DType::fp32, graph::DType::tf32,
                                         graph::DType::fp8};
constexpr graph::Pass kPasses[] = {graph::Pass::forward, graph::Pass::backward};

/// Shared keys, wide queries, windows; groups of experts; scaled products; scans.
void add_language_model(std::mt19937& random, std::vector<graph::Op>& out) {
  graph::Attention a{sized(random, 0, 3), 8 * sized(random, 0, 3), sized(random, 7, 14), 0, 128, true, true, false,
                     graph::DType::bf16,  one_of(random, kPasses)};
  a.kv_len = a.q_len;
  a.kv_heads = 8;
  if (random() % 2 == 0) a.head_dim = 192, a.value_dim = 128;
  if (random() % 2 == 0) a.window = 128 * sized(random, 0, 4);
  out.emplace_back(a);
  graph::Gemm experts{sized(random, 0, 6), sized(random, 5, 13), 256 * sized(random, 0, 5), 256 * sized(random, 0, 5),
                      graph::DType::bf16};
  experts.grouped = true;
  experts.imbalance = random() % 2 == 0 ? 0 : 0.4;
  out.emplace_back(experts);
  graph::Gemm scaled{1, 128 * sized(random, 0, 7), 128 * sized(random, 0, 7), 128 * sized(random, 0, 7),
                     graph::DType::fp8};
  scaled.scaling = random() % 2 == 0 ? graph::Scaling::current : graph::Scaling::blockwise;
  out.emplace_back(scaled);
  scaled.dtype = graph::DType::fp4;
  scaled.scaling = graph::Scaling::nv;
  out.emplace_back(scaled);
  out.emplace_back(graph::StateSpaceScan{sized(random, 0, 3), sized(random, 9, 14), sized(random, 3, 7), 64, 128, 8,
                                         256, graph::DType::bf16, one_of(random, kPasses)});
}

void add_products(std::mt19937& random, std::vector<graph::Op>& out) {
  out.emplace_back(graph::Gemm{random() % 3 == 0 ? sized(random, 0, 8) : 1, sized(random, 0, 14),
                               8 * sized(random, 0, 11), 8 * sized(random, 0, 11), one_of(random, kMatrixTypes)});
  const std::int64_t side = sized(random, 3, 7);
  const bool last = random() % 2 == 0;
  graph::Conv2d c{sized(random, 0, 6), 8 * sized(random, 0, 6), side, side, 8 * sized(random, 0, 6), 3, 3, 1, 1};
  c.dtype = one_of(random, kTypes);
  c.channels_last = last;
  c.pass = one_of(random, kPasses);
  out.emplace_back(c);
  out.emplace_back(graph::Attention{sized(random, 0, 5), sized(random, 0, 6), sized(random, 5, 13),
                                    sized(random, 5, 13), one_of<std::int64_t>(random, {32, 64, 128}),
                                    random() % 2 == 0, random() % 2 == 0, random() % 2 == 0, graph::DType::fp16,
                                    one_of(random, kPasses)});
  out.emplace_back(graph::Interaction{sized(random, 8, 16), sized(random, 2, 6), 8 * sized(random, 1, 5),
                                      graph::DType::fp16, random() % 2 == 0, one_of(random, kPasses)});
  graph::CrossLayer cross{sized(random, 8, 16), 64 * sized(random, 0, 6), 0, graph::DType::fp16};
  cross.rank = random() % 2 == 0 ? 0 : std::max<std::int64_t>(1, cross.width / 4);
  cross.pass = one_of(random, kPasses);
  cross.fusion = static_cast<graph::CrossFusion>(random() % 3);
  out.emplace_back(cross);
}

void add_rows(std::mt19937& random, std::vector<graph::Op>& out) {
  constexpr graph::NormKind kNorms[] = {graph::NormKind::layer, graph::NormKind::rms, graph::NormKind::batch};
  // Columns as models have them: what trees make of norms of a hundred columns on V100 and A100 is not measured.
  out.emplace_back(graph::Normalization{one_of(random, kNorms), sized(random, 0, 15), 32 * sized(random, 3, 9),
                                        one_of(random, kTypes), one_of(random, kPasses), false});
  out.emplace_back(
      graph::Softmax{sized(random, 0, 17), 8 * sized(random, 0, 11), one_of(random, kTypes), one_of(random, kPasses)});
  out.emplace_back(graph::Loss{graph::LossKind::cross_entropy, sized(random, 4, 15), sized(random, 1, 15)});
  out.emplace_back(graph::Elementwise{sized(random, 4, 29), static_cast<double>(random() % 4), 1,
                                      static_cast<double>(random() % 100), one_of(random, kTypes)});
}

void add_movement(std::mt19937& random, std::vector<graph::Op>& out) {
  constexpr graph::CopyKind kCopies[] = {graph::CopyKind::d2d, graph::CopyKind::h2d};
  out.emplace_back(graph::Copy{one_of(random, kCopies), sized(random, 4, 30)});
  out.emplace_back(graph::Concat{sized(random, 4, 30), sized(random, 1, 8)});
  out.emplace_back(graph::Transpose{sized(random, 0, 13), sized(random, 0, 13)});
  constexpr graph::OptimizerKind kOptimizers[] = {graph::OptimizerKind::sgd, graph::OptimizerKind::adam,
                                                  graph::OptimizerKind::lamb};
  out.emplace_back(graph::Optimizer{one_of(random, kOptimizers), sized(random, 10, 30), sized(random, 0, 9)});
  constexpr graph::SparseUpdate kUpdates[] = {graph::SparseUpdate::fused, graph::SparseUpdate::atomic,
                                              graph::SparseUpdate::sort_dedup, graph::SparseUpdate::block_per_row};
  graph::EmbeddingBag bag;
  bag.tables.assign(1 + random() % 8, {sized(random, 6, 24), 8 * sized(random, 0, 5),
                                       static_cast<double>(sized(random, 0, 6)), random() % 2 == 0 ? 0 : 1.05});
  bag.batch = sized(random, 6, 16);
  bag.pass = one_of(random, kPasses);
  bag.update = one_of(random, kUpdates);
  bag.table_batched = random() % 2 == 0;
  out.emplace_back(bag);
}

/// Examples of the registry and shapes at random.
std::vector<graph::Op> many_ops(int draws) {
  std::vector<graph::Op> out;
  for (const OpModelEntry& entry : op_model_entries()) {
    if (graph::work_of(entry.example) == graph::Work::kernel) out.push_back(entry.example);
  }
  out.emplace_back(graph::Normalization{graph::NormKind::layer, 8192, 1024, graph::DType::fp16});
  std::mt19937 random(11);
  for (int i = 0; i < draws; ++i) {
    add_products(random, out);
    add_rows(random, out);
    add_movement(random, out);
  }
  std::mt19937 others(12);
  for (int i = 0; i < draws; ++i) add_language_model(others, out);
  return out;
}

struct Better {
  std::string name;
  std::function<void(topology::DeviceSpec&, double)> apply;
};

void scale_peaks(topology::DeviceSpec& d, double factor) {
  for (auto& [type, rate] : d.peak) rate = FlopsPerSecond(rate.value() * factor);
}

/// Each hardware figure of a device, made better by a factor.
std::vector<Better> all_figures() {
  std::vector<Better> out{
      {"memory bandwidth", [](auto& d, double f) { d.hbm.bandwidth = BytesPerSecond(d.hbm.bandwidth.value() * f); }},
      {"L2 bandwidth", [](auto& d, double f) { d.l2.bandwidth = BytesPerSecond(d.l2.bandwidth.value() * f); }},
      {"L2 size",
       [](auto& d, double f) {
         d.l2.capacity = Bytes(static_cast<std::int64_t>(static_cast<double>(d.l2.capacity.value()) * f));
       }},
      {"clock",
       [](auto& d, double f) {
         for (Hertz* clock : {&d.clock.boost, &d.clock.sustained, &d.clock.burst}) *clock = Hertz(clock->value() * f);
         scale_peaks(d, f);
       }},
      {"SMs",
       [](auto& d, double f) {
         const auto before = static_cast<double>(d.sm_count);
         d.sm_count = static_cast<std::int64_t>(std::ceil(before * f));
         scale_peaks(d, static_cast<double>(d.sm_count) / before);
       }},
      {"kernel floor",
       [](auto& d, double f) { d.launch.kernel_floor = *Duration::from_seconds(d.launch.kernel_floor.seconds() / f); }},
      {"PCIe", [](auto& d, double f) { d.pcie_bandwidth = BytesPerSecond(d.pcie_bandwidth.value() * f); }}};
  for (const char* type : {"fp16", "bf16", "fp8", "fp4", "tf32", "fp32", "vector_fp32", "vector_fp16"}) {
    out.push_back({type, [type](auto& d, double f) {
                     if (const auto rate = d.peak.find(type); rate != d.peak.end())
                       rate->second = FlopsPerSecond(rate->second.value() * f);
                   }});
  }
  out.push_back({"fp32 lanes", [](auto& d, double f) {
                   for (const char* type : {"fp32", "vector_fp32", "vector_fp16"}) {
                     if (const auto rate = d.peak.find(type); rate != d.peak.end())
                       rate->second = FlopsPerSecond(rate->second.value() * f);
                   }
                 }});
  return out;
}

/// Microseconds; 0 where the device has no such type.
double price_us(const OpModels& models, const graph::Op& op) {
  const auto cost = models.price(op);
  return cost.ok() ? cost->mean.us() : 0;
}

std::vector<std::string> nvidia_devices() {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(test::config("devices")))
    out.push_back(file.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

constexpr double kTenthOfAPercent = 1.001;
constexpr double kLargestJump = 1.2;  // for one percent

TEST(HardwareLaws, ABetterFigureIsNeverSlowerAndNeverJumps) {
  const std::vector<graph::Op> ops = many_ops(12);
  std::size_t checked = 0;
  for (const std::string& device : nvidia_devices()) {
    const topology::DeviceSpec spec = shipped_device(device);
    const OpModels now = models_of_spec(spec);
    std::vector<double> before;
    for (const graph::Op& op : ops) before.push_back(price_us(now, op));
    for (const Better& figure : all_figures()) {
      for (const double factor : {0.8, 1.01, 1.18, 1.6}) {
        topology::DeviceSpec improved = spec;
        figure.apply(improved, factor);
        const OpModels then = models_of_spec(improved);
        for (std::size_t i = 0; i < ops.size(); ++i) {
          const double after = price_us(then, ops[i]);
          const auto [better, worse] = factor < 1 ? std::pair(before[i], after) : std::pair(after, before[i]);
          EXPECT_LE(better, kTenthOfAPercent * worse)
              << device << ": " << figure.name << " x" << factor << ": " << graph::describe(ops[i]);
          if (factor == 1.01) {
            EXPECT_GE(kLargestJump * after, before[i])
                << device << ": " << figure.name << " x" << factor << ": " << graph::describe(ops[i]);
          }
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 100'000u);
}

/// What a newer device may be slower by, because a figure of it is worse: the A100's L2 passes 6 % fewer bytes than the
/// V100's and its clock is 8 % lower; by their data sheets the plain lanes of one SM of a GB200 are 2.4 % slower than
/// those of a B200.
struct Step {
  const char *older, *newer;
  double slack;
};
constexpr Step kGenerations[] = {{"v100_sxm2_32gb", "a100_sxm4_80gb", 1.09},
                                 {"a100_sxm4_80gb", "h100_sxm5_80gb", 1.001},
                                 {"h100_sxm5_80gb", "h200_sxm", 1.001},
                                 {"h200_sxm", "b200", 1.001},
                                 {"b200", "b300", 1.001},
                                 {"b200", "gb200", 1.025}};

TEST(HardwareLaws, NoProductIsFasterThanThePeakOfItsType) {
  for (const char* device : {"a100_sxm4_80gb", "h100_sxm5_80gb", "b200", "mi300x"}) {
    for (const auto& [name, type] : {std::pair("fp16", graph::DType::fp16), std::pair("bf16", graph::DType::bf16)}) {
      for (const double share : {0.5, 0.1, 0.01}) {
        topology::DeviceSpec spec = shipped_device(device);
        FlopsPerSecond& peak = spec.peak.at(name);
        peak = FlopsPerSecond(peak.value() * share);
        const graph::Op product = graph::Gemm{1, 8192, 8192, 8192, type};
        EXPECT_LE(graph::flops_of(product) / (price_us(models_of_spec(spec), product) * 1e-6), 1.001 * peak.value())
            << device << " " << name << " x" << share;
      }
    }
  }
}

/// Models that make every kernel as fast as the format of their files allows.
std::shared_ptr<const LearnedModels> fastest_models(double log_ratio) {
  auto models = std::make_shared<LearnedModels>();
  for (std::size_t i = 0; i < kLearnedKernels; ++i) {
    LearnedModel fast = *shipped_models()->find(static_cast<LearnedKernel>(i));
    fast.median = Forest(log_ratio), fast.low = Forest(log_ratio);
    models->add(std::move(fast));
  }
  return models;
}

/// Seconds of an op's products at the peak of the data sheet with its tolerance; 0: it has none, or other sums may do.
double seconds_at_peak(const topology::DeviceSpec& spec, const graph::Op& op) {
  if (!has_no_shortcut(op)) return 0;
  return std::visit(
      [&](const auto& shape) {
        double peak = 0;
        if constexpr (requires { shape.dtype; }) peak = topology::product_peak(spec, graph::name_of(shape.dtype)).rate;
        return peak > 0 ? graph::flops_of(op) / (topology::kPeakTolerance * peak) : 0;
      },
      op);
}

/// Nor by what a file of models says, nor the low end of its range; prices of the shipped models are not touched by it.
TEST(HardwareLaws, NoModelIsFasterThanThePeakOfItsType) {
  std::size_t checked = 0, held = 0;
  for (const char* device : {"v100_sxm2_32gb", "a100_sxm4_80gb", "h100_sxm5_80gb", "b200"}) {
    topology::DeviceSpec spec = shipped_device(device);
    for (const double lock : {0.0, 0.7}) {
      spec.clock.locked = Hertz(lock * spec.clock.boost.value());
      const OpModels fast = *OpModels::create(spec, fastest_models(-LearnedModels::kMaxLog));
      for (const graph::Op& op : many_ops(20)) {
        const auto cost = fast.price(op);
        const double least = seconds_at_peak(spec, op) / (lock > 0 ? lock : 1);
        if (!cost.ok() || least == 0) continue;
        EXPECT_GE(cost->low.seconds(), 0.999 * least) << device << " " << lock << ": " << graph::describe(op);
        held += cost->mean.seconds() < 1.001 * least ? 1 : 0;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 500u);
  EXPECT_GT(held, 10u);
}

/// A table corrects what lies between its points, which may carry a fast one to a larger product.
TEST(HardwareLaws, NoCorrectedTimeIsFasterThanThePeakOfItsType) {
  const topology::DeviceSpec spec = shipped_device("a100_sxm4_80gb");
  const auto product = [](std::int64_t m) -> graph::Op { return graph::Gemm{1, m, 4096, 4096, graph::DType::fp16}; };
  const auto fast = std::make_shared<const MeasuredTable>(
      "a100_sxm4_80gb", "", std::vector<MeasuredPoint>{{*point_of(product(4096)), 20, 500}});
  const OpModels models = *OpModels::create(spec, shipped_models(), fast);
  for (std::int64_t m = 3000; m < 6000; m += 100)
    EXPECT_GE(models.price(product(m))->low.seconds(), 0.999 * seconds_at_peak(spec, product(m))) << m;
}

struct MovedOp {
  graph::Op op;
  double bytes;  ///< that it reads and writes at least
};

/// Kernels that memory bounds, of some 2^28 elements, products of `type`.
std::vector<MovedOp> ops_bound_by_memory(graph::DType type) {
  constexpr std::int64_t n = 1 << 28;
  const double width = static_cast<double>(graph::size_of(type));
  const double elements = static_cast<double>(n), weights = 65536.0 * 8192;
  std::vector<MovedOp> out{{graph::Copy{graph::CopyKind::d2d, n}, 2 * elements},
                           {graph::Concat{n, 2}, 2 * elements},
                           {graph::Transpose{4096, n / 4096}, 8 * elements},
                           {graph::Gemm{1, 1, 65536, 8192, type}, width * weights},
                           {graph::Gemm{1, 16, 65536, 8192, type}, width * weights}};
  using Kind = graph::OptimizerKind;
  const std::vector<std::pair<Kind, double>> steps{
      {Kind::sgd, 3}, {Kind::momentum, 5}, {Kind::adagrad, 5}, {Kind::adam, 7}};
  for (const auto& [kind, passes] : steps) out.push_back({graph::Optimizer{kind, n, 10}, 4.0 * passes * elements});
  graph::Conv2d pointwise{.n = 1024, .c = 64, .h = 56, .w = 56, .k = 64, .r = 1, .s = 1, .dtype = type};
  out.push_back({pointwise, width * 2 * 1024 * 64 * 56 * 56});
  graph::Attention decode{128, 16, 1, 4096, 64, true, false, false, type};
  out.push_back({decode, width * 2 * 128 * 16 * 4096 * 64});
  graph::EmbeddingBag lookup;  // no row twice, of more than any L2 holds
  lookup.tables = {{1'000'000'000, 128, 1, 0}};
  lookup.batch = n / 128;
  lookup.weights = lookup.output = type;
  out.push_back({lookup, width * 2 * 0.99 * elements});
  return out;
}

/// Nor the low end of its range: what is larger than the L2 is read and written once at least.
TEST(HardwareLaws, NoKernelIsFasterThanTheMemory) {
  for (const auto& file : std::filesystem::directory_iterator(test::config("devices"))) {
    const topology::DeviceSpec spec = shipped_device(file.path().stem().string());
    const OpModels models = models_of_spec(spec);
    const DeviceRates rates = *device_rates(spec);
    const auto expect_slower = [&](const graph::Op& op, double bytes) {
      const auto cost = models.price(op);
      ASSERT_TRUE(cost.ok()) << cost.error().text();
      EXPECT_GE(cost->low.seconds(), 0.9999 * bytes / rates.hbm) << spec.name << ": " << graph::describe(op);
    };
    const bool halves = rates.matrix[static_cast<std::size_t>(graph::DType::fp16)] > 0;
    for (const auto& [op, bytes] : ops_bound_by_memory(halves ? graph::DType::fp16 : graph::DType::fp32))
      expect_slower(op, bytes);
    for (const std::int64_t cols : {std::int64_t{4096}, std::int64_t{16384}}) {
      for (std::int64_t rows = 1 << 15; rows <= 1 << 20; rows *= 4) {
        const double elements = static_cast<double>(rows * cols);
        for (const double reads : {1.0, 2.0}) {
          expect_slower(graph::Elementwise{rows * cols, reads, 1, 1, graph::DType::fp32}, 4 * (reads + 1) * elements);
          expect_slower(graph::Elementwise{rows * cols, reads, 1, 8, graph::DType::fp16}, 2 * (reads + 1) * elements);
        }
        expect_slower(graph::Softmax{rows, cols, graph::DType::fp16}, 4 * elements);
        expect_slower(graph::Normalization{graph::NormKind::layer, rows, cols, graph::DType::fp16}, 4 * elements);
      }
    }
  }
}

TEST(HardwareLaws, NewerGenerationsAreNotSlower) {
  constexpr double kLong = 20;  // us; below it launches and waves decide
  for (const Step& step : kGenerations) {
    const OpModels older = models_of_spec(shipped_device(step.older)),
                   newer = models_of_spec(shipped_device(step.newer));
    for (const graph::Op& op : many_ops(150)) {
      const double before = price_us(older, op), after = price_us(newer, op);
      if (before < kLong || after == 0) continue;
      EXPECT_LE(after, step.slack * before) << step.older << " -> " << step.newer << ": " << graph::describe(op);
    }
  }
}

/// The examples of the report: LayerNorm 8192 x 1024 took 15.3 us on H100, 21.4 on H200 and 20.6 on B200.
TEST(HardwareLaws, ANormIsNotSlowerForFasterMemory) {
  const graph::Normalization norm{graph::NormKind::layer, 8192, 1024, graph::DType::fp16};
  double before = 1e9;
  for (const char* device : {"v100_sxm2_32gb", "a100_sxm4_80gb", "h100_sxm5_80gb", "h200_sxm", "b200", "b300"}) {
    const double us = price_us(models_of_spec(shipped_device(device)), norm);
    EXPECT_LE(us, before) << device;
    before = us;
  }
}

TEST(References, EveryShippedModelStatesItsGpusInFull) {
  for (std::size_t i = 0; i < kLearnedKernels; ++i) {
    const LearnedModel* model = shipped_models()->find(static_cast<LearnedKernel>(i));
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->scales.size(), model->devices.size()) << model->source;
    EXPECT_TRUE(std::any_of(model->scales.begin(), model->scales.end(), [](const auto& s) { return s.widths != 0; }))
        << model->source;
  }
}

TEST(References, AtATrainedDeviceAPriceIsWhatWasLearnedThere) {
  const topology::DeviceSpec spec = shipped_device("a100_sxm4_80gb");
  const OpModels models = models_of_spec(spec);
  const auto cost = models.price(graph::Gemm{1, 4096, 4096, 4096, graph::DType::bf16});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->basis, graph::Basis::learned);
}

}  // namespace
}  // namespace distsim::opmodels
