#include "mpi_bench/op/run/kernels/element.cuh"

namespace distsim::bench {
namespace {

__device__ float apply(VectorOp op, float a, float b) {
  switch (op) {
    case VectorOp::add:
      return a + b;
    case VectorOp::mul:
      return a * b;
    case VectorOp::relu:
      return fmaxf(a, 0);
    case VectorOp::gelu:
      return 0.5f * a * (1 + erff(a * 0.70710678f));
  }
  return 0;
}

template <VectorOp kOp>
constexpr bool kReadsB = kOp == VectorOp::add || kOp == VectorOp::mul;

template <VectorOp kOp, class T>
__global__ void vector_kernel(const T* a, const T* b, T* out, std::int64_t count) {
  const std::int64_t fours = count / 4, stride = std::int64_t{gridDim.x} * blockDim.x,
                     first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < fours; i += stride) {
    const Four<T> x = reinterpret_cast<const Four<T>*>(a)[i];
    const Four<T> y = kReadsB<kOp> ? reinterpret_cast<const Four<T>*>(b)[i] : x;
    Four<T> z;
    for (int j = 0; j < 4; ++j) z.x[j] = from_float<T>(apply(kOp, to_float(x.x[j]), to_float(y.x[j])));
    reinterpret_cast<Four<T>*>(out)[i] = z;
  }
  for (std::int64_t i = fours * 4 + first; i < count; i += stride)
    out[i] = from_float<T>(apply(kOp, to_float(a[i]), to_float(kReadsB<kOp> ? b[i] : a[i])));
}

template <class T>
__global__ void fill_kernel(T* out, std::int64_t count, std::uint32_t seed) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    std::uint32_t h = (static_cast<std::uint32_t>(i) + seed) * 2654435761u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    out[i] = from_float<T>(static_cast<float>(h) * (2.0f / 4294967296.0f) - 1.0f);
  }
}

template <VectorOp kOp, class T>
cudaError_t launch(const void* a, const void* b, void* out, std::int64_t count, cudaStream_t stream) {
  vector_kernel<kOp><<<blocks_for((count + 3) / 4), kThreads, 0, stream>>>(
      static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), count);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_vector(VectorOp op, ElementType type, const void* a, const void* b, void* out, std::int64_t count,
                          cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    switch (op) {
      case VectorOp::add:
        return launch<VectorOp::add, T>(a, b, out, count, stream);
      case VectorOp::mul:
        return launch<VectorOp::mul, T>(a, b, out, count, stream);
      case VectorOp::relu:
        return launch<VectorOp::relu, T>(a, b, out, count, stream);
      case VectorOp::gelu:
        return launch<VectorOp::gelu, T>(a, b, out, count, stream);
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t launch_fill(ElementType type, void* out, std::int64_t count, std::uint32_t seed, cudaStream_t stream) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    fill_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(out), count, seed);
    return cudaGetLastError();
  });
}

}  // namespace distsim::bench
