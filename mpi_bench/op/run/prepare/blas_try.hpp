// Calls of cuBLAS and cuBLASLt: what is not CUBLAS_STATUS_SUCCESS is returned as an error that names the call.
#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace distsim::bench {

inline constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

inline Result<void> checked(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error{std::string(what) + ": " + cublasGetStatusString(status), "cuBLAS", ""};
}

#define BLAS_TRY(call) TRY(checked(call, #call))

}  // namespace distsim::bench
