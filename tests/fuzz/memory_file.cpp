#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_target.hpp"

namespace distsim::fuzz {

MemoryFile::MemoryFile(std::string_view bytes) : fd_(::memfd_create("input", 0)) {
  CHECK(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}

MemoryFile::~MemoryFile() { ::close(fd_); }

}  // namespace distsim::fuzz
