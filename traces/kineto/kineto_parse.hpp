// The JSON of Kineto events, many at a time, to KinetoEvent. simdjson does the work; an event that it refuses is tried
// again by itself, cleaned.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "traces/files/json_stream.hpp"
#include "traces/kineto/kineto_event.hpp"

namespace distsim::traces {

/// A copy of an event that outlives its JSON.
class OwnedKinetoEvent {
 public:
  OwnedKinetoEvent() = default;
  explicit OwnedKinetoEvent(const KinetoEvent& event);
  OwnedKinetoEvent(OwnedKinetoEvent&&) = default;
  OwnedKinetoEvent& operator=(OwnedKinetoEvent&&) = default;
  const KinetoEvent& get() const { return event_; }
  std::size_t bytes() const { return text_.size(); }

 private:
  std::vector<char> text_;
  KinetoEvent event_;  ///< points into text_, which moves along with its memory
};

/// Arguments that `event` lacks and `other` has.
void fill_absent(KinetoEvent& event, const KinetoEvent& other);

class KinetoParser {
 public:
  KinetoParser();
  ~KinetoParser();

  /// Calls `sink` for every event of the batch that can be read; returns how many could not.
  std::uint64_t parse(JsonBatch& batch, const std::function<void(const KinetoEvent&)>& sink);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace distsim::traces
