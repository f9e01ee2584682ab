#include "base/system/stop.hpp"

namespace distsim {
namespace {

thread_local const std::atomic<bool>* flag_of_thread = nullptr;

}  // namespace

Stoppable::Stoppable(const std::atomic<bool>& asked) : before_(flag_of_thread) { flag_of_thread = &asked; }
Stoppable::~Stoppable() { flag_of_thread = before_; }

bool stop_asked() { return flag_of_thread != nullptr && flag_of_thread->load(std::memory_order_relaxed); }

void end_if_stopped() {
  if (stop_asked()) throw Stopped{};
}

}  // namespace distsim
