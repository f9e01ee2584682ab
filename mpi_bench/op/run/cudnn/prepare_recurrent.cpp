// LSTM and GRU layers by cuDNN 8 and later: one product and one pointwise kernel per step, or persistent kernels.
#include <algorithm>
#include <vector>

#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/cudnn/dnn_try.hpp"
#include "mpi_bench/op/run/kernels/kernels.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {
namespace {

struct RecurrentTypes {
  cudnnDataType_t data;
  cudnnMathType_t math;
  ElementType element;
};

Result<RecurrentTypes> recurrent_types_of(const std::string& dtype) {
  if (dtype == "fp32") return RecurrentTypes{CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, ElementType::fp32};
  if (dtype == "tf32") return RecurrentTypes{CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, ElementType::fp32};
  if (dtype == "fp16") return RecurrentTypes{CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH, ElementType::fp16};
  if (dtype == "bf16") return RecurrentTypes{CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH, ElementType::bf16};
  return Error{"found " + dtype + ", expected fp32, tf32, fp16 or bf16", "recurrent layer", ""};
}

/// Descriptors, operands and gradients of one layer. Sequences are of equal length, time first.
class RecurrentOp : public PreparedOp {
 public:
  RecurrentOp(const OpCase& c, RecurrentTypes types)
      : s_(std::get<RecurrentShape>(c.shape)), pass_(c.pass), lstm_(c.op == "lstm"), types_(types) {}
  ~RecurrentOp() override {
    if (dropout_ != nullptr) cudnnDestroyDropoutDescriptor(dropout_);
    if (state_ != nullptr) cudnnDestroyTensorDescriptor(state_);
    if (y_ != nullptr) cudnnDestroyRNNDataDescriptor(y_);
    if (x_ != nullptr) cudnnDestroyRNNDataDescriptor(x_);
    if (rnn_ != nullptr) cudnnDestroyRNNDescriptor(rnn_);
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }

  /// A gradient needs what one forward pass leaves in the reserve space, and that of the weights what the data's does.
  Result<void> prepare(std::int64_t element_bytes, cudaStream_t stream) {
    DNN_TRY(cudnnCreate(&handle_));
    DNN_TRY(cudnnSetStream(handle_, stream));
    TRY(describe_layer());
    TRY(describe_data());
    TRY(allocate(element_bytes, stream));
    if (pass_ == "fwd") return {};
    TRY(forward());
    if (pass_ == "bwd_weight") TRY(backward_data());
    return cuda_checked(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  Result<void> launch(cudaStream_t) override {
    if (pass_ == "fwd") return forward();
    return pass_ == "bwd_data" ? backward_data() : backward_weight();
  }

 private:
  static int as_int(std::int64_t v) { return static_cast<int>(v); }

  Result<void> describe_layer() {
    DNN_TRY(cudnnCreateDropoutDescriptor(&dropout_));
    DNN_TRY(cudnnSetDropoutDescriptor(dropout_, handle_, 0.0f, nullptr, 0, 0));
    DNN_TRY(cudnnCreateRNNDescriptor(&rnn_));
    return checked(cudnnSetRNNDescriptor_v8(
                       rnn_, s_.kernels == "persistent" ? CUDNN_RNN_ALGO_PERSIST_STATIC : CUDNN_RNN_ALGO_STANDARD,
                       lstm_ ? CUDNN_LSTM : CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS,
                       s_.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, types_.data,
                       CUDNN_DATA_FLOAT, types_.math, as_int(s_.input), as_int(s_.hidden), as_int(s_.hidden), 1,
                       dropout_, CUDNN_RNN_PADDED_IO_DISABLED),
                   "cudnnSetRNNDescriptor_v8");
  }

  Result<void> describe_data() {
    const std::vector<int> lengths(static_cast<std::size_t>(s_.batch), as_int(s_.length));
    float padding = 0;
    const auto set = [&](cudnnRNNDataDescriptor_t& descriptor, std::int64_t width) -> Result<void> {
      DNN_TRY(cudnnCreateRNNDataDescriptor(&descriptor));
      return checked(
          cudnnSetRNNDataDescriptor(descriptor, types_.data, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, as_int(s_.length),
                                    as_int(s_.batch), as_int(width), lengths.data(), &padding),
          "cudnnSetRNNDataDescriptor");
    };
    TRY(set(x_, s_.input));
    TRY(set(y_, s_.directions * s_.hidden));
    DNN_TRY(cudnnCreateTensorDescriptor(&state_));
    const int dims[] = {as_int(s_.directions), as_int(s_.batch), as_int(s_.hidden)};
    const int strides[] = {dims[1] * dims[2], dims[2], 1};
    return checked(cudnnSetTensorNdDescriptor(state_, types_.data, 3, dims, strides), "cudnnSetTensorNdDescriptor");
  }

  Result<void> allocate(std::int64_t element_bytes, cudaStream_t stream) {
    DNN_TRY(cudnnGetRNNWeightSpaceSize(handle_, rnn_, &weight_bytes_));
    DNN_TRY(cudnnGetRNNTempSpaceSizes(handle_, rnn_, CUDNN_FWD_MODE_TRAINING, x_, &work_bytes_, &reserve_bytes_));
    const auto filled = [&](CudaMemory& memory, std::int64_t count, std::uint32_t seed) -> Result<void> {
      TRY_ASSIGN(memory, CudaMemory::device(static_cast<std::uint64_t>(count * element_bytes)));
      return cuda_checked(launch_fill(types_.element, memory.get(), count, seed, stream), "launch_fill");
    };
    const std::int64_t rows = s_.batch * s_.length;
    TRY(filled(x_data_, rows * s_.input, 1));
    TRY(filled(y_data_, rows * s_.directions * s_.hidden, 2));
    TRY(filled(weights_, static_cast<std::int64_t>(weight_bytes_) / element_bytes, 3));
    TRY_ASSIGN(work_, CudaMemory::device(std::max<std::size_t>(work_bytes_, 1)));
    TRY_ASSIGN(reserve_, CudaMemory::device(std::max<std::size_t>(reserve_bytes_, 1)));
    TRY_ASSIGN(lengths_, CudaMemory::device(static_cast<std::uint64_t>(s_.batch) * sizeof(std::int32_t)));
    const std::vector<std::int32_t> lengths(static_cast<std::size_t>(s_.batch), as_int(s_.length));
    CUDA_TRY(cudaMemcpy(lengths_.get(), lengths.data(), lengths.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice));
    if (pass_ == "fwd") return {};
    TRY(filled(dy_, rows * s_.directions * s_.hidden, 4));
    TRY(filled(dx_, rows * s_.input, 5));
    return filled(weight_gradients_, static_cast<std::int64_t>(weight_bytes_) / element_bytes, 6);
  }

  const std::int32_t* lengths() const { return static_cast<const std::int32_t*>(lengths_.get()); }

  // States begin at zero (null pointers), and their last values are not asked for.
  Result<void> forward() {
    return checked(
        cudnnRNNForward(handle_, rnn_, CUDNN_FWD_MODE_TRAINING, lengths(), x_, x_data_.get(), y_, y_data_.get(), state_,
                        nullptr, nullptr, lstm_ ? state_ : nullptr, nullptr, nullptr, weight_bytes_, weights_.get(),
                        work_bytes_, work_.get(), reserve_bytes_, reserve_.get()),
        "cudnnRNNForward");
  }
  Result<void> backward_data() {
    return checked(
        cudnnRNNBackwardData_v8(handle_, rnn_, lengths(), y_, y_data_.get(), dy_.get(), x_, dx_.get(), state_, nullptr,
                                nullptr, nullptr, lstm_ ? state_ : nullptr, nullptr, nullptr, nullptr, weight_bytes_,
                                weights_.get(), work_bytes_, work_.get(), reserve_bytes_, reserve_.get()),
        "cudnnRNNBackwardData_v8");
  }
  Result<void> backward_weight() {
    return checked(cudnnRNNBackwardWeights_v8(handle_, rnn_, CUDNN_WGRAD_MODE_ADD, lengths(), x_, x_data_.get(), state_,
                                              nullptr, y_, y_data_.get(), weight_bytes_, weight_gradients_.get(),
                                              work_bytes_, work_.get(), reserve_bytes_, reserve_.get()),
                   "cudnnRNNBackwardWeights_v8");
  }

  RecurrentShape s_;
  std::string pass_;
  bool lstm_;
  RecurrentTypes types_;
  cudnnHandle_t handle_ = nullptr;
  cudnnRNNDescriptor_t rnn_ = nullptr;
  cudnnRNNDataDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnTensorDescriptor_t state_ = nullptr;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  CudaMemory x_data_, y_data_, dx_, dy_, weights_, weight_gradients_, work_, reserve_, lengths_;
  std::size_t weight_bytes_ = 0, work_bytes_ = 0, reserve_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<PreparedOp>> prepare_recurrent(const OpCase& c, cudaStream_t stream) {
  TRY_ASSIGN(const RecurrentTypes types, recurrent_types_of(c.dtype));
  auto op = std::make_unique<RecurrentOp>(c, types);
  TRY(op->prepare(dtype_bytes(c.dtype), stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

}  // namespace distsim::bench
