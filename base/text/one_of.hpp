// Alternatives as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace distsim {

/// "forward, reverse or bidirectional"; one word as it is, none: "".
inline std::string one_of(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text.append(i == 0 ? "" : i + 1 < words.size() ? ", " : " or ").append(words[i]);
  return text;
}

}  // namespace distsim
