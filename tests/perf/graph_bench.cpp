// A captured graph of 10,000 calls as a data-parallel step on 64 nodes of 8 GPUs: reading it, and predicting it once it is read.
//   calls_per_second counts the graph's calls. `read` relative to `parse_text`, a bare parse of the same JSON, and `predict`
//   relative to `read` are more reliable than times.
#include <simdjson.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "prediction.hpp"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::perf {
namespace {

constexpr int kBlocks = 1'250;  // of 8 calls: 3 forward, 5 backward

/// Blocks of a product with a bias, a pointwise call and a sum with what comes around it, of 16 widths.
class GraphText {
 public:
  std::string write() {
    std::vector<Block> blocks;
    int x = tensor("[[0,1],1024]", R"(,"role":"input","name":"x")");
    for (int i = 0; i < kBlocks; ++i) {
      const std::string width = std::to_string(512 + 64 * (i % 16)), label = "blocks." + std::to_string(i);
      Block b;
      b.in = x, b.label = label;
      b.weight = tensor("[1024," + width + "]", R"(,"role":"parameter","name":")" + label + R"(.weight")");
      b.hidden = tensor("[[0,1]," + width + "]");
      b.active = tensor("[[0,1]," + width + "]");
      b.width = width;
      call("aten::mm", label, "forward", {x, b.weight}, b.hidden);
      call("aten::gelu", label, "forward", {b.hidden}, b.active);
      x = tensor("[[0,1],1024]");
      call("aten::add.Tensor", label, "forward", {b.in, b.in}, x);
      blocks.push_back(b);
    }
    for (auto b = blocks.rbegin(); b != blocks.rend(); ++b) {
      const int of_active = tensor("[[0,1]," + b->width + "]"), of_hidden = tensor("[[0,1]," + b->width + "]"),
                of_weight = tensor("[1024," + b->width + "]"), of_in = tensor("[[0,1],1024]"),
                sum = tensor("[[0,1],1024]");
      call("aten::mul.Tensor", b->label, "backward", {b->active, b->active}, of_active);
      call("aten::gelu_backward", b->label, "backward", {of_active, b->hidden}, of_hidden);
      call("aten::mm", b->label, "backward", {of_hidden, tensor("[" + b->width + ",1024]", R"(,"role":"buffer")")},
           of_in);
      call("aten::add.Tensor", b->label, "backward", {of_in, b->in}, sum);
      call("aten::mm", b->label, "backward", {tensor("[1024,[0,1]]", R"(,"role":"buffer")"), of_hidden}, of_weight);
      gradients_ += (gradients_.empty() ? "" : ",") + std::string("{\"parameter\":") + std::to_string(b->weight) +
                    ",\"after\":" + std::to_string(calls_ - 1) + "}";
    }
    return R"({"format":"distsim graph","version":1,"name":"large","samples":64,"any_batch":true,"tensors":[)" +
           tensors_ + "],\"nodes\":[" + nodes_ + "],\"gradients\":[" + gradients_ + "]}";
  }

 private:
  struct Block {
    int in = 0, weight = 0, hidden = 0, active = 0;
    std::string label, width;
  };
  int tensor(const std::string& shape, const std::string& more = "") {
    tensors_ += (count_ > 0 ? "," : "") + std::string("{\"shape\":") + shape + ",\"dtype\":\"float32\"" + more + "}";
    return count_++;
  }
  void call(const std::string& op, const std::string& label, const std::string& phase, const std::vector<int>& in,
            int out) {
    nodes_ += (calls_++ > 0 ? "," : "") + std::string("{\"op\":\"") + op + "\",\"label\":\"" + label +
              "\",\"phase\":\"" + phase + "\",\"in\":[";
    for (std::size_t i = 0; i < in.size(); ++i)
      nodes_ += (i > 0 ? ",{\"t\":" : "{\"t\":") + std::to_string(in[i]) + "}";
    nodes_ += "],\"out\":[" + std::to_string(out) + "]}";
  }

  std::string tensors_, nodes_, gradients_;
  int count_ = 0, calls_ = 0;
};

const std::string& text() {
  static const std::string whole = GraphText().write();
  return whole;
}

void set_calls(benchmark::State& state) {
  state.counters["calls_per_second"] = benchmark::Counter(8.0 * kBlocks, benchmark::Counter::kIsIterationInvariantRate);
}

void parse_text(benchmark::State& state) {
  const simdjson::padded_string padded(text());
  for (auto _ : state) {
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    if (parser.parse(padded).get(document) != simdjson::SUCCESS) return state.SkipWithError("no JSON");
    benchmark::DoNotOptimize(document);
  }
  set_calls(state);
}

void read(benchmark::State& state) {
  for (auto _ : state) {
    const auto graph = opgraph::parse_op_graph(text(), "large.graph");
    if (failed(state, graph)) return;
    benchmark::DoNotOptimize(graph);
  }
  set_calls(state);
}

/// The graph's file and the experiment, gone with the process.
class Files {
 public:
  Files() : folder_(std::filesystem::temp_directory_path() / ("distsim_graph_bench_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "large.json") << text();
    std::ofstream(experiment()) << "cluster: {system: dgx_a100_80gb, nodes: 64}\nframework: {name: pytorch}\n"
                                   "model: {kind: graph, per_gpu_batch: 64, precision: fp16, optimizer: adam, "
                                   "graph: {file: large.json}}\n";
  }
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  std::string experiment() const { return (folder_ / "experiment.yaml").string(); }

 private:
  std::filesystem::path folder_;
};

void predict(benchmark::State& state, const std::vector<std::string>& sets) {
  const Files files;
  predict_repeatedly(state, config::load_experiment(files.experiment(), sets));
  set_calls(state);
}

BENCHMARK(parse_text)->Unit(benchmark::kMillisecond);
BENCHMARK(read)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, data_parallel, std::vector<std::string>{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(predict, split_weights,
                  std::vector<std::string>{"model.parallel.shard=weights", "model.graph.units=[blocks.*]"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
