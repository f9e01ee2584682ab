#include "test_paths.hpp"

namespace distsim::test {

std::string root() { return DISTSIM_ROOT; }

}  // namespace distsim::test
