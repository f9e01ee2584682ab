#include "collectives/logs/nccl_choice.hpp"

#include <algorithm>
#include <cctype>

namespace distsim::collectives {

namespace {

constexpr std::size_t kLongestValue = 100;

/// The value of "NAME=value", of the last where there are several, and of "NAME set by environment to value."; empty where
/// there is none.
std::string value_of(std::string_view line, std::string_view name) {
  std::string out;
  constexpr std::string_view kSet = " set by environment to ";
  for (std::size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0 || line[at - 1] == '_')) continue;
    std::string_view rest = line.substr(at + name.size());
    if (rest.starts_with('='))
      rest.remove_prefix(1);
    else if (rest.starts_with(kSet))
      rest.remove_prefix(kSet.size());
    else
      continue;
    const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
    if (quoted) rest.remove_prefix(1);
    const auto belongs = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ',' || c == '^' || c == '_';
    };
    const std::size_t size =
        static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), belongs) - rest.begin());
    if (size > 0) out = rest.substr(0, std::min(size, kLongestValue));
  }
  return out;
}

}  // namespace

void NcclChoice::take(std::string_view line) {
  const bool is_command = line.find("_perf") != std::string_view::npos;
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line[first] == '#') return;
  Values found{value_of(line, "NCCL_ALGO"), value_of(line, "NCCL_PROTO")};
  if (is_command) {
    of_command_ = std::move(found);
    return;
  }
  if (!found.algorithms.empty()) exported_.algorithms = std::move(found.algorithms);
  if (!found.protocols.empty()) exported_.protocols = std::move(found.protocols);
}

std::string NcclChoice::settings() const {
  const auto& algorithms = of_command_.algorithms.empty() ? exported_.algorithms : of_command_.algorithms;
  const auto& protocols = of_command_.protocols.empty() ? exported_.protocols : of_command_.protocols;
  std::string out = algorithms.empty() ? "" : "NCCL_ALGO=" + algorithms;
  if (!protocols.empty()) out += (out.empty() ? "NCCL_PROTO=" : " NCCL_PROTO=") + protocols;
  return out;
}

}  // namespace distsim::collectives
