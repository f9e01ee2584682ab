#include "mpi_bench/op/grid.hpp"

#include <algorithm>

#include "base/text/names/spelling.hpp"

namespace distsim::bench {
namespace {

constexpr std::string_view kGemmTypes[] = {"fp32", "tf32", "fp16", "bf16"};
constexpr std::string_view kVectorTypes[] = {"fp32", "fp16", "bf16"};
constexpr std::string_view kTableTypes[] = {"fp32", "fp16"};
constexpr std::string_view kBytes[] = {"int8"};

constexpr std::string_view kConvTypes[] = {"fp32", "tf32", "fp16", "bf16"};
constexpr std::string_view kLinearTypes[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
constexpr std::string_view kAttentionTypes[] = {"fp16", "bf16"};
constexpr std::string_view kMasterTypes[] = {"fp32"};
constexpr std::string_view kRecurrentTypes[] = {"fp32", "tf32", "fp16", "bf16"};

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
          if (dtype != "fp8" ||
              (layout == std::string_view("NT") && n % 16 == 0 && k % 16 == 0))  // all that cuBLASLt has in 8 bits
            cases.push_back({"linear", "fwd", std::string(dtype), GemmShape{1, m, n, k, layout}});
  return cases;
}

std::vector<OpCase> bmm_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t b : smoke ? Values{16} : Values{16, 96, 512, 2048, 16384})
    for (std::int64_t s :
         smoke ? Values{27, 128} : Values{27, 64, 128, 512, 1024})  // 27: features of DLRM's interaction
      for (std::int64_t d : smoke ? Values{64} : Values{64, 128})
        for (const char* layout : {"NT", "NN"}) {
          const bool scores = layout[1] == 'T';  // Q x K^T, then P x V
          cases.push_back({"bmm", "fwd", std::string(dtype), GemmShape{b, s, scores ? s : d, scores ? d : s, layout}});
        }
  return cases;
}

template <int kOp>
constexpr std::string_view kVectorOp = "";
template <>
constexpr std::string_view kVectorOp<0> = "add";
template <>
constexpr std::string_view kVectorOp<1> = "mul";
template <>
constexpr std::string_view kVectorOp<2> = "relu";
template <>
constexpr std::string_view kVectorOp<3> = "gelu";
template <>
constexpr std::string_view kVectorOp<4> = "layernorm";
template <>
constexpr std::string_view kVectorOp<5> = "softmax";

template <int kOp>
std::vector<OpCase> vector_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  const bool has_gradient = kVectorOp<kOp> == "layernorm" || kVectorOp<kOp> == "softmax";
  for (std::int64_t rows : smoke ? Values{64, 1000} : Values{16, 128, 1000, 2048, 8192, 32768, 65536, 262144})
    for (std::int64_t cols : smoke ? Values{256, 1000} : Values{16, 64, 128, 256, 512, 1000, 1024, 2048, 4096, 8192})
      for (const char* pass : {"fwd", "bwd"})
        if (has_gradient || pass == std::string_view("fwd"))
          cases.push_back({std::string(kVectorOp<kOp>), pass, std::string(dtype), VectorShape{rows, cols, ""}});
  return cases;
}

template <int kOp>
constexpr std::string_view kCopyOp = "";
template <>
constexpr std::string_view kCopyOp<0> = "copy_h2d";
template <>
constexpr std::string_view kCopyOp<1> = "copy_d2h";
template <>
constexpr std::string_view kCopyOp<2> = "copy_d2d";
template <>
constexpr std::string_view kCopyOp<3> = "copy_p2p";

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
              cases.push_back(
                  {"embedding_bag", pass, std::string(dtype), EmbeddingShape{1, batch, pooling, rows, dim, alpha}});
  return cases;
}

std::string numbers(std::initializer_list<std::pair<const char*, std::int64_t>> parts) {
  std::string text;
  for (const auto& [name, value] : parts)
    text += (text.empty() ? "" : ";") + std::string(name) + "=" + std::to_string(value);
  return text;
}

// The layers of ResNet-50 and VGG, a depthwise one, and sizes between; 16 bits as N, H, W, C, 32 bits as N, C, H, W.
std::vector<OpCase> conv_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke, half = dtype == "fp16" || dtype == "bf16";
  struct Layer {
    std::int64_t c, hw, k, rs, stride, groups;
  };
  static const std::vector<Layer> layers = {
      {3, 224, 64, 7, 2, 1},    {64, 56, 64, 1, 1, 1},   {64, 56, 64, 3, 1, 1},    {64, 56, 256, 1, 1, 1},
      {256, 56, 64, 1, 1, 1},   {256, 56, 128, 1, 2, 1}, {128, 28, 128, 3, 1, 1},  {128, 28, 512, 1, 1, 1},
      {512, 28, 128, 1, 1, 1},  {256, 14, 256, 3, 1, 1}, {256, 14, 1024, 1, 1, 1}, {1024, 14, 256, 1, 1, 1},
      {512, 7, 512, 3, 1, 1},   {512, 7, 2048, 1, 1, 1}, {2048, 7, 512, 1, 1, 1},  {64, 224, 64, 3, 1, 1},
      {128, 112, 256, 3, 1, 1}, {512, 28, 512, 3, 1, 1}, {96, 112, 96, 3, 2, 96},  {576, 14, 576, 3, 1, 576}};
  std::vector<OpCase> cases;
  for (std::size_t i = 0; i < (smoke ? 2 : layers.size()); ++i)
    for (std::int64_t n : smoke ? Values{2} : Values{1, 8, 32, 64, 128, 256})
      for (const char* pass : {"fwd", "bwd_data", "bwd_weight"}) {
        const Layer& l = layers[i];
        cases.push_back({"conv2d", pass, std::string(dtype),
                         ConvShape{n, l.c, l.hw, l.k, l.rs, l.stride, l.rs / 2, l.groups, half ? "nhwc" : "nchw"}});
      }
  return cases;
}

std::vector<OpCase> batchnorm_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t rows :
       smoke ? Values{1000}
             : Values{1568, 6272, 25088, 100352, 401408, 1605632})  // images x height x width of ResNet's stages
    for (std::int64_t channels : smoke ? Values{64} : Values{64, 128, 256, 512, 1024, 2048})
      cases.push_back({"batchnorm", "fwd", std::string(dtype), VectorShape{rows, channels, ""}});
  return cases;
}

std::vector<OpCase> interaction_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t batch : smoke ? Values{128} : Values{256, 1024, 2048, 4096, 8192, 16384, 65536})
    for (std::int64_t features : smoke ? Values{27} : Values{9, 27, 41})
      for (std::int64_t dim : smoke ? Values{64} : Values{16, 32, 64, 128})
        cases.push_back({"interaction", "fwd", std::string(dtype),
                         VectorShape{batch, features * dim, numbers({{"features", features}, {"dim", dim}})}});
  return cases;
}

template <bool kFlash>
std::vector<OpCase> attention_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t heads : smoke ? Values{4} : Values{16, 64, 256, 1024})  // of all samples
    for (std::int64_t length : smoke ? Values{128} : Values{128, 512, 1024, 2048})
      for (std::int64_t dim : smoke ? Values{64} : Values{64, 128})
        for (const char* pass : {"fwd", "bwd"})
          cases.push_back(
              {kFlash ? "flash_attention" : "attention", pass, std::string(dtype),
               VectorShape{heads * length, length,
                           numbers({{"heads", heads}, {"length", length}, {"dim", dim}, {"flash", kFlash ? 1 : 0}})}});
  return cases;
}

template <bool kAdam>
std::vector<OpCase> optimizer_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke;
  std::vector<OpCase> cases;
  for (std::int64_t tensors : smoke ? Values{4} : Values{1, 16, 160, 400})
    for (std::int64_t parameters :
         smoke ? Values{1000} : Values{1'000, 65'536, 1'000'000, 10'000'000})  // of each tensor
      if (tensors * parameters <= 1'000'000'000)
        cases.push_back({kAdam ? "optimizer_adam" : "optimizer_sgd", "update", std::string(dtype),
                         VectorShape{tensors, parameters, numbers({{"tensors", tensors}})}});
  return cases;
}

// Persistent kernels up to 1024 units in 16 bits, which the registers of all data-centre GPUs hold.
template <bool kLstm>
std::vector<OpCase> recurrent_grid(std::string_view dtype, GridSize size) {
  const bool smoke = size == GridSize::smoke, half = dtype == "fp16" || dtype == "bf16";
  std::vector<OpCase> cases;
  for (std::int64_t batch : smoke ? Values{16} : Values{1, 16, 32, 64, 128, 256})
    for (std::int64_t length : smoke ? Values{10} : Values{1, 25, 50, 150})
      for (std::int64_t hidden : smoke ? Values{128} : Values{128, 256, 512, 1024, 2048})
        for (std::int64_t directions : smoke ? Values{1} : Values{1, 2})
          for (const char* kernels : {"per_step", "persistent"})
            for (const char* pass : {"fwd", "bwd_data", "bwd_weight"})
              if (kernels == std::string_view("per_step") || (half && hidden <= 1024 && directions == 1))
                cases.push_back({kLstm ? "lstm" : "gru", pass, std::string(dtype),
                                 RecurrentShape{batch, length, hidden, hidden, directions, kernels}});
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
    if (std::find(known_ops.begin(), known_ops.end(), name) == known_ops.end())
      return unknown("--ops", name, "an op", known_ops);
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
      {"linear", "cuBLAS GEMM of one matrix in the three layouts of a layer's passes; fp8 by cuBLASLt", kLinearTypes,
       linear_grid},
      {"bmm", "cuBLAS strided batched GEMM", kGemmTypes, bmm_grid},
      {"conv2d", "cuDNN convolution: forward, data and weight gradients", kConvTypes, conv_grid},
      {"attention", "all heads in three kernels (scores, softmax, values), backward in five", kAttentionTypes,
       attention_grid<false>},
      {"flash_attention", "all heads in cuDNN's fused kernel, forward and backward", kAttentionTypes,
       attention_grid<true>},
      {"lstm", "cuDNN LSTM layer: forward, data and weight gradients; a kernel per step, or persistent in 16 bits",
       kRecurrentTypes, recurrent_grid<true>},
      {"gru", "the same of a GRU layer", kRecurrentTypes, recurrent_grid<false>},
      {"interaction", "DLRM's pairwise dot products, lower triangle and dense vector, in one kernel", kVectorTypes,
       interaction_grid},
      {"batchnorm", "batch normalisation of NHWC data in training: statistics, then the normalised values",
       kVectorTypes, batchnorm_grid},
      {"optimizer_sgd", "multi-tensor SGD", kMasterTypes, optimizer_grid<false>},
      {"optimizer_adam", "multi-tensor Adam", kMasterTypes, optimizer_grid<true>},
      {"add", "sum of two arrays", kVectorTypes, vector_grid<0>},
      {"mul", "product of two arrays", kVectorTypes, vector_grid<1>},
      {"relu", "max(x, 0)", kVectorTypes, vector_grid<2>},
      {"gelu", "x/2 (1 + erf(x / sqrt 2))", kVectorTypes, vector_grid<3>},
      {"layernorm", "layer normalisation of rows; backward with the gradients of weight and bias", kVectorTypes,
       vector_grid<4>},
      {"softmax", "softmax of rows, forward and backward", kVectorTypes, vector_grid<5>},
      {"copy_h2d", "copy from pinned host memory", kBytes, copy_grid<0>},
      {"copy_d2h", "copy to pinned host memory", kBytes, copy_grid<1>},
      {"copy_d2d", "copy within device memory", kBytes, copy_grid<2>},
      {"copy_p2p", "copy to the next GPU, if there are two", kBytes, copy_grid<3>},
      {"embedding_bag", "pooled lookups, forward, and backward fused with SGD by atomics", kTableTypes, embedding_grid},
  };
  return ops;
}

Result<std::vector<OpCase>> build_grid(const std::vector<std::string>& ops, const std::vector<std::string>& dtypes,
                                       GridSize size) {
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
