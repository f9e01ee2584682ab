// Which events of a stream hold others, by the order in which their starts and stops were met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distsim::traces {

/// Calls held(outer, inner) with the places of each two events of which one stops after the other and starts before it.
/// REQUIRES: `events` of one stream, by start_index. Of more than 64 events that hold another the first 64 are told; real ones have 3.
template <class Event, class Held>
void each_held_event(const std::vector<Event>& events, Held held) {
  constexpr std::size_t kDeepestEvents = 64;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::erase_if(open, [&](std::size_t o) { return events[o].end_index < events[i].start_index; });
    for (const std::size_t o : open) {
      if (events[o].end_index > events[i].end_index) held(o, i);
    }
    if (open.size() < kDeepestEvents) open.push_back(i);
  }
}

}  // namespace distsim::traces
