// The JSON of Kineto events, many at a time, to KinetoEvent. simdjson does the work; an event that it refuses is tried
// again by itself, cleaned.
#pragma once

#include <functional>
#include <memory>

#include "traces/files/json_stream.hpp"
#include "traces/kineto/kineto_event.hpp"

namespace distsim::traces {

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
