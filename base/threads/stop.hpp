// Ending work before it is done: the answer to a question that nobody asks any more, or a call of the library that its caller
// gives up. What asks for it belongs to the call, not to the process as a signal does (base/system/signals.hpp).
//
//   const StopScope scope(flag);  // on the thread that does the work; another one sets the flag
//   try { work(); } catch (const Stopped&) { ... }
//
// Long loops call end_if_stopped(), which throws. Threads that work for another one share its question: they end where
// end_asked() says so (base/system/signals.hpp), and nothing is thrown on them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace distsim {

/// What a call asks whether it is to end.
struct StopQuestion;

/// What end_if_stopped() throws unless its scope throws something else. No std::exception, so that nobody takes it for a
/// failure.
struct Stopped {};

/// While one lives, `asks` is called by the thread that made it, at first and then at most every 20 ms; once it has said true,
/// stop_asked() is true on this thread and on those that share the question. An empty `asks` asks for nothing. The innermost
/// of a thread counts.
class StopScope {
 public:
  /// `raise`: throws what ends the work; empty: Stopped.
  explicit StopScope(std::function<bool()> asks, std::function<void()> raise = {});
  /// Asks whether `flag` is set, each time; it must outlive the scope.
  explicit StopScope(const std::atomic<bool>& flag);
  /// On a thread that works for another one: that one's question.
  explicit StopScope(std::shared_ptr<StopQuestion> shared);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  std::shared_ptr<StopQuestion> own_;
  const std::shared_ptr<StopQuestion>* before_;
};

/// The question of this thread, for threads that work for it; may be null.
std::shared_ptr<StopQuestion> stop_question();

/// Whether the call that this thread works for is to end. False where nobody can ask. Cheap enough for loops whose rounds take
/// a microsecond.
bool stop_asked();

/// Throws where stop_asked(), on the thread whose own question it is.
void end_if_stopped();

}  // namespace distsim
