// Words of the checks of programs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace distsim::engine {

inline std::string text(std::uint64_t n) { return std::to_string(n); }

inline Error found(const std::string& what, const std::string& found, const std::string& expected) {
  return {what + ": found " + found + ", expected " + expected, "", ""};
}

}  // namespace distsim::engine
