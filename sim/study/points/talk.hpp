// What the processes of a team say to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/study/points/crew.hpp"
#include "sim/study/points/identity.hpp"
#include "sim/study/points/team.hpp"

namespace distsim::study {

enum class Word : int {
  hello = 1,  ///< to the first: a Greeting
  work,       ///< from the first: numbers of points
  round,      ///< from the first: all rows of a round
  rows,       ///< to the first: points that are done
  alive,      ///< to the first, once a second
  failed,     ///< to the first: why this process cannot take part
  stop,       ///< from the first: nothing more will come
  left,       ///< to the first: this process ends
};

inline Result<void> say(Team& team, int to, Word word, const std::string& bytes = "") {
  return team.send(to, static_cast<int>(word), bytes);
}

struct Greeting {
  std::string host;
  unsigned threads = 1;
  Identity identity;
};

std::string encode(const Greeting& greeting);
std::optional<Greeting> decode_greeting(std::string_view bytes);

std::string encode(std::span<const std::size_t> indices);
std::vector<std::size_t> decode_indices(std::string_view bytes);

std::string encode(const std::vector<Done>& done);
/// What is left of a message that was cut is not there.
std::vector<Done> decode_done(std::string_view bytes);

}  // namespace distsim::study
