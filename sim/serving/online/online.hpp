// The online mode: decisions as requests come, one line of input after the other.
//
// Input: a line for each request, TIME or TIME,MODEL (seconds from the start, ascending; without a model it is drawn by
// weight), or `advance TIME`, by which nothing came. Empty lines and those that begin with # say nothing.
// Output: a JSON object a line,
//   {"time_s": 0.5, "do": "assign", "gpu": "a", "model": "m", "layers": [0, 2], "requests": [3, 4]}
//   {"time_s": 0.75, "do": "answer", "request": 3, "model": "m", "latency_s": 0.25}, or "drop"
// Time is that of the input: what happens up to the time of a line is written before the next line is read. At the end of
// the input all that waits is served. The decisions are those of a replay of the same times in which no two requests come
// at the same moment; requests of one moment are decided one by one.
#pragma once

#include <istream>
#include <ostream>

#include "base/result.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {

/// Under the experiment's only policy; its load counts for its seed alone. `name` of the input, for messages. Errors: a
/// line that is none of these, with its number; what emulate() refuses.
Result<RunResult> serve_online(const Experiment& experiment, std::istream& in, const std::string& name,
                               std::ostream& out);

}  // namespace distsim::serving
