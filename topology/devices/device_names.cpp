#include "topology/devices/device_names.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text/lower_case.hpp"

namespace distsim::topology {
namespace {

/// "sxm4", "80gb", "450w", "3e": says which board, not which chip.
bool names_board(const std::string& word) {
  return word.starts_with("sxm") || word.ends_with("gb") || word.ends_with("w") ||
         (is_digit(word.front()) && word.size() < 4);
}

/// Words with a digit that may name a chip: a100, h20, 4090, 6000d.
std::set<std::string> chip_words(std::string_view text) {
  std::set<std::string> out;
  std::string word;
  const auto flush = [&] {
    const bool digit = std::any_of(word.begin(), word.end(), is_digit);
    if (digit && !names_board(word)) out.insert(word);
    word.clear();
  };
  for (const char c : lower_case(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      word += c;
    else
      flush();
  }
  flush();
  return out;
}

}  // namespace

bool is_driver_name(std::string_view text) {
  for (const std::string_view maker : {"NVIDIA ", "AMD ", "Tesla ", "GeForce ", "Quadro "}) {
    if (text.starts_with(maker)) return true;
  }
  return false;
}

bool is_other_gpu(std::string_view text, std::string_view device) {
  const std::set<std::string> own = chip_words(device);
  if (own.empty() || !is_driver_name(text)) return false;
  std::string squeezed;  // "nvidiageforcertx2080ti", as some names are written in one word and some in two
  for (const char c : lower_case(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) squeezed += c;
  }
  const auto has = [&](std::string_view word) { return squeezed.find(word) != std::string::npos; };
  if (std::none_of(own.begin(), own.end(), has)) return true;
  const bool card = device.find("pcie") != std::string_view::npos,
             module = device.find("sxm") != std::string_view::npos;
  return (module && has("pcie")) || (card && has("sxm"));
}

std::string other_chip(std::string_view text, std::string_view device, const std::vector<std::string>& devices) {
  const std::set<std::string> own = chip_words(device), named = chip_words(text);
  if (own.empty()) return "";
  std::set<std::string> known;
  for (const std::string& name : devices) known.merge(chip_words(name));
  std::string other;
  for (const std::string& word : named) {
    if (own.contains(word)) return "";
    if (other.empty() && known.contains(word)) other = word;
  }
  return other;
}

}  // namespace distsim::topology
