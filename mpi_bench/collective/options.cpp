#include "mpi_bench/collective/options.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

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

bool is_decimal(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789.") == text.npos; }

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
  if (!is_decimal(digits)) return bad;
  char* end = nullptr;
  const double bytes = std::strtod(digits.c_str(), &end) * factor;
  if (*end != '\0' || !(bytes <= kMaxSize) || bytes != std::floor(bytes)) return bad;
  return static_cast<std::uint64_t>(bytes);
}

std::vector<std::uint64_t> sweep_sizes(const Options& o) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = o.min_bytes; size <= o.max_bytes;) {
    sizes.push_back(size);
    size = o.step_factor > 1 ? size * o.step_factor : size + o.step_bytes;
  }
  return sizes;
}

std::string canonical_text(const Options& o, const std::string& build) {
  std::ostringstream out;
  out << "program " << build << "\n-b " << o.min_bytes << "\n-e " << o.max_bytes << "\n-i " << o.step_bytes << "\n-f "
      << o.step_factor << "\n-n " << o.iterations << "\n-w " << o.warmup << "\n-c " << o.check << "\n-r "
      << (o.all_roots ? "all" : std::to_string(o.root)) << "\n-a " << static_cast<int>(o.report) << "\n-G "
      << o.graph_launches << "\n-z " << o.blocking << "\n-t " << o.lanes.threads << "\n-g " << o.lanes.gpus
      << "\n--backend " << static_cast<int>(o.backend) << "\n--imbalance " << o.imbalance << "\n--relative-error "
      << o.relative_error << "\n--max-seconds " << o.max_seconds << "\n--stall-limit " << o.stall_limit_s
      << "\n--beside " << static_cast<int>(o.beside) << ' ' << o.beside_bytes << "\n--streams " << o.streams
      << "\n--overhead " << o.overhead << "\n--curve-time " << static_cast<int>(o.curve_time) << "\n--hash-hosts "
      << o.hash_hosts << "\n--plan " << o.plan << "\n--config " << o.config << "\n--out " << o.out << "\n-J " << o.json
      << "\n--system " << o.system << "\n-o";
  for (RedOp op : o.ops) out << ' ' << name_of(op);
  out << "\n-d";
  for (DataType type : o.types) out << ' ' << info_of(type).name;
  out << "\n--collectives";
  for (const CollectiveCase* c : o.collectives) out << ' ' << c->name;
  out << "\n--groups";
  for (const GroupRequest& g : o.groups) out << ' ' << g.name;
  out << "\n--pair-tests";
  for (const PairTest test : o.pair_tests) out << ' ' << static_cast<int>(test);
  for (const PlannedCurve& p : o.planned) {
    out << "\nplan " << p.what->name << ' ' << info_of(p.type).name << ' ' << p.group.name;
    for (const std::uint64_t size : p.sizes) out << ' ' << size;
  }
  out << '\n';
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
