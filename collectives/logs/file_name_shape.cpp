#include "collectives/logs/file_name_shape.hpp"

#include <charconv>

namespace distsim::collectives {

namespace {

std::string_view name_of_path(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

/// "16r" -> 16, where `unit` is one of the letters.
std::optional<std::uint32_t> count_before(std::string_view& word, std::string_view units) {
  std::uint32_t v = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
  const auto used = static_cast<std::size_t>(end - word.data());
  if (error != std::errc() || used == word.size() || units.find(word[used]) == std::string_view::npos)
    return std::nullopt;
  word.remove_prefix(used + 1);
  return v;
}

}  // namespace

std::optional<NamedShape> shape_of_file_name(std::string_view path) {
  const std::string_view name = name_of_path(path);
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of("_.-", begin), name.size());
    std::string_view word = name.substr(begin, end - begin);
    const auto nodes = count_before(word, "n");
    const auto ranks = nodes ? count_before(word, "gr") : std::nullopt;
    if (ranks && word.empty() && *nodes > 0 && *ranks >= *nodes) return NamedShape{*nodes, *ranks};
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<graph::CollectiveKind> kind_of_file_name(std::string_view path) {
  const std::string_view name = name_of_path(path);
  for (std::string_view word : {"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "alltoall",
                                "all_to_all", "broadcast", "sendrecv"}) {
    if (name.find(word) == std::string_view::npos) continue;
    if (auto kind = graph::parse_collective(word); kind.ok()) return *kind;
  }
  return std::nullopt;
}

}  // namespace distsim::collectives
