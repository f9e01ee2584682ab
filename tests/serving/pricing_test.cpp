// Models that are graphs: what their layers take on a device, and what is refused.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "scenarios.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/serving/pricing/graph_model.hpp"
#include "sim/serving/spec/fingerprint.hpp"
#include "sim/serving/spec/price_store.hpp"
#include "sim/serving/spec/serving_spec.hpp"
#include "test_paths.hpp"

namespace distsim::serving {
namespace {

std::string graph_file(const std::string& name) {
  return distsim::test::root() + "/configs/serving/models/" + name + ".graph";
}

GraphModel read_graph(const std::string& name, workload::Precision precision = workload::Precision::fp32) {
  auto model = GraphModel::read(graph_file(name), precision);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  return std::move(*model);
}

DevicePrices prices_of(const topology::DeviceSpec& device) {
  return {*pipeline::op_models_of(device), *opmodels::OpModels::create(device)};
}
topology::DeviceSpec device(const std::string& name) { return *config::load_device(name); }

double total_ms(const GraphModel& model, const DevicePrices& prices, std::int64_t batch,
                const GraphOptions& options = {}) {
  const auto layers = model.price(prices, batch, options);
  EXPECT_TRUE(layers.ok()) << (layers.ok() ? "" : layers.error().text());
  double ps = 0;
  for (const PricedLayer& layer : *layers) ps += layer.time_ps;
  return ps * 1e-9;
}

constexpr const char* kModels[] = {"alexnet",     "bert_base",        "dlrm_kaggle", "googlenet",
                                   "lstm_medium", "resnet18",         "resnet101",   "resnet50",
                                   "ssd300",      "transformer_base", "vgg16"};

/// Parameters are those of the papers' models; buffers of batch normalisation are two for each channel, and a counter.
TEST(GraphModels, HaveTheSizesOfTheirModels) {
  const GraphModel resnet = read_graph("resnet50");
  EXPECT_NEAR(static_cast<double>(resnet.weight_bytes()), 4 * (25'557'032 + 2 * 26'560), 2000);
  EXPECT_EQ(resnet.input_bytes(), 4 * 3 * 224 * 224);
  EXPECT_EQ(resnet.output_bytes(), 4 * 1000);
  EXPECT_EQ(read_graph("vgg16").weight_bytes(), 4LL * 138'357'544);
  EXPECT_EQ(read_graph("alexnet").weight_bytes(), 4LL * 61'100'840);
  EXPECT_NEAR(static_cast<double>(read_graph("resnet50", workload::Precision::fp16).weight_bytes()),
              static_cast<double>(resnet.weight_bytes()) / 2, 2000);
  EXPECT_EQ(read_graph("resnet50", workload::Precision::fp16).output_bytes(), 2 * 1000);
  ASSERT_EQ(resnet.state_after().size(), resnet.layers());
  EXPECT_EQ(resnet.state_after().front(), 4 * 64 * 112 * 112);  // of conv1
  EXPECT_EQ(resnet.state_after().back(), 0);
}

TEST(GraphModels, EveryShippedOneIsPriced) {
  const DevicePrices prices = prices_of(device("rtx_2060"));
  for (const char* name : kModels) {
    const GraphModel model = read_graph(name);
    EXPECT_EQ(model.only_batch(), 0) << name;
    const auto layers = model.price(prices, 2, {});
    ASSERT_TRUE(layers.ok()) << name << ": " << layers.error().text();
    EXPECT_EQ(layers->size(), model.layers()) << name;
    for (const PricedLayer& layer : *layers) {
      for (const double part : {layer.demand.sm, layer.demand.memory, layer.demand.launch}) {
        EXPECT_GE(part, 0) << name << " " << layer.name;
        EXPECT_LE(part, 1) << name << " " << layer.name;
      }
      EXPECT_GE(layer.joules, 0) << name << " " << layer.name;
    }
    EXPECT_EQ(model.estimated({}), "") << name;
  }
}

/// More work is never faster, better hardware never slower, a host never helps, fusing never hurts.
TEST(GraphModels, ObeyTheLaws) {
  const topology::DeviceSpec plain = device("rtx_2060");
  topology::DeviceSpec better = plain;
  better.hbm.bandwidth = BytesPerSecond(2 * plain.hbm.bandwidth.value());
  for (auto& [type, rate] : better.peak) rate = FlopsPerSecond(2 * rate.value());
  better.described = {plain};
  const DevicePrices prices = prices_of(plain), faster = prices_of(better);
  const auto pytorch = config::load_framework("pytorch");
  ASSERT_TRUE(pytorch.ok());
  for (const char* name : kModels) {
    const GraphModel model = read_graph(name);
    const double one = total_ms(model, prices, 1);
    GraphOptions hosted, fused;
    hosted.framework = &*pytorch;
    fused.fused = true;
    EXPECT_LE(one, total_ms(model, prices, 4) * (1 + 1e-9)) << name;
    EXPECT_LE(total_ms(model, faster, 1), one * (1 + 1e-9)) << name;
    EXPECT_LE(one, total_ms(model, prices, 1, hosted) * (1 + 1e-9)) << name;
    EXPECT_LE(total_ms(model, prices, 1, fused), one * (1 + 1e-9)) << name;
  }
}

/// The host's time is hidden behind large batches and shows with small ones: never less than it takes for all launches.
TEST(GraphModels, HostsLaunchesShowWhereKernelsAreShort) {
  const DevicePrices prices = prices_of(device("h100_sxm5_80gb"));
  const auto pytorch = config::load_framework("pytorch");
  GraphOptions hosted;
  hosted.framework = &*pytorch;
  const GraphModel model = read_graph("resnet50");
  const auto layers = model.price(prices, 1, hosted);
  double host_ps = 0, time_ps = 0;
  for (const PricedLayer& layer : *layers) {
    host_ps += layer.host_ps;
    time_ps += layer.time_ps;
  }
  EXPECT_GE(time_ps, host_ps);
  EXPECT_GT(total_ms(model, prices, 1, hosted), 1.5 * total_ms(model, prices, 1));
  EXPECT_LT(total_ms(model, prices, 128, hosted), 1.02 * total_ms(model, prices, 128));
}

TEST(GraphModels, FillWhatTheExperimentDoesNotState) {
  const std::string text =
      "gpus: [{name: a, device: rtx_2060}]\n"
      "models: [{name: m, graph: " +
      graph_file("alexnet") +
      "}]\n"
      "load: {rate_per_s: 10, requests: 100}\npolicies: [fifo]\nbatching: {size: 3}\n";
  const auto e = parse_experiment(text, "x.yaml", {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->scenario.models[0].max_batch, 3u);
  EXPECT_EQ(e->scenario.models[0].weight_bytes, 4LL * 61'100'840);
  EXPECT_EQ(e->scenario.gpus[0].memory_bytes, (std::int64_t{6} << 30) - 800'000'000);
  EXPECT_EQ(e->scenario.links[e->scenario.gpus[0].host_in].bytes_per_s, 12e9);
  EXPECT_NEAR(e->scenario.gpus[0].idle_watts, 0.12 * 160, 1e-9);
  EXPECT_GT(e->scenario.joules(e->scenario.gpus[0], 0, 0, e->scenario.models[0].layers, 1), 0);
  const auto stated = parse_experiment(text, "x.yaml", {"models.0.weights=1 MB", "gpus.0.host_bandwidth=5 GB/s"});
  EXPECT_EQ(stated->scenario.models[0].weight_bytes, 1'000'000);
  EXPECT_EQ(stated->scenario.links[stated->scenario.gpus[0].host_in].bytes_per_s, 5e9);
}

/// What is kept from one reading to the next is what is priced anew, whatever changes in between.
TEST(GraphModels, KeptPricesAreThoseOfEachExperiment) {
  const std::string path = testing::TempDir() + "kept.yaml";
  std::ofstream(path) << "gpus: [{name: a, device: rtx_2060}]\nmodels: [{name: m, framework: pytorch, graph: "
                      << graph_file("alexnet")
                      << "}]\nload: {rate_per_s: 100, requests: 100}\npolicies: [dynamic_batching]\n";
  PriceStore kept;
  std::set<std::string> different;
  const std::vector<std::vector<std::string>> changes{{},
                                                      {"batching.size=40"},
                                                      {"gpus.0.device=a100_sxm4_40gb"},
                                                      {"gpus.0.device=a100_sxm4_40gb", "models.0.precision=tf32"},
                                                      {"models.0.precision=fp16"},
                                                      {"models.0.fused=true"},
                                                      {"models.0={name: m, graph: " + graph_file("alexnet") + "}"},
                                                      {"models.0.graph=" + graph_file("resnet18")},
                                                      {"gpus.0.device=gtx_1080_ti"},
                                                      {"gpus.0.idle_power=50 W"},
                                                      {"gpus.0.speed=2"}};
  for (int round = 0; round < 2; ++round) {
    for (const std::vector<std::string>& sets : changes) {
      const auto anew = load_experiment(path, sets), again = load_experiment(path, sets, &kept);
      ASSERT_TRUE(anew.ok() && again.ok()) << (anew.ok() ? "" : anew.error().text());
      EXPECT_EQ(fingerprint(*again), fingerprint(*anew)) << (sets.empty() ? "" : sets[0]);
      different.insert(fingerprint(*anew));
    }
  }
  EXPECT_EQ(different.size(), changes.size()) << "the test would notice nothing";
}

TEST(GraphModels, NameWhatIsWrong) {
  const auto refusal = [](const std::vector<std::string>& sets) {
    const auto e =
        parse_experiment("gpus: [{name: a, device: rtx_2060}]\nmodels: [{name: m, graph: " + graph_file("alexnet") +
                             "}]\nload: {rate_per_s: 10, requests: 100}\npolicies: [fifo]\n",
                         "x.yaml", sets);
    return e.ok() ? "" : e.error().text();
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({"gpus.0.device=rtx_2061"}).find("gpus[0].device: found 'rtx_2061', expected a file"),
            std::string::npos);
  EXPECT_NE(refusal({"gpus=[{name: a}]"}).find("without times for any GPU"), std::string::npos);
  EXPECT_NE(refusal({"models.0.graph=no_such.graph"}).find("no_such.graph"), std::string::npos);
  EXPECT_NE(refusal({"models.0.precision=fp64"}).find("models[0].precision: found 'fp64', expected one of"),
            std::string::npos);
  EXPECT_NE(refusal({"models.0.framework=pytorhc"}).find("models[0].framework: "), std::string::npos);
  EXPECT_NE(refusal({"gpus.0.device=gtx_1080_ti", "models.0.precision=bf16"}).find("bf16"), std::string::npos);
  EXPECT_NE(refusal({"models.0.layer_times=[1 ms]"}).find("models[0].graph: found it with layer_times"),
            std::string::npos);
  EXPECT_NE(refusal({"gpus.0.memory=100 MB"}).find("models[0]"), std::string::npos);
  const std::string training = (std::filesystem::path(testing::TempDir()) / "training.json").string();
  std::ofstream(training) << R"({"format": "distsim graph", "version": 1, "samples": 1, "any_batch": true,
    "tensors": [{"shape": [[0, 1], 8], "dtype": "float32", "role": "input"}, {"shape": [[0, 1], 8], "dtype": "float32"}],
    "nodes": [{"op": "aten::relu", "label": "a", "phase": "backward", "in": [{"t": 0}], "out": [1]}], "gradients": []})";
  const auto backward = GraphModel::read(training, workload::Precision::fp32);
  ASSERT_FALSE(backward.ok());
  EXPECT_NE(backward.error().text().find("found a backward pass, expected the forward pass alone"), std::string::npos);
}

/// Branches of captured graphs: the inception modules of GoogLeNet, the shortcuts of ResNet-50 that have a convolution of
/// their own; a VGG has none.
TEST(GraphModel, FindsBranches) {
  const auto blocks = [](const std::string& name) {
    const auto model = GraphModel::read(graph_file(name), workload::Precision::fp32);
    EXPECT_TRUE(model.ok());
    return LayerGraph(model->needs()).blocks().size();
  };
  EXPECT_EQ(blocks("vgg16"), 0u);
  EXPECT_EQ(blocks("alexnet"), 0u);
  EXPECT_EQ(blocks("resnet50"), 4u);
  EXPECT_EQ(blocks("googlenet"), 9u);
}

/// What a layer needs are bytes that the layers before it made.
TEST(GraphModel, BranchesHandOnTheirTensors) {
  const auto model = GraphModel::read(graph_file("resnet50"), workload::Precision::fp32);
  ASSERT_TRUE(model.ok());
  for (std::uint32_t l = 1; l < model->layers(); ++l) {
    ASSERT_FALSE(model->needs()[l].empty()) << l;
    for (const LayerGraph::Need& need : model->needs()[l]) EXPECT_LT(need.layer, l);
  }
  EXPECT_EQ(model->needs()[1][0].bytes, 64 * 112 * 112 * 4);  // the first convolution's output for 224 x 224
}

}  // namespace
}  // namespace distsim::serving
