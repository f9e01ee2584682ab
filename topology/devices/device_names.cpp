#include "topology/devices/device_names.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

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

/// "2080", "ti" and "2080ti" of "RTX2080 Ti": every word, and every two, as some names are written in one word and some in
/// two; the name of a family that is joined to a word is left out.
std::set<std::string> names_in(std::string_view text) {
  std::set<std::string> out;
  std::string word, last;
  const auto flush = [&] {
    if (word.empty()) return;
    for (const std::string_view family : {"geforce", "rtx", "gtx", "dgx", "hgx"}) {
      if (word.starts_with(family) && word.size() > family.size()) word.erase(0, family.size());
    }
    out.insert(word);
    if (!last.empty()) out.insert(last + word);
    last = std::exchange(word, "");
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

/// "a100" and "a100" or "a100sxm4"; "h20" is neither "h200" nor "gh20", and what letters follow a chip's name may name
/// its board.
bool is_same_chip(std::string_view word, std::string_view chip) {
  return word.starts_with(chip) && (word.size() == chip.size() || !is_digit(word[chip.size()]));
}

bool is_on_other_board(std::string_view text, std::string_view device) {
  const std::string lower = lower_case(text);
  const auto says = [](std::string_view where, std::string_view board) {
    return where.find(board) != std::string_view::npos;
  };
  return (says(device, "sxm") && says(lower, "pcie")) || (says(device, "pcie") && says(lower, "sxm"));
}

bool is_separator(char c) { return c == ' ' || c == '_' || c == '-'; }

}  // namespace

std::string normal_gpu_name(std::string_view text) {
  std::string name, word;
  // "Quadro" stays: a Quadro RTX 6000 is another chip than an RTX 6000.
  static const std::set<std::string> makers{"nvidia", "amd", "tesla", "instinct", "geforce"};
  for (const char c : text) {
    if (!is_separator(c)) {
      word += lower_case(c);
      continue;
    }
    if (!name.empty() || !makers.contains(word)) name += word;
    word.clear();
  }
  return name + word;
}

bool names_device(const DeviceSpec& device, std::string_view text) {
  const std::string name = normal_gpu_name(text);
  const auto is = [&](const std::string& known) { return normal_gpu_name(known) == name; };
  return !name.empty() && (is(device.name) || std::any_of(device.aliases.begin(), device.aliases.end(), is));
}

bool is_driver_name(std::string_view text) {
  for (const std::string_view maker : {"NVIDIA ", "AMD ", "Tesla ", "GeForce ", "Quadro "}) {
    if (text.starts_with(maker)) return true;
  }
  return false;
}

bool may_be_gpu(std::string_view text, std::string_view device) {
  const std::set<std::string> own = chip_words(device);
  if (own.empty()) return lower_case(text).find(lower_case(device.substr(0, device.find('_')))) != std::string::npos;
  const std::set<std::string> named = names_in(text);
  return !is_on_other_board(text, device) && std::any_of(named.begin(), named.end(), [&](const std::string& word) {
    return std::any_of(own.begin(), own.end(), [&](const std::string& chip) { return is_same_chip(word, chip); });
  });
}

bool is_other_gpu(std::string_view text, std::string_view device) {
  return is_driver_name(text) && !chip_words(device).empty() && !may_be_gpu(text, device);
}

bool names_other_gpu(std::string_view text, std::string_view device, const std::vector<std::string>& devices) {
  const bool is_name = std::ranges::find(devices, text) != devices.end();
  return !other_chip(text, device, devices).empty() || is_other_gpu(text, device) ||
         (is_name && !may_be_gpu(text, device));
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
