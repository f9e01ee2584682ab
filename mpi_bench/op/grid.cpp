#include "mpi_bench/op/grid.hpp"

#include <algorithm>

#include "base/spelling.hpp"

namespace distsim::bench {
namespace {

constexpr std::string_view kGemmTypes[] = {"fp32", "tf32", "fp16", "bf16"};
constexpr std::string_view kVectorTypes[] = {"fp32", "fp16", "bf16"};
constexpr std::string_view kTableTypes[] = {"fp32", "fp16"};
constexpr std::string_view kBytes[] = {"int8"};

using Values = std::vector<std::int64_t>;

// Round and odd sizes both: tile and alignment effects are what a table is for.
std::vector<OpCase> linear_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  const Values ms = smoke ? Values{128, 1000} : Values{1, 16, 128, 512, 1000, 2048, 4096, 8192, 16384, 65536};
  const Values widths = smoke ? Values{256, 1000} : Values{16, 64, 128, 256, 479, 512, 1000, 1024, 2048, 4096, 8192};
  std::vector<OpCase> cases;
  for (std::int64_t m : ms)
    for (std::int64_t n : widths)
      for (std::int64_t k : widths)
        for (const char* layout : {"NT", "NN", "TN"})  // forward, gradient of the data, gradient of the weights
          cases.push_back({"linear", "fwd", std::string(dtype), GemmShape{1, m, n, k, layout}});
  return cases;
}

std::vector<OpCase> bmm_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t b : smoke ? Values{16} : Values{16, 96, 512, 2048, 16384})
    for (std::int64_t s : smoke ? Values{27, 128} : Values{27, 64, 128, 512, 1024})  // 27: features of DLRM's interaction
      for (std::int64_t d : smoke ? Values{64} : Values{64, 128})
        for (const char* layout : {"NT", "NN"}) {
          const bool scores = layout[1] == 'T';  // Q x K^T, then P x V
          cases.push_back({"bmm", "fwd", std::string(dtype), GemmShape{b, s, scores ? s : d, scores ? d : s, layout}});
        }
  return cases;
}

template <int kOp>
constexpr std::string_view kVectorOp = "";
template <> constexpr std::string_view kVectorOp<0> = "add";
template <> constexpr std::string_view kVectorOp<1> = "mul";
template <> constexpr std::string_view kVectorOp<2> = "relu";
template <> constexpr std::string_view kVectorOp<3> = "gelu";
template <> constexpr std::string_view kVectorOp<4> = "layernorm";
template <> constexpr std::string_view kVectorOp<5> = "softmax";

template <int kOp>
std::vector<OpCase> vector_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t rows : smoke ? Values{64, 1000} : Values{16, 128, 1000, 2048, 8192, 32768, 65536, 262144})
    for (std::int64_t cols : smoke ? Values{256, 1000} : Values{16, 64, 128, 256, 512, 1000, 1024, 2048, 4096, 8192})
      cases.push_back({std::string(kVectorOp<kOp>), "fwd", std::string(dtype), VectorShape{rows, cols}});
  return cases;
}

template <int kOp>
constexpr std::string_view kCopyOp = "";
template <> constexpr std::string_view kCopyOp<0> = "copy_h2d";
template <> constexpr std::string_view kCopyOp<1> = "copy_d2h";
template <> constexpr std::string_view kCopyOp<2> = "copy_d2d";

template <int kOp>
std::vector<OpCase> copy_grid(std::string_view dtype, GridSize size) {
  const std::int64_t largest = size == GridSize::smoke ? 1 << 20 : 1 << 30;
  std::vector<OpCase> cases;
  for (std::int64_t bytes = 256; bytes <= largest; bytes *= 4)
    cases.push_back({std::string(kCopyOp<kOp>), "fwd", std::string(dtype), VectorShape{1, bytes}});
  return cases;
}

std::vector<OpCase> embedding_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t rows : smoke ? Values{1000} : Values{10'000, 1'000'000, 10'000'000, 100'000'000})
    for (std::int64_t dim : smoke ? Values{64} : Values{16, 32, 64, 128, 256})
      for (std::int64_t pooling : smoke ? Values{1, 10} : Values{1, 10, 32, 100})
        for (std::int64_t batch : smoke ? Values{128} : Values{2048, 16384, 65536})
          for (double alpha : {0.0, 1.05})
            for (const char* pass : {"fwd", "bwd+sgd"})
              cases.push_back({"embedding_bag", pass, std::string(dtype), EmbeddingShape{1, batch, pooling, rows, dim, alpha}});
  return cases;
}

Error unknown(const char* flag, const std::string& name, const char* what, const std::vector<std::string>& known) {
  return {"found '" + name + "', expected " + what, flag, spelling_hint(name, known)};
}

Result<void> check_names(const std::vector<std::string>& ops, const std::vector<std::string>& dtypes) {
  std::vector<std::string> known_ops, known_types;
  for (const MeasurableOp& op : measurable_ops()) {
    known_ops.emplace_back(op.name);
    if (!ops.empty() && std::find(ops.begin(), ops.end(), op.name) == ops.end()) continue;
    for (std::string_view type : op.dtypes)
      if (std::find(known_types.begin(), known_types.end(), type) == known_types.end()) known_types.emplace_back(type);
  }
  for (const std::string& name : ops)
    if (std::find(known_ops.begin(), known_ops.end(), name) == known_ops.end()) return unknown("--ops", name, "an op", known_ops);
  for (const std::string& name : dtypes)
    if (std::find(known_types.begin(), known_types.end(), name) == known_types.end())
      return unknown("--dtypes", name, "a data type of the chosen ops", known_types);
  return {};
}

bool wanted(std::string_view name, const std::vector<std::string>& names) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const MeasurableOp> measurable_ops() {
  static const MeasurableOp ops[] = {
      {"linear", "cuBLAS GEMM of one matrix in the three layouts of a layer's passes", kGemmTypes, linear_grid},
      {"bmm", "cuBLAS strided batched GEMM", kGemmTypes, bmm_grid},
      {"add", "sum of two arrays", kVectorTypes, vector_grid<0>},
      {"mul", "product of two arrays", kVectorTypes, vector_grid<1>},
      {"relu", "max(x, 0)", kVectorTypes, vector_grid<2>},
      {"gelu", "x/2 (1 + erf(x / sqrt 2))", kVectorTypes, vector_grid<3>},
      {"layernorm", "layer normalisation of rows", kVectorTypes, vector_grid<4>},
      {"softmax", "softmax of rows", kVectorTypes, vector_grid<5>},
      {"copy_h2d", "copy from pinned host memory", kBytes, copy_grid<0>},
      {"copy_d2h", "copy to pinned host memory", kBytes, copy_grid<1>},
      {"copy_d2d", "copy within device memory", kBytes, copy_grid<2>},
      {"embedding_bag", "pooled lookups, forward, and backward fused with SGD by atomics", kTableTypes, embedding_grid},
  };
  return ops;
}

Result<std::vector<OpCase>> build_grid(const std::vector<std::string>& ops, const std::vector<std::string>& dtypes, GridSize size) {
  TRY(check_names(ops, dtypes));
  std::vector<OpCase> cases;
  for (const MeasurableOp& op : measurable_ops()) {
    if (!wanted(op.name, ops)) continue;
    for (std::string_view dtype : op.dtypes) {
      if (!wanted(dtype, dtypes)) continue;
      for (OpCase& c : op.grid(dtype, size)) cases.push_back(std::move(c));
    }
  }
  return cases;
}

}  // namespace distsim::bench
