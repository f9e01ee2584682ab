#include "collectives/algorithms/selection.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text/lower_case.hpp"
#include "base/text/spelling.hpp"

namespace distsim::collectives {

namespace {

struct Word {
  const char* name;  ///< as NCCL writes it
  std::uint32_t bit;
};

constexpr std::uint32_t bit_of(Algorithm a) { return 1u << static_cast<unsigned>(a); }
constexpr std::uint32_t bit_of(Protocol p) { return 1u << static_cast<unsigned>(p); }

constexpr Word kAlgorithmWords[] = {{"Ring", bit_of(Algorithm::ring)},
                                    {"Tree", bit_of(Algorithm::tree)},
                                    {"CollnetDirect", bit_of(Algorithm::collnet)},
                                    {"CollnetChain", bit_of(Algorithm::collnet)},
                                    {"NVLS", bit_of(Algorithm::nvls)},
                                    {"NVLSTree", bit_of(Algorithm::nvls_tree)},
                                    {"PAT", bit_of(Algorithm::pat)}};
constexpr Word kProtocolWords[] = {
    {"LL", bit_of(Protocol::ll)}, {"LL128", bit_of(Protocol::ll128)}, {"Simple", bit_of(Protocol::simple)}};

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

template <std::size_t N>
std::uint32_t bit_in(const Word (&words)[N], std::string_view name) {
  for (const Word& w : words) {
    if (same_word(w.name, name)) return w.bit;
  }
  return 0;
}

template <std::size_t N>
Result<std::uint32_t> bits_of(const Word (&words)[N], const std::vector<std::string>& names, const char* key) {
  std::uint32_t bits = 0;
  for (const std::string& name : names) {
    const std::uint32_t bit = bit_in(words, name);
    if (bit == 0) {
      std::vector<std::string> known;
      for (const Word& w : words) known.emplace_back(w.name);
      std::string list;
      for (const auto& k : known) list += (list.empty() ? "" : ", ") + k;
      const std::string near = nearest_spelling(name, known);  // the list is in the line already
      return Error{std::string("collectives.") + key + ": found '" + name + "', expected one of " + list, "",
                   near.empty() ? "" : spelling_hint(name, known)};
    }
    bits |= bit;
  }
  return bits;
}

/// The words of "A,B" behind `key` in a line of settings.
template <std::size_t N>
std::uint32_t bits_behind(const Word (&words)[N], std::string_view settings, std::string_view key) {
  const std::size_t at = settings.find(key);
  if (at == std::string_view::npos) return 0;
  std::string_view list = settings.substr(at + key.size());
  list = list.substr(0, list.find_first_of(" \t;"));
  std::uint32_t bits = 0;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    bits |= bit_in(words, list.substr(begin, end - begin));
    begin = end + 1;
  }
  return bits;
}

bool allowed(const Candidate& c, const Selection& s) {
  const bool algorithm = s.algorithms == 0 || (s.algorithms & bit_of(c.algorithm)) != 0;
  return algorithm && (s.protocols == 0 || (s.protocols & bit_of(c.protocol)) != 0);
}

}  // namespace

Result<Selection> selection_of(const CollectiveOptions& options) {
  Selection s;
  TRY_ASSIGN(s.algorithms, bits_of(kAlgorithmWords, options.algorithms, "algorithms"));
  TRY_ASSIGN(s.protocols, bits_of(kProtocolWords, options.protocols, "protocols"));
  s.rdma_writes = options.exchange == "rdma";
  s.hierarchical_exchange = s.rdma_writes || options.exchange == "hierarchical";
  return s;
}

Selection selection_of_settings(std::string_view settings) {
  Selection s;
  for (std::string_view key : {"NCCL_ALGO=", "forced "}) s.algorithms |= bits_behind(kAlgorithmWords, settings, key);
  for (std::string_view key : {"NCCL_PROTO=", "forced "}) s.protocols |= bits_behind(kProtocolWords, settings, key);
  return s;
}

Selection selection_for(graph::CollectiveKind kind, Selection s) {
  switch (kind) {
    case graph::CollectiveKind::all_to_all:
    case graph::CollectiveKind::all_to_all_v:
      return {0, 0, s.hierarchical_exchange, s.rdma_writes};
    case graph::CollectiveKind::send_recv:
    case graph::CollectiveKind::gather:
    case graph::CollectiveKind::scatter:
      return {};
    default:
      return {s.algorithms, s.protocols, false, false};
  }
}

bool any_allowed(const std::vector<Candidate>& candidates, const Selection& selection) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) { return allowed(c, selection); });
}

Selection heeded(Selection selection, const std::vector<Candidate>& candidates) {
  const auto left =
      std::count_if(candidates.begin(), candidates.end(), [&](const Candidate& c) { return allowed(c, selection); });
  if (left == 0 || left == static_cast<std::ptrdiff_t>(candidates.size()))
    selection.algorithms = selection.protocols = 0;
  return selection;
}

std::vector<Candidate> selected(std::vector<Candidate> candidates, const Selection& selection) {
  const auto drop = [&](Algorithm a) {
    std::erase_if(candidates, [&](const Candidate& c) { return c.algorithm == a; });
  };
  if (!selection.hierarchical_exchange || selection.rdma_writes) drop(Algorithm::hierarchical);
  if (!selection.rdma_writes) drop(Algorithm::rdma_writes);
  const auto own = [](const Candidate& c) {
    return c.algorithm == Algorithm::hierarchical || c.algorithm == Algorithm::rdma_writes;
  };
  if (std::any_of(candidates.begin(), candidates.end(), own)) drop(Algorithm::exchange);
  const Selection choice = heeded(selection, candidates);
  std::erase_if(candidates, [&](const Candidate& c) { return !allowed(c, choice); });
  return candidates;
}

}  // namespace distsim::collectives
