// IPv4 addresses of this machine's interfaces that are up, the loopback left out; separated by blanks.
#pragma once

#include <string>

namespace distsim::bench {

std::string local_addresses();

}  // namespace distsim::bench
