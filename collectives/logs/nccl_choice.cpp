#include "collectives/logs/nccl_choice.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "collectives/selection.hpp"

namespace distsim::collectives {

namespace {

constexpr std::size_t kLongestValue = 100, kLongestVariable = 64, kMostVariables = 64;
constexpr std::string_view kAlgorithm = "NCCL_ALGO", kProtocol = "NCCL_PROTO";

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string_view front_while(std::string_view text, const std::function<bool(char)>& belongs) {
  return text.substr(0, static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), belongs) - text.begin()));
}

/// Values of "NAME=value", and of "NAME set by environment to value."; of a name that comes several times the last.
std::map<std::string, std::string, std::less<>> variables_in(std::string_view line) {
  std::map<std::string, std::string, std::less<>> out;
  constexpr std::string_view kPrefix = "NCCL_", kSet = " set by environment to ";
  for (std::size_t at = line.find(kPrefix); at != line.npos; at = line.find(kPrefix, at + 1)) {
    if (at > 0 && (is_alnum(line[at - 1]) || line[at - 1] == '_')) continue;
    const std::string_view name = front_while(line.substr(at), [](char c) { return is_alnum(c) || c == '_'; });
    std::string_view rest = line.substr(at + name.size());
    if (rest.starts_with('='))
      rest.remove_prefix(1);
    else if (rest.starts_with(kSet))
      rest.remove_prefix(kSet.size());
    else
      continue;
    if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
    const std::string_view value =
        front_while(rest, [](char c) { return is_alnum(c) || c == ',' || c == '^' || c == '_'; });
    if (!value.empty() && name.size() <= kLongestVariable)
      out.insert_or_assign(std::string(name), std::string(value.substr(0, kLongestValue)));
  }
  return out;
}

/// "Socket" of NCCL's own "NCCL INFO Using network Socket" and "NCCL INFO NET/Socket : Using [0]eth0"; empty elsewhere.
std::string_view network_in(std::string_view line) {
  if (line.find("NCCL INFO") == line.npos) return {};
  constexpr std::string_view kUsing = "Using network ";
  if (const std::size_t at = line.find(kUsing); at != line.npos)
    return front_while(line.substr(at + kUsing.size()), is_alnum);
  return line.find("NET/Socket : Using") != line.npos ? "Socket" : "";
}

}  // namespace

void NcclChoice::take(std::string_view line) {
  const bool is_command = line.find("_perf") != std::string_view::npos;
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line[first] == '#') return;
  Values found = variables_in(line);
  if (const std::string_view network = network_in(line); !network.empty())
    found.insert_or_assign("NCCL_NET", std::string(network));
  if (is_command) {
    of_command_ = std::move(found);
    return;
  }
  for (auto& [name, value] : found) {
    if (exported_.size() < kMostVariables || exported_.contains(name))
      exported_.insert_or_assign(name, std::move(value));
  }
}

std::string NcclChoice::settings() const {
  Values all = of_command_;
  all.insert(exported_.begin(), exported_.end());
  std::string out;
  const auto add = [&](std::string_view name, const std::string& value) {
    out += (out.empty() ? "" : " ") + std::string(name) + "=" + value;
  };
  for (const std::string_view name : {kAlgorithm, kProtocol}) {
    if (const auto it = all.find(name); it != all.end()) add(name, it->second);
  }
  for (const auto& [name, value] : all) {
    if (takes_away(name, value)) add(name, value);
  }
  return out;
}

}  // namespace distsim::collectives
