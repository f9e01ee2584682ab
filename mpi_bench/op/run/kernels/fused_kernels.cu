// Batch norm, interaction and multi-tensor optimizers.
#include "mpi_bench/op/run/kernels/element.cuh"

namespace distsim::bench {
namespace {

constexpr int kChannels = 32, kRowsAtOnce = 8, kRowsPerBlock = 512;

/// A block takes 32 channels of 512 rows: 8 rows at once, added up in shared memory, one atomic a channel.
template <class T>
__global__ void channel_sums_kernel(const T* in, float* sums, std::int64_t rows, std::int64_t channels) {
  __shared__ float partial[2][kRowsAtOnce][kChannels];
  const std::int64_t channel = std::int64_t{blockIdx.x} * kChannels + threadIdx.x,
                     first = std::int64_t{blockIdx.y} * kRowsPerBlock;
  const std::int64_t end = first + kRowsPerBlock < rows ? first + kRowsPerBlock : rows;
  float sum = 0, squares = 0;
  for (std::int64_t row = first + threadIdx.y; channel < channels && row < end; row += kRowsAtOnce) {
    const float x = to_float(in[row * channels + channel]);
    sum += x;
    squares += x * x;
  }
  partial[0][threadIdx.y][threadIdx.x] = sum;
  partial[1][threadIdx.y][threadIdx.x] = squares;
  __syncthreads();
  if (threadIdx.y != 0 || channel >= channels) return;
  for (int i = 1; i < kRowsAtOnce; ++i) {
    sum += partial[0][i][threadIdx.x];
    squares += partial[1][i][threadIdx.x];
  }
  atomicAdd(sums + channel, sum);
  atomicAdd(sums + channels + channel, squares);
}

template <class T>
__global__ void normalise_kernel(const T* in, T* out, const float* sums, std::int64_t rows, std::int64_t channels) {
  constexpr float kEpsilon = 1e-5f;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x, count = rows * channels;
  const float scale = 1.0f / static_cast<float>(rows);
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const std::int64_t channel = i % channels;
    const float mean = sums[channel] * scale, variance = fmaxf(sums[channels + channel] * scale - mean * mean, 0);
    out[i] = from_float<T>((to_float(in[i]) - mean) * rsqrtf(variance + kEpsilon));
  }
}

/// A block a sample: its vectors in shared memory, a thread a pair.
template <class T>
__global__ void interaction_kernel(const T* in, T* out, std::int64_t batch, int features, int dim) {
  extern __shared__ float vectors[];
  const int pairs = features * (features - 1) / 2;
  for (std::int64_t sample = blockIdx.x; sample < batch; sample += gridDim.x) {
    const T* const x = in + sample * features * dim;
    T* const y = out + sample * (dim + pairs);
    for (int i = threadIdx.x; i < features * dim; i += blockDim.x) vectors[i] = to_float(x[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < dim; i += blockDim.x) y[i] = from_float<T>(vectors[i]);
    for (int pair = threadIdx.x; pair < pairs; pair += blockDim.x) {
      int row = static_cast<int>((1 + sqrtf(1.0f + 8.0f * static_cast<float>(pair))) / 2);
      while (row * (row - 1) / 2 > pair) --row;
      while (row * (row + 1) / 2 <= pair) ++row;
      const float *const a = vectors + row * dim, *const b = vectors + (pair - row * (row - 1) / 2) * dim;
      float sum = 0;
      for (int d = 0; d < dim; ++d) sum += a[d] * b[d];
      y[dim + pair] = from_float<T>(sum);
    }
    __syncthreads();
  }
}

__global__ void sgd_kernel(OptimizerArrays arrays, std::int64_t count, float rate) {
  float* const w = arrays.weights[blockIdx.y];
  const float* const g = arrays.gradients[blockIdx.y];
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    w[i] -= rate * g[i];
}

__global__ void adam_kernel(OptimizerArrays arrays, std::int64_t count, float rate) {
  constexpr float kFirst = 0.9f, kSecond = 0.999f, kEpsilon = 1e-8f;
  const int t = blockIdx.y;
  float *const w = arrays.weights[t], *const m = arrays.first[t], *const v = arrays.second[t];
  const float* const g = arrays.gradients[t];
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const float gradient = g[i];
    m[i] = kFirst * m[i] + (1 - kFirst) * gradient;
    v[i] = kSecond * v[i] + (1 - kSecond) * gradient * gradient;
    w[i] -= rate * m[i] / (sqrtf(v[i]) + kEpsilon);
  }
}

dim3 optimizer_grid(int tensors, std::int64_t count) {
  return dim3(blocks_for(count) < 4096 ? blocks_for(count) : 4096, static_cast<unsigned>(tensors));
}

}  // namespace

cudaError_t launch_batch_norm(ElementType type, const void* in, void* out, float* sums, std::int64_t rows,
                              std::int64_t channels, cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    const cudaError_t cleared =
        cudaMemsetAsync(sums, 0, static_cast<std::size_t>(2 * channels) * sizeof(float), stream);
    if (cleared != cudaSuccess) return cleared;
    const dim3 blocks(static_cast<unsigned>((channels + kChannels - 1) / kChannels),
                      static_cast<unsigned>((rows + kRowsPerBlock - 1) / kRowsPerBlock));
    channel_sums_kernel<<<blocks, dim3(kChannels, kRowsAtOnce), 0, stream>>>(static_cast<const T*>(in), sums, rows,
                                                                             channels);
    normalise_kernel<<<blocks_for(rows * channels), kThreads, 0, stream>>>(static_cast<const T*>(in),
                                                                           static_cast<T*>(out), sums, rows, channels);
    return cudaGetLastError();
  });
}

cudaError_t launch_interaction(ElementType type, const void* in, void* out, std::int64_t batch, int features, int dim,
                               cudaStream_t stream) {
  const std::size_t shared = static_cast<std::size_t>(features) * static_cast<std::size_t>(dim) * sizeof(float);
  if (shared > 48 * 1024) return cudaErrorInvalidValue;
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    interaction_kernel<<<static_cast<unsigned>(batch < kMostBlocks ? batch : kMostBlocks), 128, shared, stream>>>(
        static_cast<const T*>(in), static_cast<T*>(out), batch, features, dim);
    return cudaGetLastError();
  });
}

cudaError_t launch_sgd(const OptimizerArrays& arrays, int tensors, std::int64_t count, float rate,
                       cudaStream_t stream) {
  sgd_kernel<<<optimizer_grid(tensors, count), kThreads, 0, stream>>>(arrays, count, rate);
  return cudaGetLastError();
}

cudaError_t launch_adam(const OptimizerArrays& arrays, int tensors, std::int64_t count, float rate,
                        cudaStream_t stream) {
  adam_kernel<<<optimizer_grid(tensors, count), kThreads, 0, stream>>>(arrays, count, rate);
  return cudaGetLastError();
}

}  // namespace distsim::bench
