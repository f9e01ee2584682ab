// Calls of cuDNN: what is not CUDNN_STATUS_SUCCESS is returned as an error that names the call.
#pragma once

#include <cudnn.h>

#include <string>

#include "base/result.hpp"

namespace distsim::bench {

inline Result<void> checked(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return Error{std::string(what) + ": " + cudnnGetErrorString(status), "cuDNN", ""};
}

#define DNN_TRY(call) TRY(checked(call, #call))

}  // namespace distsim::bench
