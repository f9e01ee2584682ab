// One block a row; every pass over a row after the first finds it in L1 or L2.
#include "mpi_bench/op/run/element.cuh"

namespace distsim::bench {
namespace {

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The value combined over the block, on every thread. blockDim.x is a multiple of 32.
template <class Combine>
__device__ float block_reduce(float value, float neutral, Combine combine) {
  __shared__ float partial[32];
  for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : neutral;
  for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  __syncthreads();  // `partial` is used again
  return value;
}

template <class T>
__global__ void layer_norm_kernel(const T* in, T* out, std::int64_t rows, std::int64_t cols) {
  constexpr float kEpsilon = 1e-5f;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = in + row * cols;
    float sum = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += to_float(x[c]);
    const float mean = block_reduce(sum, 0, Sum{}) / cols;
    float squares = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
      const float d = to_float(x[c]) - mean;
      squares += d * d;
    }
    const float scale = rsqrtf(block_reduce(squares, 0, Sum{}) / cols + kEpsilon);
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) out[row * cols + c] = from_float<T>((to_float(x[c]) - mean) * scale);
  }
}

template <class T>
__global__ void softmax_kernel(const T* in, T* out, std::int64_t rows, std::int64_t cols) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = in + row * cols;
    float largest = -INFINITY;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) largest = fmaxf(largest, to_float(x[c]));
    largest = block_reduce(largest, -INFINITY, Max{});
    float sum = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(to_float(x[c]) - largest);
    const float scale = 1 / block_reduce(sum, 0, Sum{});
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) out[row * cols + c] = from_float<T>(__expf(to_float(x[c]) - largest) * scale);
  }
}

struct Grid {
  unsigned blocks, threads;
};

Grid grid_for(std::int64_t rows, std::int64_t cols) {
  const std::int64_t warps = cols >= 1024 ? 8 : (cols + 127) / 128;
  return {static_cast<unsigned>(rows < kMostBlocks ? rows : kMostBlocks), static_cast<unsigned>(32 * warps)};
}

}  // namespace

cudaError_t launch_layer_norm(ElementType type, const void* in, void* out, std::int64_t rows, std::int64_t cols, cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    const Grid grid = grid_for(rows, cols);
    layer_norm_kernel<<<grid.blocks, grid.threads, 0, stream>>>(static_cast<const T*>(in), static_cast<T*>(out), rows, cols);
    return cudaGetLastError();
  });
}

cudaError_t launch_softmax(ElementType type, const void* in, void* out, std::int64_t rows, std::int64_t cols, cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    const Grid grid = grid_for(rows, cols);
    softmax_kernel<<<grid.blocks, grid.threads, 0, stream>>>(static_cast<const T*>(in), static_cast<T*>(out), rows, cols);
    return cudaGetLastError();
  });
}

}  // namespace distsim::bench
