// Convolutions by cuDNN: the algorithm that its heuristics put first and that fits the workspace.
#include <algorithm>
#include <vector>

#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/cudnn/dnn_try.hpp"
#include "mpi_bench/op/run/kernels/kernels.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

constexpr std::size_t kMostWorkspace = std::size_t{4} << 30;
constexpr int kMostAlgorithms = 8;

struct ConvTypes {
  cudnnDataType_t data;
  cudnnMathType_t math;
  ElementType element;
};

Result<ConvTypes> types_of(const std::string& dtype) {
  if (dtype == "fp32") return ConvTypes{CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, ElementType::fp32};
  if (dtype == "tf32") return ConvTypes{CUDNN_DATA_FLOAT, CUDNN_TENSOR_OP_MATH, ElementType::fp32};
  if (dtype == "fp16") return ConvTypes{CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH, ElementType::fp16};
  if (dtype == "bf16") return ConvTypes{CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH, ElementType::bf16};
  return Error{"found " + dtype + ", expected fp32, tf32, fp16 or bf16", "conv2d", ""};
}

class ConvOp : public PreparedOp {
 public:
  ConvOp(ConvShape shape, std::string pass, ConvTypes types)
      : s_(std::move(shape)), pass_(std::move(pass)), types_(types) {}
  ~ConvOp() override {
    if (convolution_ != nullptr) cudnnDestroyConvolutionDescriptor(convolution_);
    if (filter_ != nullptr) cudnnDestroyFilterDescriptor(filter_);
    if (y_ != nullptr) cudnnDestroyTensorDescriptor(y_);
    if (x_ != nullptr) cudnnDestroyTensorDescriptor(x_);
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }

  Result<void> prepare(std::int64_t element_bytes, cudaStream_t stream) {
    DNN_TRY(cudnnCreate(&handle_));
    DNN_TRY(cudnnSetStream(handle_, stream));
    TRY(describe_operands());
    TRY_ASSIGN(x_data_, filled(s_.n * s_.c * s_.hw * s_.hw, element_bytes, 1, stream));
    TRY_ASSIGN(w_data_, filled(s_.k * (s_.c / s_.groups) * s_.rs * s_.rs, element_bytes, 2, stream));
    TRY_ASSIGN(y_data_, filled(s_.n * s_.k * s_.out_hw() * s_.out_hw(), element_bytes, 3, stream));
    TRY(pass_ == "fwd" ? choose_forward() : pass_ == "bwd_data" ? choose_backward_data() : choose_backward_weight());
    if (workspace_bytes_ > 0) {
      TRY_ASSIGN(workspace_, CudaMemory::device(workspace_bytes_));
    }
    return {};
  }

  Result<void> launch(cudaStream_t) override {
    const float one = 1, zero = 0;
    if (pass_ == "fwd")
      return checked(cudnnConvolutionForward(handle_, &one, x_, x_data_.get(), filter_, w_data_.get(), convolution_,
                                             forward_, workspace_.get(), workspace_bytes_, &zero, y_, y_data_.get()),
                     "cudnnConvolutionForward");
    if (pass_ == "bwd_data")
      return checked(
          cudnnConvolutionBackwardData(handle_, &one, filter_, w_data_.get(), y_, y_data_.get(), convolution_,
                                       backward_data_, workspace_.get(), workspace_bytes_, &zero, x_, x_data_.get()),
          "cudnnConvolutionBackwardData");
    return checked(cudnnConvolutionBackwardFilter(handle_, &one, x_, x_data_.get(), y_, y_data_.get(), convolution_,
                                                  backward_weight_, workspace_.get(), workspace_bytes_, &zero, filter_,
                                                  w_data_.get()),
                   "cudnnConvolutionBackwardFilter");
  }

 private:
  Result<CudaMemory> filled(std::int64_t count, std::int64_t element_bytes, std::uint32_t seed,
                            cudaStream_t stream) const {
    TRY_ASSIGN(CudaMemory memory, CudaMemory::device(count * element_bytes));
    CUDA_TRY(launch_fill(types_.element, memory.get(), count, seed, stream));
    return memory;
  }

  Result<void> describe_operands() {
    const auto i = [](std::int64_t v) { return static_cast<int>(v); };
    const cudnnTensorFormat_t format = s_.layout == "nhwc" ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    DNN_TRY(cudnnCreateTensorDescriptor(&x_));
    DNN_TRY(cudnnCreateTensorDescriptor(&y_));
    DNN_TRY(cudnnCreateFilterDescriptor(&filter_));
    DNN_TRY(cudnnCreateConvolutionDescriptor(&convolution_));
    DNN_TRY(cudnnSetTensor4dDescriptor(x_, format, types_.data, i(s_.n), i(s_.c), i(s_.hw), i(s_.hw)));
    DNN_TRY(cudnnSetTensor4dDescriptor(y_, format, types_.data, i(s_.n), i(s_.k), i(s_.out_hw()), i(s_.out_hw())));
    DNN_TRY(cudnnSetFilter4dDescriptor(filter_, types_.data, format, i(s_.k), i(s_.c / s_.groups), i(s_.rs), i(s_.rs)));
    DNN_TRY(cudnnSetConvolution2dDescriptor(convolution_, i(s_.pad), i(s_.pad), i(s_.stride), i(s_.stride), 1, 1,
                                            CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    DNN_TRY(cudnnSetConvolutionGroupCount(convolution_, i(s_.groups)));
    return checked(cudnnSetConvolutionMathType(convolution_, types_.math), "cudnnSetConvolutionMathType");
  }

  /// The first of the ranked algorithms that works within the workspace; the math type is the one asked for, so that
  /// fp32 is not done in tf32.
  template <class Performance, class Algorithm>
  Result<void> take(const std::vector<Performance>& ranked, int found, Algorithm& algorithm) {
    for (int i = 0; i < found; ++i) {
      const Performance& p = ranked[static_cast<std::size_t>(i)];
      if (p.status != CUDNN_STATUS_SUCCESS || p.memory > kMostWorkspace) continue;
      if (types_.math == CUDNN_FMA_MATH && p.mathType != CUDNN_FMA_MATH && p.mathType != CUDNN_DEFAULT_MATH) continue;
      algorithm = p.algo;
      workspace_bytes_ = p.memory;
      return {};
    }
    return Error{"cuDNN has no algorithm for this shape", "conv2d " + pass_, ""};
  }

  Result<void> choose_forward() {
    std::vector<cudnnConvolutionFwdAlgoPerf_t> ranked(kMostAlgorithms);
    int found = 0;
    DNN_TRY(cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_, filter_, convolution_, y_, kMostAlgorithms, &found,
                                                   ranked.data()));
    return take(ranked, found, forward_);
  }
  Result<void> choose_backward_data() {
    std::vector<cudnnConvolutionBwdDataAlgoPerf_t> ranked(kMostAlgorithms);
    int found = 0;
    DNN_TRY(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle_, filter_, y_, convolution_, x_, kMostAlgorithms, &found,
                                                        ranked.data()));
    return take(ranked, found, backward_data_);
  }
  Result<void> choose_backward_weight() {
    std::vector<cudnnConvolutionBwdFilterAlgoPerf_t> ranked(kMostAlgorithms);
    int found = 0;
    DNN_TRY(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle_, x_, y_, convolution_, filter_, kMostAlgorithms,
                                                          &found, ranked.data()));
    return take(ranked, found, backward_weight_);
  }

  ConvShape s_;
  std::string pass_;
  ConvTypes types_;
  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  cudnnConvolutionFwdAlgo_t forward_{};
  cudnnConvolutionBwdDataAlgo_t backward_data_{};
  cudnnConvolutionBwdFilterAlgo_t backward_weight_{};
  CudaMemory x_data_, w_data_, y_data_, workspace_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<PreparedOp>> prepare_conv(const OpCase& c, cudaStream_t stream) {
  TRY_ASSIGN(const ConvTypes types, types_of(c.dtype));
  auto op = std::make_unique<ConvOp>(std::get<ConvShape>(c.shape), c.pass, types);
  TRY(op->prepare(dtype_bytes(c.dtype), stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

}  // namespace distsim::bench
