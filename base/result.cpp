#include "base/result.hpp"

#include "base/text/printable.hpp"

namespace distsim {

std::string Error::text() const {
  std::string line = where.empty() ? what : where + ": " + what;
  if (!hint.empty()) line += "; " + hint;
  return message_line(line);
}

}  // namespace distsim
