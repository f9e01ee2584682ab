#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace distsim::detail {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  out_ << "distsim: internal error at " << file << ":" << line << ": CHECK(" << condition << ") failed. ";
}

CheckFailure::~CheckFailure() {
  std::fputs((out_.str() + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace distsim::detail

namespace distsim {

void json_is_broken() { throw std::bad_alloc(); }

}  // namespace distsim
