#include "mpi_bench/collective/curve_checksum.hpp"

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "collectives/curve.pb.h"

namespace distsim::bench {
namespace {

class Fnv {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0xFF);  // the end of a text, so that "ab","c" and "a","bc" differ
  }
  void add(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    add(std::string_view(text));
  }
  std::string hex() const {
    char text[20];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
    return text;
  }

 private:
  void step(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001B3ull; }
  std::uint64_t hash_ = 0xCBF29CE484222325ull;
};

}  // namespace

std::string checksum_of(const curves::CurveFile& file) {
  Fnv fnv;
  fnv.add(std::string_view(file.system()));
  fnv.add(std::string_view(file.device()));
  for (const curves::Curve& c : file.curves()) {
    fnv.add(std::string_view(c.kind()));
    for (const double v : {static_cast<double>(c.ranks()), static_cast<double>(c.nodes()), c.launch() == "single_process" ? 1.0 : 0.0, c.cuda_graph() ? 1.0 : 0.0})
      fnv.add(v);
    fnv.add(std::string_view(c.settings()));
    for (const curves::Point& p : c.points()) {
      for (const double v : {static_cast<double>(p.bytes()), p.time_us(), p.low_us(), p.high_us()}) fnv.add(v);
    }
  }
  return fnv.hex();
}

}  // namespace distsim::bench
