// Words of the checks of programs.
#pragma once

#include <concepts>
#include <string>

#include "base/result.hpp"

namespace distsim::engine {

template <std::integral Number>
std::string text(Number n) {
  return std::to_string(n);
}

inline Error found(const std::string& what, const std::string& found, const std::string& expected) {
  return {what + ": found " + found + ", expected " + expected, "", ""};
}

}  // namespace distsim::engine
