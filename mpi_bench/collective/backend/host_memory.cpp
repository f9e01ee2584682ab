#include <cstdlib>
#include <cstring>

#include "mpi_bench/collective/backend/memory.hpp"

namespace distsim::bench {
namespace {

struct FreeDeleter {
  void operator()(std::byte* p) const { std::free(p); }
};

class HostMemory : public Memory {
 public:
  Result<void> grow(std::uint64_t bytes) override {
    if (bytes <= bytes_) return {};
    constexpr std::size_t kPage = 4096;
    data_.reset();
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)));
    bytes_ = data_ ? bytes : 0;
    if (!data_)
      return Error{"out of memory for a buffer of " + std::to_string(bytes) + " bytes", "", "use a smaller -e"};
    std::memset(data_.get(), 0, bytes);  // pages are there before they are timed
    return {};
  }
  std::byte* at(std::uint64_t offset) const override { return data_ ? data_.get() + offset : nullptr; }
  Result<void> write(std::uint64_t at, std::span<const std::byte> data) override {
    if (!data.empty()) std::memcpy(this->at(at), data.data(), data.size());
    return {};
  }
  Result<void> read(std::uint64_t at, std::span<std::byte> data) const override {
    if (!data.empty()) std::memcpy(data.data(), this->at(at), data.size());
    return {};
  }

 private:
  std::unique_ptr<std::byte, FreeDeleter> data_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Memory> make_host_memory() { return std::make_unique<HostMemory>(); }

}  // namespace distsim::bench
