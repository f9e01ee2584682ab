#include "traces/hugectr/hugectr_bounds.hpp"

#include <fmt/format.h>

namespace distsim::traces {

Result<void> check_end_of_event(const std::string& event, double end_ms, double iteration_ms, const std::string& path) {
  const double latest = 2 * iteration_ms;
  if (end_ms <= latest) return {};
  return Error{
      fmt::format("{}: found an end {:.6g} ms after its iteration began, expected at most {:.6g} ms, the time of "
                  "two iterations",
                  event, end_ms, latest),
      path, "are all times in milliseconds?"};
}

}  // namespace distsim::traces
