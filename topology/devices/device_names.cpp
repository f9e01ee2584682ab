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

constexpr std::string_view kBoards[] = {"sxm", "pcie", "nvl"};

/// "sxm4", "pcie" and "nvl": the boards that a name says its chip is on, also where they are joined to it ("a100sxm4").
std::set<std::string> boards_in(std::string_view text) {
  std::set<std::string> out;
  const std::string lower = lower_case(text);
  const auto letter_at = [&](std::size_t at) {
    return at < lower.size() && std::isalpha(static_cast<unsigned char>(lower[at])) != 0;
  };
  for (const std::string_view board : kBoards) {
    for (std::size_t at = lower.find(board); at != lower.npos; at = lower.find(board, at + 1)) {
      std::size_t end = at + board.size();
      if (letter_at(end)) continue;  // of another word: NVLink
      while (board == "sxm" && end < lower.size() && is_digit(lower[end])) ++end;
      out.insert(lower.substr(at, end - at));
    }
  }
  return out;
}

/// "sxm" is a board of any generation.
bool is_on_other_board(std::string_view text, std::string_view device) {
  const std::set<std::string> said = boards_in(text), own = boards_in(device);
  const auto is_own = [&](const std::string& board) {
    return std::ranges::any_of(own, [&](const std::string& o) { return o.starts_with(board) || board.starts_with(o); });
  };
  return !said.empty() && !own.empty() && std::ranges::none_of(said, is_own);
}

/// The words of a device's name that name its chip, also in one word with what follows: "2080" and "2080ti".
std::set<std::string> chip_names(std::string_view device) {
  std::set<std::string> out = chip_words(device);
  for (const std::string& chip : chip_words(device)) {
    for (const std::string& name : names_in(device)) {
      if (name.starts_with(chip)) out.insert(name);
    }
  }
  return out;
}

/// "a100" and "a100" or "a100sxm4"; "h20" is neither "h200" nor "gh20", and "v100s" and "a100x" are chips of their own.
bool is_same_chip(std::string_view word, std::string_view chip) {
  if (!word.starts_with(chip)) return false;
  const std::string_view rest = word.substr(chip.size());
  return rest.empty() || std::ranges::any_of(kBoards, [&](std::string_view board) { return rest.starts_with(board); });
}

std::set<std::string> words_in(std::string_view text) {
  std::set<std::string> out;
  std::string word;
  for (const char c : lower_case(text) + ' ') {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      word += c;
    else if (!word.empty())
      out.insert(std::exchange(word, ""));
  }
  return out;
}

/// Up to the next that is no digit.
std::size_t after_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// "1g.10gb" and "1g.10gb+me": the slices of compute and the memory of a part of a GPU.
bool is_mig_profile(std::string_view word) {
  const std::size_t slices = after_digits(word, 0);
  if (slices == 0 || !word.substr(slices).starts_with("g.")) return false;
  const std::size_t memory = after_digits(word, slices + 2);
  return memory > slices + 2 && word.substr(memory).starts_with("gb");
}

/// "8C" and "1B4": memory in GB, the kind of licence, and a number of displays; "5CME" with media extensions.
bool is_vgpu_size(std::string_view part) {
  const std::size_t end = after_digits(part, 0);
  if (end == 0 || end == part.size() || std::string_view("ABCQ").find(part[end]) == std::string_view::npos)
    return false;
  const std::string_view rest = part.substr(end + 1);
  return rest == "ME" || after_digits(rest, 0) == rest.size();
}

/// "A100X-8C", "A100-3-20C", "T4-1B4", "A100-1-5CME", "A100-40C-NC": a size behind a dash.
bool is_vgpu_profile(std::string_view word) {
  for (std::size_t dash = word.find('-'); dash != word.npos; dash = word.find('-', dash + 1)) {
    const std::string_view rest = word.substr(dash + 1);
    if (dash > 0 && is_vgpu_size(rest.substr(0, rest.find('-')))) return true;
  }
  return false;
}

/// "mi300x"
bool is_instinct(std::string_view chip) { return chip.size() > 2 && chip.starts_with("mi") && is_digit(chip[2]); }

/// "Graphics Device", "CUDA Device 0", "NVIDIA PG509-210" (a board), "Device 74a1" (of PCI): what any GPU of the maker of chips
/// `own` may be called where its driver does not know it.
bool is_generic_name(std::string_view text, const std::set<std::string>& own) {
  static const std::set<std::string> generic{"accelerator", "corporation", "cuda", "device", "generic",
                                             "gpu",         "graphics",    "hip",  "inc",    "unknown"};
  static const std::set<std::string> of_amd{"amd", "instinct", "radeon"}, of_nvidia{"nvidia", "tesla"};
  const bool amd = std::ranges::any_of(own, is_instinct);
  const std::set<std::string> words = words_in(text);
  const auto is_board = [](const std::string& word) {
    return word.size() > 2 && word.starts_with("pg") && after_digits(word, 2) == word.size();
  };
  const std::size_t most_digits = std::ranges::any_of(words, is_board) ? 3 : 2;
  return std::ranges::all_of(words, [&](const std::string& word) {
    const bool is_pci = word.size() == 4 && word.find_first_not_of("0123456789abcdef") == word.npos;
    const bool is_number = word.size() <= most_digits && after_digits(word, 0) == word.size();
    return generic.contains(word) || (amd ? of_amd : of_nvidia).contains(word) || is_number || is_board(word) ||
           (is_pci && words.contains("device"));
  });
}

/// "gfx942:sramecc+:xnack-": AMD's name of an instruction set, which several of its GPUs share.
bool is_instruction_set_of_amd(std::string_view text) {
  return lower_case(text).starts_with("gfx") && text.size() > 3 && is_digit(text[3]);
}

bool has_all_words(std::string_view text, std::string_view words) {
  return std::ranges::includes(words_in(text), words_in(words));
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

bool is_part_of_gpu(std::string_view text) {
  const bool of_driver = is_driver_name(text) || text.starts_with("GRID ");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (is_mig_profile(word) || (of_driver && is_vgpu_profile(word))) return true;
    begin = end + 1;
  }
  return false;
}

bool may_be_gpu(std::string_view text, std::string_view device) {
  const std::set<std::string> own = chip_names(device);
  if (own.empty()) return lower_case(text).find(lower_case(device.substr(0, device.find('_')))) != std::string::npos;
  const std::set<std::string> named = names_in(text);
  return !is_on_other_board(text, device) && std::any_of(named.begin(), named.end(), [&](const std::string& word) {
    return std::any_of(own.begin(), own.end(), [&](const std::string& chip) { return is_same_chip(word, chip); });
  });
}

bool is_other_gpu(std::string_view text, std::string_view device) {
  return is_driver_name(text) && !chip_words(device).empty() && !may_be_gpu(text, device);
}

bool names_other_gpu(std::string_view text, std::string_view device, const KnownDevices& known) {
  if (text.empty() || text == device) return false;
  if (is_part_of_gpu(text))
    return std::ranges::none_of(known.called(text), [&](const DeviceNames& d) { return d.name == device; });
  if (!other_chip(text, device, known.names()).empty() || is_other_gpu(text, device)) return true;
  const bool of_driver = is_driver_name(text);
  const std::vector<DeviceNames> meant = known.called(text);
  if (meant.empty() && !of_driver) return false;
  std::string own(device);  // all that it is called
  bool says_aliases = false;
  std::set<std::string> own_names{own};
  for (const DeviceNames& d : known.called(device)) {
    own_names.insert(d.name);
    own += ' ' + d.name;
    for (const std::string& alias : d.aliases) own += ' ' + alias, says_aliases = true;
  }
  if (of_driver && is_on_other_board(text, own)) return true;
  const bool has_chip = !chip_words(device).empty();
  if (meant.empty() || (!has_chip && !says_aliases) || (!of_driver && has_all_words(own, text))) return false;
  return std::ranges::none_of(meant, [&](const DeviceNames& d) {
    return own_names.contains(d.name) || (has_chip && may_be_gpu(d.name, device));
  });
}

bool is_listed_as_other(std::string_view text, std::string_view device, const KnownDevices& known) {
  if (text.empty() || text == device) return false;
  const std::vector<DeviceNames> meant = known.called(text);
  if (std::ranges::any_of(meant, [&](const DeviceNames& d) { return d.name == device; })) return false;
  const std::set<std::string> own = chip_words(device);
  if (meant.empty() && is_generic_name(text, own)) return false;
  if (names_other_gpu(text, device, known)) return true;
  if (own.empty() || may_be_gpu(text, device)) return false;
  return !is_instruction_set_of_amd(text) || std::ranges::none_of(own, is_instinct);
}

bool is_known_as_other(const DeviceSpec& device, std::string_view text, const KnownDevices& known) {
  if (device.aliases.empty() || names_device(device, text)) return false;
  const std::vector<DeviceNames> meant = known.called(text);
  const auto is_it = [&](const DeviceNames& d) { return d.name == device.name; };
  return !meant.empty() && std::ranges::none_of(meant, is_it);
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
