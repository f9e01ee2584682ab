#include "base/threads/side_by_side.hpp"

#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/threads/stop.hpp"

namespace distsim {

void side_by_side(unsigned threads, const std::function<void()>& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (unsigned t = 1; t < threads; ++t) {
        others.emplace_back([&guarded, question = stop_question()] {
          const StopScope scope(question);
          guarded();
        });
      }
    } catch (const std::system_error&) {  // fewer threads
    } catch (const std::bad_alloc&) {
    }
    guarded();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace distsim
