#include "base/text/counted.hpp"

#include <cstdio>

namespace distsim {

std::string_view agreeing(std::uint64_t n, std::string_view singular, std::string_view plural) {
  return n == 1 ? singular : plural;
}

std::string counted(std::uint64_t n, std::string_view singular, std::string_view plural) {
  const std::string regular = std::string(singular) + "s";
  return std::to_string(n) + " " + std::string(agreeing(n, singular, plural.empty() ? regular : plural));
}

std::string grouped(double whole) {
  char digits[320];  // of the largest double
  std::snprintf(digits, sizeof digits, "%.0f", whole);
  std::string text = digits;
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace distsim
