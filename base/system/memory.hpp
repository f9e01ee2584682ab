// What is said where the memory of the machine that runs the program does not suffice (std::bad_alloc).
#pragma once

namespace distsim {

/// Not "out of memory", which GPUs of an experiment may be, too.
inline constexpr const char* kMemoryRanOut = "this machine's memory ran out";

}  // namespace distsim
