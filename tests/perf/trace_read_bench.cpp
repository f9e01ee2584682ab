// How fast a Kineto trace is read into the model, as MB/s and as a multiple of one raw simdjson pass over the same text
// in the same run. Goal: 300 MB/s per core.
#include <simdjson.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "bench.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::perf {
namespace {

/// One op with its launch, arrows and kernel, as recent writers lay them out: about 1.6 KB.
void add_op(std::ostream& out, int i) {
  const double t = 1000.0 + 20.0 * i;
  const auto head = [&](const char* category, const char* name, const char* where, double start, double duration) {
    out << ",\n  {\n    \"ph\": \"X\", \"cat\": \"" << category << "\", \"name\": \"" << name << "\", " << where
        << ",\n    \"ts\": " << start << ", \"dur\": " << duration << ",\n    \"args\": {\n      ";
  };
  const char *host = "\"pid\": 542, \"tid\": 542", *device = "\"pid\": 0, \"tid\": 7";
  head("cpu_op", "aten::addmm", host, t, 15.25);
  out << "\"External id\": " << i << ",\"Record function id\": " << i
      << ", \"Concrete Inputs\": [\"\", \"\", \"\", \"1\", \"1\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", "
         "\"c10::BFloat16\", "
      << "\"Scalar\", \"Scalar\"], \"Input Strides\": [[1], [" << 64 + i % 5
      << ", 1], [1, 1024], [], []], \"Input Dims\": [[1024], [" << 64 + i % 5
      << ", 1024], [1024, 1024], [], []], \"Ev Idx\": " << i << "\n    }\n  }";
  head("cuda_runtime", "cudaLaunchKernel", host, t + 5, 4.125);
  out << "\"External id\": " << i << ", \"cbid\": 211, \"correlation\": " << i << "\n    }\n  }";
  out << ",\n  {\n    \"ph\": \"s\", \"id\": " << i << ", \"pid\": 542, \"tid\": 542, \"ts\": " << t + 5
      << ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }";
  head(
      "kernel",
      "void at::native::vectorized_elementwise_kernel<8, at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
      "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >",
      device, t + 12, 9.5);
  out << "\"External id\": " << i
      << ", \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": " << i
      << ", \"registers per thread\": 32, \"shared memory\": 0, \"blocks per SM\": 4.7, \"warps per SM\": 18.9, \"grid\": [512, "
         "1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": 30\n    }\n  }";
  out << ",\n  {\n    \"ph\": \"f\", \"id\": " << i << ", \"pid\": 0, \"tid\": 7, \"ts\": " << t + 12
      << ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }";
}

struct Sample {
  std::string path, text;
  Sample() {
    std::ostringstream out;
    out.precision(15);
    out << "{\"schemaVersion\": 1, \"traceEvents\": [\n  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 542, \"tid\": 0, "
           "\"ts\": 0, \"args\": {\"name\": \"python\"}}";
    for (int i = 1; i <= 40'000; ++i) add_op(out, i);
    out << "\n]}";
    text = out.str();
    path =
        (std::filesystem::temp_directory_path() / ("distsim_bench_" + std::to_string(::getpid()) + ".json")).string();
    std::ofstream(path, std::ios::binary) << text;
  }
  ~Sample() { std::filesystem::remove(path); }
};

const Sample& sample() {
  static const Sample s;
  return s;
}

/// Only simdjson: every event's name, time and duration.
std::uint64_t raw_pass(const simdjson::padded_string& text) {
  simdjson::ondemand::parser parser;
  auto document = parser.iterate(text);
  std::uint64_t sum = 0;
  for (auto event : document["traceEvents"]) {
    std::string_view name;
    double start = 0;
    if (!event["name"].get_string().get(name)) sum += name.size();
    if (!event["ts"].get_double().get(start)) sum += static_cast<std::uint64_t>(start);
  }
  return sum;
}

double seconds_of_raw_pass() {
  const simdjson::padded_string text(sample().text);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(raw_pass(text));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

void raw_simdjson(benchmark::State& state) {
  const simdjson::padded_string text(sample().text);
  for (auto _ : state) benchmark::DoNotOptimize(raw_pass(text));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * sample().text.size()));
}

void read_kineto(benchmark::State& state) {
  const double raw = seconds_of_raw_pass();
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) {
    const auto job = traces::read_traces({sample().path});
    benchmark::DoNotOptimize(job);
    if (failed(state, job)) return;
  }
  const double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
                      static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * sample().text.size()));
  state.counters["times_raw_simdjson"] = each / raw;
}

BENCHMARK(raw_simdjson)->Unit(benchmark::kMillisecond);
BENCHMARK(read_kineto)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace distsim::perf

int main(int argc, char** argv) { return distsim::perf::run_benchmarks(argc, argv); }
