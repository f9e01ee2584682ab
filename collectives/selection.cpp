#include "collectives/selection.hpp"

#include <algorithm>
#include <string>

#include "base/text/lower_case.hpp"

namespace distsim::collectives {

namespace {

std::uint32_t bit_of(const AlgorithmInfo* a) { return 1u << index_of(*a); }
std::uint32_t bit_of(Protocol p) { return 1u << static_cast<unsigned>(p); }

template <class E>
std::uint32_t bits_of(const std::vector<E>& values) {
  std::uint32_t bits = 0;
  for (const E& v : values) bits |= bit_of(v);
  return bits;
}

/// Of the word, in upper or lower case; 0 where it is not in the vocabulary.
template <class E>
std::uint32_t bit_in(const Words<E>& words, std::string_view word) {
  for (const auto& [name, value] : words) {
    if (lower_case(name) == lower_case(word)) return bit_of(value);
  }
  return 0;
}

/// The words of "A,B" behind `key` in a line of settings.
template <class E>
std::uint32_t bits_behind(const Words<E>& words, std::string_view settings, std::string_view key) {
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

bool is_of_network(std::string_view name) {
  constexpr std::string_view kFamilies[] = {"NCCL_NET", "NCCL_IB_", "NCCL_PXN_"};
  return std::ranges::any_of(kFamilies, [&](std::string_view family) { return name.starts_with(family); });
}

/// Variables that change nothing of a run's speed: what NCCL prints and writes, which version the container holds, by which
/// addresses the processes find each other.
bool says_nothing(std::string_view name) {
  constexpr std::string_view kFamilies[] = {"NCCL_DEBUG", "NCCL_TESTS_"};
  constexpr std::string_view kNames[] = {
      "NCCL_VERSION",       "NCCL_HOME",          "NCCL_ROOT",         "NCCL_ROOT_DIR",       "NCCL_DIR",
      "NCCL_HOSTID",        "NCCL_COMM_ID",       "NCCL_CONF_FILE",    "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE",
      "NCCL_SOCKET_FAMILY", "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT",     "NCCL_IB_RETRY_CNT"};
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kFamilies, [&](std::string_view family) { return name.starts_with(family); });
}

struct SettingWord {
  std::string_view word, name, value;  ///< name and value of "NAME=value"
};

std::vector<SettingWord> words_of_settings(std::string_view settings) {
  std::vector<SettingWord> out;
  for (std::size_t begin = 0; begin < settings.size();) {
    const std::size_t end = std::min(settings.find_first_of(" \t;", begin), settings.size());
    std::string_view word = settings.substr(begin, end - begin);
    while (word.ends_with(',')) word.remove_suffix(1);
    const std::size_t equals = std::min(word.find('='), word.size());
    if (!word.empty()) out.push_back({word, word.substr(0, equals), word.substr(std::min(equals + 1, word.size()))});
    begin = end + 1;
  }
  return out;
}

bool is_nccls(const Candidate& c) { return !c.algorithm->reduction; }

bool allowed(const Candidate& c, const Selection& s) {
  const bool algorithm = s.algorithms == 0 || (s.algorithms & bit_of(c.algorithm)) != 0;
  return algorithm && (s.protocols == 0 || (s.protocols & bit_of(c.protocol)) != 0);
}

/// Whether the framework's choice of an exchange leaves the candidate out.
bool other_exchange(const Candidate& c, Exchange way) { return c.algorithm->exchange && *c.algorithm->exchange != way; }

}  // namespace

Selection selection_of(const CollectiveOptions& options) {
  return {bits_of(options.algorithms), bits_of(options.protocols),
          options.exchange == Exchange::automatic ? Exchange::grouped : options.exchange,
          options.all_reduce == Reduction::automatic ? Reduction::nccl : options.all_reduce};
}

Selection selection_of_settings(std::string_view settings) {
  if (settings.empty()) return {};
  const auto algorithm_words = nccl_algorithm_words();
  const auto protocols = protocol_words();
  Selection s;
  for (std::string_view key : {"NCCL_ALGO=", "forced "}) s.algorithms |= bits_behind(algorithm_words, settings, key);
  for (std::string_view key : {"NCCL_PROTO=", "forced "}) s.protocols |= bits_behind(protocols, settings, key);
  return s;
}

bool takes_away(std::string_view name, std::string_view value) {
  if (!name.starts_with("NCCL_") || value.empty()) return false;
  if (name.ends_with("_DISABLE")) return value != "0";
  if (name == "NCCL_NET") return lower_case(value) == "socket";
  if (name == "NCCL_P2P_LEVEL") return value == "0" || lower_case(value) == "loc";
  if (name == "NCCL_NVLS_ENABLE") return value == "0";
  return name.starts_with("NCCL_MAX_");
}

std::string taken_away(std::string_view settings, bool network) {
  std::string out;
  for (const SettingWord& w : words_of_settings(settings)) {
    if (!takes_away(w.name, w.value) || (!network && is_of_network(w.name))) continue;
    out += (out.empty() ? "" : " ") + std::string(w.word);
  }
  return out;
}

bool has_other_settings(std::string_view settings, bool network) {
  if (!taken_away(settings, network).empty()) return true;
  const auto words = words_of_settings(settings);
  const bool says_something = std::ranges::any_of(
      words, [&](const SettingWord& w) { return !takes_away(w.name, w.value) && !says_nothing(w.name); });
  return says_something && selection_of_settings(settings) == Selection{};
}

Selection selection_for(graph::CollectiveKind kind, Selection s) {
  switch (kind) {
    case graph::CollectiveKind::all_to_all:
    case graph::CollectiveKind::all_to_all_v:
      return {0, 0, s.exchange, Reduction::nccl};
    case graph::CollectiveKind::send_recv:
    case graph::CollectiveKind::gather:
    case graph::CollectiveKind::scatter:
      return {};
    case graph::CollectiveKind::all_reduce:
    case graph::CollectiveKind::barrier:  // a small all_reduce
      return {s.algorithms, s.protocols, Exchange::grouped, s.reduction};
    default:
      return {s.algorithms, s.protocols, Exchange::grouped, Reduction::nccl};
  }
}

bool any_allowed(const std::vector<Candidate>& candidates, const Selection& selection) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& c) { return is_nccls(c) && allowed(c, selection); });
}

Selection heeded(Selection selection, const std::vector<Candidate>& candidates) {
  const auto all = std::count_if(candidates.begin(), candidates.end(), is_nccls);
  const auto left = std::count_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& c) { return is_nccls(c) && allowed(c, selection); });
  if (left == 0 || left == all) selection.algorithms = selection.protocols = 0;
  const bool reduces = std::any_of(candidates.begin(), candidates.end(),
                                   [&](const Candidate& c) { return c.algorithm->reduction == selection.reduction; });
  if (!reduces) selection.reduction = Reduction::nccl;
  const bool exchanges = std::any_of(candidates.begin(), candidates.end(),
                                     [&](const Candidate& c) { return c.algorithm->exchange == selection.exchange; });
  if (!exchanges) selection.exchange = Exchange::grouped;
  return selection;
}

std::vector<Candidate> selected(std::vector<Candidate> candidates, const Selection& selection) {
  const bool possible = std::any_of(candidates.begin(), candidates.end(),
                                    [&](const Candidate& c) { return c.algorithm->exchange == selection.exchange; });
  const Exchange way = possible ? selection.exchange : Exchange::grouped;
  std::erase_if(candidates, [&](const Candidate& c) { return other_exchange(c, way); });
  const auto reduces = [&](const Candidate& c) { return c.algorithm->reduction == selection.reduction; };
  if (std::any_of(candidates.begin(), candidates.end(), reduces)) {
    std::erase_if(candidates, [&](const Candidate& c) { return !reduces(c); });
    return candidates;
  }
  std::erase_if(candidates, [](const Candidate& c) { return !is_nccls(c); });
  const Selection choice = heeded(selection, candidates);
  std::erase_if(candidates, [&](const Candidate& c) { return !allowed(c, choice); });
  return candidates;
}

}  // namespace distsim::collectives
