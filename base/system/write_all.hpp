// Writes to descriptors of any kind.
#pragma once

#include <cstddef>

namespace distsim {

/// Writes all of it, also to a descriptor that does not block (a pipe whose other end another program has set so), for which
/// it waits. False: errno says why.
bool write_all(int fd, const char* data, std::size_t size);

}  // namespace distsim
