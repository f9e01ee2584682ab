// NCCL errors as results.
#pragma once

#include <nccl.h>

#include "mpi_bench/collective/run/cuda_check.hpp"

namespace distsim::bench {

inline Result<void> checked(ncclResult_t code, const char* what) {
  if (code == ncclSuccess) return {};
  return Error{std::string(what) + ": " + ncclGetErrorString(code), "NCCL", "set NCCL_DEBUG=WARN for details"};
}

#define NCCL_TRY(call) TRY(::distsim::bench::checked(call, #call))

}  // namespace distsim::bench
