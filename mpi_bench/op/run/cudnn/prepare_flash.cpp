// Flash attention by cuDNN: one operation of its graph API, forward or backward, with the engine that its heuristics
// put first.
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "mpi_bench/op/run/cuda_memory.hpp"
#include "mpi_bench/op/run/cudnn/dnn_try.hpp"
#include "mpi_bench/op/run/prepare/prepared_op.hpp"

namespace distsim::bench {

#if CUDNN_VERSION >= \
    91900  // attention is one operation of the graph from there on; before, the graph had to be built of its parts

namespace {

/// A descriptor of the graph API, freed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Descriptor() {
    if (raw_ != nullptr) cudnnBackendDestroyDescriptor(raw_);
  }
  static Result<Descriptor> create(cudnnBackendDescriptorType_t type) {
    Descriptor d;
    DNN_TRY(cudnnBackendCreateDescriptor(type, &d.raw_));
    return d;
  }
  Result<void> set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                   const void* values) {
    return checked(cudnnBackendSetAttribute(raw_, name, type, count, values), "cudnnBackendSetAttribute");
  }
  Result<void> set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
  }
  Result<void> finalize() { return checked(cudnnBackendFinalize(raw_), "cudnnBackendFinalize"); }
  cudnnBackendDescriptor_t raw() const { return raw_; }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

struct Sizes {
  std::int64_t heads, length, dim;
  std::int64_t elements() const { return heads * length * dim; }
};

/// 1 x heads x length x last, row-major: the heads of all samples are one batch.
Result<Descriptor> tensor_of(std::int64_t id, cudnnDataType_t type, std::array<std::int64_t, 4> dims,
                             bool by_value = false) {
  const std::array<std::int64_t, 4> strides = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
  const std::int64_t alignment = by_value ? sizeof(float) : 16;
  TRY_ASSIGN(Descriptor t, Descriptor::create(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  TRY(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id));
  TRY(t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  TRY(t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data()));
  TRY(t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data()));
  TRY(t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment));
  if (by_value) TRY(t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value));
  TRY(t.finalize());
  return t;
}

/// One operand: which attribute of the operation it is, and where it lies.
struct Operand {
  cudnnBackendAttributeName_t name;
  Descriptor tensor;
  void* data;
};

/// An operation as a plan that can be executed again and again.
class Plan {
 public:
  Result<void> build(cudnnHandle_t handle, cudnnBackendDescriptorType_t type, std::vector<Operand> operands) {
    operands_ = std::move(operands);
    TRY_ASSIGN(Descriptor operation, Descriptor::create(type));
    for (const Operand& o : operands_) TRY(operation.set(o.name, o.tensor));
    TRY(operation.finalize());
    TRY_ASSIGN(graph_, Descriptor::create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
    TRY(graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
    TRY(graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation));
    TRY(graph_.finalize());
    TRY(choose_engine(handle));
    return pack();
  }
  Result<void> execute(cudnnHandle_t handle) const {
    return checked(cudnnBackendExecute(handle, plan_.raw(), pack_.raw()), "cudnnBackendExecute");
  }

 private:
  Result<void> choose_engine(cudnnHandle_t handle) {
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    TRY_ASSIGN(Descriptor heuristics, Descriptor::create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
    TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_));
    TRY(heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    TRY(heuristics.finalize());
    TRY_ASSIGN(const Descriptor config, Descriptor::create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    cudnnBackendDescriptor_t raw = config.raw();
    std::int64_t found = 0;
    DNN_TRY(cudnnBackendGetAttribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                     &found, &raw));
    if (found < 1) return Error{"cuDNN has no engine for this shape", "cuDNN", ""};
    TRY_ASSIGN(plan_, Descriptor::create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
    TRY(plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
    TRY(plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
    return plan_.finalize();
  }

  /// Where everything lies.
  Result<void> pack() {
    std::int64_t bytes = 0, found = 0;
    DNN_TRY(cudnnBackendGetAttribute(plan_.raw(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &found,
                                     &bytes));
    if (bytes > 0) {
      TRY_ASSIGN(workspace_, CudaMemory::device(static_cast<std::uint64_t>(bytes)));
    }
    std::vector<void*> data;
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      data.push_back(operands_[i].data);
      ids.push_back(static_cast<std::int64_t>(i) + 1);
    }
    const auto count = static_cast<std::int64_t>(data.size());
    void* const workspace = workspace_.get();
    TRY_ASSIGN(pack_, Descriptor::create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    TRY(pack_.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data.data()));
    TRY(pack_.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data()));
    TRY(pack_.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
    return pack_.finalize();
  }

  std::vector<Operand> operands_;
  Descriptor graph_, plan_, pack_;
  CudaMemory workspace_;
};

class FlashAttentionOp : public PreparedOp {
 public:
  FlashAttentionOp(Sizes sizes, ElementType element, cudnnDataType_t type)
      : s_(sizes), element_(element), type_(type), scale_(1 / std::sqrt(static_cast<float>(sizes.dim))) {}
  ~FlashAttentionOp() override {
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }

  Result<void> prepare(bool backward, std::int64_t element_bytes, cudaStream_t stream) {
    DNN_TRY(cudnnCreate(&handle_));
    DNN_TRY(cudnnSetStream(handle_, stream));
    for (std::size_t i = 0; i < data_.size(); ++i) {
      TRY_ASSIGN(data_[i], CudaMemory::device(static_cast<std::uint64_t>(s_.elements() * element_bytes)));
      CUDA_TRY(launch_fill(element_, data_[i].get(), s_.elements(), static_cast<std::uint32_t>(i + 1), stream));
      if (!backward && i == kO) break;
    }
    TRY_ASSIGN(stats_, CudaMemory::device(static_cast<std::uint64_t>(s_.heads * s_.length) * sizeof(float)));
    TRY_ASSIGN(auto operands, forward_operands(backward));
    TRY(forward_.build(handle_, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, std::move(operands)));
    if (!backward) return {};
    TRY(forward_.execute(handle_));  // the gradient wants an output and statistics that belong to its inputs
    TRY_ASSIGN(auto gradients, backward_operands());
    TRY(backward_.build(handle_, CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, std::move(gradients)));
    timed_ = &backward_;
    return {};
  }
  Result<void> launch(cudaStream_t) override { return timed_->execute(handle_); }

 private:
  enum Array : std::size_t { kQ, kK, kV, kO, kDO, kDQ, kDK, kDV, kArrays };

  Result<void> add(std::vector<Operand>& to, cudnnBackendAttributeName_t name, Array array) {
    TRY_ASSIGN(Descriptor tensor,
               tensor_of(static_cast<std::int64_t>(to.size()) + 1, type_, {1, s_.heads, s_.length, s_.dim}));
    to.push_back({name, std::move(tensor), data_[array].get()});
    return {};
  }
  Result<void> add_stats(std::vector<Operand>& to, cudnnBackendAttributeName_t name) {
    TRY_ASSIGN(Descriptor tensor,
               tensor_of(static_cast<std::int64_t>(to.size()) + 1, CUDNN_DATA_FLOAT, {1, s_.heads, s_.length, 1}));
    to.push_back({name, std::move(tensor), stats_.get()});
    return {};
  }
  Result<void> add_scale(std::vector<Operand>& to, cudnnBackendAttributeName_t name) {
    TRY_ASSIGN(Descriptor tensor,
               tensor_of(static_cast<std::int64_t>(to.size()) + 1, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, true));
    to.push_back({name, std::move(tensor), &scale_});
    return {};
  }

  /// Statistics are written only in training.
  Result<std::vector<Operand>> forward_operands(bool training) {
    std::vector<Operand> operands;
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, kQ));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, kK));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, kV));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, kO));
    TRY(add_scale(operands, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC));
    if (training) TRY(add_stats(operands, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC));
    return operands;
  }
  Result<std::vector<Operand>> backward_operands() {
    std::vector<Operand> operands;
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, kQ));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, kK));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, kV));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, kO));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, kDO));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, kDQ));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC, kDK));
    TRY(add(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC, kDV));
    TRY(add_scale(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC));
    TRY(add_stats(operands, CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC));
    return operands;
  }

  const Sizes s_;
  const ElementType element_;
  const cudnnDataType_t type_;
  float scale_;
  cudnnHandle_t handle_ = nullptr;
  std::array<CudaMemory, kArrays> data_;
  CudaMemory stats_;
  Plan forward_, backward_;
  const Plan* timed_ = &forward_;
};

}  // namespace

bool has_flash_attention() { return true; }

Result<std::unique_ptr<PreparedOp>> prepare_flash_attention(const OpCase& c, cudaStream_t stream) {
  const VectorShape& s = std::get<VectorShape>(c.shape);
  const Sizes sizes{extra_number(s.extra, "heads").value_or(1), extra_number(s.extra, "length").value_or(1),
                    extra_number(s.extra, "dim").value_or(1)};
  TRY_ASSIGN(const ElementType element, element_type(c.dtype));
  auto op = std::make_unique<FlashAttentionOp>(sizes, element,
                                               element == ElementType::fp16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16);
  TRY(op->prepare(c.pass == "bwd", dtype_bytes(c.dtype), stream));
  return std::unique_ptr<PreparedOp>(std::move(op));
}

#else

bool has_flash_attention() { return false; }
Result<std::unique_ptr<PreparedOp>> prepare_flash_attention(const OpCase&, cudaStream_t) {
  return Error{"built with a cuDNN older than 9.19", "flash_attention", ""};
}

#endif

}  // namespace distsim::bench
