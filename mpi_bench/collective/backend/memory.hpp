// Where the buffers of a backend lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"

namespace distsim::bench {

class Memory {
 public:
  virtual ~Memory() = default;
  virtual Result<void> grow(std::uint64_t bytes) = 0;  ///< to at least so many; the contents are lost
  virtual std::byte* at(std::uint64_t offset) const = 0;
  virtual Result<void> write(std::uint64_t at, std::span<const std::byte> data) = 0;
  virtual Result<void> read(std::uint64_t at, std::span<std::byte> data) const = 0;
};

std::unique_ptr<Memory> make_host_memory();
#ifdef DISTSIM_WITH_CUDA
std::unique_ptr<Memory> make_device_memory();  ///< of the current GPU
#endif

}  // namespace distsim::bench
