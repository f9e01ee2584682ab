// One block a row; every pass over a row after the first finds it in L1 or L2.
#include "mpi_bench/op/run/kernels/element.cuh"

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
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x)
      out[row * cols + c] = from_float<T>((to_float(x[c]) - mean) * scale);
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
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x)
      out[row * cols + c] = from_float<T>(__expf(to_float(x[c]) - largest) * scale);
  }
}

/// mean and 1 / deviation of each row are left in `stats` for the gradients of the columns.
template <class T>
__global__ void layer_norm_backward_kernel(const T* in, const T* gradient, T* out, float* stats, std::int64_t rows,
                                           std::int64_t cols) {
  constexpr float kEpsilon = 1e-5f;
  const float scale = 1.0f / cols;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T *const x = in + row * cols, *const dy = gradient + row * cols;
    float sum = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += to_float(x[c]);
    const float mean = block_reduce(sum, 0, Sum{}) * scale;
    float squares = 0, along = 0, total = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
      const float d = to_float(x[c]) - mean, g = to_float(dy[c]);
      squares += d * d;
      along += d * g;
      total += g;
    }
    const float inverse = rsqrtf(block_reduce(squares, 0, Sum{}) * scale + kEpsilon);
    along = block_reduce(along, 0, Sum{}) * scale * inverse;
    total = block_reduce(total, 0, Sum{}) * scale;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
      const float normalised = (to_float(x[c]) - mean) * inverse;
      out[row * cols + c] = from_float<T>(inverse * (to_float(dy[c]) - total - normalised * along));
    }
    if (threadIdx.x == 0) {
      stats[row] = mean;
      stats[rows + row] = inverse;
    }
  }
}

constexpr int kColumns = 32, kRowsAtOnce = 8, kRowsPerBlock = 512;

/// A block takes 32 columns of 512 rows: 8 rows at once, added up in shared memory, one atomic a column.
template <class T>
__global__ void column_gradients_kernel(const T* in, const T* gradient, const float* stats, float* sums,
                                        std::int64_t rows, std::int64_t cols) {
  __shared__ float partial[2][kRowsAtOnce][kColumns];
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumns + threadIdx.x,
                     first = std::int64_t{blockIdx.y} * kRowsPerBlock;
  const std::int64_t end = first + kRowsPerBlock < rows ? first + kRowsPerBlock : rows;
  float weight = 0, bias = 0;
  for (std::int64_t row = first + threadIdx.y; column < cols && row < end; row += kRowsAtOnce) {
    const float g = to_float(gradient[row * cols + column]);
    weight += g * (to_float(in[row * cols + column]) - stats[row]) * stats[rows + row];
    bias += g;
  }
  partial[0][threadIdx.y][threadIdx.x] = weight;
  partial[1][threadIdx.y][threadIdx.x] = bias;
  __syncthreads();
  if (threadIdx.y != 0 || column >= cols) return;
  for (int i = 1; i < kRowsAtOnce; ++i) {
    weight += partial[0][i][threadIdx.x];
    bias += partial[1][i][threadIdx.x];
  }
  atomicAdd(sums + column, weight);
  atomicAdd(sums + cols + column, bias);
}

template <class T>
__global__ void softmax_backward_kernel(const T* out, const T* gradient, T* in_gradient, std::int64_t rows,
                                        std::int64_t cols) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T *const y = out + row * cols, *const dy = gradient + row * cols;
    float sum = 0;
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x) sum += to_float(y[c]) * to_float(dy[c]);
    sum = block_reduce(sum, 0, Sum{});
    for (std::int64_t c = threadIdx.x; c < cols; c += blockDim.x)
      in_gradient[row * cols + c] = from_float<T>(to_float(y[c]) * (to_float(dy[c]) - sum));
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

cudaError_t launch_layer_norm(ElementType type, const void* in, void* out, std::int64_t rows, std::int64_t cols,
                              cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    const Grid grid = grid_for(rows, cols);
    layer_norm_kernel<<<grid.blocks, grid.threads, 0, stream>>>(static_cast<const T*>(in), static_cast<T*>(out), rows,
                                                                cols);
    return cudaGetLastError();
  });
}

cudaError_t launch_softmax(ElementType type, const void* in, void* out, std::int64_t rows, std::int64_t cols,
                           cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    const Grid grid = grid_for(rows, cols);
    softmax_kernel<<<grid.blocks, grid.threads, 0, stream>>>(static_cast<const T*>(in), static_cast<T*>(out), rows,
                                                             cols);
    return cudaGetLastError();
  });
}

cudaError_t launch_layer_norm_backward(ElementType type, const void* x, const void* dy, void* dx, float* sums,
                                       std::int64_t rows, std::int64_t cols, cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    float* const columns = sums + 2 * rows;
    const cudaError_t cleared = cudaMemsetAsync(columns, 0, static_cast<std::size_t>(2 * cols) * sizeof(float), stream);
    if (cleared != cudaSuccess) return cleared;
    const Grid grid = grid_for(rows, cols);
    layer_norm_backward_kernel<<<grid.blocks, grid.threads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<T*>(dx), sums, rows, cols);
    const dim3 blocks(static_cast<unsigned>((cols + kColumns - 1) / kColumns),
                      static_cast<unsigned>((rows + kRowsPerBlock - 1) / kRowsPerBlock));
    column_gradients_kernel<<<blocks, dim3(kColumns, kRowsAtOnce), 0, stream>>>(
        static_cast<const T*>(x), static_cast<const T*>(dy), sums, columns, rows, cols);
    return cudaGetLastError();
  });
}

cudaError_t launch_softmax_backward(ElementType type, const void* y, const void* dy, void* dx, std::int64_t rows,
                                    std::int64_t cols, cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    const Grid grid = grid_for(rows, cols);
    softmax_backward_kernel<<<grid.blocks, grid.threads, 0, stream>>>(
        static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx), rows, cols);
    return cudaGetLastError();
  });
}

}  // namespace distsim::bench
