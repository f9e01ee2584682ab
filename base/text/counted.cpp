#include "base/text/counted.hpp"

namespace distsim {

std::string_view agreeing(std::uint64_t n, std::string_view singular, std::string_view plural) {
  return n == 1 ? singular : plural;
}

std::string counted(std::uint64_t n, std::string_view singular, std::string_view plural) {
  const std::string regular = std::string(singular) + "s";
  return std::to_string(n) + " " + std::string(agreeing(n, singular, plural.empty() ? regular : plural));
}

}  // namespace distsim
