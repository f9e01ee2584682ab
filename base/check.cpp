#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace distsim::detail {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  out_ << "distsim: internal error at " << file << ":" << line << ": CHECK(" << condition << ") failed. ";
}

CheckFailure::~CheckFailure() {
  std::fputs((out_.str() + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace distsim::detail
