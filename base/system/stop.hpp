// Ending the work of one call early, for programs that use distsim as a library: what asks for it belongs to the call, not to
// the process as a signal does (base/system/signals.hpp).
#pragma once

#include <functional>
#include <memory>

namespace distsim {

/// What a call asks whether it is to end.
struct StopQuestion;

/// While one lives, `asks` is called now and then by the thread that made it, at most every few milliseconds; once it has
/// said true, stop_asked() is true on this thread and on those that share the question. An empty `asks` asks for nothing.
class StopScope {
 public:
  explicit StopScope(std::function<bool()> asks);
  /// On a thread that works for another one: that one's question.
  explicit StopScope(std::shared_ptr<StopQuestion> shared);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  std::shared_ptr<StopQuestion> before_;
};

/// The question of this thread, for threads that work for it; may be null.
std::shared_ptr<StopQuestion> stop_question();

/// Whether the call that this thread works for is to end. False where nobody can ask. Cheap enough for loops of some
/// microseconds.
bool stop_asked();

}  // namespace distsim
