// A warp a bag; a lane takes four elements of the row at a time.
#include "mpi_bench/op/run/kernels/element.cuh"

namespace distsim::bench {
namespace {

constexpr int kWarp = 32, kWarpsPerBlock = kThreads / kWarp;

__device__ std::int64_t first_bag() { return std::int64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.x / kWarp; }
__device__ std::int64_t bag_stride() { return std::int64_t{gridDim.x} * kWarpsPerBlock; }

template <class T>
__global__ void forward_kernel(const Four<T>* weights, const std::int64_t* indices, Four<T>* out, std::int64_t bags,
                               std::int64_t pooling, std::int64_t fours) {
  for (std::int64_t bag = first_bag(); bag < bags; bag += bag_stride()) {
    for (std::int64_t column = threadIdx.x % kWarp; column < fours; column += kWarp) {
      float sum[4] = {};
      for (std::int64_t l = 0; l < pooling; ++l) {
        const Four<T> row = weights[indices[bag * pooling + l] * fours + column];
        for (int j = 0; j < 4; ++j) sum[j] += to_float(row.x[j]);
      }
      Four<T> result;
      for (int j = 0; j < 4; ++j) result.x[j] = from_float<T>(sum[j]);
      out[bag * fours + column] = result;
    }
  }
}

__device__ void add_four(float* to, const float (&step)[4]) {
  for (int j = 0; j < 4; ++j) atomicAdd(to + j, step[j]);
}
__device__ void add_four(__half* to, const float (&step)[4]) {
  atomicAdd(reinterpret_cast<__half2*>(to), __floats2half2_rn(step[0], step[1]));
  atomicAdd(reinterpret_cast<__half2*>(to + 2), __floats2half2_rn(step[2], step[3]));
}

template <class T>
__global__ void backward_sgd_kernel(T* weights, const std::int64_t* indices, const Four<T>* grad, float rate,
                                    std::int64_t bags, std::int64_t pooling, std::int64_t fours) {
  for (std::int64_t bag = first_bag(); bag < bags; bag += bag_stride()) {
    for (std::int64_t column = threadIdx.x % kWarp; column < fours; column += kWarp) {
      const Four<T> g = grad[bag * fours + column];
      float step[4];
      for (int j = 0; j < 4; ++j) step[j] = -rate * to_float(g.x[j]);
      for (std::int64_t l = 0; l < pooling; ++l)
        add_four(weights + (indices[bag * pooling + l] * fours + column) * 4, step);
    }
  }
}

unsigned blocks_for_bags(std::int64_t bags) { return blocks_for(bags * kWarp); }

/// Only fp32 and fp16: a table in bf16 has no use that we measure.
template <class F>
cudaError_t with_table_type(ElementType type, F f) {
  switch (type) {
    case ElementType::fp32:
      return f(float{});
    case ElementType::fp16:
      return f(__half{});
    case ElementType::bf16:
      return cudaErrorInvalidValue;
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t launch_embedding_forward(ElementType type, const void* weights, const std::int64_t* indices, void* out,
                                     std::int64_t bags, std::int64_t pooling, std::int64_t dim, cudaStream_t stream) {
  if (dim % 4 != 0) return cudaErrorInvalidValue;
  return with_table_type(type, [&](auto element) {
    using T = decltype(element);
    forward_kernel<<<blocks_for_bags(bags), kThreads, 0, stream>>>(static_cast<const Four<T>*>(weights), indices,
                                                                   static_cast<Four<T>*>(out), bags, pooling, dim / 4);
    return cudaGetLastError();
  });
}

cudaError_t launch_embedding_backward_sgd(ElementType type, void* weights, const std::int64_t* indices,
                                          const void* grad, float rate, std::int64_t bags, std::int64_t pooling,
                                          std::int64_t dim, cudaStream_t stream) {
  if (dim % 4 != 0) return cudaErrorInvalidValue;
  return with_table_type(type, [&](auto element) {
    using T = decltype(element);
    backward_sgd_kernel<<<blocks_for_bags(bags), kThreads, 0, stream>>>(
        static_cast<T*>(weights), indices, static_cast<const Four<T>*>(grad), rate, bags, pooling, dim / 4);
    return cudaGetLastError();
  });
}

}  // namespace distsim::bench
