// The same work on several threads at once.
#pragma once

#include <functional>

namespace distsim {

/// Calls `work` on this thread and on up to `threads` - 1 others, fewer where the system starts no more, and returns when all
/// have returned. The others share this thread's stop question (base/threads/stop.hpp). What `work` throws on any of them, the
/// first of it, is thrown here.
void side_by_side(unsigned threads, const std::function<void()>& work);

}  // namespace distsim
