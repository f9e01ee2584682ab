// Element types on the device: conversion to and from fp32, four elements at a time, and the switch from ElementType to
// a C++ type.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "mpi_bench/op/run/kernels/kernels.hpp"

namespace distsim::bench {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half(x);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

/// Four elements, loaded and stored as one.
template <class T>
struct alignas(4 * sizeof(T)) Four {
  T x[4];
};

/// Calls f(T{}) with the C++ type of `type`.
template <class F>
cudaError_t with_type(ElementType type, F f) {
  switch (type) {
    case ElementType::fp32:
      return f(float{});
    case ElementType::fp16:
      return f(__half{});
    case ElementType::bf16:
      return f(__nv_bfloat16{});
  }
  return cudaErrorInvalidValue;
}

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 20;  // beyond that threads take several items

inline unsigned blocks_for(std::int64_t items) {
  const std::int64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

}  // namespace distsim::bench
