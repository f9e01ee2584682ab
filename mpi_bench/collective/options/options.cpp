#include "mpi_bench/collective/options/options.hpp"

#include <cmath>
#include <limits>
#include <sstream>

#include "base/text/number_text.hpp"

namespace distsim::bench {
namespace {

constexpr double kMaxSize = 1125899906842624.0;  // 2^50

std::optional<double> suffix_factor(char suffix) {
  switch (suffix) {
    case 'K':
    case 'k':
      return 1024.0;
    case 'M':
    case 'm':
      return 1024.0 * 1024;
    case 'G':
    case 'g':
      return 1024.0 * 1024 * 1024;
    case 'T':
    case 't':
      return 1024.0 * 1024 * 1024 * 1024;
    default:
      return std::nullopt;
  }
}

bool is_decimal(std::string_view text) { return text.find_first_not_of("0123456789.") == text.npos; }

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const Error bad{
      "found '" + std::string(text) + "', expected a size such as 8, 512K, 1.5M or 4G (binary suffixes, at most 1024T)",
      "", ""};
  std::string digits(text);
  double factor = 1;
  if (!digits.empty() && suffix_factor(digits.back())) {
    factor = *suffix_factor(digits.back());
    digits.pop_back();
  }
  const auto number = is_decimal(digits) ? plain_number(digits) : std::nullopt;
  if (!number) return bad;
  const double bytes = *number * factor;
  if (!(bytes <= kMaxSize) || bytes != std::floor(bytes)) return bad;
  return static_cast<std::uint64_t>(bytes);
}

std::vector<std::uint64_t> sweep_sizes(const SizeRange& range) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = range.min_bytes; size <= range.max_bytes;) {
    sizes.push_back(size);
    size = range.step_factor > 1 ? size * range.step_factor : size + range.step_bytes;
  }
  return sizes;
}

std::string canonical_text(const CommandLine& line, const std::string& build) {
  std::ostringstream out;
  out << "program " << build << '\n' << line.flags;
  for (const PlannedCurve& p : line.options.selected.planned) {
    out << "plan " << p.what->name << ' ' << info_of(p.type).name << ' ' << p.group.name;
    for (const std::uint64_t size : p.sizes) out << ' ' << size;
    out << '\n';
  }
  return out.str();
}

std::string first_difference(const std::string& theirs, const std::string& ours) {
  std::istringstream a(theirs), b(ours);
  std::string found, expected;
  while (found == expected) {
    const bool more_a = static_cast<bool>(std::getline(a, found)),
               more_b = static_cast<bool>(std::getline(b, expected));
    if (!more_a && !more_b) return "";
    if (!more_a) found.clear();
    if (!more_b) expected.clear();
  }
  return "found '" + found + "', expected '" + expected + "'";
}

}  // namespace distsim::bench
