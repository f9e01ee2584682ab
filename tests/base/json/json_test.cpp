#include "base/json/json.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <map>
#include <new>
#include <string>
#include <vector>

#include "base/system/signals.hpp"

namespace distsim {
namespace {

/// As the standard one on a machine without memory.
template <class T>
struct NoMemory : std::allocator<T> {
  template <class Other>
  struct rebind {
    using other = NoMemory<Other>;
  };
  T* allocate(std::size_t) { throw std::bad_alloc(); }
};

using JsonWithoutMemory =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, double, NoMemory>;

TEST(Json, AnObjectThatMemoryDoesNotSufficeForEndsTheProgramWithALine) {
  EXPECT_EXIT(
      {
        handle_signals();
        try {
          JsonWithoutMemory value;
          value["key"] = 1;  // an object from here on, though none could be made
        } catch (const std::bad_alloc&) {
          std::_Exit(0);  // a library whose destructor bears it
        }
        std::_Exit(1);
      },
      [](int status) { return WIFEXITED(status) && (WEXITSTATUS(status) == kFailureExit || WEXITSTATUS(status) == 0); },
      "distsim: this machine's memory ran out|^$");
}

}  // namespace
}  // namespace distsim
