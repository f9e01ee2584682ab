// Events that Chrome's format writes in two parts, "B" where one begins and "E" where it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "traces/kineto/kineto_parse.hpp"

namespace distsim::traces {

class KinetoPairs {
 public:
  /// An event of phase B or E; its texts are copied. Returns how many bytes those are.
  std::size_t add(const KinetoEvent& event);

  /// Hands over complete events (phase X), as if each had been written so: an end is that of the innermost event of its
  /// process and thread that has begun. Returns how many events have no partner, or no time.
  std::uint64_t join(const std::function<void(const KinetoEvent&)>& sink);

 private:
  struct Part {
    std::int64_t at = 0;  ///< ns
    OwnedKinetoEvent event;
  };
  std::map<std::pair<std::string, std::string>, std::vector<Part>> threads_;
  std::uint64_t no_time_ = 0;
};

}  // namespace distsim::traces
