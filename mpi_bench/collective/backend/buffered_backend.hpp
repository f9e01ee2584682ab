// What backends with one send and one receive buffer have in common, wherever the buffers lie.
#pragma once

#include <memory>

#include "mpi_bench/collective/backend/backend.hpp"
#include "mpi_bench/collective/backend/memory.hpp"

namespace distsim::bench {

class BufferedBackend : public Backend {
 public:
  Result<void> allocate(std::uint64_t send_bytes, std::uint64_t receive_bytes) final {
    TRY(send_->grow(send_bytes));
    return receive_->grow(receive_bytes);
  }
  Result<void> write(Buffer buffer, std::uint64_t at, std::span<const std::byte> data) final {
    return memory(buffer).write(at, data);
  }
  Result<void> read(Buffer buffer, std::uint64_t at, std::span<std::byte> data) final {
    return memory(buffer).read(at, data);
  }

 protected:
  BufferedBackend(std::unique_ptr<Memory> send, std::unique_ptr<Memory> receive)
      : send_(std::move(send)), receive_(std::move(receive)) {}

  /// The same object whatever grows: what is within it moves.
  Memory& memory(Buffer buffer) const { return buffer == Buffer::send ? *send_ : *receive_; }

  struct Operands {
    std::byte *send, *receive;
  };
  /// Where a call reads and writes; in place, both lie in the receive buffer.
  Operands operands_of(const Call& call) const {
    const std::size_t e = info_of(call.type).size;
    if (!call.in_place) return {send_->at(0), receive_->at(0)};
    return {receive_->at(call.layout->send_at * e), receive_->at(in_place_result_at(call) * e)};
  }

 private:
  const std::unique_ptr<Memory> send_, receive_;
};

}  // namespace distsim::bench
