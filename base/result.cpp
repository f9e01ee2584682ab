#include "base/result.hpp"

namespace distsim {

std::string Error::text() const {
  std::string line = where.empty() ? what : where + ": " + what;
  if (!hint.empty()) line += "; " + hint;
  return line;
}

}  // namespace distsim
