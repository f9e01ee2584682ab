// Whether the number of requests in the system grows with the number sent, up to the end: load above capacity.
#pragma once

#include <cstdint>

namespace distsim::serving {

class Backlog {
 public:
  void arrival(std::uint64_t sent, std::uint64_t in_system) {
    last_ = {sent, in_system};
    if (sent < next_) return;
    earlier_ = latest_;
    latest_ = {sent, in_system};
    next_ *= 2;
  }
  bool grows() const {
    const Point& then = latest_.sent * 4 > last_.sent * 3 ? earlier_ : latest_;
    const double sent = static_cast<double>(last_.sent), here = static_cast<double>(last_.in_system);
    if (then.sent == 0 || here < kFew || here < 0.01 * sent) return false;
    return here >= 0.75 * static_cast<double>(then.in_system) * sent / static_cast<double>(then.sent);
  }

 private:
  static constexpr double kFew = 64;
  struct Point {
    std::uint64_t sent = 0, in_system = 0;
  };
  Point earlier_, latest_, last_;
  std::uint64_t next_ = 1;
};

}  // namespace distsim::serving
