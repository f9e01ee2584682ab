// The list of algorithms, in the order in which equal times are chosen. To add one: a file that defines it
// (algorithm.hpp says how), and its line here.
#include <array>

#include "base/check.hpp"
#include "collectives/algorithms/algorithm.hpp"
#include "collectives/collective_options.hpp"

#define ALGORITHMS(ALGORITHM) \
  ALGORITHM(ring)             \
  ALGORITHM(tree)             \
  ALGORITHM(collnet)          \
  ALGORITHM(nvls)             \
  ALGORITHM(nvls_tree)        \
  ALGORITHM(pat)              \
  ALGORITHM(exchange)         \
  ALGORITHM(hierarchical)     \
  ALGORITHM(rdma)             \
  ALGORITHM(direct)           \
  ALGORITHM(one_shot)

namespace distsim::collectives {

#define DECLARE(name) extern const AlgorithmInfo name##_algorithm;
ALGORITHMS(DECLARE)

namespace {

#define ENTRY(name) &name##_algorithm,
constexpr std::array kAlgorithms{ALGORITHMS(ENTRY)};

constexpr bool distinct() {
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    for (std::size_t j = i + 1; j < kAlgorithms.size(); ++j) {
      if (kAlgorithms[i] == kAlgorithms[j]) return false;
    }
  }
  return true;
}
std::string text_of(const Kinds& kinds) {
  std::string out;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(graph::CollectiveKind::barrier); ++k) {
    const auto kind = static_cast<graph::CollectiveKind>(k);
    if (kinds.contains(kind)) out += (out.empty() ? "" : ", ") + std::string(graph::name_of(kind));
  }
  return out;
}

static_assert(distinct(), "an algorithm is listed twice");
static_assert(kAlgorithms.size() <= 32, "Selection has a bit for each");

}  // namespace

std::span<const AlgorithmInfo* const> algorithms() { return kAlgorithms; }

std::size_t index_of(const AlgorithmInfo& algorithm) {
  std::size_t i = 0;
  while (i < kAlgorithms.size() && kAlgorithms[i] != &algorithm) ++i;
  CHECK(i < kAlgorithms.size()) << "not in the registry: " << algorithm.name;
  return i;
}

std::vector<Candidate> candidates_for(graph::CollectiveKind kind, const Channels& channels) {
  std::vector<Candidate> out;
  out.reserve(12);
  for (const AlgorithmInfo* a : kAlgorithms) {
    if (!a->kinds.contains(kind) || !a->applies(channels)) continue;
    const std::size_t first = out.size();
    a->add(kind, channels, out);
    for (std::size_t i = first; i < out.size(); ++i) out[i].algorithm = a;
  }
  CHECK(!out.empty()) << "no algorithm for " << graph::name_of(kind);
  return out;
}

std::vector<CollectiveInfo> collective_registry() {
  std::vector<CollectiveInfo> out;
  for (const AlgorithmInfo* a : kAlgorithms) {
    const std::string_view clause = a->sentence.substr(0, a->sentence.size() - 1);
    out.push_back({a->name, std::string(clause) + " (" + text_of(a->kinds) + ")."});
  }
  return out;
}

}  // namespace distsim::collectives
