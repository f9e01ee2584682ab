#include "sim/web/answers/secret.hpp"

#include <sys/random.h>

#include <array>

#include "base/check.hpp"

namespace distsim::web {

std::string random_secret() {
  std::array<unsigned char, 16> bytes{};
  CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) << "no random numbers";
  std::string out;
  for (const unsigned char b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

bool is_secret(std::string_view secret, std::string_view given) {
  unsigned difference = secret.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const char g = given.empty() ? '\0' : given[i % given.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(secret[i])) ^
                  static_cast<unsigned>(static_cast<unsigned char>(g));
  }
  return difference == 0 && !secret.empty();
}

}  // namespace distsim::web
