#include "traces/kineto/kineto_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/kineto/kineto_roles.hpp"

namespace distsim::traces {

std::size_t KinetoPairs::add(const KinetoEvent& event) {
  Part part;
  std::int64_t duration = 0;
  if (!event_times(event, part.at, duration)) {
    ++no_time_;
    return 0;
  }
  part.event = OwnedKinetoEvent(event);
  const std::size_t bytes = part.event.bytes();
  threads_[{std::string(event.process), std::string(event.thread)}].push_back(std::move(part));
  return bytes;
}

std::uint64_t KinetoPairs::join(const std::function<void(const KinetoEvent&)>& sink) {
  std::uint64_t alone = no_time_;
  for (auto& [thread, parts] : threads_) {
    std::ranges::stable_sort(parts, {}, &Part::at);
    std::vector<Part*> open;
    for (Part& p : parts) {
      if (p.event.get().phase.starts_with('B')) {
        open.push_back(&p);
        continue;
      }
      if (open.empty()) {
        ++alone;
        continue;
      }
      const Part& begin = *open.back();
      open.pop_back();
      KinetoEvent whole = begin.event.get();
      fill_absent(whole, p.event.get());
      const std::int64_t ns = p.at - begin.at;
      const std::string microseconds = fmt::format("{}.{:03}", ns / 1000, ns % 1000);
      whole.phase = "X";
      whole.duration = microseconds;
      sink(whole);
    }
    alone += open.size();
  }
  threads_.clear();
  return alone;
}

}  // namespace distsim::traces
