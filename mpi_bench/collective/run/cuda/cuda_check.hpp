// CUDA errors as results.
#pragma once

#include <cuda_runtime.h>

#include "base/result.hpp"

namespace distsim::bench {

inline Result<void> checked(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return {};
  return Error{std::string(what) + ": " + cudaGetErrorString(code), "CUDA", ""};
}

#define CUDA_TRY(call) TRY(::distsim::bench::checked(call, #call))

}  // namespace distsim::bench
