// What simdjson reports of its own: lack of memory is no damage of the text.
#pragma once

#include <simdjson.h>

#include <new>

namespace distsim::traces {

/// Whether parsing failed. Throws std::bad_alloc where memory was short: readers count damaged records and go on.
inline bool failed(simdjson::error_code error) {
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  return error != simdjson::SUCCESS;
}

}  // namespace distsim::traces
